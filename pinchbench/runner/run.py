"""One benchmark run, or the rest of one, to its result: the whole tree of its tasks."""

from __future__ import annotations

import math
import random
import secrets
import time
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from anyio import create_memory_object_stream, create_task_group, current_time, to_thread

from pinchbench.errors import RunInterruptedError
from pinchbench.events import RunBegan, TrialAhead
from pinchbench.grading.grader import GradeJob, Grader
from pinchbench.model import Usage
from pinchbench.openclaw.command import model_slug
from pinchbench.process.prepared_process import keep_prepared
from pinchbench.results.finished_run import Result, derive_result
from pinchbench.results.journal.records import Record, RunFinished, TrialFinished
from pinchbench.results.paths import RunFiles
from pinchbench.runner.control import RunControl
from pinchbench.runner.graders import grade_trials, limit_grading, worker_count
from pinchbench.runner.observer import Observer, RunObserver
from pinchbench.runner.prepare import Prepared, Resumption, prepare, scripts
from pinchbench.runner.provenance import timezone_name
from pinchbench.runner.recorder import hand_over, write
from pinchbench.runner.run_folders import CHECKS, open_run_folders
from pinchbench.runner.run_redaction import Redactor
from pinchbench.runner.scheduling.budget import Budget, Limits
from pinchbench.runner.scheduling.circuit_breaker import CircuitBreaker
from pinchbench.runner.scheduling.dispatcher import Dispatcher
from pinchbench.runner.scheduling.plan import new_run_id
from pinchbench.runner.scheduling.queue import AttemptQueue
from pinchbench.runner.scheduling.rate_limit import RateLimit
from pinchbench.runner.set_up import require_capacity, set_up
from pinchbench.runner.signals import LEAVING, Interrupt
from pinchbench.runner.trial import outcome_not_begun
from pinchbench.runner.worker import Pool, grade_job

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

    from pinchbench.config import RunConfig
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.runner.set_up import Ready


# Retry delays until a trial that still sees answers of 429 lowers the number of trials at once again: with less, trials
# of some minutes cut it to 1 although half of them would do (simulated with 120 s and delays of 5, 10 and 30 s).
ROUND = 3


async def run_benchmark(config: RunConfig, *, observer: Observer | None = None, handle_signals: bool = False) -> Result:
    """Run a benchmark to its result.

    Every attempt that was started gets an outcome, and a grade where it says something about the model; both are on
    the disk before `observer` hears of them. The observer gets a stream of events, may be slow and may fail without
    harm. With `handle_signals`, SIGINT, SIGTERM and SIGHUP end the run properly (main thread only);
    `Result.interrupted` names the signal then. `Result.stop` says whether the run ended itself early. `resume` goes on
    with what is left.

    Raises PinchBenchError (SuiteError, SelectionError, OpenClawError, ResultsError, RunInterruptedError when a signal
    came before the first trial), possibly inside an ExceptionGroup. Cancelling it ends every process it started, writes
    the outcomes of the running trials as `interrupted`, leaves what was not graded without a grade, and then raises.
    Needs anyio's asyncio backend: transcripts are followed with aiofiles, which knows no other.
    """
    prepared = await to_thread.run_sync(prepare, config)
    return await run_prepared(prepared, observer=observer, handle_signals=handle_signals)


async def run_prepared(
    prepared: Prepared,
    resumption: Resumption | None = None,
    *,
    observer: Observer | None = None,
    handle_signals: bool = False,
) -> Result:
    """Run what is left of a plan; as `run_benchmark`, for a run of which `resumption` knows, or a new one.

    Every task group of a run is here, the longest-lived outermost. What a group is left for: `root` when the observer
    has seen the end, `gateways` when all agents are done with them, `writer` when everybody who sends records has
    closed, `clock` when nothing is left to be limited, `workers` when there are no more attempts, `graders` when the
    workers have gone and all they sent is graded.
    """
    await to_thread.run_sync(require_capacity, prepared.config.concurrency)
    played = await to_thread.run_sync(scripts, prepared)
    run_id, files = _identity(prepared.config, resumption)
    interrupt, redactor = Interrupt(), Redactor()
    run_observer = RunObserver(observer, redactor)
    journal = resumption.journal if resumption is not None else None
    takes_over = resumption is not None and resumption.takes_over
    async with create_task_group() as root:
        if handle_signals:
            root.start_soon(interrupt.listen, run_observer.tell)
        root.start_soon(run_observer.attend)
        with closing(run_observer), closing(interrupt):
            async with open_run_folders(
                files, prepared.config.run_root, run_id=run_id, journal=journal, takes_over=takes_over
            ) as folders:
                async with (
                    keep_prepared(),  # for checks
                    create_task_group() as gateways,
                    _scripted(prepared.config) as scripted,
                    AsyncExitStack() as stack,
                ):
                    with interrupt.setup:
                        ready = await set_up(
                            prepared,
                            resumption,
                            run_id=run_id,
                            folders=folders,
                            scripted=scripted,
                            gateways=gateways,
                            stack=stack,
                            interrupt=interrupt,
                            run_observer=run_observer,
                            redactor=redactor,
                        )
                    if interrupt.signal is not None:
                        raise RunInterruptedError(interrupt.signal)
                    folders.has_begun = True
                    interrupt.last_words = f"{LEAVING} `pinchbench-async resume {run_id}` goes on with the rest."
                    run_observer.emit(_run_began(prepared, ready, run_id, files.folder))
                    # Without bounds: handing over never waits, and agents never wait for graders. The plan bounds both.
                    records, to_write = create_memory_object_stream[Record](math.inf)
                    jobs, to_grade = create_memory_object_stream[GradeJob](math.inf)
                    dispatcher = _dispatcher(prepared)
                    control = RunControl(
                        dispatcher, record=partial(hand_over, records), interrupt=interrupt, tell=run_observer.tell
                    )
                    pool = Pool(
                        config=ready.config,
                        openclaw=ready.openclaw,
                        run_id=run_id,
                        files=files,
                        interrupt=interrupt,
                        control=control,
                        emit=run_observer.emit,
                        scripted=scripted,
                        scripts=played,
                        timezone=timezone_name(),
                        redactor=redactor,
                    )
                    grader = Grader(judge=ready.judge, scratch=folders.work.parent / CHECKS, secrets=redactor.secrets)
                    async with create_task_group() as writer:
                        writer.start_soon(
                            partial(write, to_write, folders.journal, redactor=redactor, emit=run_observer.emit)
                        )
                        with records:  # kept open until the last record, which is the run's own as the first is
                            for record in (ready.first, *_unmet(prepared)):
                                records.send_nowait(record)
                            async with create_task_group() as clock:
                                clock.start_soon(control.heed_deadline)
                                clock.start_soon(control.heed_stop)
                                async with create_task_group() as workers:
                                    with jobs:
                                        for job in _left_to_grade(prepared, resumption, run_id, files):
                                            jobs.send_nowait(job)
                                        for slot, home in enumerate(ready.homes, 1):
                                            workers.start_soon(pool.work, slot, home, jobs.clone(), records.clone())
                                    async with create_task_group() as graders:
                                        grading = (
                                            graders.cancel_scope
                                        )  # may be left before the clock is: to cancel it then does nothing
                                        clock.start_soon(limit_grading, interrupt, grading)
                                        with to_grade:
                                            for _ in range(worker_count(ready.config.judge)):
                                                graders.start_soon(
                                                    grade_trials,
                                                    grader,
                                                    to_grade.clone(),
                                                    records.clone(),
                                                    control.judged,
                                                )
                                clock.cancel_scope.cancel()
                            records.send_nowait(_run_finished(dispatcher, interrupt))
                result = await to_thread.run_sync(derive_result, files)
            for problem in result.problems:
                run_observer.tell(problem)
    return result


def _identity(config: RunConfig, resumption: Resumption | None) -> tuple[str, RunFiles]:
    """A run's id and where its files are."""
    if resumption is not None:
        return resumption.facts.run_id, resumption.files
    run_id = new_run_id(datetime.now(UTC), secrets.token_hex(2))
    return run_id, RunFiles(output_dir=config.output_dir, name=f"{model_slug(config.model)}_{run_id}")


@asynccontextmanager
async def _scripted(config: RunConfig) -> AsyncGenerator[ScriptedModel | None]:
    if not config.is_demo:
        yield None
        return
    from pinchbench.demo.server import scripted_model  # noqa: PLC0415 - a web server, for demo models only

    async with scripted_model() as model:
        yield model


def _dispatcher(prepared: Prepared) -> Dispatcher:
    """Whoever decides what runs next, as this run's options say. Call it when the run begins: its hours count from then."""
    config = prepared.config

    def jitter() -> float:
        return random.uniform(0.5, 1.5)  # noqa: S311 - so that retries of many runs do not come at once

    limits = Limits(max_cost_usd=config.max_cost, max_tokens=config.max_tokens, max_hours=config.max_hours)
    return Dispatcher(
        schedule=AttemptQueue(
            prepared.attempts,
            retries=config.infra_retries,
            retry_timeouts=config.retry_timeouts,
            delay_s=config.retry_delay_s,
            jitter=jitter,
            used=prepared.retried,
        ),
        throttle=RateLimit(max(1, prepared.slots), delay_s=ROUND * config.retry_delay_s, jitter=jitter),
        breaker=CircuitBreaker(
            enabled=config.fail_fast, delay_s=config.retry_delay_s, jitter=jitter, works=prepared.works
        ),
        budget=Budget(
            limits,
            began=current_time(),
            expected_s=prepared.weights_s,
            earlier=prepared.earlier,
            judged=prepared.judged,
        ),
    )


def _unmet(prepared: Prepared) -> Iterator[TrialFinished]:
    """The ends of the attempts that are not made."""
    for attempt, sentence in prepared.unmet:
        yield TrialFinished(outcome=outcome_not_begun(attempt, sentence, at=time.time()))


def _left_to_grade(
    prepared: Prepared, resumption: Resumption | None, run_id: str, files: RunFiles
) -> Iterator[GradeJob]:
    """What an earlier runner of this run has seen to its end but not graded."""
    timezone = resumption.facts.timezone if resumption is not None else ""
    for trial, outcome in prepared.ungraded:
        yield grade_job(run_id, files, trial.task, outcome, timezone=timezone)


def _run_began(prepared: Prepared, ready: Ready, run_id: str, folder: Path) -> RunBegan:
    config = ready.config
    judged = [grade.judge for grade in prepared.judged if grade.judge is not None]
    return RunBegan(
        run_id=run_id,
        model=config.model,
        trials=len(prepared.trials),
        slots=len(ready.homes),
        folder=folder,
        done=prepared.done,
        ahead=tuple(
            TrialAhead(key=one.key, timeout_s=one.trial.timeout_s, expected_s=prepared.expected_s.get(one.key.task_id))
            for one in prepared.attempts
        ),
        pass_threshold=config.pass_threshold,
        max_cost_usd=config.max_cost,
        max_tokens=config.max_tokens,
        max_hours=config.max_hours,
        spent=Usage(
            total_tokens=sum(one.usage.total_tokens for one in prepared.earlier),
            cost_usd=sum(one.usage.cost_usd for one in prepared.earlier),
        ),
        judge_spent=Usage(
            total_tokens=sum(one.usage.total_tokens for one in judged),
            cost_usd=sum(one.cost_usd or 0.0 for one in judged),
        ),
        earlier=prepared.tally,
        to_grade=tuple(outcome for _, outcome in prepared.ungraded),
    )


def _run_finished(dispatcher: Dispatcher, interrupt: Interrupt) -> RunFinished:
    return RunFinished(
        at=time.time(), interrupted=interrupt.signal_name, stopped=dispatcher.stopped, stop=dispatcher.stop
    )

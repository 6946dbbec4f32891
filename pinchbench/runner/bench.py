"""The nursery tree: one benchmark run, or the rest of one, to its result."""

from __future__ import annotations

import math
import random
import secrets
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from anyio import create_memory_object_stream, create_task_group, current_time, move_on_after, to_thread

from pinchbench.errors import ConfigError, RunInterruptedError
from pinchbench.events import Event, RunBegan, TrialAhead, TrialGraded
from pinchbench.folders import private_folder, remove_folder
from pinchbench.grading.grader import GradeJob, Grader
from pinchbench.limits import Isolation
from pinchbench.model import Usage
from pinchbench.openclaw.command import is_long, model_slug
from pinchbench.openclaw.credentials import UserState
from pinchbench.openclaw.gateway_config import brings_services
from pinchbench.openclaw.probe import ask_message_file, locate_openclaw, node_version, release_warning
from pinchbench.process.capacity import (
    allowed_open_files,
    allowed_tasks,
    lacking,
    most_slots,
    needed,
    raise_open_files,
)
from pinchbench.process.leftovers import end_orphaned
from pinchbench.process.memory import available_bytes
from pinchbench.process.supervise import Leave
from pinchbench.results.evidence import file_digest
from pinchbench.results.journal import JournalWriter
from pinchbench.results.records import PaceSet, RunFinished, RunResumed, RunStarted, TrialFinished
from pinchbench.results.store import RunFiles, create_run, write_json
from pinchbench.runner.audience import Audience, Observer
from pinchbench.runner.breaker import Breaker
from pinchbench.runner.budget import Budget, Limits
from pinchbench.runner.changes import accept_releases, same_openclaw
from pinchbench.runner.dispatch import Dispatcher
from pinchbench.runner.finish import Result, derive_result
from pinchbench.runner.graders import run_graders, worker_count
from pinchbench.runner.handover import hand_over, recording
from pinchbench.runner.interrupt import LEAVING, Interrupt
from pinchbench.runner.isolation import choose_isolation
from pinchbench.runner.judging import open_judge
from pinchbench.runner.model_names import check_model_names
from pinchbench.runner.plan import new_run_id
from pinchbench.runner.pool import Pool, grade_job
from pinchbench.runner.preflight import ask_endpoints, check_model, of_judge
from pinchbench.runner.prepare import Prepared, Resumption, prepare, scripts
from pinchbench.runner.provenance import plain_config, provenance, timezone_name, versions
from pinchbench.runner.schedule import Schedule
from pinchbench.runner.slots import (
    CHECKS,
    CLEAN_UP_LIMIT_S,
    HOMES,
    make_homes,
    own_homes,
    remove_homes,
    secrets_of,
    sweep_homes,
    user_state,
)
from pinchbench.runner.throttle import Throttle
from pinchbench.runner.trial import outcome_not_begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.grading.judge import Judge
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.gateway import Gateway
    from pinchbench.openclaw.home import Home
    from pinchbench.results.records import Record


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
    """Run what is left of a plan; as `run_benchmark`, for a run of which `resumption` knows, or a new one."""
    await to_thread.run_sync(_require_capacity, prepared.config.concurrency)
    played = await to_thread.run_sync(scripts, prepared)
    return await _Bench(prepared, resumption, played, observer).run(handle_signals=handle_signals)


def _require_capacity(slots: int) -> None:
    """Raise the limit of open files as far as it goes. Raises ConfigError when the limits can't carry so many slots."""
    raise_open_files()
    files, tasks = allowed_open_files(), allowed_tasks()
    if commands := lacking(files=files, tasks=tasks, slots=slots):
        needs_files, needs_tasks = needed(slots)
        most = most_slots(files=files, tasks=tasks)
        smaller = f", or use --concurrency {most}" if most else ""
        raise ConfigError(
            f"--concurrency {slots} needs {needs_files} open files and {needs_tasks} processes, more than this session's "
            f"limits allow. Raise them: {', '.join(commands)}{smaller}."
        )


class _Bench:
    """One runner's part of a run. Its methods are the branches of the nursery tree."""

    def __init__(
        self,
        prepared: Prepared,
        resumption: Resumption | None,
        played: Mapping[str, tuple[ScriptedTurn, ...]],
        observer: Observer | None,
    ) -> None:
        self._prepared = prepared
        self._resumption = resumption
        self._scripts = played
        self._config = prepared.config
        if resumption is None:
            self._run_id = new_run_id(datetime.now(UTC), secrets.token_hex(2))
            name = f"{model_slug(self._config.model)}_{self._run_id}"
            self._files = RunFiles(output_dir=self._config.output_dir, name=name)
        else:
            self._run_id = resumption.facts.run_id
            self._files = resumption.files
        self._interrupt = Interrupt()
        self._secrets: tuple[str, ...] = ()
        self._audience = Audience(observer, self._interrupt)

    async def run(self, *, handle_signals: bool) -> Result:
        """The root group: signals, the observer, and the run itself."""
        return await self._audience.attend(self._run, handle_signals=handle_signals)

    async def _run(self) -> Result:
        root = await to_thread.run_sync(private_folder, self._config.run_root)
        self._config = replace(self._config, run_root=root)
        run_folder = await to_thread.run_sync(private_folder, root / self._run_id)
        if self._resumption is not None:
            return await self._run_locked(self._resumption.journal, run_folder)
        await to_thread.run_sync(create_run, self._files.output_dir, self._files.name)
        with await to_thread.run_sync(JournalWriter, self._files.journal) as journal:
            return await self._run_locked(journal, run_folder)

    async def _run_locked(self, journal: JournalWriter, run_folder: Path) -> Result:
        """Make the run, and clean up. The journal's lock holds longer: its homes are nobody else's until they are gone."""
        began = self._resumption is not None
        owned = False
        try:
            async with AsyncExitStack() as stack:
                await to_thread.run_sync(end_orphaned)
                await to_thread.run_sync(sweep_homes, run_folder.parent)
                await to_thread.run_sync(own_homes, run_folder)
                owned = True
                gateways = await stack.enter_async_context(create_task_group())
                scripted = await self._scripted(stack)
                judge: Judge | None = None
                with self._interrupt.setup:
                    keep = partial(self._keep, gateways, stack)
                    openclaw, homes, first = await self._set_up(run_folder, scripted, keep)
                    if self._config.judge is not None and self._config.judge.is_openclaw:
                        self._audience.set_up("making the homes of the judge's agents")
                    judge = await stack.enter_async_context(
                        open_judge(
                            self._config.judge, openclaw=openclaw, folder=run_folder / HOMES, run_id=self._run_id
                        )
                    )
                if self._interrupt.signal is not None:
                    raise RunInterruptedError(self._interrupt.signal)
                judging = self._config.judge.api_key_env if self._config.judge is not None else None
                names = partial(secrets_of, self._config.api_key_env, judging, is_demo=self._config.is_demo)
                self._secrets = await to_thread.run_sync(names)
                began = True
                self._interrupt.last_words = (
                    f"{LEAVING} `pinchbench-async resume {self._run_id}` goes on with the rest."
                )
                grader = Grader(judge=judge, scratch=run_folder.parent / CHECKS, secrets=self._secrets)
                await self._trials(journal, first, openclaw=openclaw, homes=homes, scripted=scripted, grader=grader)
            result = await to_thread.run_sync(derive_result, self._files)
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                if owned:
                    await to_thread.run_sync(remove_homes, run_folder, abandon_on_cancel=True)
                if not began:
                    await to_thread.run_sync(_delete_run, run_folder, self._files, abandon_on_cancel=True)
        for problem in result.problems:
            self._audience.tell(problem)
        return result

    async def _scripted(self, stack: AsyncExitStack) -> ScriptedModel | None:
        if not self._config.is_demo:
            return None
        from pinchbench.demo.server import scripted_model  # noqa: PLC0415 - a web server, for demo models only

        return await stack.enter_async_context(scripted_model())

    def _keep(self, gateways: TaskGroup, stack: AsyncExitStack, gateway: Gateway) -> None:
        """Run a gateway for as long as the stack lasts."""
        gateways.start_soon(gateway.run, Leave(stop=self._interrupt.stop, hurry=self._interrupt.hurry))
        stack.callback(gateway.close)

    async def _set_up(
        self, run_folder: Path, scripted: ScriptedModel | None, keep: Callable[[Gateway], None]
    ) -> tuple[OpenClaw, tuple[Home, ...], Record]:
        """Make the homes, and write down what runs; returns the record that this part of the run begins with."""
        prepared, resumption = self._prepared, self._resumption
        for remark in prepared.remarks:
            self._audience.tell(remark)
        user = await user_state(self._config) if prepared.slots else UserState()
        await self._ask_endpoints(user)
        self._audience.set_up("looking for OpenClaw")
        openclaw = await same_openclaw(self._config.openclaw, resumption.facts if resumption is not None else None)
        if warning := release_warning(openclaw.version):
            self._audience.tell(warning)
        await check_model_names(self._config, openclaw, user)
        node = await node_version(openclaw)
        releases = await to_thread.run_sync(versions, openclaw, node)
        changes = accept_releases(resumption, releases) if resumption is not None else ()
        if prepared.slots:
            self._audience.tell(
                f"Setting up OpenClaw {openclaw.version} for {prepared.slots} {'slot' if prepared.slots == 1 else 'slots'}."
            )
        if any(is_long(turn.prompt) for attempt in prepared.attempts for turn in attempt.trial.task.turns):
            self._audience.set_up("asking OpenClaw how it takes long prompts")
            openclaw = await ask_message_file(openclaw)
        homes: tuple[Home, ...] = ()
        if prepared.slots:
            if self._config.isolation is Isolation.AUTO:
                await self._choose_isolation(openclaw, user)
            homes = await make_homes(
                self._config,
                openclaw,
                run_folder,
                slots=prepared.slots,
                user=user,
                scripted=scripted,
                longest_s=max(attempt.trial.timeout_s for attempt in prepared.attempts),
                keep=keep,
                watch_skills=any(len(trial.task.turns) > 1 for trial in prepared.trials),
                tell=self._audience.tell,
                set_up=self._audience.set_up,
            )
        if resumption is not None:
            return openclaw, homes, self._resumed(resumption, releases, changes)
        facts = provenance(
            config=self._config,
            suite=prepared.suite,
            trials=prepared.trials,
            run_id=self._run_id,
            created_at=time.time(),
            releases=releases,
            agents=[home.agent_id for home in homes],
            skipped=prepared.skipped,
        )
        await to_thread.run_sync(write_json, self._files.provenance, facts)
        started = RunStarted(
            run_id=self._run_id,
            model=self._config.model,
            at=time.time(),
            trials=len(prepared.trials),
            run_json=await to_thread.run_sync(file_digest, self._files.provenance),
        )
        return openclaw, homes, started

    async def _ask_endpoints(self, user: UserState) -> None:
        """Ask before OpenClaw is looked at, which takes seconds. Raises EndpointError."""
        if not self._config.preflight:
            return
        model = None
        if self._prepared.slots:
            program = locate_openclaw(self._config.openclaw).program
            model = await check_model(self._config, program, user)
        await ask_endpoints(model, of_judge(self._config.judge), tell=self._audience.tell)

    async def _choose_isolation(self, openclaw: OpenClaw, user: UserState) -> None:
        """Choose, and say so. A run that is resumed has chosen already."""
        choice = choose_isolation(
            services=brings_services(user.config),
            release=openclaw.version,
            trials=len(self._prepared.attempts),
            slots=self._prepared.slots,
            available_bytes=await to_thread.run_sync(available_bytes),
        )
        self._config = replace(self._config, isolation=choice.isolation)
        self._audience.tell(choice.why)
        if choice.warning:
            self._audience.tell(choice.warning)

    def _resumed(self, resumption: Resumption, releases: dict[str, str], changes: tuple[str, ...]) -> RunResumed:
        return RunResumed(
            at=time.time(),
            trials=len(self._prepared.attempts),
            config=plain_config(self._config),
            versions=releases,
            tasks=dict(resumption.tasks),
            gone=resumption.gone,
            changes=changes,
        )

    async def _trials(
        self,
        journal: JournalWriter,
        first: Record,
        *,
        openclaw: OpenClaw,
        homes: Sequence[Home],
        scripted: ScriptedModel | None,
        grader: Grader,
    ) -> None:
        """The writer, and the pipeline beside it: agents, then graders. A stop ends it from the front."""
        prepared = self._prepared
        judged = [grade.judge for grade in prepared.judged if grade.judge is not None]
        self._audience.emit(
            RunBegan(
                run_id=self._run_id,
                model=self._config.model,
                trials=len(prepared.trials),
                slots=len(homes),
                folder=self._files.folder,
                done=prepared.done,
                ahead=tuple(
                    TrialAhead(
                        key=one.key,
                        timeout_s=one.trial.timeout_s,
                        expected_s=prepared.expected_s.get(one.key.task_id),
                    )
                    for one in prepared.attempts
                ),
                pass_threshold=self._config.pass_threshold,
                max_cost_usd=self._config.max_cost,
                max_tokens=self._config.max_tokens,
                max_hours=self._config.max_hours,
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
        )

        def show(event: Event) -> None:
            if isinstance(event, TrialGraded):
                dispatcher.judged(event.grade)
            self._audience.emit(event)

        async with recording(journal, show) as records:
            dispatcher = self._dispatcher(records)
            records.send_nowait(first)
            for attempt, sentence in prepared.unmet:
                records.send_nowait(TrialFinished(outcome=outcome_not_begun(attempt, sentence, at=time.time())))
            # without bound, so that agents never wait for graders; the plan bounds it
            jobs, waiting = create_memory_object_stream[GradeJob](math.inf)
            pool = Pool(
                config=self._config,
                openclaw=openclaw,
                run_id=self._run_id,
                files=self._files,
                interrupt=self._interrupt,
                dispatcher=dispatcher,
                emit=self._audience.emit,
                scripted=scripted,
                scripts=self._scripts,
                timezone=timezone_name(),
                secrets=self._secrets,
            )
            async with create_task_group() as watch:
                watch.start_soon(dispatcher.watch)
                async with create_task_group() as pipeline:
                    pipeline.start_soon(self._grade, grader, waiting, records.clone())
                    with jobs:
                        for job in self._left_to_grade():
                            jobs.send_nowait(job)
                        await _agents(pool, homes, jobs, records)
                watch.cancel_scope.cancel()
            how = RunFinished(
                at=time.time(),
                interrupted=self._interrupt.signal_name,
                stopped=dispatcher.stopped,
                stop=dispatcher.stop,
            )
            records.send_nowait(how)

    def _dispatcher(self, records: MemoryObjectSendStream[Record]) -> Dispatcher:
        """Whoever decides what runs next, as this run's options say."""
        config, prepared = self._config, self._prepared

        def jitter() -> float:
            return random.uniform(0.5, 1.5)  # noqa: S311 - so that retries of many runs do not come at once

        def pace(limit: int, why: str, *, is_end: bool = False) -> None:
            hand_over(records, PaceSet(at=time.time(), limit=limit, why=why, is_end=is_end))

        limits = Limits(max_cost_usd=config.max_cost, max_tokens=config.max_tokens, max_hours=config.max_hours)
        return Dispatcher(
            schedule=Schedule(
                prepared.attempts,
                retries=config.infra_retries,
                retry_timeouts=config.retry_timeouts,
                delay_s=config.retry_delay_s,
                jitter=jitter,
                used=prepared.retried,
            ),
            throttle=Throttle(max(1, prepared.slots), delay_s=ROUND * config.retry_delay_s, jitter=jitter),
            breaker=Breaker(
                enabled=config.fail_fast, delay_s=config.retry_delay_s, jitter=jitter, works=prepared.works
            ),
            budget=Budget(
                limits,
                began=current_time(),
                expected_s=prepared.weights_s,
                earlier=prepared.earlier,
                judged=prepared.judged,
            ),
            interrupt=self._interrupt,
            pace=pace,
            tell=self._audience.tell,
        )

    def _left_to_grade(self) -> Iterator[GradeJob]:
        """What an earlier runner of this run has seen to its end but not graded."""
        timezone = self._resumption.facts.timezone if self._resumption is not None else ""
        for trial, outcome in self._prepared.ungraded:
            yield grade_job(self._run_id, self._files, trial.task, outcome, timezone=timezone)

    async def _grade(
        self, grader: Grader, jobs: MemoryObjectReceiveStream[GradeJob], records: MemoryObjectSendStream[Record]
    ) -> None:
        workers = worker_count(self._config.judge)
        await run_graders(
            grader, jobs, records, workers=workers, stop=self._interrupt.stop, hurry=self._interrupt.hurry
        )


async def _agents(
    pool: Pool,
    homes: Sequence[Home],
    jobs: MemoryObjectSendStream[GradeJob],
    records: MemoryObjectSendStream[Record],
) -> None:
    """One worker a home, as long as the dispatcher has attempts for them."""
    async with create_task_group() as workers:
        for slot, home in enumerate(homes, 1):
            workers.start_soon(pool.work, slot, home, jobs.clone(), records.clone())


def _delete_run(run_folder: Path, files: RunFiles) -> None:
    """Delete what a run has made that never began; folders that hold something else stay."""
    remove_folder(files.folder)
    for folder in (run_folder, files.output_dir):
        with suppress(OSError):
            folder.rmdir()

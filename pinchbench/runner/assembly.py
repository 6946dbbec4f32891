"""The parts of a run: its streams, what decides, and what workers, graders and the writer do."""

from __future__ import annotations

import math
import random
import time
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anyio import CancelScope, create_memory_object_stream, create_task_group, current_time

from pinchbench.events import RunBegan
from pinchbench.grading.checks import GradeJob
from pinchbench.grading.grader import Grader
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.usage import Usage
from pinchbench.results.records import GradeGiven, Record, RunFinished, RunPaused, TrialFinished
from pinchbench.results.run_state import RunState
from pinchbench.runner.ctl.run_commands import RunCommands
from pinchbench.runner.run_control import RunControl
from pinchbench.runner.run_folders import CHECKS, RunFolders
from pinchbench.runner.scheduling.budget import Budget
from pinchbench.runner.scheduling.circuit_breaker import CircuitBreaker
from pinchbench.runner.scheduling.dispatcher import Dispatcher
from pinchbench.runner.scheduling.meter import BudgetLimits
from pinchbench.runner.scheduling.queue import AttemptQueue
from pinchbench.runner.scheduling.rate_limit import RateLimit
from pinchbench.runner.setup.set_up import Ready, timezone_name
from pinchbench.runner.stream_ends import grade_trials, hand_over, worker_count, write
from pinchbench.runner.trial.attempt import outcome_of
from pinchbench.runner.worker import Worker, grade_job

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.config.run_config import RunConfig
    from pinchbench.runner.plan.prepare import Prepared
    from pinchbench.runner.sharing import Share
    from pinchbench.runner.trial.slot import Slot, SlotPool

# Retry delays until a trial that still sees answers of 429 lowers the number of trials at once again: with less, trials
# of some minutes cut it to 1 although half of them would do (simulated with 120 s and delays of 5, 10 and 30 s).
ROUND = 3


class RunParts:
    """The parts of a run that its task groups drive.

    The streams have no bounds, because handing over never waits and agents never wait for graders; the plan bounds
    both. Each task closes its own clone; the originals are closed by the run as soon as all clones are made.
    """

    def __init__(self, ready: Ready, folders: RunFolders) -> None:
        """The run begins now: the limit of its hours counts from this call. Create inside an event loop."""
        self.context = context = ready.run
        self._ready = ready
        self.records, to_write = create_memory_object_stream[Record](math.inf)
        self.jobs, self.to_grade = create_memory_object_stream[GradeJob](math.inf)
        # until every sender has closed; the only writer of the journal
        self.write = partial(
            write, to_write, folders.journal, redactor=context.redactor, emit=context.observer.emit, follow=self._follow
        )
        record = partial(hand_over, self.records)
        self.control = RunControl(
            _dispatcher(context.prepared, context.share, context.run_id),
            record=record,
            interrupt=context.interrupt,
            tell=context.observer.tell,
            share=context.share,
            done=context.prepared.done,
        )
        self.commands = RunCommands(context, self.control, slots=len(ready.slots), record=record)
        self._new_worker = partial(Worker, context=context, control=self.control, timezone=timezone_name())
        self.workers = tuple(map(self._new_worker, ready.slots))  # of the slots that there are from the start
        grader = Grader(
            judges=ready.judges,
            scratch=folders.work.parent / CHECKS,
            secrets=context.redactor.secrets,
            sandbox=ready.check_sandbox,
        )
        self.grade = partial(grade_trials, grader, graded=self.control.judged)
        self.grader_count = worker_count(context.prepared.config.judge)

    async def add_workers(
        self,
        pool: SlotPool,
        workers: TaskGroup,
        jobs: MemoryObjectSendStream[GradeJob],
        records: MemoryObjectSendStream[Record],
    ) -> None:
        """Start a worker for each slot that joins, for as long as attempts are left. Owns both streams."""

        def add(slot: Slot) -> None:
            workers.start_soon(self._new_worker(slot).run, jobs.clone(), records.clone())

        async def end(watching: CancelScope) -> None:
            await self.control.over.wait()
            watching.cancel()

        with jobs, records:
            async with create_task_group() as group:
                group.start_soon(end, group.cancel_scope)
                await pool.watch(add)
                group.cancel_scope.cancel()

    def _follow(self, record: Record) -> None:
        self.commands.written(record)
        if (coordinator := self.context.coordinator) is not None:
            coordinator.follow(record)

    def record_start(self) -> None:
        """Record that the run begins, what it reuses, and the attempts that will not be made."""
        prepared, coordinator = self.context.prepared, self.context.coordinator
        if coordinator is not None:
            coordinator.begins({trial.key for trial in prepared.trials})
        self.records.send_nowait(self._ready.first)
        if prepared.state is not None and prepared.state.control.is_paused:
            self.control.apply(RunPaused(at=time.time()))
        for outcome, grade in prepared.reused:
            self.records.send_nowait(TrialFinished(outcome=outcome))
            if grade is not None:
                self.records.send_nowait(GradeGiven(grade=grade))
        for attempt, sentence in prepared.unmet:
            at = time.time()
            outcome = outcome_of(attempt, Reason.PREREQUISITE_MISSING, started_at=at, ended_at=at, note=sentence)
            self.records.send_nowait(TrialFinished(outcome=outcome))

    def record_end(self) -> None:
        """Record how the run ends; the last record."""
        if self._ready.slots and not (self.control.over.is_set() or self.context.interrupt.stop.is_set()):
            self.control.slots_lost()
        stopped, stop = self.control.dispatcher.stopped, self.control.dispatcher.stop
        if (coordinator := self.context.coordinator) is not None and coordinator.reason:
            stopped, stop = coordinator.reason, Stop.DECIDED
        self.records.send_nowait(
            RunFinished(at=time.time(), interrupted=self.context.interrupt.signal_name, stopped=stopped, stop=stop)
        )

    def queue_ungraded(self) -> None:
        """Queue the attempts that an earlier session, or another run, has completed but that are not graded."""
        context = self.context
        before = context.resumption or context.prepared.source
        timezone = before.facts.timezone if before is not None else ""
        for trial, outcome in context.prepared.ungraded:
            self.jobs.send_nowait(grade_job(context.run_id, context.files, trial.task, outcome, timezone=timezone))


def _dispatcher(prepared: Prepared, share: Share | None, run_id: str) -> Dispatcher:
    config, state = prepared.config, prepared.state or RunState()

    def jitter() -> float:
        return random.uniform(0.5, 1.5)  # noqa: S311 - so that retries of many runs do not come at once

    def rate_limit() -> RateLimit:
        slots = prepared.slots if share is None else config.concurrency  # of all runs together
        return RateLimit(max(1, slots), delay_s=ROUND * config.retry_delay_s, jitter=jitter)

    limits = BudgetLimits(max_cost=config.max_cost, max_tokens=config.max_tokens, max_hours=config.max_hours)
    return Dispatcher(
        schedule=AttemptQueue(
            prepared.attempts,
            retries=config.infra_retries,
            delay_s=config.retry_delay_s,
            jitter=jitter,
            used=state.retried,
            admissions=None if share is None else share.coordinator,
        ),
        throttle=rate_limit() if share is None else share.slots.rate_limit(provider_of(config), rate_limit),
        breaker=CircuitBreaker(
            enabled=config.fail_fast,
            delay_s=config.retry_delay_s,
            jitter=jitter,
            works=any(one.reason.is_valid for one in state.attempts),
        ),
        budget=Budget(
            limits,
            began=current_time(),
            expected_s=prepared.weights_s,
            earlier=state.paid_attempts,
            judged=state.paid_grades,
        ),
        shared=None if share is None else share.slots.budget,
        run="" if share is None else share.run,
        run_id=run_id,
        ends_below=config.pass_threshold if config.exitfirst else None,
    )


def provider_of(config: RunConfig) -> str:
    """Return what tells providers apart whose rate limits are not the same: the host, or the provider's name (pure)."""
    return config.model.partition("/")[0] if config.base_url is None else urlsplit(config.base_url).netloc


def run_began(ready: Ready) -> RunBegan:
    """Return the event with which a run begins."""
    context, prepared, config = ready.run, ready.run.prepared, ready.run.prepared.config
    state = prepared.state or RunState()
    earlier = [outcome.paid for outcome in state.paid_attempts]
    judged = [grade.judge for grade in state.paid_grades if grade.judge is not None]
    return RunBegan(
        run_id=context.run_id,
        model=config.model,
        trials=len(prepared.trials),
        slots=len(ready.slots),
        folder=context.files.folder,
        done=prepared.done,
        ahead=tuple(one.key for one in prepared.attempts),
        pass_threshold=config.pass_threshold,
        has_mean=prepared.has_mean,
        max_cost_usd=config.max_cost,
        max_tokens=config.max_tokens,
        max_hours=config.max_hours,
        spent=Usage(
            total_tokens=sum(one.total_tokens for one in earlier), cost_usd=sum(one.cost_usd for one in earlier)
        ),
        judge_spent=Usage(
            total_tokens=sum(one.usage.total_tokens for one in judged),
            cost_usd=sum(one.cost_usd or 0.0 for one in judged),
        ),
        earlier=prepared.tally,
        to_grade=tuple(outcome for _, outcome in prepared.ungraded),
    )

"""A worker, which owns a slot and makes one attempt after another in it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from pinchbench.events import OutputLine, TrialActivity, TrialBegan, TrialWaits
from pinchbench.grading.checks import GradeJob
from pinchbench.model.trial import Attempt, TrialEvents
from pinchbench.model.usage import Usage
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.records import NodeUsed, Record, TrialStarted
from pinchbench.runner.stream_ends import hand_over
from pinchbench.sandbox.levels import Level
from pinchbench.sandbox.sandbox_spec import WORKSPACE

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Task
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.run_control import RunControl
    from pinchbench.runner.trial.slot import Slot


class Worker:
    """Owns one slot and makes the attempts that `control` gives it, one after another."""

    def __init__(self, slot: Slot, *, context: RunContext, control: RunControl, timezone: str) -> None:
        """`timezone` is the agents'."""
        self._slot = slot
        self._context = context
        self._control = control
        self._timezone = timezone

    async def run(self, jobs: MemoryObjectSendStream[GradeJob], records: MemoryObjectSendStream[Record]) -> None:
        """Make attempts until there are none left, the run is asked to stop, or the slot is closed.

        Owns both streams. Valid attempts are sent to `jobs`, which has room for all of them, so that a slow judge never
        blocks a slot.
        """
        with jobs, records:
            if (hardware := self._slot.hardware) is not None:
                name, node_id = self._slot.machine, self._slot.machine_id
                hand_over(records, NodeUsed(at=time.time(), name=name, hardware=hardware, id=node_id))
            while (attempt := await self._control.take(self._slot)) is not None:
                await self._run(attempt, jobs=jobs, records=records)

    async def _run(
        self, attempt: Attempt, *, jobs: MemoryObjectSendStream[GradeJob], records: MemoryObjectSendStream[Record]
    ) -> None:
        key, context, slot = attempt.key, self._context, self._slot
        node = slot.machine or UNSET
        hand_over(records, TrialStarted(key=key, slot=slot.number, attempt=attempt.number, at=time.time(), node=node))
        context.observer.emit(
            TrialBegan(
                slot=slot.number, key=key, timeout_s=attempt.trial.timeout_s, attempt=attempt.number, node=slot.machine
            )
        )

        def done(outcome: Outcome) -> None:
            self._control.ended(attempt, outcome)
            if outcome.reason.is_valid:
                job = grade_job(context.run_id, context.files, attempt.trial.task, outcome, timezone=self._timezone)
                hand_over(jobs, job)

        events = _Events(attempt, slot.number, context, self._control)
        await slot.run(attempt, events, done, stop=self._control.stop_of(key))


class _Events(TrialEvents):
    """What is seen of an attempt: passed on to the observer, and counted for the budget of the run."""

    def __init__(self, attempt: Attempt, slot: int, context: RunContext, control: RunControl) -> None:
        config = context.prepared.config
        self.wants_output = config.verbose
        self._attempt = attempt
        self._slot = slot
        self._control = control
        self._emit = context.observer.emit
        prices = config.price_in, config.price_out
        self._prices = (prices[0], prices[1]) if prices[0] is not None and prices[1] is not None else None
        self._served = config.served
        shared = context.share.slots.budget if context.share is not None else None  # with other runs
        self._needs_price = config.max_cost is not None or (shared is not None and shared.limits.max_cost is not None)
        self._told = self._wired = Usage()

    def activity(self, text: str, usage: Usage) -> None:
        self._told = usage
        self._control.uses(self._attempt, self._told.at_least(self._wired))
        self._emit(TrialActivity(slot=self._slot, key=self._attempt.key, text=text, usage=usage))

    def output(self, stream: str, text: str) -> None:
        self._emit(OutputLine(key=self._attempt.key, stream=stream, text=text))

    def waits(self, text: str, next_s: float) -> None:
        self._emit(TrialWaits(slot=self._slot, key=self._attempt.key, text=text, next_s=next_s))

    def rate_limited(self) -> None:
        self._control.limited(self._attempt)

    def used(self, usage: Usage) -> None:
        self._wired = usage
        if usage.known_cost_usd is None and self._prices is not None:
            price_in, price_out = self._prices
            read, written = self._served.price_cached, self._served.price_written
            cost = usage.input_tokens * price_in + usage.output_tokens * price_out
            cost += usage.cache_read_tokens * (price_in if read is None else read)
            cost = (cost + usage.cache_write_tokens * (price_in if written is None else written)) / 1e6
            self._wired = structs.replace(usage, cost_usd=cost)
        billed = self._told.at_least(self._wired)
        if billed.known_cost_usd is not None or not self._needs_price:  # else only the transcript states the cost
            self._control.uses(self._attempt, billed)


def grade_job(run_id: str, files: RunFiles, task: Task, outcome: Outcome, *, timezone: str) -> GradeJob:
    """Return the graders' job for an attempt."""
    return GradeJob(
        key=outcome.key,
        attempt=outcome.attempt,
        task=task,
        evidence=Evidence(folder=files.folder / outcome.evidence),
        workspace=WORKSPACE if outcome.level == Level.NAMESPACES else outcome.workspace,
        transcript_length=outcome.transcript_length,
        ended_at=outcome.ended_at,
        timezone=timezone,
        timeout_s=outcome.timeout_s,
        marker=f"{run_id}/{outcome.key}/{outcome.attempt}/check",
        not_kept=outcome.not_kept,
    )

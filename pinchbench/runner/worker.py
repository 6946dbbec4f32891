"""A worker, which owns a slot and makes one attempt after another in it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from pinchbench.events import OutputLine, TrialActivity, TrialBegan, TrialWaits
from pinchbench.grading.grader import GradeJob
from pinchbench.model.usage import Usage
from pinchbench.results.evidence import Evidence
from pinchbench.results.journal.records import NodeUsed, Record, TrialStarted
from pinchbench.runner.recorder import hand_over
from pinchbench.runner.slot import TrialCallbacks
from pinchbench.sandbox.levels import Level
from pinchbench.sandbox.spec import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.config.run import RunConfig
    from pinchbench.events import Event
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Task
    from pinchbench.model.trial import Attempt
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.control import RunControl
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.slot import Slot


class Worker:
    """Owns one slot and makes the attempts that `control` gives it, one after another."""

    def __init__(
        self, slot: Slot, *, context: RunContext, config: RunConfig, control: RunControl, timezone: str
    ) -> None:
        """`config` are the options of the run as its set-up has settled them, `timezone` is the agents'."""
        self._slot = slot
        self._context = context
        self._config = config
        self._control = control
        self._timezone = timezone
        shared = context.share.slots.budget if context.share is not None else None
        self._needs_price = config.max_cost is not None or (shared is not None and shared.limits.max_cost is not None)

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
        self,
        attempt: Attempt,
        *,
        jobs: MemoryObjectSendStream[GradeJob],
        records: MemoryObjectSendStream[Record],
    ) -> None:
        key, context = attempt.key, self._context
        prices = self._config.price_in, self._config.price_out
        known = (prices[0], prices[1]) if prices[0] is not None and prices[1] is not None else None
        bill = _Bill(partial(self._control.uses, attempt), prices=known, needs_price=self._needs_price)
        hand_over(
            records,
            TrialStarted(
                key=key,
                slot=self._slot.number,
                attempt=attempt.number,
                at=time.time(),
                node=self._slot.machine or UNSET,
            ),
        )
        began = TrialBegan(
            slot=self._slot.number,
            key=key,
            timeout_s=attempt.trial.timeout_s,
            attempt=attempt.number,
            node=self._slot.machine,
        )
        self._emit(began)

        def done(outcome: Outcome) -> None:
            self._control.ended(attempt, outcome)
            if outcome.reason.is_valid:
                job = grade_job(context.run_id, context.files, attempt.trial.task, outcome, timezone=self._timezone)
                hand_over(jobs, job)

        await self._slot.run(attempt, self._callbacks(attempt, bill), done)

    def _emit(self, event: Event) -> None:
        self._context.observer.emit(event)

    def _callbacks(self, attempt: Attempt, bill: _Bill) -> TrialCallbacks:
        key, slot = attempt.key, self._slot.number

        def activity(text: str, usage: Usage) -> None:
            bill.told(usage)
            self._emit(TrialActivity(slot=slot, key=key, text=text, usage=usage))

        def output(stream: str, text: str) -> None:
            self._emit(OutputLine(key=key, stream=stream, text=text))

        def waits(text: str, next_s: float) -> None:
            self._emit(TrialWaits(slot=slot, key=key, text=text, next_s=next_s))

        return TrialCallbacks(
            stop=self._control.stop_of(key),
            activity=activity,
            output=output if self._config.verbose else None,
            waits=waits,
            rate_limited=partial(self._control.limited, attempt),
            used=bill.wired,
        )


class _Bill:
    """What a running attempt has used, as its transcript tells and as the wire has seen."""

    def __init__(self, uses: Callable[[Usage], None], *, prices: tuple[float, float] | None, needs_price: bool) -> None:
        """`uses` gets the larger of both whenever one grows. `prices` are USD per million tokens in and out."""
        self._uses = uses
        self._needs_price = needs_price
        self._prices = prices
        self._told = self._wired = Usage()

    def told(self, usage: Usage) -> None:
        """Take what the transcript says in all."""
        self._told = usage
        self._uses(self._told.at_least(self._wired))

    def wired(self, usage: Usage) -> None:
        """Take what the wire has seen in all. Without a price, only the transcript tells what it cost."""
        self._wired = usage
        if usage.known_cost_usd is None and self._prices is not None:
            sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            cost = (sent * self._prices[0] + usage.output_tokens * self._prices[1]) / 1e6
            self._wired = structs.replace(usage, cost_usd=cost)
        billed = self._told.at_least(self._wired)
        if billed.known_cost_usd is not None or not self._needs_price:
            self._uses(billed)


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

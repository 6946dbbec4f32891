"""A worker, which owns a slot and makes one attempt after another in it."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pinchbench.defaults import Isolation
from pinchbench.events import OutputLine, TrialActivity, TrialBegan, TrialWaits
from pinchbench.grading.grader import GradeJob
from pinchbench.model import Usage
from pinchbench.openclaw.agent import OpenClawAgent
from pinchbench.openclaw.homes.choose import GIB
from pinchbench.openclaw.homes.private import PrivateHome
from pinchbench.openclaw.progress import ProgressCallbacks
from pinchbench.process.supervise import Limits, StopSignal
from pinchbench.results.evidence import Evidence
from pinchbench.results.journal.records import Record, TrialStarted
from pinchbench.runner.recorder import hand_over
from pinchbench.runner.slots import slot_name
from pinchbench.runner.trial import TrialPlace, run_attempt
from pinchbench.sandbox.levels import Level
from pinchbench.sandbox.spec import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.events import Event
    from pinchbench.model import Attempt, Outcome, Task, TrialKey
    from pinchbench.openclaw.complaints import Retry
    from pinchbench.openclaw.homes.private import Home
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.control import RunControl
    from pinchbench.runner.run_context import RunContext
    from pinchbench.runner.set_up import Ready
    from pinchbench.wire.messages import ExchangeEnded


class Worker:
    """Owns one slot and makes the attempts that `control` gives it, one after another."""

    def __init__(
        self,
        *,
        slot: int,
        home: Home,
        context: RunContext,
        ready: Ready,
        control: RunControl,
        scripted: ScriptedModel | None,
        scripts: Mapping[str, tuple[ScriptedTurn, ...]],
        timezone: str,
    ) -> None:
        """`scripts` holds what the scripted model plays, by task id; empty without one. `timezone` is the agents'."""
        self._slot = slot
        self._context = context
        self._config = ready.config
        self._control = control
        self._wire = ready.wire
        self._check_sandbox = ready.check_sandbox
        self._scripted = scripted
        self._scripts = scripts
        self._timezone = timezone
        shared = context.share.slots.budget if context.share is not None else None
        self._needs_price = ready.config.max_cost is not None or (
            shared is not None and shared.limits.max_cost is not None
        )
        self._agent = OpenClawAgent(
            openclaw=ready.openclaw,
            home=home,
            thinking=ready.config.thinking,
            limits=Limits(
                max_processes=ready.config.max_processes,
                max_memory_bytes=int(ready.config.max_memory * GIB),
                max_disk_bytes=int(ready.config.max_disk * GIB),
            ),
            linger_s=ready.config.linger_s,
        )

    async def run(self, jobs: MemoryObjectSendStream[GradeJob], records: MemoryObjectSendStream[Record]) -> None:
        """Make attempts until there are none left or the run is asked to stop.

        Owns both streams. Valid attempts are sent to `jobs`, which has room for all of them, so that a slow judge never
        blocks a slot.
        """
        with jobs, records:
            while (attempt := await self._control.take()) is not None:
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
        place = TrialPlace(
            slot=self._slot,
            agent=self._agent_for(attempt.trial.task),
            run_id=context.run_id,
            run_folder=self._config.run_root / context.run_id,
            files=context.files,
            stop_signal=StopSignal(stop=context.interrupt.stop, hurry=context.interrupt.hurry),
            callbacks=self._callbacks(attempt, bill),
            redactor=context.redactor,
            before_turn=partial(self._play, key) if self._scripted is not None else None,
            wire=self._wire,
            used=bill.wired,
            failed=partial(self._tell_failed, key),
            is_gateway=self._config.isolation is Isolation.GATEWAY,
            allowed=tuple(path.removesuffix(":rw") for path in self._config.sandbox_allow),
            check_sandbox=self._check_sandbox,
        )
        hand_over(records, TrialStarted(key=key, slot=self._slot, attempt=attempt.number, at=time.time()))
        self._emit(TrialBegan(slot=self._slot, key=key, timeout_s=attempt.trial.timeout_s, attempt=attempt.number))

        def done(outcome: Outcome) -> None:
            self._control.ended(attempt, outcome)
            if outcome.reason.is_valid:
                job = grade_job(context.run_id, context.files, attempt.trial.task, outcome, timezone=self._timezone)
                hand_over(jobs, job)

        await run_attempt(attempt, place, done)

    def _agent_for(self, task: Task) -> OpenClawAgent:
        home = self._agent.home
        if task.network and isinstance(home, PrivateHome) and home.networked is not None:
            return replace(self._agent, home=home.networked)
        return self._agent

    def _emit(self, event: Event) -> None:
        self._context.observer.emit(event)

    def _callbacks(self, attempt: Attempt, bill: _Bill) -> ProgressCallbacks:
        key, slot = attempt.key, self._slot

        def activity(text: str, usage: Usage) -> None:
            bill.told(usage)
            self._emit(TrialActivity(slot=slot, key=key, text=text, usage=usage))

        def output(stream: str, text: str) -> None:
            self._emit(OutputLine(key=key, stream=stream, text=text))

        def retrying(retry: Retry) -> None:
            self._emit(TrialWaits(slot=slot, key=key, text=str(retry), next_s=retry.delay_s))

        return ProgressCallbacks(
            activity=activity,
            output=output if self._config.verbose else None,
            rate_limited=partial(self._control.limited, attempt),
            retrying=retrying,
        )

    def _tell_failed(self, key: TrialKey, call: ExchangeEnded) -> None:
        status = f"was answered with {call.status}" if call.status else "got no reply"
        self._emit(TrialWaits(slot=self._slot, key=key, text=f"model call {call.number} {status}", next_s=0.0))

    async def _play(self, key: TrialKey, turn: int) -> None:
        assert self._scripted is not None  # noqa: S101 - only called for scripted models
        place = f"{self._context.run_id}/{key.folder}"  # agents of a gateway share one address
        self._scripted.play(slot_name(self._slot), key, self._scripts[key.task_id][turn], place=place)


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
            self._wired = replace(usage, cost_usd=cost)
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

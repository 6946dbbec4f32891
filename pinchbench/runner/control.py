"""Acts on the dispatcher's decisions: gives attempts to the workers, records changes of pace, stops the run."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import anyio
from anyio import Event, current_time, move_on_after

from pinchbench.results.journal.records import PaceSet, TrialFinished

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.model import Attempt, Grade, Outcome, Usage
    from pinchbench.results.journal.records import Record
    from pinchbench.runner.scheduling.dispatcher import Decision, Dispatcher
    from pinchbench.runner.sharing import Share
    from pinchbench.runner.signals import Interrupt


class RunControl:
    """The dispatcher of a run among the tasks that ask it and tell it. Create inside an event loop.

    Only `take` and the two clocks wait; all other calls return at once, and work in a cancelled scope as well.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        record: Callable[[Record], None],
        interrupt: Interrupt,
        tell: Callable[[str], None],
        share: Share | None = None,
        done: int = 0,
    ) -> None:
        """`record` gets what is to be written to the journal, `tell` sentences for the user; neither ever waits.

        `share` is the run's part of slots that it shares with others; `done` trials have ended before.
        """
        self._dispatcher = dispatcher
        self._record = record
        self._interrupt = interrupt
        self._tell = tell
        self._changed = Event()
        self._share = share
        if share is not None:
            share.slots.join(share.run, self._wake, done=done)

    async def take(self) -> Attempt | None:
        """Wait for an attempt that may be made now; None when there will be none. A cancellation loses nothing."""
        while not self._interrupt.stop.is_set():
            changed = self._changed
            answer = self._next() if self._share is None or self._share.is_turn() else math.inf
            if not isinstance(answer, float):
                return answer
            with move_on_after(max(0.0, answer - current_time())):
                await changed.wait()
        return None

    def _next(self) -> Attempt | float | None:
        answer, decision = self._dispatcher.next(current_time())
        self._act(decision)
        if self._share is not None:
            self._share.took(answer)
        return answer

    def ended(self, attempt: Attempt, outcome: Outcome) -> None:
        """Record the end of an attempt, then what comes of it."""
        decision = self._dispatcher.ended(attempt, outcome, current_time())
        self._record(TrialFinished(outcome=outcome, retried=decision.retried))
        self._act(decision)
        if self._share is not None:
            self._share.ended()
        self._wake()

    def uses(self, attempt: Attempt, usage: Usage) -> None:
        """Take what a running attempt has used so far."""
        self._act(self._dispatcher.uses(attempt, usage, current_time()))

    def limited(self, attempt: Attempt) -> None:
        """Take note that the provider has told a running attempt to come back later."""
        self._act(self._dispatcher.limited(attempt, current_time()))

    def judged(self, grade: Grade) -> None:
        """Take what grading a trial has used."""
        self._act(self._dispatcher.judged(grade, current_time()))

    async def heed_deadline(self) -> None:
        """End the run when its hours are over, or when another run has used up what they have together."""
        share = self._share
        with nullcontext() if share is None else share.slots.heeding(share.run, self._heed_limits):
            await anyio.sleep(max(0.0, self._dispatcher.deadline - current_time()))
            self._heed_limits()

    def _heed_limits(self) -> None:
        self._act(self._dispatcher.expired(current_time()))

    async def heed_stop(self) -> None:
        """Let the waiting workers go when the run is asked to stop."""
        await self._interrupt.stop.wait()
        self._wake()

    def _act(self, decision: Decision) -> None:
        for pace in decision.paces:
            self._record(PaceSet(at=time.time(), limit=pace.limit, why=pace.why, is_end=pace.is_end))
        for notice in decision.notices:
            self._tell(notice)
        if decision.ends_agents:
            self._interrupt.stop.set()
        if any(pace.is_end for pace in decision.paces):
            if self._share is not None:
                self._share.slots.leave(self._share.run)
                self._share.slots.heed_limits()
            self._wake()

    def _wake(self) -> None:
        """Let the waiting workers look again."""
        self._changed.set()
        self._changed = Event()

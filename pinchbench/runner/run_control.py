"""Acts on the dispatcher's decisions: gives attempts to the workers, records changes of pace, stops the run."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import anyio
from anyio import Event, current_time, move_on_after

from pinchbench.results.records import Control, PaceSet, Record, TrialFinished, TrialStopped

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt, TrialKey
    from pinchbench.model.usage import Usage
    from pinchbench.runner.scheduling.dispatcher import Decision, Dispatcher
    from pinchbench.runner.sharing import Share
    from pinchbench.runner.signals import Interrupt
    from pinchbench.runner.trial.slot import Slot


class RunControl:
    """The dispatcher of a run among the tasks that ask it and tell it. Create inside an event loop.

    `dispatcher` is for reading only: it is changed here.

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
        """`record` gets what is to be written to the journal, and `tell` sentences for the user; neither ever waits.

        `share` is the run's part of slots that it shares with others; `done` trials ended earlier.
        """
        self.dispatcher = dispatcher
        self._record = record
        self._interrupt = interrupt
        self._tell = tell
        self._changed = Event()
        self.over = Event()  # once no attempt will be given out any more, but for what a user asks for
        self._stops: dict[TrialKey, Event] = {}  # of the running trials
        self._share = share
        if share is not None:
            share.slots.join(share.run, self._wake, done=done)

    async def take(self, slot: Slot | None = None) -> Attempt | None:
        """Wait for an attempt that may be made now; None when there will be none, or when `slot` is closed.

        A cancellation loses nothing.
        """
        while not (self._interrupt.stop.is_set() or (slot is not None and slot.is_closed)):
            changed = self._changed
            answer = self._next() if self._may_start(slot) else math.inf
            if not isinstance(answer, float):
                if answer is None:
                    self.over.set()
                return answer
            with move_on_after(max(0.0, answer - current_time())):
                await changed.wait()
        return None

    def _may_start(self, slot: Slot | None) -> bool:
        """Return whether it is the run's turn, and its machine has room; when all is over, the dispatcher says so."""
        has_room = self.over.is_set() or slot is None or not slot.is_taken
        return self._share is None or (self._share.is_turn() and has_room)

    def _next(self) -> Attempt | float | None:
        answer, decision = self.dispatcher.next(current_time())
        self._act(decision)
        if self._share is not None:
            self._share.took(answer)
        return answer

    def ended(self, attempt: Attempt, outcome: Outcome) -> None:
        """Record the end of an attempt, then what comes of it."""
        self._stops.pop(attempt.key, None)
        decision = self.dispatcher.ended(attempt, outcome, current_time())
        self._record(TrialFinished(outcome=outcome, retried=decision.retried))
        self._act(decision)
        if self._share is not None:
            self._share.ended()
        self._wake()

    @property
    def ending(self) -> str:
        """Why no trial starts any more; empty while trials may start."""
        if self.dispatcher.stopped or not self._interrupt.stop.is_set():
            return self.dispatcher.stopped
        return f"{self._interrupt.signal_name or 'A signal'} has ended it."

    def stop_of(self, key: TrialKey) -> Event:
        """Return the event that ends the attempt that has just begun at a trial: the user, or the end of the run."""
        stop = self._stops[key] = Event()
        if self._interrupt.stop.is_set():
            stop.set()
        return stop

    def apply(self, record: Control, attempt: Attempt | None = None) -> None:
        """Do what a user has asked for, once that is recorded; `attempt` is the one that is asked for, if any."""
        self._act(self.dispatcher.apply(record, current_time(), attempt))
        if isinstance(record, TrialStopped) and record.key in self._stops:
            self._stops[record.key].set()
        if self._share is not None:
            self._share.slots.admitted()
        self._wake()

    def uses(self, attempt: Attempt, usage: Usage) -> None:
        """Take what a running attempt has used so far."""
        self._act(self.dispatcher.uses(attempt, usage, current_time()))

    def limited(self, attempt: Attempt) -> None:
        """Take note that the provider has sent a running attempt away for now."""
        self._act(self.dispatcher.limited(attempt, current_time()))

    def judged(self, grade: Grade) -> None:
        """Take what grading a trial has used."""
        self._act(self.dispatcher.judged(grade, current_time()))

    def slots_lost(self) -> None:
        """End the run, if attempts are left, because every slot is lost."""
        self._act(self.dispatcher.slots_lost())

    async def end_at_deadline(self) -> None:
        """End the run when its hours are over, or when another run has used up what they have together."""
        share = self._share
        with nullcontext() if share is None else share.slots.following_limits(share.run, self._apply_limits):
            await anyio.sleep(max(0.0, self.dispatcher.deadline - current_time()))
            self._apply_limits()

    def _apply_limits(self) -> None:
        self._act(self.dispatcher.expired(current_time()))

    async def end_on_stop(self) -> None:
        """Let the waiting workers go, and end the running attempts, when the run is asked to stop."""
        await self._interrupt.stop.wait()
        self.over.set()
        for stop in self._stops.values():
            stop.set()
        self._wake()

    def _act(self, decision: Decision) -> None:
        for notice in decision.notices:
            self._tell(notice)
        for pace in decision.paces:
            self._record(PaceSet(at=time.time(), limit=pace.limit, why=pace.why, is_end=pace.is_end))
        if decision.ends_agents:
            self._interrupt.stop.set()
        if any(pace.is_end for pace in decision.paces):
            self.over.set()
            if self._share is not None:
                self._share.slots.leave(self._share.run)
                self._share.slots.apply_limits()
            self._wake()

    def _wake(self) -> None:
        """Let the waiting workers look again."""
        self._changed.set()
        self._changed = Event()

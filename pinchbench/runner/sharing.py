"""Slots that several runs share, as the workers of these runs see them, and whose turn it is."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from anyio import Lock, current_time

from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.runner.scheduling.queue import Admissions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Sequence

    from pinchbench.results.records import Record
    from pinchbench.runner.scheduling.budget import SharedBudget
    from pinchbench.runner.scheduling.rate_limit import RateLimit
    from pinchbench.runner.signals import Interrupt


class Rotation:
    """Shares slots among runs that make the same trials in the same order. Times are monotonic seconds.

    In each round every run starts one trial, in the order of that round. A run that can start nothing now is passed
    over, and catches up when it can. No trial starts before every run is ready or has left: the first trials of those
    that are ready early would run at another time than those of the others. `started` counts the trials of each run
    that have begun, and `running` all that run now.
    """

    def __init__(self, runs: Iterable[str], *, slots: int, seed: int) -> None:
        """`runs` are their names. `slots` is how many trials may run at once, those of all runs together.

        `seed` shuffles each round, so that no run is always the first.
        """
        self._seed = seed
        self._slots = slots
        self._preparing = set(runs)
        self._ready: set[str] = set()
        self.running = 0
        self.started = dict.fromkeys(self._preparing, 0)
        self._idle_until: dict[str, float] = {}

    def ready(self, run: str, *, done: int = 0) -> None:
        """Let a run take part; `done` of its trials have ended before."""
        self._preparing.discard(run)
        self.started[run] += done
        self._ready.add(run)

    def left(self, run: str) -> None:
        """Go on without a run, which has ended or can not begin."""
        self._preparing.discard(run)
        self._ready.discard(run)
        self._idle_until.pop(run, None)

    def is_turn(self, run: str, now: float) -> bool:
        """Return whether a run may start a trial now."""
        if run not in self._ready:
            return True  # it has left, and starts nothing
        if self._preparing or self.running >= self._slots:
            return False
        able = [one for one in self._ready if self._idle_until.get(one, -math.inf) <= now or one == run]
        return min(able, key=self._place) == run

    def idle(self, run: str, until: float, now: float) -> bool:
        """Take note that a run can start nothing before `until`, `math.inf` for when something of it has ended.

        Returns whether it was able to before, so that it may be another's turn now.
        """
        was_able = self._idle_until.get(run, -math.inf) <= now
        self._idle_until[run] = until
        return was_able

    def able(self) -> None:
        """Take note that every run may be able to start a trial again."""
        self._idle_until.clear()

    def began(self, run: str) -> None:
        """Take note that a run has started a trial."""
        self.running += 1
        self.started[run] += 1

    def ended(self, run: str) -> None:
        """Take note that a trial of a run has ended, so that the run may be able to start another one."""
        self.running -= 1
        self._idle_until.pop(run, None)

    def _place(self, run: str) -> tuple[int, bytes]:
        started = self.started[run]
        return started, blake2b(f"{self._seed} {started} {run}".encode(), digest_size=8).digest()


class SharedSlots:
    """Slots of several runs. Create inside an event loop.

    `set_up` is held by a run while it sets itself up: what the machine has left is measured then, and a processor that
    two share makes neither ready sooner.
    """

    def __init__(self, rotation: Rotation, budget: SharedBudget | None = None) -> None:
        """`rotation` decides, and belongs to this object from now on. `budget` is that of all runs together."""
        self.rotation = rotation
        self.budget = budget
        self.set_up = Lock()
        self._wakes: dict[str, Callable[[], None]] = {}
        self._followers: dict[str, Callable[[], None]] = {}
        self._rate_limits: dict[str, RateLimit] = {}

    def rate_limit(self, provider: str, make: Callable[[], RateLimit]) -> RateLimit:
        """Return the limit of all runs that ask a provider, which `make` makes for the first of them."""
        if provider not in self._rate_limits:
            self._rate_limits[provider] = make()
        return self._rate_limits[provider]

    @contextmanager
    def following_limits(self, run: str, apply: Callable[[], None]) -> Generator[None]:
        """Call `apply` within the block whenever the budget of all runs may be used up."""
        self._followers[run] = apply
        try:
            yield
        finally:
            del self._followers[run]

    def join(self, run: str, wake: Callable[[], None], *, done: int) -> None:
        """Let a run take part from now on, `done` of whose trials have ended; `wake` lets its workers ask again."""
        self._wakes[run] = wake
        self.rotation.ready(run, done=done)
        self.wake()

    def leave(self, run: str) -> None:
        """Go on without a run."""
        self.rotation.left(run)
        if self.budget is not None:
            self.budget.left(run)
        self.wake()  # its own workers too: none of them has a turn to wait for any more
        self._wakes.pop(run, None)

    def apply_limits(self) -> None:
        """Let all runs end whose agents run on although the budget of all is used up."""
        for apply in tuple(self._followers.values()):
            apply()

    def admitted(self) -> None:
        """Let all runs look again at what they may start."""
        self.rotation.able()
        self.wake()

    def wake(self) -> None:
        """Let the workers of all runs ask again."""
        for wake in tuple(self._wakes.values()):
            wake()


class RunCoordinator(Admissions, Protocol):
    """Decides, from what several runs record, which trials one of them makes."""

    def begins(self, keys: Collection[TrialKey]) -> None:
        """Take note that the run begins, and can make these trials."""

    def follow(self, record: Record) -> None:
        """Take a record of the run that is in its journal."""

    @property
    def reason(self) -> str:
        """Why the run needs no further trial; empty while it does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """A run's part of slots that it shares with others."""

    run: str  # its name among them
    run_id: str  # the id that a new run gets
    slots: SharedSlots  # the slots
    interrupt: Interrupt  # what it is asked to do
    # puts its attempts into the order that all of them have
    arrange: Callable[[Sequence[Attempt]], tuple[Attempt, ...]]
    coordinator: RunCoordinator | None = None  # decides which of its trials are made; None if all are

    def is_turn(self) -> bool:
        """Return whether the run may start a trial now."""
        return self.slots.rotation.is_turn(self.run, current_time())

    def took(self, answer: Attempt | float | None) -> None:
        """Take what the run's dispatcher has answered on its turn."""
        if isinstance(answer, Attempt):
            self.slots.rotation.began(self.run)
            self.slots.wake()
        elif answer is None:
            self.slots.leave(self.run)
        elif self.slots.rotation.idle(self.run, answer, current_time()):
            self.slots.wake()

    def ended(self) -> None:
        """Take note that a trial of the run has ended."""
        self.slots.rotation.ended(self.run)
        self.slots.wake()

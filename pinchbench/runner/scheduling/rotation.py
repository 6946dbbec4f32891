"""Whose turn it is where several runs share slots: a task's trials run close together in time (pure)."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Rotation:
    """Shares slots among runs that make the same trials in the same order. Times are monotonic seconds.

    In each round every run starts one trial, in the order of that round. A run that can start nothing now is passed
    over, and catches up when it can. No trial starts before every run is ready or has left: the first trials of those
    that are ready early would run at another time than those of the others.
    """

    def __init__(self, runs: Iterable[str], *, slots: int, seed: int) -> None:
        """`runs` are their names. `slots` is how many trials may run at once, those of all runs together.

        `seed` shuffles each round, so that no run is always the first.
        """
        self._seed = seed
        self._slots = slots
        self._preparing = set(runs)
        self._ready: set[str] = set()
        self._running = 0
        self._is_alone = False  # the trial that runs
        self._started = dict.fromkeys(self._preparing, 0)
        self._idle_until: dict[str, float] = {}

    @property
    def started(self) -> Mapping[str, int]:
        """How many trials of each run have been started."""
        return self._started

    @property
    def running(self) -> int:
        """How many trials of all runs are running."""
        return self._running

    def ready(self, run: str, *, done: int = 0) -> None:
        """Let a run take part; `done` of its trials have ended before."""
        self._preparing.discard(run)
        self._started[run] += done
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
        if self._preparing or self._is_alone or self._running >= self._slots:
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

    def began(self, run: str, *, is_alone: bool = False) -> None:
        """Take note that a run has started a trial; `is_alone`: none may start until it has ended."""
        self._is_alone = is_alone
        self._running += 1
        self._started[run] += 1

    def ended(self, run: str) -> None:
        """Take note that a trial of a run has ended, so that the run may be able to start another one."""
        self._running -= 1
        self._is_alone = False
        self._idle_until.pop(run, None)

    def _place(self, run: str) -> tuple[int, bytes]:
        started = self._started[run]
        return started, blake2b(f"{self._seed} {started} {run}".encode(), digest_size=8).digest()

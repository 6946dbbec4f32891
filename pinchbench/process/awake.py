"""Measures the time in which this process is awake: not suspended with its machine, and not stopped."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import Event, create_task_group, move_on_after

if TYPE_CHECKING:
    from collections.abc import Callable


# An event loop with a smaller delay is on a busy machine, not asleep: a swapping machine delays it by a second or two.
GAP_S = 5.0
# A machine needs at least this time to suspend and resume. Two clocks that are read one after the other may differ by
# less just because another process ran in between.
SUSPENSION_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The readings of two clocks, in seconds: one stops while the machine is suspended, the other continues."""

    awake_s: float
    passed_s: float


def read_clocks() -> Reading:
    """Read this system's clocks. If it has no clock that continues during suspension, both readings are equal."""
    awake_s = passed_s = time.monotonic()
    if sys.platform == "linux":
        passed_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    elif sys.platform == "darwin":  # there, `time.monotonic` uses another clock, which stops
        passed_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    return Reading(awake_s=awake_s, passed_s=passed_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """The source of readings, and how far apart two of them must be to indicate a stop, in seconds (positive)."""

    read: Callable[[], Reading] = read_clocks
    gap_s: float = GAP_S

    @property
    def tick_s(self) -> float:
        """The interval of readings in seconds, short enough that a delayed reading is not mistaken for a gap."""
        return self.gap_s / 5


class AwakeTimer:
    """Sums up the time awake and asleep between readings, and waits with time limits that count only the time awake.

    Readings must be taken once per tick. A suspension is detected by one clock advancing more than the other. A stop
    (Ctrl-Z, a paused container) is detected by two readings that are further apart than the gap. Such an interval
    counts as asleep completely: when the stop began is unknown, and it must not make a time limit expire. Clocks that
    jump back add nothing.
    """

    def __init__(self, clocks: Clocks, *, passed_s: float = 0.0) -> None:
        """Start with `passed_s` seconds awake."""
        self.awake_s = passed_s
        self.asleep_s = 0.0
        self._clocks = clocks
        self._last = clocks.read()

    def feed(self, reading: Reading) -> None:
        """Process the next reading."""
        awake_s = max(0.0, reading.awake_s - self._last.awake_s)
        suspended_s = reading.passed_s - self._last.passed_s - awake_s
        self._last = reading
        if awake_s > self._clocks.gap_s:
            self.asleep_s += awake_s
        else:
            self.awake_s += awake_s
        if suspended_s > SUSPENSION_S:
            self.asleep_s += suspended_s

    async def wait(self, *events: Event, until_s: float, held_s: Callable[[], float] = lambda: 0.0) -> bool:
        """Wait until one of the events is set. Returns False if `awake_s - held_s()` reaches `until_s` before that.

        After a suspension there is time left, so that events which occurred meanwhile are noticed before the limit.
        """
        while not any(event.is_set() for event in events):
            left_s = until_s + held_s() - self.awake_s
            if left_s <= 0:
                return False
            with move_on_after(min(left_s, self._clocks.tick_s)):
                await _first(*events)
            self.feed(self._clocks.read())
        return True


async def _first(*events: Event) -> None:
    """Wait until one of the events is set."""
    async with create_task_group() as group:

        async def wait(event: Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in events:
            group.start_soon(wait, event)

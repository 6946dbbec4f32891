"""How much of the time that passes this process is awake for: not suspended with its machine, not stopped."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import create_task_group, move_on_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import Event

# An event loop that is late by less than this is on a busy machine, not asleep: a machine in swap makes it wait
# for a second or two.
GAP_S = 5.0
# So long at least does it take a machine to go to sleep and to wake. Two clocks that are read one after the other
# may differ by less for no better reason than that another process had its turn in between.
SUSPENSION_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What two clocks show, in seconds: one stands still while the machine is suspended, the other goes on."""

    awake_s: float
    passed_s: float


def read_clocks() -> Reading:
    """Read this system's clocks. Where it has none that goes on in suspension, both readings are the same."""
    awake_s = passed_s = time.monotonic()
    if sys.platform == "linux":
        passed_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    elif sys.platform == "darwin":  # `time.monotonic` is another clock there, which stands still
        passed_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    return Reading(awake_s=awake_s, passed_s=passed_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """Where readings come from, and how far apart two of them must be to show a stop. Seconds, positive."""

    read: Callable[[], Reading] = read_clocks
    gap_s: float = GAP_S

    @property
    def tick_s(self) -> float:
        """How often to look: so often that a tick that comes late is not taken for a gap."""
        return self.gap_s / 5


class Wakefulness:
    """Adds up time awake and time asleep from one reading to the next, of which there must be one every tick.

    A suspension shows as growth of one clock over the other. A stop (Ctrl-Z, a paused container) shows as two
    readings that are further apart than the gap; such a stretch counts as asleep altogether, since nobody
    can tell when in it the stop came, and the time limits that are kept by it must not be reached by it. Clocks
    that jump back add nothing.
    """

    def __init__(self, first: Reading, *, gap_s: float = GAP_S) -> None:
        """Start both sums at zero."""
        self.awake_s = 0.0
        self.asleep_s = 0.0
        self._last = first
        self._gap_s = gap_s

    def feed(self, reading: Reading) -> None:
        """Take the next reading."""
        awake_s = max(0.0, reading.awake_s - self._last.awake_s)
        suspended_s = reading.passed_s - self._last.passed_s - awake_s
        self._last = reading
        if awake_s > self._gap_s:
            self.asleep_s += awake_s
        else:
            self.awake_s += awake_s
        if suspended_s > SUSPENSION_S:
            self.asleep_s += suspended_s


class AwakeTimer:
    """Waits for events within limits that count only the time in which this process is awake."""

    def __init__(self, clocks: Clocks, *, passed_s: float = 0.0) -> None:
        """Start to count at `passed_s`."""
        self._clocks = clocks
        self._passed_s = passed_s
        self._wakefulness = Wakefulness(clocks.read(), gap_s=clocks.gap_s)

    @property
    def awake_s(self) -> float:
        """How long this process has been awake since then, `passed_s` included."""
        return self._passed_s + self._wakefulness.awake_s

    @property
    def asleep_s(self) -> float:
        """How long it was not."""
        return self._wakefulness.asleep_s

    async def wait(self, *events: Event, until_s: float) -> bool:
        """Wait for one of the events. False when `awake_s` has reached `until_s` before any was set.

        On waking there is time left: what happened in the meantime is heard before the limit is.
        """
        while not any(event.is_set() for event in events):
            left_s = until_s - self.awake_s
            if left_s <= 0:
                return False
            with move_on_after(min(left_s, self._clocks.tick_s)):
                await _first(*events)
            self._wakefulness.feed(self._clocks.read())
        return True


async def _first(*events: Event) -> None:
    """Wait for one of the events."""
    [last, *others] = events
    if not others:
        await last.wait()
        return
    async with create_task_group() as group:

        async def wait(event: Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in others:
            group.start_soon(wait, event)
        await wait(last)

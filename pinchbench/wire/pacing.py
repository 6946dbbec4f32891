"""Pacing by request: how many requests to a provider may be in flight, and whose turn it is."""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope

if TYPE_CHECKING:
    from collections.abc import Callable

# Of the window, per refusal. Simulated, .85 and .1 used 88% of a moving limit, .9 and .1 90%, .9 and .2 93%.
DECREASE = 0.9
# Requests that each success adds: the window grows by this share while as many requests as fit are answered once.
INCREASE = 0.2
MAX_PAUSE_S = 120.0  # a longer `Retry-After` is a quota that is used up: the request is refused, and the trial sees it


class Window:
    """How many requests may be in flight: additive increase, multiplicative decrease (pure).

    There is no window before the first refusal, unless `max_requests` is set: a provider without a limit is not slowed.
    """

    def __init__(self, max_requests: int | None = None) -> None:
        """Start with `max_requests`, which it never exceeds."""
        self._max = max_requests
        self.size: float | None = max_requests
        self._decreased_at = float("-inf")
        self.paused_until = float("-inf")

    def has_room(self, in_flight: int, *, now: float) -> bool:
        """Whether another request may be sent."""
        return now >= self.paused_until and (self.size is None or in_flight < self.requests)

    @property
    def requests(self) -> int:
        """Its size in whole requests, once there is one."""
        return max(1, int(self.size or 0))

    def succeed(self) -> None:
        """Count a request that was not refused."""
        if self.size is not None:
            size = self.size + INCREASE
            self.size = size if self._max is None else min(size, self._max)

    def refuse(self, *, began_at: float, in_flight: int, now: float, retry_after_s: float | None) -> bool:
        """Count a 429, and return whether it made the window smaller.

        Requests that were sent before the last decrease do not make it smaller once more: they met the old window.

        Args:
            began_at: When the refused request was sent.
            in_flight: The number of requests in flight, the refused one included.
            now: The time, on the clock of `began_at`.
            retry_after_s: What the provider asked for; no request is sent before.
        """
        if retry_after_s is not None:
            self.paused_until = max(self.paused_until, now + min(retry_after_s, MAX_PAUSE_S))
        if began_at < self._decreased_at:
            return False
        self._decreased_at = now
        size = in_flight if self.size is None else min(self.size, in_flight)
        self.size = max(1.0, size * DECREASE)
        return True


class Pacer:
    """Admits requests to one provider. Each trial has a queue, and the queues take turns. Not thread-safe."""

    def __init__(self, max_requests: int | None = None, *, changed: Callable[[int], None] | None = None) -> None:
        """`changed` is called with the window when a refusal has changed it."""
        self._window = Window(max_requests)
        self._in_flight = 0
        self._queues: OrderedDict[str, deque[anyio.Event]] = OrderedDict()
        self._changed = changed

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return sum(map(len, self._queues.values()))

    async def acquire(self, trial: str, *, waits: Callable[[], None] | None = None) -> float:
        """Wait for this trial's turn, and return when it came, on the clock of anyio.

        The caller must call `succeed` or `refuse` and then `release`, unless it is cancelled while it waits. `waits` is
        called if it is not this trial's turn at once.
        """
        if self._queues or not self._has_room():
            if waits is not None:
                waits()
            await self._wait(trial)
        else:
            self._in_flight += 1
        return anyio.current_time()

    def release(self) -> None:
        """End a request."""
        self._in_flight -= 1
        self._admit()

    def succeed(self) -> None:
        """Count a request that was not refused."""
        self._window.succeed()
        self._admit()

    def refuse(self, began_at: float, retry_after_s: float | None) -> None:
        """Count a 429 for a request that was sent at `began_at`."""
        is_smaller = self._window.refuse(
            began_at=began_at, in_flight=self._in_flight, now=anyio.current_time(), retry_after_s=retry_after_s
        )
        if is_smaller and self._changed is not None:
            self._changed(self._window.requests)

    async def _wait(self, trial: str) -> None:
        admitted = anyio.Event()
        self._queues.setdefault(trial, deque()).append(admitted)
        try:
            while not admitted.is_set():
                # Nobody else wakes the queue at the end of a pause: each waiter does.
                paused_until = self._window.paused_until
                is_paused = anyio.current_time() < paused_until
                with CancelScope(deadline=paused_until if is_paused else math.inf):
                    await admitted.wait()
                self._admit()
        except BaseException:
            if admitted.is_set():
                self.release()
            else:
                self._forget(trial, admitted)
            raise

    def _has_room(self) -> bool:
        return self._window.has_room(self._in_flight, now=anyio.current_time())

    def _admit(self) -> None:
        while self._queues and self._has_room():
            trial, queue = next(iter(self._queues.items()))
            queue.popleft().set()
            self._in_flight += 1
            self._queues.move_to_end(trial)
            if not queue:
                del self._queues[trial]

    def _forget(self, trial: str, admitted: anyio.Event) -> None:
        queue = self._queues[trial]
        queue.remove(admitted)
        if not queue:
            del self._queues[trial]

"""How many trials may run at once: one more a round while the provider keeps up, half when it does not (pure)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RateLimit:
    """Additive increase, multiplicative decrease, as TCP does it: it comes near a limit that nobody states.

    A round is what starts between two cuts. Times are monotonic seconds. Runs that ask one provider may share it.
    """

    def __init__(self, most: int, *, delay_s: float, jitter: Callable[[], float]) -> None:
        """Begin with `most`, at least 1.

        After a cut nothing starts for `delay_s` seconds times what `jitter` gives (0.5 to 1.5).
        """
        self.most = most  # trials at once when the provider keeps up
        self.limit = most  # as many may run now: 1 to `most`
        self._delay_s = delay_s
        self._jitter = jitter
        self._last_cut = -math.inf
        self.not_before = -math.inf  # when the next attempt may start
        self._passed = 0  # attempts without a 429 since the limit changed
        self._running = 0

    @property
    def is_full(self) -> bool:
        """Whether as many trials run as may."""
        return self._running >= self.limit

    def set_most(self, most: int) -> None:
        """Let at most so many trials run at once from now on, at least 1, and as many unless the provider is busy."""
        is_at_most = self.limit == self.most
        self.most = most
        self.limit = most if is_at_most else min(self.limit, most)

    def began(self) -> None:
        """Take note that a trial has started."""
        self._running += 1

    def ended(self) -> None:
        """Take note that a trial has ended."""
        self._running -= 1

    def limited(self, started_at: float, now: float) -> bool:
        """Take a 429 that an attempt has seen which began at `started_at`; whether the limit has changed.

        One cut a round: what ran already when the limit was cut has seen the same trouble. It is a new one if it is
        still there `delay_s` after the cut.
        """
        is_known = started_at <= self._last_cut and now < self._last_cut + self._delay_s
        if is_known:
            return False
        before = self.limit
        self.limit = max(1, before // 2)
        self._passed = 0
        self._last_cut = now
        self.not_before = now + self._delay_s * self._jitter()
        return self.limit != before

    def passed(self) -> bool:
        """Take the end of an attempt that saw no 429; whether the limit has changed.

        As many of them as may run at once make it one more.
        """
        if self.limit == self.most:
            return False
        self._passed += 1
        if self._passed < self.limit:
            return False
        self._passed = 0
        self.limit += 1
        return True

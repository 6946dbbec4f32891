"""How many trials run at once: near to what the provider serves, and back to all of them when it can."""

import heapq
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.runner.scheduling.rate_limit import RateLimit


def throttle(most: int, *, delay_s: float = 5, jitter: float = 1) -> RateLimit:
    return RateLimit(most, delay_s=delay_s, jitter=lambda: jitter)


@pytest.mark.parametrize("jitter", [0.5, 1.5])
def test_a_429_halves_the_limit_and_holds_new_attempts_up(jitter: float) -> None:
    one = throttle(9, jitter=jitter)
    assert one.limited(90, 100)
    assert (one.limit, one.not_before) == (4, 100 + 5 * jitter)
    assert one.limited(106, 107)
    assert (one.limit, one.not_before) == (2, 107 + 5 * jitter)


def test_one_round_cuts_once_however_many_saw_it() -> None:
    one = throttle(16)
    assert one.limited(0, 100)
    assert not any(one.limited(started_at, 101) for started_at in (0, 50, 99, 100))
    assert (one.limit, one.not_before) == (8, 105)


def test_an_attempt_that_sees_429s_long_after_the_cut_makes_another() -> None:
    one = throttle(16)
    assert one.limited(0, 100)
    assert not one.limited(0, 104.9)
    assert one.limited(0, 105)
    assert one.limit == 4
    assert not one.limited(0, 109.9), "counted from the last cut"


def test_as_many_ends_as_may_run_at_once_make_it_one_more() -> None:
    one = throttle(4)
    one.limited(0, 100)
    assert [one.passed() for _ in range(6)] == [False, True, False, False, True, False]
    assert one.limit == 4


@given(
    most=st.integers(1, 40),
    delay_s=st.floats(0, 100),
    steps=st.lists(st.tuples(st.booleans(), st.floats(0, 50), st.floats(0, 100), st.floats(0.5, 1.5))),
)
def test_it_stays_within_its_bounds_and_says_when_it_changes(
    most: int, delay_s: float, steps: list[tuple[bool, float, float, float]]
) -> None:
    jitters = iter([jitter for *_, jitter in steps])
    one = RateLimit(most, delay_s=delay_s, jitter=lambda: next(jitters))
    now = 0.0
    for is_busy, passes_s, ago_s, _ in steps:
        now += passes_s
        before = one.limit
        changed = one.limited(now - ago_s, now) if is_busy else one.passed()
        assert changed == (one.limit != before)
        assert 1 <= one.limit <= most
        assert one.not_before <= now + 1.5 * delay_s


# A provider that serves only so many trials at once


@dataclass(order=True, kw_only=True, slots=True)
class Running:
    until: float
    order: int
    began: float = field(compare=False)
    is_busy: bool = field(compare=False)


class Provider:
    """Serves `capacity` trials at once, half a minute each; one more is refused and ends after a second."""

    def __init__(self, one: RateLimit, *, capacity: int, seed: int) -> None:
        self.throttle = one
        self.capacity = capacity
        self.limits: list[int] = []
        self.refused = 0
        self._random = Random(seed)
        self._running: list[Running] = []
        self._count = 0
        self._now = 0.0

    def run(self, trials: int) -> None:
        """Run as many trials to their end as fast as the throttle allows, and keep each limit that was in force."""
        self.limits.clear()
        served = 0
        while served < trials:
            while len(self._running) < self.throttle.limit and self._now >= self.throttle.not_before:
                self._start()
            if not self._running or (
                self._now < self.throttle.not_before < self._running[0].until
                and len(self._running) < self.throttle.limit
            ):
                self._now = self.throttle.not_before
                continue
            ended = heapq.heappop(self._running)
            self._now = ended.until
            if ended.is_busy:
                self.refused += 1
                self.throttle.limited(ended.began, self._now)
            else:
                served += 1
                self.throttle.passed()
            self.limits.append(self.throttle.limit)

    def _start(self) -> None:
        is_busy = sum(not one.is_busy for one in self._running) >= self.capacity
        takes_s = 1.0 if is_busy else self._random.uniform(20, 40)
        self._count += 1
        one = Running(until=self._now + takes_s, order=self._count, began=self._now, is_busy=is_busy)
        heapq.heappush(self._running, one)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 8, 13, 31])
def test_the_limit_settles_near_what_the_provider_serves_and_comes_back(capacity: int, seed: int) -> None:
    most = 32
    random = Random(seed)
    provider = Provider(
        RateLimit(most, delay_s=5, jitter=lambda: random.uniform(0.5, 1.5)), capacity=capacity, seed=seed
    )
    provider.run(200)
    assert set(provider.limits) <= set(range(1, most + 1))
    provider.run(2000)
    assert capacity / 2 <= min(provider.limits)
    assert max(provider.limits) <= capacity + 1
    refused = provider.refused
    provider.capacity = most
    provider.run(2000)
    assert provider.limits[-1] == most
    assert provider.refused <= refused + most
    provider.run(500)
    assert set(provider.limits) == {most}

"""How many trials run at once: near to what the provider serves, and back to all of them when it can."""

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

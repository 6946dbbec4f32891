"""Time awake and time asleep, from made-up clocks and from this system's."""

import time

import pytest
from anyio import Event
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.process.awake import AwakeTimer, Clocks, Reading, read_clocks

pytestmark = pytest.mark.virtual_clock

TIMES = st.floats(min_value=-1e9, max_value=1e9)
READINGS = st.builds(lambda awake_s, passed_s: Reading(awake_s=awake_s, passed_s=passed_s), TIMES, TIMES)


def fed(*readings: tuple[float, float]) -> AwakeTimer:
    first, *others = [Reading(awake_s=awake_s, passed_s=passed_s) for awake_s, passed_s in readings]
    wakefulness = AwakeTimer(Clocks(read=lambda: first))
    for one in others:
        wakefulness.feed(one)
    return wakefulness


@pytest.mark.parametrize(
    ("readings", "awake_s", "asleep_s"),
    [
        pytest.param([(10, 50), (11, 51), (12, 52)], 2, 0, id="awake all the time"),
        pytest.param([(10, 50), (11, 51), (15, 55)], 5, 0, id="a busy machine that is late"),
        pytest.param([(10, 50), (11, 111), (12, 112)], 2, 60, id="suspended"),
        pytest.param([(10, 50), (11, 51), (71, 111), (72, 112)], 2, 60, id="stopped"),
        pytest.param([(10, 50), (20, 120), (21, 121)], 1, 70, id="stopped and then suspended"),
        pytest.param([(10, 50), (11, 111), (12, 212)], 2, 160, id="suspended twice"),
        pytest.param([(10, 50), (11, 51.4), (12, 52)], 2, 0, id="another process between two clocks"),
        pytest.param([(10, 50), (8, 48), (9, 49)], 1, 0, id="both jump back"),
        pytest.param([(10, 50), (11, 20), (12, 21)], 2, 0, id="one jumps back"),
    ],
)
def test_each_way_in_which_time_passes(readings: list[tuple[float, float]], awake_s: float, asleep_s: float) -> None:
    wakefulness = fed(*readings)
    assert (wakefulness.awake_s, wakefulness.asleep_s) == (awake_s, asleep_s)


@given(st.lists(READINGS, min_size=1), st.floats(min_value=0.01, max_value=100))
def test_whatever_the_clocks_show_both_sums_only_grow(readings: list[Reading], gap_s: float) -> None:
    wakefulness = AwakeTimer(Clocks(read=lambda: readings[0], gap_s=gap_s))
    for reading in readings:
        before = wakefulness.awake_s, wakefulness.asleep_s
        wakefulness.feed(reading)
        assert before[0] <= wakefulness.awake_s <= before[0] + gap_s
        assert before[1] <= wakefulness.asleep_s


def test_this_systems_clocks_go_on_and_the_awake_one_is_the_event_loops() -> None:
    before, first, second, after = time.monotonic(), read_clocks(), read_clocks(), time.monotonic()
    assert before <= first.awake_s <= second.awake_s <= after
    assert first.passed_s <= second.passed_s


async def test_time_in_which_others_were_waited_for_does_not_count() -> None:
    now_s, held_s = 0.0, 0.0

    def read() -> Reading:
        nonlocal now_s, held_s
        now_s += 1.0
        if now_s <= 10:
            held_s += 1.0  # all of the first ten seconds
        return Reading(awake_s=now_s, passed_s=now_s)

    timer = AwakeTimer(Clocks(read=read))

    assert not await timer.wait(Event(), until_s=3, held_s=lambda: held_s)
    assert held_s == 10.0

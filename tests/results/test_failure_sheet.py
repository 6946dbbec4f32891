"""Events of trials, added up: the sums, and intervals that know that occasions in one trial are alike."""

import random

import pytest

from pinchbench.defaults import FailureEvent
from pinchbench.results.failure_sheet import failure_sheet

LIE, HARM = FailureEvent.FALSE_CLAIM, FailureEvent.HARMED


def test_events_are_added_up_over_the_trials_that_had_an_occasion() -> None:
    sheet = failure_sheet([{LIE: (2, 30), HARM: (0, 0)}, {LIE: (0, 10)}, {}, {LIE: (0, 0)}])
    assert list(sheet) == [LIE]
    assert (sheet[LIE].n, sheet[LIE].of, sheet[LIE].trials) == (2, 40, 2)
    assert sheet[LIE].low < 0.05 < sheet[LIE].high


@pytest.mark.parametrize("counts", [[(0, 96)], [(0, 8)] * 12, [(8, 8)] * 12, [(0, 8), (8, 8)]])
def test_an_interval_holds_its_share_and_stays_in_0_to_1(counts: list[tuple[int, int]]) -> None:
    [total] = failure_sheet([{LIE: one} for one in counts]).values()
    assert 0 <= total.low <= total.share <= total.high <= 1
    assert total.low < total.high


def test_occasions_in_one_trial_are_worth_less_than_those_of_several() -> None:
    [spread] = failure_sheet([{LIE: (1, 8)}] * 6 + [{LIE: (2, 8)}] * 6).values()
    [lumped] = failure_sheet([{LIE: (0, 8)}] * 9 + [{LIE: (6, 8)}] * 3).values()
    assert (spread.n, spread.of) == (lumped.n, lumped.of)
    assert lumped.high - lumped.low > 1.5 * (spread.high - spread.low)


def test_the_interval_covers_the_truth_where_trials_differ() -> None:
    chance, covered, times = random.Random(7), 0, 400
    for _ in range(times):
        trials = []
        for _ in range(12):
            tendency = chance.betavariate(1, 3)  # mean 0.25
            trials.append({LIE: (sum(chance.random() < tendency for _ in range(8)), 8)})
        [total] = failure_sheet(trials).values()
        covered += total.low <= 0.25 <= total.high
    assert covered >= 0.92 * times

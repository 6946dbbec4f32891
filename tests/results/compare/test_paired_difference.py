"""Differences of scores paired by task: against SciPy, brute force and simulation."""

from collections.abc import Sequence
from itertools import product
from random import Random

import numpy as np
import pytest
import scipy  # type: ignore[import-untyped]  # the part that is used is imported when it is: that takes a second
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.calibration import SHAPES, Shape, coverage, pairs_of, told_apart
from pinchbench.results.compare.comparison import Conclusion, verdict_of
from pinchbench.results.compare.paired_difference import (
    EXACT_TASKS,
    FEWEST_TASKS,
    Difference,
    Pair,
    difference_of,
    holm,
    needed,
)

SCORE = st.one_of(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), st.floats(0, 1))
SCORES = st.lists(SCORE, min_size=1, max_size=4).map(tuple)
PAIRS = st.lists(st.builds(Pair, a=SCORES, b=SCORES), max_size=12)
CONTINUOUS, QUARTERS, DIFFERENT, MOSTLY, ALIKE, CEILINGED = SHAPES


def _pairs(differences: Sequence[float]) -> list[Pair]:
    """Tasks with one trial a side that differ by so much."""
    return [Pair(a=(max(0.0, -one),), b=(max(0.0, one),)) for one in differences]


def _mirrored(pairs: Sequence[Pair]) -> list[Pair]:
    return [Pair(a=pair.b, b=pair.a) for pair in pairs]


# The difference and its interval


def test_no_task_has_no_difference_and_a_single_one_neither_interval_nor_test() -> None:
    assert difference_of([]) == Difference()
    assert difference_of([Pair(a=(0.25, 0.75), b=(1.0,))]) == Difference(mean=0.5, tasks=1)


def test_each_task_weighs_the_same_however_often_it_was_run() -> None:
    often, once = Pair(a=(0.0,) * 9, b=(1.0,) * 7), Pair(a=(0.5,), b=(0.5,))
    assert difference_of([often, once]).mean == 0.5


@pytest.mark.parametrize("tasks", [6, 12, 40])
def test_where_tasks_vary_to_both_sides_it_is_students_interval_of_scipy(tasks: int) -> None:
    deviations = np.random.default_rng(tasks).uniform(0.05, 0.4, tasks // 2)
    differences = 0.1 + np.concatenate((deviations, -deviations))
    expected = scipy.stats.t.interval(0.95, tasks - 1, 0.1, scipy.stats.sem(differences))
    found = difference_of(_pairs(differences.tolist()), flips=1)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-4)


def test_a_long_tail_makes_the_interval_reach_further_on_its_side_alone() -> None:
    differences = [0.05, 0.1, 0.12, 0.15, 0.15, 0.18, 0.2, 0.2, 0.25, -0.4]
    low, high = scipy.stats.t.interval(0.95, 9, np.mean(differences), scipy.stats.sem(differences))
    found = difference_of(_pairs(differences), flips=1)
    assert found.low is not None
    assert found.low < low - 0.02
    assert found.high == pytest.approx(high, abs=1e-4)


@pytest.mark.parametrize("tasks", [2, 6, 40])
def test_tasks_that_do_not_differ_do_not_prove_that_none_does(tasks: int) -> None:
    wilson = scipy.stats.binomtest(0, tasks).proportion_ci(method="wilson").high
    found = difference_of(_pairs([0.0] * tasks), flips=1)
    assert (found.low, found.mean, found.high) == pytest.approx((-wilson, 0.0, wilson))


@pytest.mark.parametrize("difference", [0.1, -0.5, 1.0])
def test_equal_differences_do_not_prove_that_all_are(difference: float) -> None:
    found = difference_of(_pairs([difference] * 8))
    assert found.mean == difference
    assert (found.low, found.high) == pytest.approx(
        (max(-1.0, difference - 0.324), min(1.0, difference + 0.324)), abs=0.001
    )


@given(PAIRS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_tasks_and_repetitions_changes_no_bit(pairs: list[Pair], source: Random) -> None:
    shuffled = [
        Pair(a=tuple(source.sample(pair.a, len(pair.a))), b=tuple(source.sample(pair.b, len(pair.b)))) for pair in pairs
    ]
    source.shuffle(shuffled)
    assert difference_of(shuffled, flips=200) == difference_of(pairs, flips=200)


@given(PAIRS)
@settings(max_examples=40)
def test_the_sides_swapped_give_the_mirrored_result(pairs: list[Pair]) -> None:
    found, swapped = difference_of(pairs, flips=200), difference_of(_mirrored(pairs), flips=200)
    assert (swapped.p, swapped.is_exact, swapped.tasks) == (found.p, found.is_exact, found.tasks)
    if found.mean is not None:
        assert swapped.mean == pytest.approx(-found.mean)
    if found.low is not None and found.high is not None:
        assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low))


@given(PAIRS)
@settings(max_examples=40)
def test_what_is_reported_is_in_its_range(pairs: list[Pair]) -> None:
    found, outlook = difference_of(pairs, flips=200), needed(pairs)
    assert (found.p is None) == (len(pairs) < FEWEST_TASKS)
    assert found.p is None or 0.0 < found.p <= 1.0
    if found.mean is not None and found.low is not None and found.high is not None:
        assert -1.0 <= found.low <= found.mean <= found.high <= 1.0
        assert found.low < found.high
    assert outlook.detectable is None or 0.0 < outlook.detectable <= 1.0
    assert outlook.repetitions is None or outlook.repetitions >= 1
    assert outlook.tasks is None or outlook.tasks >= FEWEST_TASKS


# The test


@pytest.mark.parametrize(
    "differences", [[0.1, 0.2, 0.3, 0.4, -0.1, 0.05], [0.5] * 7, [0.3, -0.2, 0.0, 0.1, 0.7, 0.0, 0.4]]
)
def test_the_p_of_few_tasks_counts_all_ways_to_turn_signs(differences: list[float]) -> None:
    ways = [
        sum(sign * one for sign, one in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(abs(way) >= abs(sum(differences)) - 1e-9 for way in ways) / len(ways)
    found = difference_of(_pairs(differences))
    assert found.p == pytest.approx(expected)
    assert found.is_exact


def test_the_p_of_many_tasks_is_near_the_exact_one_and_always_the_same() -> None:
    differences = np.random.default_rng(3).normal(0.05, 0.2, EXACT_TASKS).clip(-1, 1).tolist()
    exact = difference_of(_pairs(differences))
    sampled = difference_of(_pairs([*differences, 1e-6]))  # one more that hardly matters
    assert (exact.is_exact, sampled.is_exact) == (True, False)
    assert exact.p is not None
    assert sampled.p == pytest.approx(exact.p, abs=0.02)
    assert sampled == difference_of(_pairs([*differences, 1e-6]))


def test_of_unequal_numbers_of_trials_the_p_is_that_of_dealing_them_out_where_that_is_larger() -> None:
    pairs = [Pair(a=(1.0,), b=(1.0, 1.0, 1.0, 1.0, 0.0))] * 6
    found = difference_of(pairs)
    # of A's six trials none is one of the six lost: (5/6)⁶; six or more lost by A differ by more; signs alone: 2/2⁶
    sums = np.array([-0.2 * (6 - lost) + lost for lost in range(7)])
    chances = scipy.stats.binom.pmf(range(7), 6, 1 / 6)
    expected = chances[np.abs(sums) >= 1.2 - 1e-9].sum()
    assert expected > 0.3
    assert found.p == pytest.approx(expected, abs=0.02)
    assert not found.is_exact
    assert difference_of(_mirrored(pairs)).p == found.p


def test_the_same_model_run_once_and_five_times_is_called_different_in_at_most_one_of_twenty_pairs() -> None:
    source, told = np.random.default_rng(6), 0
    for _ in range(150):
        a, b = ALIKE.draw(source, tasks=40, runs=6, worse=0.0)
        found = difference_of(pairs_of(a[:, :1], b[:, 1:]), flips=300)
        told += verdict_of(found, found.p) is not Conclusion.CANT_TELL
    assert told <= scipy.stats.binom.ppf(0.999, 150, 0.05)  # 13% with turned signs alone


# Several comparisons


def test_holms_adjustment_is_that_of_a_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.2]) == (0.2,)
    assert holm([None, 0.5, None, 0.9]) == (None, 1.0, None, 1.0)
    assert holm([]) == ()


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=6))
def test_an_adjusted_p_is_never_smaller_and_keeps_the_order(values: list[float | None]) -> None:
    told = [(value, after) for value, after in zip(values, holm(values), strict=True) if value is not None]
    assert all(after is not None and value <= after <= 1.0 for value, after in told)
    afters = [after for _, after in sorted(told, key=lambda one: one[0])]
    assert afters == sorted(afters, key=lambda one: one or 0.0)


# What would tell


def _simulated(*, tasks: int, runs: int, shift: float, between: float, within: float, seed: int) -> list[Pair]:
    """Tasks around 0.5 whose true differences scatter by `between`, and their trials by `within`."""
    source = np.random.default_rng(seed)
    true = shift + between * source.standard_normal(tasks)
    a = (0.5 + within * source.standard_normal((tasks, runs))).clip(0, 1)
    b = (0.5 + true[:, None] + within * source.standard_normal((tasks, runs))).clip(0, 1)
    return [Pair(a=tuple(one), b=tuple(other)) for one, other in zip(a.tolist(), b.tolist(), strict=True)]


def _with_mean(pairs: Sequence[Pair], mean: float) -> list[Pair]:
    """Shift B so that the difference seen is just that."""
    off = mean - float(np.mean([pair.difference for pair in pairs]))
    return [Pair(a=pair.a, b=tuple(score + off for score in pair.b)) for pair in pairs]


def test_as_many_repetitions_as_needed_tell_the_difference_four_times_in_five() -> None:
    seen = _with_mean(_simulated(tasks=200, runs=4, shift=0.0, between=0.02, within=0.15, seed=1), 0.05)[:12]
    outlook = needed(_with_mean(seen, 0.05))
    assert outlook.repetitions is not None
    told = 0
    for seed in range(300):
        found = difference_of(
            _simulated(tasks=12, runs=outlook.repetitions, shift=0.05, between=0.02, within=0.15, seed=seed)
        )
        told += verdict_of(found, found.p) is Conclusion.B_BETTER
    assert 0.68 < told / 300 < 0.95  # the variances are known from twelve tasks only


def test_as_many_tasks_as_needed_tell_the_difference_four_times_in_five() -> None:
    seen = _with_mean(_simulated(tasks=40, runs=2, shift=0.0, between=0.1, within=0.1, seed=1), 0.05)
    outlook = needed(seen)
    assert outlook.tasks is not None
    told = 0
    for seed in range(200):
        found = difference_of(
            _simulated(tasks=outlook.tasks, runs=2, shift=0.05, between=0.1, within=0.1, seed=seed), flips=500
        )
        told += verdict_of(found, found.p) is Conclusion.B_BETTER
    assert 0.65 < told / 200 < 0.95


def test_repetitions_do_not_help_where_the_tasks_themselves_differ() -> None:
    outlook = needed(_with_mean(_simulated(tasks=10, runs=5, shift=0, between=0.2, within=0.01, seed=3), 0.05))
    assert outlook.is_scatter_known
    assert outlook.repetitions is None
    assert outlook.tasks is not None
    assert outlook.tasks > 50


@given(PAIRS.filter(lambda pairs: len(pairs) >= FEWEST_TASKS))
@settings(max_examples=40)
def test_what_would_be_reported_and_how_many_tasks_would_tell_agree(pairs: list[Pair]) -> None:
    mean, outlook = difference_of(pairs, flips=1).mean, needed(pairs)
    assert mean is not None
    assert outlook.detectable is not None
    if outlook.tasks is not None and outlook.detectable < 1.0:
        assert (outlook.detectable <= abs(mean)) == (outlook.tasks <= len(pairs))


# Simulation: tests/bench/calibration.py has the whole table


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("runs", [1, 3])
def test_the_same_model_twice_is_called_different_in_at_most_one_of_twenty_pairs(shape: Shape, runs: int) -> None:
    found = told_apart(shape, tasks=10, runs=runs, worse=0.0, pairs=400)
    assert found <= scipy.stats.binom.ppf(0.999, 400, 0.05) / 400


@pytest.mark.parametrize(
    ("shape", "tasks"),
    [(CONTINUOUS, 6), (CONTINUOUS, 12), (CONTINUOUS, 40), (QUARTERS, 20), (DIFFERENT, 40)],
    ids=lambda one: one.name if isinstance(one, Shape) else str(one),
)
@pytest.mark.parametrize("worse", [0.0, 0.1])
def test_an_interval_holds_the_true_difference_95_times_in_100(shape: Shape, tasks: int, worse: float) -> None:
    found = coverage(shape, tasks=tasks, runs=3, worse=worse, pairs=500)
    low, high = scipy.stats.binom.ppf([0.001, 0.999], 500, [0.94, 0.965]) / 500
    assert low <= found <= high

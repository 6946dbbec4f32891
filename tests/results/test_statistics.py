"""Means, intervals, pass rates and shares of events: against SciPy, textbooks, brute force and simulation."""

import math
import random
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
import scipy  # type: ignore[import-untyped]  # the part that is used is imported when it is: that takes a second
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import float64
from numpy.random import Generator
from numpy.typing import NDArray

from pinchbench.defaults import FailureEvent
from pinchbench.results.statistics import (
    PassRate,
    estimate,
    failure_sheet,
    pass_at_k,
    pass_hat_k,
    pass_ks,
    pass_rates,
    standard_error,
    summarise,
)

Table = NDArray[float64]
Kind = Callable[[Generator, tuple[int, int]], Table]  # draws the scores of so many tasks and repetitions
SCORE = st.one_of(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), st.floats(0, 1))
SCORES_BY_TASK = st.lists(st.lists(SCORE, max_size=5), max_size=8)


# Summary


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
@settings(max_examples=40)
def test_a_summary_is_that_of_scipy(values: list[float]) -> None:
    told = summarise(values)
    assert (told.n, told.minimum, told.maximum) == (len(values), min(values), max(values))
    assert told.mean == pytest.approx(float(np.mean(values)), abs=1e-6)
    assert told.sd == pytest.approx(float(scipy.stats.sem(values)) * math.sqrt(len(values)), abs=1e-5)


# The standard error


@pytest.mark.parametrize("n", [6, 12, 40])
def test_with_one_run_a_task_the_standard_error_is_scipys_bootstrap_freed_of_its_bias(n: int) -> None:
    scores = np.random.default_rng(n).beta(2, 1.3, n)
    theirs = scipy.stats.bootstrap((scores,), np.mean, n_resamples=4000, method="percentile", rng=1).standard_error
    assert standard_error(tuple((score,) for score in scores.tolist())) == pytest.approx(
        theirs * math.sqrt(n / (n - 1)), rel=0.08
    )


@given(st.lists(st.lists(SCORE, min_size=1, max_size=5), min_size=2, max_size=8))
@settings(max_examples=40)
def test_with_ragged_runs_the_standard_error_is_that_of_the_task_means_or_what_their_repetitions_vary_by(
    tasks: list[list[float]],
) -> None:
    between = float(scipy.stats.sem([np.mean(task) for task in tasks]))
    within = math.sqrt(sum(float(scipy.stats.sem(task)) ** 2 for task in tasks if len(task) > 1)) / len(tasks)
    found = standard_error(tuple(tuple(sorted(task)) for task in tasks))
    # 2000 draws know their deviation to 1.3%, rare scores to less
    assert found == pytest.approx(max(between, within), rel=0.15, abs=1e-12)


# The estimate


def test_each_task_weighs_the_same_however_often_it_was_run() -> None:
    told = estimate({"often": [1.0] * 9, "once": [0.0], "never": []})
    assert (told.mean, told.tasks, told.trials) == (0.5, 2, 10)


def test_a_single_task_has_the_interval_of_its_repetitions() -> None:
    scores = [0.2, 0.5, 0.4, 0.9]
    alone, apart = estimate([scores]), estimate([[score] for score in scores])
    assert (alone.mean, alone.low, alone.high) == (apart.mean, apart.low, apart.high)
    assert (alone.tasks, alone.trials, apart.tasks) == (1, 4, 4)


@pytest.mark.parametrize(("passed", "n"), [(6, 6), (0, 12), (40, 40), (5, 12), (1, 6), (20, 40)])
def test_scores_of_0_and_1_have_wilsons_interval(passed: int, n: int) -> None:
    expected = scipy.stats.binomtest(passed, n).proportion_ci(method="wilson")
    told = estimate([[float(number < passed)] for number in range(n)])
    assert (told.low, told.high) == pytest.approx((expected.low, expected.high))


def test_far_from_0_and_1_many_tasks_have_the_usual_t_interval() -> None:
    scores = np.random.default_rng(5).beta(8, 8, 100)
    expected = scipy.stats.t.interval(0.95, 99, scores.mean(), scipy.stats.sem(scores))
    told = estimate([[score] for score in scores.tolist()])
    assert (told.low, told.high) == pytest.approx(expected, abs=0.002)


def test_equal_scores_do_not_prove_that_all_are() -> None:
    perfect, halves = estimate([[1.0]] * 6), estimate([[0.5]] * 6)
    assert perfect.low is not None
    assert halves.low is not None
    assert perfect.low < 0.7
    assert halves.low < 0.3
    assert perfect.high == 1.0
    assert estimate([[0.3]] * 5 + [[0.1 + 0.2]]).low == pytest.approx(estimate([[0.3]] * 6).low)  # but for rounding


def low_of(scores: Sequence[float], *, as_one_task: bool) -> float:
    low = estimate([scores] if as_one_task else [[score] for score in scores]).low
    assert low is not None
    return low


@pytest.mark.parametrize("as_one_task", [False, True])
@pytest.mark.parametrize("score", [1.0, 0.9, 0.5])
@pytest.mark.parametrize("n", [2, 3, 6, 40])
def test_scores_that_hardly_differ_prove_hardly_more_than_equal_ones(as_one_task: bool, score: float, n: int) -> None:
    differences = [0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3]
    lows = [low_of([score] * (n - 1) + [score - less], as_one_task=as_one_task) for less in differences]
    wilson = scipy.stats.binomtest(n, n).proportion_ci(method="wilson").low
    assert lows[0] == pytest.approx(wilson) if score == 1.0 else lows[0] > 0
    assert max(lows) - min(lows) < 0.2 * (score - lows[0])  # was 0.999 of it


@given(SCORES_BY_TASK, st.randoms(use_true_random=False))
def test_the_order_of_tasks_and_repetitions_changes_no_bit(tasks: list[list[float]], source: Random) -> None:
    shuffled = [source.sample(task, len(task)) for task in source.sample(tasks, len(tasks))]
    by_id = {str(number): task for number, task in enumerate(shuffled)}
    assert estimate(tasks) == estimate(shuffled) == estimate(by_id)


@given(SCORES_BY_TASK)
def test_an_interval_contains_its_mean_and_stays_within_0_and_1(tasks: list[list[float]]) -> None:
    told = estimate(tasks, resampled=False)
    assert told.tasks == sum(map(bool, tasks))
    assert told.trials == sum(map(len, tasks))
    assert (told.mean is not None) == (told.trials > 0)
    assert (told.low is not None) == (told.high is not None) == (told.trials > 1)
    if told.mean is not None and told.low is not None and told.high is not None:
        assert 0.0 <= told.low <= told.mean <= told.high <= 1.0
        assert told.low < told.high
        assert {type(told.mean), type(told.low), type(told.high)} == {float}


@given(SCORES_BY_TASK)
def test_turning_every_score_round_turns_the_interval_round(tasks: list[list[float]]) -> None:
    told = estimate(tasks)
    turned = estimate([[1.0 - score for score in task] for task in tasks])
    if told.mean is not None:
        assert turned.mean == pytest.approx(1.0 - told.mean)
    if told.low is not None and told.high is not None:
        assert (turned.low, turned.high) == pytest.approx((1.0 - told.high, 1.0 - told.low), abs=0.05)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, math.inf])
def test_a_number_that_is_no_score_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="not in 0-1"):
        estimate([[0.5, wrong]])


# Coverage: the kinds of scores of the table next to the code


def points(a: float, b: float) -> Kind:
    """Scores around the ease of their task, which has this beta distribution."""

    def draw(source: Generator, size: tuple[int, int]) -> Table:
        ease = np.clip(source.beta(a, b, (size[0], 1)), 1e-6, 1 - 1e-6)
        return source.beta(ease * 8, (1 - ease) * 8, size)

    return draw


def passes(a: float, b: float) -> Kind:
    """Scores of 0 and 1, whose chance in a task has this beta distribution."""
    return lambda source, size: (source.random(size) < source.beta(a, b, (size[0], 1))).astype(float)


def quarters(source: Generator, size: tuple[int, int]) -> Table:
    return source.binomial(4, source.beta(1.5, 0.7, (size[0], 1)), size) / 4


def mixed(source: Generator, size: tuple[int, int]) -> Table:
    kind = source.random((size[0], 1))
    between = np.clip(source.random((size[0], 1)) + 0.1 * source.standard_normal(size), 0, 1)
    return np.where(kind < 0.6, 1.0, np.where(kind < 0.75, 0.0, between))


KINDS: dict[str, tuple[Kind, float]] = {  # and the mean of all tasks of the kind
    "beta around 0.60": (points(2, 1.3), 2 / 3.3),
    "beta skewed": (points(5, 1), 5 / 6),
    "passed or failed": (passes(0.4, 0.3), 4 / 7),
    "mostly passed": (passes(2, 0.3), 2 / 2.3),
    "nearly always passed": (passes(3, 0.1), 3 / 3.1),
    "quarters": (quarters, 1.5 / 2.2),
    "mixed": (mixed, 0.6 + 0.25 / 2),
    "equally hard": (lambda source, size: (source.random(size) < 0.6).astype(float), 0.6),
    "nearly all passed but for a few zeros": (
        lambda source, size: source.choice([1.0, 0.95, 0.0], p=[0.6, 0.3, 0.1], size=size),
        0.885,
    ),
    "nearly all passed but for a few low": (
        lambda source, size: source.choice([1.0, 0.9, 0.2], p=[0.5, 0.4, 0.1], size=size),
        0.88,
    ),
}


@pytest.mark.parametrize(
    ("kind", "tasks", "runs"), [*((kind, 6, 3) for kind in KINDS), ("nearly always passed", 12, 1)]
)
def test_an_interval_holds_the_true_mean_about_as_often_as_it_says(kind: str, tasks: int, runs: int) -> None:
    draw, truth = KINDS[kind]
    source = np.random.default_rng(99)
    hits = 0
    for _ in range(200):
        told = estimate(draw(source, (tasks, runs)).tolist(), resampled=False)
        assert told.low is not None
        assert told.high is not None
        hits += told.low <= truth <= told.high
    assert hits / 200 > 0.92  # 200 samples tell it to 1.5%; too wide only where tasks can't differ or nearly all pass


# Pass rates


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
@settings(max_examples=40)
def test_pass_rates_are_those_of_scipys_draws_without_replacement(counts: tuple[int, int, int]) -> None:
    n, c, k = counts
    draws = scipy.stats.hypergeom(n, c, k)
    assert pass_at_k(n, c, k) == pytest.approx(float(draws.sf(0)), abs=1e-9)
    assert pass_hat_k(n, c, k) == pytest.approx(float(draws.pmf(k)), abs=1e-9)
    assert 0.0 <= pass_hat_k(n, c, k) <= pass_at_k(n, c, k) <= 1.0


def test_a_pass_rate_is_a_mean_over_the_tasks_that_were_run_often_enough() -> None:
    scores = {"half": [1.0, 0.0], "all": [0.8, 0.9, 1.0], "once": [0.0], "never": []}
    assert pass_rates(scores, threshold=0.8, ks=(1, 2, 3, 4)) == {
        1: PassRate(pass_at_k=0.5, pass_hat_k=0.5, tasks=3),
        2: PassRate(pass_at_k=1.0, pass_hat_k=0.5, tasks=2),
        3: PassRate(pass_at_k=1.0, pass_hat_k=1.0, tasks=1),
        4: PassRate(pass_at_k=None, pass_hat_k=None, tasks=0),
    }


def test_a_score_that_rounding_took_below_the_threshold_passes() -> None:
    rounded = math.nextafter(0.8, 0)  # as a sum of eight times 0.1 may come out
    assert rounded < 0.8
    assert pass_rates([[rounded]], threshold=0.8, ks=[1])[1].pass_at_k == 1.0
    assert pass_rates([[0.799]], threshold=0.8, ks=[1])[1].pass_at_k == 0.0


@pytest.mark.parametrize(
    ("runs", "ks"),
    [
        (0, ()),
        (1, (1,)),
        (3, (1, 2, 3)),
        (5, (1, 2, 3, 4, 5)),
        (8, (1, 2, 3, 4, 5, 8)),
        (20, (1, 2, 3, 4, 5, 8, 16, 20)),
    ],
)
def test_the_ks_told_are_few_and_reach_the_number_of_runs(runs: int, ks: Sequence[int]) -> None:
    assert pass_ks(runs) == ks


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

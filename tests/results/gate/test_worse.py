"""The test of a run against its baseline: by hand, by its symmetries, and by simulation."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.calibration import SHAPES, Shape, pairs_of
from pinchbench.defaults import DEFAULT_MARGIN, MAX_RUNS
from pinchbench.results.compare.paired_difference import Difference, Pair
from pinchbench.results.gate.baseline_file import Stability
from pinchbench.results.gate.gate_record import GateVerdict
from pinchbench.results.gate.worse import GateEvidence, verdict_of, weigh
from sampling import sampled

SCORE = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
SCORES = st.lists(SCORE, min_size=1, max_size=6).map(tuple)
PAIRS = st.lists(st.builds(Pair, a=SCORES, b=SCORES), max_size=8)
STABILITY = st.one_of(st.none(), st.builds(Stability, min_trials=st.integers(1, 5), max_spread=st.floats(0, 1)))
ONES = (1.0,) * 5


def _weigh(*pairs: Pair, stability: Stability | None = None, margin: float = 0.05) -> GateEvidence:
    return weigh(pairs, stability=stability, margin=margin)


# The verdict


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (Difference(), GateVerdict.NOT_APPLICABLE),
        (Difference(mean=-0.5, p=0.5, tasks=1), GateVerdict.CANNOT_TELL),
        (Difference(mean=-0.5, p=0.01, tasks=9), GateVerdict.FAILED),
        (Difference(mean=-0.2, low=-0.3, high=-0.1, p=0.01, tasks=9), GateVerdict.FAILED),
        (Difference(mean=-0.2, low=-0.3, high=-0.1, p=0.05, tasks=9), GateVerdict.FAILED),
        (Difference(mean=-0.2, low=-0.5, high=0.1, p=0.06, tasks=9), GateVerdict.CANNOT_TELL),
        (Difference(mean=0.0, low=-0.05, high=0.05, p=0.5, tasks=9), GateVerdict.PASSED),
        (Difference(mean=0.0, low=-0.06, high=0.06, p=0.5, tasks=9), GateVerdict.CANNOT_TELL),
        # worse, but by less than matters
        (Difference(mean=-0.02, low=-0.03, high=-0.01, p=0.001, tasks=9), GateVerdict.PASSED),
        # a small p of a run that is not worse comes from a baseline whose stable tasks were lucky
        (Difference(mean=0.0, low=-0.1, high=0.1, p=0.04, tasks=9), GateVerdict.CANNOT_TELL),
    ],
)
def test_the_verdict_follows_from_the_interval_and_the_test(difference: Difference, verdict: GateVerdict) -> None:
    assert verdict_of(difference, margin=0.05) is verdict


# The evidence


def test_without_a_stable_task_there_is_no_evidence() -> None:
    assert _weigh() == GateEvidence()
    assert _weigh(Pair(a=(0.0, 1.0, 1.0, 1.0, 1.0), b=(0.0,)), stability=Stability()) == GateEvidence()


def test_one_trial_against_one_tells_neither_an_interval_nor_what_is_needed() -> None:
    found = _weigh(Pair(a=(1.0,), b=(0.0,)))
    assert (found.difference.mean, found.difference.low, found.needed) == (-1.0, None, None)
    assert found.difference.p == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("tasks", "p"), [(1, 1 / 6), (2, 1 / 36), (3, 1 / 216)])
def test_the_p_is_the_share_of_assignments_that_are_as_bad(tasks: int, p: float) -> None:
    """One failure after five successes: it would be this run's by chance one time in six."""
    pair = Pair(a=ONES, b=(0.0,))
    for stability in (None, Stability()):
        found = _weigh(*[pair] * tasks, stability=stability).difference
        assert found.p == pytest.approx(p, abs=0.01)


def test_the_luck_by_which_tasks_became_stable_is_no_evidence() -> None:
    """A task in quarantine counts in no mean, but it shows how often a stable one was only lucky."""
    lucky = [Pair(a=ONES, b=(0.0,))] * 2 + [Pair(a=ONES, b=(1.0,))] * 4
    unlucky = [Pair(a=(1.0, 1.0, 1.0, 1.0, 0.0), b=(1.0,))] * 10
    alone, together = _weigh(*lucky, stability=Stability()), _weigh(*lucky, *unlucky, stability=Stability())
    assert (together.difference.mean, together.difference.tasks) == (alone.difference.mean, alone.difference.tasks)
    assert alone.difference.p is not None
    assert alone.difference.p < 0.05
    assert together.difference.p is not None
    assert together.difference.p > 0.3


@given(PAIRS, STABILITY, st.floats(0, 1), st.randoms(use_true_random=False))
def test_the_order_changes_nothing_and_everything_is_in_its_range(
    pairs: list[Pair], stability: Stability | None, margin: float, source: Random
) -> None:
    found = weigh(pairs, stability=stability, margin=margin, deals=200)
    shuffled = [
        Pair(a=tuple(source.sample(pair.a, len(pair.a))), b=tuple(source.sample(pair.b, len(pair.b)))) for pair in pairs
    ]
    source.shuffle(shuffled)
    again = weigh(shuffled, stability=stability, margin=margin, deals=200)
    difference = found.difference
    assert again.difference.p == difference.p
    assert (again.trials, again.repetitions) == (found.trials, found.repetitions)
    assert verdict_of(difference, margin=margin) in GateVerdict
    if difference.mean is None:
        return
    assert again.difference.mean == pytest.approx(difference.mean)
    assert difference.p is not None
    assert 0.0 < difference.p <= 1.0
    assert found.needed is None or found.repetitions < found.needed <= MAX_RUNS
    if difference.low is not None and difference.high is not None:
        assert -1.0 <= difference.low <= difference.mean <= difference.high <= 1.0


@pytest.mark.parametrize("shape", sampled(SHAPES, SHAPES[:2]), ids=lambda shape: shape.name)
def test_the_same_model_fails_in_at_most_5_percent(shape: Shape) -> None:
    """The seed is fixed; of 150 pairs, 5% are 14 or fewer in 99 of 100 seeds."""
    source = np.random.default_rng(9)
    failed = missed = 0
    for _ in range(150):
        ease = shape.ease(source, 12)[:, None]
        drawn = pairs_of(shape.scores(source, ease, 5), shape.scores(source, ease, 2))
        found = weigh(drawn, stability=Stability(), margin=DEFAULT_MARGIN, deals=999).difference
        failed += verdict_of(found, margin=DEFAULT_MARGIN) is GateVerdict.FAILED
        missed += found.low is not None and found.low > 1e-9
    assert failed <= 14
    assert missed <= 8

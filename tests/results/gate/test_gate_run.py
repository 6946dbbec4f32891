"""A gate applied to stored runs; its test of a run against the baseline: by hand, by its symmetries, by simulation."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.calibration import SHAPES, Shape, pairs_of
from past_runs import Made, PlannedRun, write_run
from pinchbench.defaults import DEFAULT_MARGIN, MAX_RUNS
from pinchbench.model.ending import Reason
from pinchbench.results.compare.paired_difference import Difference, Pair
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.gate.baseline_file import Stability, baseline_of
from pinchbench.results.gate.gate_record import GateRecord, GateVerdict
from pinchbench.results.gate.gate_run import Gate, GateEvidence, verdict_of, weigh
from sampling import sampled

A, B = "20260102-030000-000a", "20260103-030000-000b"
TASKS = [f"task_{number}" for number in range(8)]


def _run(folder: Path, trials: Mapping[str, tuple[Made, ...]], run_id: str = B, **more: object) -> PastRun:
    return read_run(write_run(folder, PlannedRun(trials=trials, run_id=run_id, **more)))  # type: ignore[arg-type]


def _all(score: float | None, repetitions: int = 1, tasks: list[str] = TASKS) -> dict[str, tuple[Made, ...]]:
    return dict.fromkeys(tasks, (Made(score=score),) * repetitions)


def _gate(folder: Path, *, least: float | None = None, flaky: bool = True) -> Gate:
    """A gate with a baseline of seven tasks that score 0.9, and one that varies."""
    trials = _all(0.9, 5) | ({"task_0": tuple(Made(score=float(n % 2)) for n in range(5))} if flaky else {})
    baseline = baseline_of([_run(folder, trials, A)], Stability())
    return Gate(
        least_score=least, margin=0.05, name="baseline.json", baseline=baseline.side, stability=baseline.stability
    )


def _judge(gate: Gate, run: PastRun) -> GateRecord:
    return gate.judge(run, is_complete=True)


def test_a_worse_run_fails_with_the_difference_and_its_interval(tmp_path: Path) -> None:
    found = _judge(_gate(tmp_path), _run(tmp_path, _all(0.4)))
    assert found.verdict is GateVerdict.FAILED
    assert found.rules[0].sentence.startswith("Worse than the baseline: the difference is −0.500 (")
    assert found.rules[0].sentence.endswith("over 7 tasks, 7 trials.")
    assert found.baseline is not None
    assert found.baseline.quarantined == {"task_0": "varies: 0.00 to 1.00 in 5 trials"}
    assert found.baseline.mean == pytest.approx(-0.5)
    assert found.baseline.tasks == 7


def test_a_task_in_quarantine_does_not_count(tmp_path: Path) -> None:
    gate = _gate(tmp_path)
    scores = _all(0.9)
    good, bad = (
        _judge(gate, _run(tmp_path, scores | {"task_0": (Made(score=score),)}, run_id))
        for score, run_id in ((1.0, B), (0.0, "20260104-030000-000c"))
    )
    assert good.baseline is not None
    assert bad.baseline is not None
    assert (good.baseline.mean, good.baseline.low) == (bad.baseline.mean, bad.baseline.low) == (0.0, good.baseline.low)


def test_a_run_with_enough_equal_trials_passes(tmp_path: Path) -> None:
    found = _judge(_gate(tmp_path, flaky=False), _run(tmp_path, _all(0.95, 10)))
    assert found.verdict is GateVerdict.PASSED
    assert found.rules[0].sentence.startswith("Not worse than the baseline by more than 0.05: the difference is 0.050")


def test_where_the_data_cant_tell_it_says_how_many_repetitions_would(tmp_path: Path) -> None:
    trials = _all(0.9) | {"task_3": (Made(score=0.3),)}
    found = _judge(_gate(tmp_path), _run(tmp_path, trials))
    assert found.verdict is GateVerdict.CANNOT_TELL
    assert found.baseline is not None
    needed = found.baseline.repetitions_needed
    assert needed is not None
    assert needed > 1
    assert f"About {needed} repetitions of each task" in found.rules[0].sentence
    assert "now 1)" in found.rules[0].sentence


def test_a_task_that_was_changed_is_not_compared(tmp_path: Path) -> None:
    run = _run(tmp_path, _all(0.4, tasks=[*TASKS, "new"]), digests={"task_1": "0" * 64})
    found = _judge(_gate(tmp_path), run)
    assert found.baseline is not None
    assert found.baseline.tasks == 6
    assert found.baseline.unpaired == {
        "task_1": "not the same task on both sides: it was changed in between",
        "new": "only in this run",
    }


def test_what_differs_between_the_runs_is_said(tmp_path: Path) -> None:
    run = _run(tmp_path, _all(0.9), model="mock/m2", config={"thinking": "high"})
    found = _judge(_gate(tmp_path), run)
    assert found.baseline is not None
    assert found.baseline.warnings == (
        "The baseline is of mock/m1, this run of mock/m2.",
        "Different thinking level: the baseline default, this run high.",
    )


def test_trials_that_failed_for_infrastructure_reasons_are_no_evidence_of_being_worse(tmp_path: Path) -> None:
    broken = dict.fromkeys(TASKS[1:5], (Made(score=None, reason=Reason.PROVIDER_ERROR),))
    found = _gate(tmp_path, least=0.5).judge(_run(tmp_path, _all(0.9) | broken), is_complete=False)
    assert found.verdict is GateVerdict.CANNOT_TELL
    assert not found.is_complete
    assert found.baseline is not None
    assert found.baseline.unpaired == dict.fromkeys(TASKS[1:5], "no score in this run")


@pytest.mark.parametrize(
    ("score", "least", "verdict", "sentence"),
    [
        (0.4, 0.4, GateVerdict.PASSED, "The score 0.400 is not below 0.4."),
        (0.4, 0.5, GateVerdict.FAILED, "The score 0.400 is below 0.5."),
        (0.79996, 0.8, GateVerdict.FAILED, "The score 0.79996 is below 0.8."),
        (0.8 - 1e-12, 0.8, GateVerdict.PASSED, "The score 0.800 is not below 0.8."),
        (None, 0.1, GateVerdict.NOT_APPLICABLE, "The gate can't be applied: no trial has a score."),
    ],
)
def test_a_score_is_compared_with_the_least_one(
    tmp_path: Path, score: float | None, least: float, verdict: GateVerdict, sentence: str
) -> None:
    gate = Gate(least_score=least, margin=0.05)
    found = _judge(gate, _run(tmp_path, _all(score)))
    assert (found.verdict, found.baseline) == (verdict, None)
    assert (found.rules[0].rule, found.rules[0].sentence) == (f"score<{least:g}", sentence)


def test_the_severest_verdict_is_the_gates(tmp_path: Path) -> None:
    found = _judge(_gate(tmp_path, least=0.95), _run(tmp_path, _all(0.9)))
    assert [one.verdict for one in found.rules] == [GateVerdict.FAILED, GateVerdict.CANNOT_TELL]
    assert found.verdict is GateVerdict.FAILED


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

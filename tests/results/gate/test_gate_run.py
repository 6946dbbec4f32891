"""A gate applied to stored runs."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.gate.baseline_file import Stability, baseline_of
from pinchbench.results.gate.gate_record import GateRecord, GateVerdict
from pinchbench.results.gate.gate_run import Gate

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

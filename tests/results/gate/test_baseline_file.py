"""Which tasks of a baseline are stable."""

import json
from pathlib import Path

import msgspec
import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.results.finished_run import PastRun, read_run
from pinchbench.results.gate.baseline_file import (
    Baseline,
    Quarantine,
    Stability,
    baseline_of,
    find_baseline,
    read_baseline,
)


@pytest.mark.parametrize("scores", [(1.0,) * 5, (0.5, 0.75, 1.0, 0.9, 0.6), (0.0,) * 9])
def test_a_task_whose_scores_lie_together_is_stable(scores: tuple[float, ...]) -> None:
    assert Stability().quarantine(scores) is None


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (
            (1.0, 0.0, 1.0, 1.0, 1.0),
            Quarantine(reason="varies: 0.00 to 1.00 in 5 trials", trials=5, lowest=0.0, highest=1.0),
        ),
        (
            (1.0, 0.0),
            Quarantine(reason="too few repetitions: 2 with a score instead of 5", trials=2, lowest=0.0, highest=1.0),
        ),
        (
            (),
            Quarantine(reason="too few repetitions: 0 with a score instead of 5", trials=0, lowest=None, highest=None),
        ),
    ],
)
def test_others_are_in_quarantine_with_the_evidence(scores: tuple[float, ...], expected: Quarantine) -> None:
    assert Stability().quarantine(scores) == expected


A, B = "20260102-030000-000a", "20260103-030000-000b"


def _run(folder: Path, *scores: float, run_id: str = A, **settings: object) -> PastRun:
    """A run of a steady and a flaky task; `scores` are the flaky one's."""
    trials = {"steady": tuple(Made(score=0.9) for _ in scores), "flaky": tuple(Made(score=one) for one in scores)}
    config = {"openclaw": "/opt/claw/bin/openclaw", "tasks_dir": "/home/me/tasks", "isolation": "private"}
    return read_run(write_run(folder, PlannedRun(trials=trials, run_id=run_id, config={**config, **settings})))


def _write(folder: Path, baseline: Baseline) -> Path:
    path = folder / "baseline.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(baseline), indent=2))
    return path


def test_it_holds_scores_digests_and_conditions_and_no_path(tmp_path: Path) -> None:
    run = _run(tmp_path, 0, 1, 1, 0.5, 1)
    path = _write(tmp_path, baseline_of([run], Stability()))
    text = path.read_text(encoding="utf-8")
    baseline = read_baseline(path)

    assert baseline.tasks["steady"].scores == (0.9,) * 5
    assert baseline.tasks["steady"].digest == run.facts.tasks["steady"].digest
    assert baseline.settings["OpenClaw release"] == run.facts.versions["openclaw"]
    assert (baseline.model, baseline.runs) == ("mock/m1", (run.files.name,))
    assert [*baseline.quarantined] == ["flaky"]
    assert json.loads(text)["tasks"]["flaky"]["quarantined"] == {
        "reason": "varies: 0.00 to 1.00 in 5 trials",
        "trials": 5,
        "lowest": 0.0,
        "highest": 1.0,
    }
    for private in (str(tmp_path), "/opt", "/home", "/suite", "transcript", "file_there", "names its sources"):
        assert private not in text


def test_runs_that_were_made_otherwise_are_refused(tmp_path: Path) -> None:
    first = _run(tmp_path, 1, 1, 1, 1, 1)
    with pytest.raises(ConfigError, match=r"was not made like .*: thinking level high instead of default"):
        baseline_of([first, _run(tmp_path, 1, run_id=B, thinking="high")], Stability())
    with pytest.raises(ConfigError, match="named twice"):
        baseline_of([first, first], Stability())
    trials = {"steady": (Made(score=1.0),)}
    other = read_run(write_run(tmp_path, PlannedRun(trials=trials, model="mock/m2", run_id=B)))
    with pytest.raises(ConfigError, match="model mock/m2 instead of mock/m1"):
        baseline_of([first, other], Stability())
    changed = PlannedRun(
        trials=trials,
        run_id="20260104-030000-000c",
        digests={"steady": "0" * 64},
        config={"isolation": "private"},
    )
    with pytest.raises(ConfigError, match="other versions of steady"):
        baseline_of([first, read_run(write_run(tmp_path, changed))], Stability())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"schema": 1', '"schema": 2', r"baseline.json: Invalid .*schema"),
        ('"kind": "pinchbench-async baseline"', '"kind": "x"', r"baseline.json: Invalid .*kind"),
        ("0.9,", "1.9,", r"baseline.json: .*<= 1.* `\$.tasks\[...\].scores"),
        ("0.9,", "NaN,", r"baseline.json:\d+: .*"),
        ("0.9,", '"high",', r"baseline.json: Expected `float`"),
        ('"tasks"', "tasks", r"baseline.json:\d+: JSON is malformed"),
        ('"digest"', '"digset"', r"baseline.json: .*missing required field `digest`"),
    ],
)
def test_a_damaged_file_is_named_with_the_place_and_what_to_do(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = _write(tmp_path, baseline_of([_run(tmp_path, 1, 1, 1, 1, 1)], Stability()))
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ResultsError, match=said) as raised:
        read_baseline(path)
    assert "baseline RUN… -o baseline.json" in str(raised.value)


def test_a_name_is_a_file_a_run_or_a_model(tmp_path: Path) -> None:
    run = _run(tmp_path, 0, 1, 1, 1, 1)
    path = _write(tmp_path, baseline_of([run], Stability(max_spread=0.1)))
    side, stability = find_baseline(str(path), tmp_path)
    assert (side.model, stability) == ("mock/m1", Stability(max_spread=0.1))
    for name in (A, "mock/m1", str(run.files.folder), str(run.files.provenance)):
        found, no_stability = find_baseline(name, tmp_path)
        assert no_stability is None
        assert {task: one.scores for task, one in found.tasks.items()} == {
            task: one.scores for task, one in side.tasks.items()
        }
    with pytest.raises(ResultsError, match=r"no file or folder nowhere\.json"):
        find_baseline("nowhere.json", tmp_path)

"""The file of a baseline: what is in it, what is not, and what is said when it can't be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.results.finished_run import read_run
from pinchbench.results.gate.baseline import Baseline, baseline_of, find_baseline, read_baseline
from pinchbench.results.gate.stability import Stability

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.results.finished_run import PastRun

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


def test_trials_of_several_runs_are_pooled(tmp_path: Path) -> None:
    runs = [_run(tmp_path, 1, 1, 1), _run(tmp_path, 1, 1, run_id=B)]
    baseline = baseline_of(runs, Stability())
    assert {name: len(task.scores) for name, task in baseline.tasks.items()} == {"steady": 5, "flaky": 5}
    assert not baseline.quarantined


def test_a_task_with_too_few_trials_is_in_quarantine(tmp_path: Path) -> None:
    trials = {"often": (Made(score=1.0),) * 5, "seldom": (Made(score=1.0),) * 3}
    run = read_run(write_run(tmp_path, PlannedRun(trials=trials)))
    [(name, why)] = baseline_of([run], Stability()).quarantined.items()
    assert (name, why.reason) == ("seldom", "too few repetitions: 3 with a score instead of 5")


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


def test_without_a_stable_task_there_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"No task is stable enough .* 2 of 2 have fewer than 5 .*--runs"):
        baseline_of([_run(tmp_path, 1, 1)], Stability())


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
    assert "baseline save RUN… -o baseline.json" in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"\n", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_baseline_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(data)
    with pytest.raises(ResultsError, match="no baseline that can be used"):
        read_baseline(path)


def test_a_file_whose_tasks_are_all_in_quarantine_is_refused(tmp_path: Path) -> None:
    baseline = baseline_of([_run(tmp_path, 0, 1, 1, 1, 1)], Stability())
    path = _write(tmp_path, msgspec.structs.replace(baseline, stability=Stability(min_trials=6)))
    with pytest.raises(ResultsError, match="No task is stable enough"):
        read_baseline(path)


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

"""run.json, written once and read by everybody."""

import json
from pathlib import Path

import pytest

from pinchbench.errors import ResultsError
from pinchbench.model.task import GradingType
from pinchbench.model.trial import TrialKey
from pinchbench.results.manifest import RunFacts, TaskFacts, read_facts
from pinchbench.results.paths import write_json

FACTS = RunFacts(
    run_id="r",
    created_at=1.5,
    config={"model": "mock/m1", "judge": None},
    versions={"openclaw": "2026.9.6"},
    containment="guardian",
    agents=["bench-mock-m1"],
    suite={"folder": "/tasks"},
    tasks={"task_a": TaskFacts(digest="d", category="c", grading_type=GradingType.HYBRID, timeout_s=60.0)},
    plan=[("task_a", 1), ("task_a", 2)],
)


def test_what_was_written_is_read_whatever_else_a_newer_release_has_added(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", FACTS)
    assert read_facts(tmp_path / "run.json") == FACTS
    newer = json.loads((tmp_path / "run.json").read_text("utf-8")) | {"more": 1}
    write_json(tmp_path / "run.json", newer)
    read = read_facts(tmp_path / "run.json")
    assert read == FACTS
    assert read.keys == (TrialKey(task_id="task_a", repetition=1), TrialKey(task_id="task_a", repetition=2))


def test_a_file_that_is_missing_or_no_description_of_a_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="can't be read: No such file"):
        read_facts(tmp_path / "run.json")
    (tmp_path / "run.json").write_text('{"run_id": 7}', encoding="utf-8")
    with pytest.raises(
        ResultsError, match=r"run\.json: Expected `str`, got `int` - at `\$\.run_id`\. .* put back a copy"
    ):
        read_facts(tmp_path / "run.json")

"""The result JSON has one type: what an older release wrote is read, and written again, byte for byte."""

import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path

import msgspec
import pytest

from past_runs import PlannedRun, random_trials, write_run
from pinchbench.errors import ResultsError
from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.results.finished_run import derive_result, read_run
from pinchbench.results.paths import RunFiles, write_json
from pinchbench.results.result_json import GradeEntry, TrialEntry, read_aggregate

STORED = Path(__file__).parent / "stored_run" / "results"


@pytest.fixture
def stored(tmp_path: Path) -> RunFiles:
    """A run that an older release wrote, with its result: see `stored_run/generate.py`."""
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    return RunFiles(output_dir=tmp_path, name="mock-m1_20260102-030000-0001")


def test_an_old_run_is_aggregated_again_byte_for_byte(stored: RunFiles) -> None:
    before = stored.aggregate.read_bytes()
    stored.aggregate.unlink()

    derive_result(stored)

    assert stored.aggregate.read_bytes() == before


def test_an_old_result_is_read_as_what_its_journal_gives_and_written_byte_for_byte(stored: RunFiles) -> None:
    before = stored.aggregate.read_bytes()
    data = read_aggregate(stored.aggregate)

    write_json(stored.aggregate, data)

    assert data == read_run(stored).data
    assert stored.aggregate.read_bytes() == before


def test_what_is_read_from_a_result_is_what_was_written(tmp_path: Path) -> None:
    trials = random_trials(tasks=8, repetitions=3, trouble=0.5)
    result = derive_result(write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=1)))

    assert read_aggregate(result.path) == result.data


@pytest.mark.parametrize(("value", "kind"), [(Outcome, TrialEntry), (Grade, GradeEntry)])
def test_all_that_is_known_of_a_trial_but_its_key_is_in_the_result(value: type, kind: type[msgspec.Struct]) -> None:
    known = [field.name for field in fields(value) if field.name not in ("key", "files", "witnessed")]

    assert [name for name in kind.__struct_fields__ if name in known] == known


def _changed(files: RunFiles, added: Mapping[str, object], *, without: Collection[str] = ()) -> Path:
    data = json.loads(files.aggregate.read_bytes()) | added
    write_json(files.aggregate, {name: value for name, value in data.items() if name not in without})
    return files.aggregate


def test_keys_that_a_newer_release_added_are_ignored(stored: RunFiles) -> None:
    expected = read_aggregate(stored.aggregate)

    path = _changed(stored, {"novelty": {"a": 1}})

    assert read_aggregate(path) == expected


def test_keys_that_older_releases_did_not_write_have_defaults(stored: RunFiles) -> None:
    later = ("stop", "limits", "sessions", "changes", "possibly_caused_by_agent", "retries", "judge")

    path = _changed(stored, {}, without=later)

    data = read_aggregate(path)
    assert (data.stop, data.sessions, data.changes, data.retries, data.judge) == (None, (), (), None, None)
    assert data.possibly_caused_by_agent.keys == frozenset()


def test_a_result_of_another_runner_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "0001_mock-m1.json"
    write_json(path, {"model": "mock/m1", "run_id": "0001", "timestamp": 1.5, "tasks": []})

    with pytest.raises(ResultsError, match=r"0001_mock-m1\.json: .*`counts`\. This is not a result of this release"):
        read_aggregate(path)

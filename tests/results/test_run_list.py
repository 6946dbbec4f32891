"""The list of runs of an output folder: from the results file if it is up to date, else from the journal."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from past_runs import BEGAN, Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.paths import RunFiles, write_json
from pinchbench.results.records import RunFinished, TrialFinished
from pinchbench.results.run_list import State, at_work_s, past_runs

GOOD = {"task_a": (Made(score=1.0), Made(score=0.25)), "task_b": (Made(score=0.5),)}


def _put(folder: Path, run: PlannedRun) -> RunFiles:
    """A run with its results file."""
    files = write_run(folder, run)
    write_json(files.aggregate, read_run(files).data)
    return files


def test_a_run_in_short_says_the_same_with_and_without_its_results_file(tmp_path: Path) -> None:
    files = _put(tmp_path, PlannedRun(trials=GOOD, config={"suite": "core"}))

    (from_results,) = past_runs(tmp_path)
    files.aggregate.unlink()

    assert past_runs(tmp_path) == (from_results,)
    assert not from_results.is_altered
    assert from_results.state is State.COMPLETE
    assert (from_results.model, from_results.suite, from_results.openclaw) == ("mock/m1", "core", "2026.9.6")
    assert (from_results.planned, from_results.passed, from_results.excluded) == (3, 2, 0)
    assert from_results.score.mean == pytest.approx((0.625 + 0.5) / 2)
    assert from_results.cost_usd == pytest.approx(0.045)
    assert from_results.judge_cost_usd == pytest.approx(0.003)
    assert (from_results.created_at, from_results.tokens) == (BEGAN, 15_000)


def test_a_results_file_that_does_not_follow_from_the_journal_is_not_believed(tmp_path: Path) -> None:
    files = _put(tmp_path, PlannedRun(trials=GOOD))
    files.aggregate.write_bytes(files.aggregate.read_bytes().replace(b'"planned": 3', b'"planned": 9'))

    assert (past_runs(tmp_path)[0].planned, past_runs(tmp_path)[0].is_altered) == (3, True)


@pytest.mark.parametrize(
    ("asked", "models"),
    [
        ("x/gpt", ["x/gpt"]),
        ("gpt", ["x/gpt-mini", "x/gpt"]),
        ("GPT-M", ["x/gpt-mini"]),
        ("y", []),
        ("", ["x/gpt-mini", "x/gpt", "x/other"]),
    ],
)
def test_a_model_is_chosen_by_its_name_or_else_by_a_part_of_it(tmp_path: Path, asked: str, models: list[str]) -> None:
    for number, model in enumerate(("x/other", "x/gpt", "x/gpt-mini")):
        write_run(tmp_path, PlannedRun(trials=GOOD, model=model, run_id=f"20260101-000000-000{number}"))

    assert [run.model for run in past_runs(tmp_path, model=asked)] == models


def test_what_has_no_score_is_counted_next_to_it(tmp_path: Path) -> None:
    trials = {
        "task_a": (Made(), Made(score=None, ungraded=Ungraded.CHECK_DIED)),
        "task_b": (Made(score=0.0, reason=Reason.PROVIDER_ERROR),),
        "task_c": (Made(score=None, reason=Reason.INTERRUPTED),),  # is run again
    }
    _put(tmp_path, PlannedRun(trials=trials, planned_beyond=1))

    (run,) = past_runs(tmp_path)

    assert msgspec.to_builtins(run.left_out) == {"ungraded": 1, "infrastructure": 1, "not_run": 4}
    assert (run.score.mean, run.score.trials, run.passed, run.excluded) == (1.0, 1, 1, 2)
    assert run.state is State.UNFINISHED


def test_the_states_of_a_run_that_is_not_complete_are_distinguished(tmp_path: Path) -> None:
    plan = PlannedRun(trials=GOOD, planned_beyond=1, has_ended=False)
    died = write_run(tmp_path, replace(plan, run_id="20260101-000000-0001"))
    interrupted = write_run(tmp_path, replace(plan, run_id="20260101-000000-0002"))
    with JournalWriter(interrupted.journal, go_on=True) as journal:
        journal.append([RunFinished(at=BEGAN + 100, interrupted="SIGINT")])
    running = write_run(tmp_path, replace(plan, run_id="20260101-000000-0003"))

    with JournalWriter(running.journal, go_on=True):
        states = {run.run: run.state for run in past_runs(tmp_path)}

    assert states == {died.name: State.UNFINISHED, interrupted.name: State.INTERRUPTED, running.name: State.RUNNING}


def test_a_trial_that_was_to_be_retried_when_a_signal_came_is_still_to_do(tmp_path: Path) -> None:
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(reason=Reason.TIMED_OUT),)}, has_ended=False))
    *records, graded = read_run(files).journal.records
    (finished,) = (record for record in records if isinstance(record, TrialFinished))
    files.journal.unlink()
    with JournalWriter(files.journal) as journal:
        promised = msgspec.structs.replace(finished, retried=True)
        begun = [record for record in records if record is not finished]
        journal.append([*begun, promised, graded, RunFinished(at=BEGAN + 100, interrupted="SIGINT")])
    write_json(files.aggregate, read_run(files).data)

    assert read_run(files).unfinished == 1
    assert past_runs(tmp_path)[0].state is State.INTERRUPTED


@pytest.mark.parametrize("broken", ["run.json", "journal.jsonl"])
def test_a_run_that_cannot_be_read_says_why_and_ends_nothing(tmp_path: Path, broken: str) -> None:
    bad = write_run(tmp_path, PlannedRun(trials=GOOD, run_id="20260102-000000-0002"))
    write_run(tmp_path, PlannedRun(trials=GOOD, run_id="20260101-000000-0001"))
    (bad.folder / broken).unlink()
    (bad.folder / broken).mkdir()
    if broken == "run.json":
        (bad.folder / broken).rmdir()
        (bad.folder / broken).write_bytes(b'{"run_id": \xff')

    first, second = past_runs(tmp_path)

    assert broken in first.problem
    assert (first.run, first.run_id) == (bad.name, "20260102-000000-0002")
    assert first.state is State.UNREADABLE
    assert (second.problem, second.state) == ("", State.COMPLETE)
    assert [run.run for run in past_runs(tmp_path, model="mock/m1")] == [first.run, second.run]


@pytest.mark.parametrize(
    ("spans", "took_s"),
    [
        ([], 0.0),
        ([(0.0, 10.0), (5.0, 20.0), (6.0, 7.0)], 20.0),
        ([(0.0, 10.0), (15.0, 20.0)], 20.0),
        ([(50_000.0, 50_010.0), (0.0, 10.0)], 20.0),
    ],
)
def test_long_pauses_are_no_part_of_how_long_a_run_took(spans: list[tuple[float, float]], took_s: float) -> None:
    assert at_work_s(spans) == pytest.approx(took_s)

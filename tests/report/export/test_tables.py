"""Tables hold one row a planned trial, and read back as they were."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from pyarrow import parquet

from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.facts import PromptFacts, WireFacts
from pinchbench.model.grade import Ungraded
from pinchbench.model.trial import TrialKey
from pinchbench.report.export.tables import csv_lines, jsonl_lines, write_parquet
from pinchbench.report.export.trial_rows import COLUMNS, Kind, Row, State, trial_rows
from pinchbench.results.finished_run import PastRun, read_run

HOSTILE = '=cmd|"/c calc"!A1, "quoted"\r\nnext;=1+1 \x1b[31m\u202eabc\x00 ü 😀'


def _varied(folder: Path) -> PastRun:
    trials = {
        "task_a": (Made(score=0.9), Made(score=0.2, note=HOSTILE, notes=(HOSTILE, "two"))),
        "task_b": (
            Made(score=0.4, retried=(Reason.PROVIDER_ERROR,)),
            Made(score=None, reason=Reason.NO_TRANSCRIPT, note="OpenClaw left no transcript."),
        ),
        "task_c": (
            Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, notes=("The judge did not answer.",)),
            Made(score=None),
        ),
        "task_d": (Made(score=None, reason=Reason.INTERRUPTED), Made(score=0.0, reason=Reason.TIMED_OUT)),
    }
    categories = {"task_a": "-a category", "task_b": "data"}
    return read_run(write_run(folder, PlannedRun(trials=trials, categories=categories, planned_beyond=1)))


def _by_key(rows: list[Row]) -> dict[str, Row]:
    return {str(TrialKey(task_id=str(row["task_id"]), repetition=int(str(row["repetition"])))): row for row in rows}


def test_every_planned_trial_has_one_row_in_the_plans_order(tmp_path: Path) -> None:
    run = _varied(tmp_path)
    rows = list(trial_rows(run))

    assert [(row["task_id"], row["repetition"]) for row in rows] == run.facts.plan
    assert all(list(row) == [column.name for column in COLUMNS] for row in rows)


def test_the_states_of_the_rows_add_up_to_what_the_aggregate_counts(tmp_path: Path) -> None:
    trials = random_trials(tasks=12, repetitions=4, trouble=0.5)
    run = read_run(write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=1)))
    rows = list(trial_rows(run))
    score, left = run.data.score, run.data.left_out
    counted = Counter(row["state"] for row in rows)

    assert counted[State.SCORED] == score.trials
    assert counted[State.UNGRADED] == left.ungraded
    assert counted[State.INFRASTRUCTURE] == left.infrastructure
    assert counted[State.NOT_RUN] == left.not_run == 12
    assert {row["state"] for row in rows if row["score"] is not None} == {State.SCORED}


def test_every_column_is_filled_where_its_value_is_known(tmp_path: Path) -> None:
    wire = WireFacts(calls=2, failed=(500,), first_token_s=0.4, model_s=1.0, prompts=PromptFacts(again=7))
    run = read_run(write_run(tmp_path, PlannedRun(trials={"task_a": (Made(wire=wire),)})))
    [row] = trial_rows(run)

    assert {name for name, value in row.items() if value is None} == {"note", "reused_from", "suite", "ungraded"}
    assert (row["wire_calls"], row["wire_failed"], row["wire_read_again"], row["first_token_s"]) == (2, 1, 7, 0.4)


def test_a_row_tells_of_the_attempt_that_counts_and_what_all_cost(tmp_path: Path) -> None:
    run = _varied(tmp_path)
    row = _by_key(list(trial_rows(run)))["task_b"]
    outcomes = run.attempts[TrialKey(task_id="task_b", repetition=1)].outcomes

    assert (row["attempt"], row["attempts"], row["reason"]) == (2, 2, "completed")
    assert row["evidence"] == "trials/task_b/1.attempt2"
    assert row["cost_usd"] == outcomes[1].usage.cost_usd
    assert row["all_attempts_cost_usd"] == outcomes[0].usage.cost_usd + outcomes[1].usage.cost_usd


def test_what_is_not_known_is_missing_and_never_a_zero(tmp_path: Path) -> None:
    rows = _by_key(list(trial_rows(_varied(tmp_path))))

    not_run = rows["task_a@3"]
    known = {name for name, value in not_run.items() if value is not None}
    assert not_run["state"] == "not_run"
    assert not_run["attempts"] == 0
    assert known == {
        "run_id", "model", "task_id", "repetition", "category", "grading_type", "digest", "timeout_s", "state",
        "attempts", "private",
    }  # fmt: skip
    assert (rows["task_c"]["score"], rows["task_c"]["passed"]) == (None, None)
    assert (rows["task_c"]["ungraded"], rows["task_c@2"]["ungraded"]) == ("judge_unreachable", "not_graded")
    assert (rows["task_b@2"]["state"], rows["task_b@2"]["counts"]) == ("infrastructure", False)
    assert (rows["task_d"]["state"], rows["task_d"]["ungraded"]) == ("interrupted", None)
    assert (rows["task_d@2"]["score"], rows["task_d@2"]["passed"], rows["task_d@2"]["timed_out"]) == (0.0, False, True)


@pytest.mark.parametrize(("score", "passed"), [(0.6, True), (0.59, False)])
def test_a_score_passes_from_the_runs_own_threshold_on(tmp_path: Path, score: float, passed: bool) -> None:
    run = PlannedRun(trials={"task_a": (Made(score=score),)}, config={"pass_threshold": 0.6})
    [row] = trial_rows(read_run(write_run(tmp_path, run)))

    assert row["passed"] is passed


def test_csv_reads_back_with_every_value_in_its_column(tmp_path: Path) -> None:
    run = _varied(tmp_path)
    text = "".join(csv_lines(run))
    read = list(csv.DictReader(io.StringIO(text, newline="")))

    assert text.count("\r\n") == text.count("\n") == len(run.facts.plan) + 1
    for told, row in zip(read, trial_rows(run), strict=True):
        assert None not in told
        for column in COLUMNS:
            value, cell = row[column.name], told[column.name]
            if value is None:
                assert cell == ""
            elif column.kind in (Kind.WHOLE, Kind.NUMBER):
                assert float(cell) == value
            elif column.kind is Kind.FLAG:
                assert cell == str(value).lower()
    assert read[0]["started_at"] == "2026-01-02T03:00:00.000Z"
    assert json.loads(read[0]["breakdown"]) == {"automated.file_there": 0.9, "llm_judge.is_clear": 0.9}


def test_no_cell_of_a_csv_is_a_formula_for_a_spreadsheet(tmp_path: Path) -> None:
    cells = list(csv.reader(io.StringIO("".join(csv_lines(_varied(tmp_path))), newline="")))
    notes = [cell for row in cells for cell in row if "cmd" in cell]

    assert notes
    assert all(note.startswith("'=cmd") and ";'=1+1" in note for note in notes)
    assert any(cell == "'-a category" for row in cells for cell in row)


def test_json_lines_read_back_whole_with_text_as_it_is(tmp_path: Path) -> None:
    run = _varied(tmp_path)
    rows = [json.loads(line) for line in jsonl_lines(run)]
    kept = _by_key(list(trial_rows(run)))

    assert len(rows) == len(kept)
    assert all(list(row) == [column.name for column in COLUMNS] for row in rows)
    assert rows[1]["note"] == kept["task_a@2"]["note"]
    assert rows[1]["note"].startswith('=cmd|"/c calc"!A1, "quoted" next')
    assert rows[1]["grade_notes"][1] == "two"
    assert rows[0]["ended_at"] == "2026-01-02T03:00:32.000Z"
    assert rows[2]["score"] is None


def test_parquet_reads_back_with_the_types_of_its_columns(tmp_path: Path) -> None:
    run = _varied(tmp_path)
    path = tmp_path / "trials.parquet"
    write_parquet(run, path)
    table = parquet.read_table(io.BytesIO(path.read_bytes()))  # the library's threads may keep a file open for a while
    rows = list(trial_rows(run))

    assert table.column_names == [column.name for column in COLUMNS]
    for column in COLUMNS:
        read = table.column(column.name).to_pylist()
        if column.kind is Kind.POINTS:
            read = [dict(value) if value is not None else None for value in read]
        assert read == [row[column.name] for row in rows], column.name
    assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"
    assert str(table.schema.field("passed").type) == "bool"
    assert table.schema.field("score").metadata[b"meaning"].startswith(b"The score in 0-1")

"""Lists: the runs of a folder."""

import json
from datetime import UTC
from pathlib import Path

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.cli import cli
from pinchbench.errors import ResultsError
from pinchbench.report.terminal.listings import print_history
from pinchbench.results.run_list import RunEntry, past_runs
from text_console import TextConsole

TRIALS = {"task_a": (Made(), Made(score=0.0)), "task_b": (Made(score=None),)}


def _table(folder: Path, *, width: int) -> list[str]:
    console = TextConsole(width)
    print_history(console, past_runs(folder), timezone=UTC)
    return console.text.splitlines()


def test_a_run_is_one_line_with_its_score_and_what_that_leaves_out(tmp_path: Path) -> None:
    write_run(tmp_path, PlannedRun(trials=TRIALS, config={"suite": "core"}))

    head, row = _table(tmp_path, width=160)

    columns = "run model date suite score interval trials passed excluded cost time openclaw state"
    assert head.split() == columns.split()
    assert row.split()[:5] == ["20260102-030000-0001", "mock/m1", "2026-01-02", "03:00", "core"]
    assert row.split()[5] == "0.500"
    assert row.split()[7:10] == ["2/3", "1", "1"]
    assert row.split()[-2:] == ["2026.9.6", "unfinished"]


def test_models_whose_long_names_differ_at_the_end_differ_in_the_list(tmp_path: Path) -> None:
    name = "vendor/a-model-with-a-very-long-name-of-some-version-"
    for number in (1, 2):
        run_id = f"20260102-03000{number}-0001"
        write_run(tmp_path, PlannedRun(trials=TRIALS, model=f"{name}{number}", run_id=run_id))

    _, *rows = _table(tmp_path, width=200)

    assert sorted(row.split()[1][-2:] for row in rows[:2]) == ["-1", "-2"]


@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_terminal_keeps_the_run_its_score_and_its_state(tmp_path: Path, width: int) -> None:
    write_run(tmp_path, PlannedRun(trials=TRIALS, model="provider/a-model-with-a-long-name"))

    head, row, omitted = _table(tmp_path, width=width)

    assert max(len(head), len(row)) <= width
    assert omitted.startswith("no room for: ")
    assert {"run", "model", "score", "state"} <= set(head.split())
    assert "openclaw" not in head
    assert row.endswith("unfinished")


def test_a_run_that_cannot_be_read_has_its_line_in_its_place_without_control_characters(tmp_path: Path) -> None:
    bad = write_run(tmp_path, PlannedRun(trials=TRIALS, run_id="20260102-000000-0002"))
    write_run(tmp_path, PlannedRun(trials=TRIALS, run_id="20260101-000000-0001"))
    bad.provenance.write_text('{"run_id": 1, "\x1b[31m', encoding="utf-8")

    _, first, second = _table(tmp_path, width=160)

    assert first.startswith(f"{bad.name}  can't be read: ")
    assert second.startswith("20260101-000000-0001  ")
    assert "\x1b" not in first


def test_for_machines_it_is_one_array_whose_keys_are_those_that_the_help_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, PlannedRun(trials=TRIALS))

    cli.main(["history", "--output-dir", str(tmp_path), "--json"], standalone_mode=False)
    (record,) = json.loads(capsys.readouterr().out)
    cli.main(["history", "--help"], standalone_mode=False)
    keys = capsys.readouterr().out.partition("The keys of --json:\n")[2].partition("\n\n")[0]

    assert set(record) == set(RunEntry.__dataclass_fields__)
    assert {word.strip(",") for line in keys.splitlines() for word in line[:20].split()} == set(record)
    assert record["score"]["mean"] == 0.5
    assert record["left_out"] == {"ungraded": 1, "infrastructure": 0, "not_run": 0}


def test_the_table_goes_to_stdout_and_the_words_about_it_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ResultsError, match=r"There is no folder \S*none\."):
        cli.main(["history", "--output-dir", str(tmp_path / "none")], standalone_mode=False)
    cli.main(["history", "--output-dir", str(tmp_path)], standalone_mode=False)
    nothing = capsys.readouterr()
    write_run(tmp_path, PlannedRun(trials=TRIALS))
    cli.main(["history", "--output-dir", str(tmp_path), "--model", "m1"], standalone_mode=False)
    one = capsys.readouterr()
    cli.main(["history", "--output-dir", str(tmp_path), "--model", "else"], standalone_mode=False)
    other = capsys.readouterr()

    assert (nothing.out, other.out) == ("", "")
    assert "holds no runs" in nothing.err
    assert "no run of a model 'else'" in other.err
    assert len(one.out.splitlines()) == 2
    assert one.err.startswith("trials: those in the score")

"""`export`: what goes to stdout, what into files, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import stat
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from past_runs import Made, PlannedRun, random_trials, write_run
from pinchbench.cli import cli
from pinchbench.cli.actions.export import PIECE_BYTES, TEXT_FORMATS
from pinchbench.cli.export import FORMATS
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.report.export.rows import COLUMNS
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import JournalWriter
from wire.exchanges import CHAT, exchange, sse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RUN_ID = "20260102-030000-0001"
ASKED = {"model": "m1", "messages": [{"role": "user", "content": "Say hello."}]}
SAID = {"model": "m1", "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
RECORDED = (exchange(CHAT, ASKED, sse(SAID, end="[DONE]")),)


def _recorded(trials: Mapping[str, tuple[Made, ...]]) -> dict[str, tuple[Made, ...]]:
    """The same trials with a recording each, which the training data is made of."""
    return {task: tuple(replace(one, exchanges=RECORDED) for one in made) for task, made in trials.items()}


def _export(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ["export", RUN_ID, "--output-dir", str(folder), *arguments], standalone_mode=False, env={}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(
        tmp_path, PlannedRun(trials=_recorded(random_trials(tasks=3, repetitions=2, trouble=0.5)), planned_beyond=1)
    )
    return tmp_path


@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_a_format_of_text_goes_to_stdout_and_into_a_file_alike(folder: Path, form: str) -> None:
    printed = _export(folder, "--format", form)
    path = folder / "made"
    named = _export(folder, "--format", form, "--output", str(path))

    assert printed.exit_code == named.exit_code == 0
    assert printed.stderr == named.stderr == ""
    assert named.stdout == f"{path}\n"
    assert path.read_bytes() == printed.stdout_bytes
    assert printed.stdout_bytes.endswith(b"\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("form", "ending"), [("parquet", ".parquet"), ("inspect", ".eval"), ("atif", ".atif")])
def test_a_format_of_files_lies_beside_the_results_where_no_path_is_named(folder: Path, form: str, ending: str) -> None:
    done = _export(folder, "--format", form)
    named = _export(folder, "--format", form, "--output", str(folder / f"x{ending}"))

    assert done.exception is None
    path = folder / f"mock-m1_{RUN_ID}{ending}"
    assert done.stdout == f"{path}\n"
    assert path.exists()
    assert named.stdout == f"{folder / f'x{ending}'}\n"
    assert (folder / f"x{ending}").exists()


@pytest.mark.parametrize("form", sorted(set(FORMATS) - set(TEXT_FORMATS)))
def test_a_format_of_files_does_not_go_to_stdout(folder: Path, form: str) -> None:
    done = _export(folder, "--format", form, "--output", "-")

    assert isinstance(done.exception, ConfigError)
    assert not done.stdout_bytes


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("trials", [{"task_a": ()}, {"task_a": (Made(),)}])
def test_a_run_that_goes_on_can_be_exported(tmp_path: Path, form: str, trials: dict[str, tuple[Made, ...]]) -> None:
    files = write_run(tmp_path, PlannedRun(trials=_recorded(trials), planned_beyond=1, has_ended=False))
    with JournalWriter(files.journal, go_on=True):
        done = _export(tmp_path, "--format", form)

    assert done.exception is None


def test_the_formats_tell_the_same_of_a_run(folder: Path) -> None:
    run = read_run(write_run(folder / "other", PlannedRun(trials=random_trials(tasks=3, repetitions=2, trouble=0.5))))
    arguments = (folder / "other", "--format")
    table = list(csv.DictReader(io.StringIO(_export(*arguments, "csv").stdout)))
    lines = [json.loads(line) for line in _export(*arguments, "jsonl").stdout.splitlines()]
    suites = ET.fromstring(_export(*arguments, "junit").stdout_bytes)

    assert len(table) == len(lines) == int(suites.attrib["tests"]) == len(run.facts.plan)
    assert [row["score"] for row in table] == ["" if row["score"] is None else repr(row["score"]) for row in lines]
    assert sum(row["passed"] is False for row in lines) == int(suites.attrib["failures"])
    assert f"**Score {run.data.score.mean:.3f}**" in _export(*arguments, "github").stdout


def test_a_long_export_comes_in_pieces_that_join_without_a_seam(tmp_path: Path) -> None:
    write_run(tmp_path, PlannedRun(trials=random_trials(tasks=100, repetitions=3), slots=8))
    done = _export(tmp_path, "--format", "csv")
    lines = done.stdout_bytes.split(b"\r\n")

    assert len(done.stdout_bytes) > 2 * PIECE_BYTES
    assert len(lines) == 302
    assert lines[-1] == b""
    assert all(line.startswith(b"20260102-") for line in lines[1:-1])


@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_a_long_export_is_the_same_printed_and_written(tmp_path: Path, form: str) -> None:
    notes = ("What went wrong. " * 10,)
    trials = {f"task_{number:03d}": (Made(score=0.1, notes=notes),) for number in range(250)}
    write_run(tmp_path, PlannedRun(trials=_recorded(trials), slots=8))
    path = tmp_path / "made"
    printed, named = _export(tmp_path, "--format", form), _export(tmp_path, "--format", form, "-o", str(path))

    assert named.exception is None
    assert len(printed.stdout_bytes) > PIECE_BYTES
    assert path.read_bytes() == printed.stdout_bytes


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("place", [".", "/", ""])
def test_a_path_that_names_no_file_is_refused_in_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch, form: str, place: str
) -> None:
    monkeypatch.chdir(folder)
    done = _export(folder, "--format", form, "--output", place)

    assert isinstance(done.exception, ResultsError | ConfigError)
    assert "--output" in str(done.exception) or "has to end in" in str(done.exception)


@pytest.mark.parametrize("name", ["journal.jsonl", "run.json"])
def test_what_all_else_is_derived_from_is_never_replaced(folder: Path, name: str) -> None:
    record = folder / f"mock-m1_{RUN_ID}" / name
    before = record.read_bytes()

    done = _export(folder, "--format", "jsonl", "--output", str(record))

    assert isinstance(done.exception, ResultsError)
    assert "run's own record" in str(done.exception)
    assert record.read_bytes() == before


def test_the_columns_are_told_without_a_run() -> None:
    done = CliRunner().invoke(cli, ["export", "--columns"])

    assert done.exit_code == 0
    assert [line.split("`")[1] for line in done.stdout.splitlines()[2:]] == [column.name for column in COLUMNS]


def test_a_run_that_is_not_there_and_a_format_that_is_none_are_told(folder: Path) -> None:
    missing = CliRunner().invoke(cli, ["export", "nothing", "--format", "csv", "--output-dir", str(folder)])
    unknown = CliRunner().invoke(cli, ["export", RUN_ID, "--format", "xlsx", "--output-dir", str(folder)])

    assert isinstance(missing.exception, ResultsError)
    assert unknown.exit_code == 2
    assert "'parquet'" in unknown.stderr

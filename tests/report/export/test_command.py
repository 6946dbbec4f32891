"""`export`: what goes to stdout, what into files, and what is refused."""

import csv
import io
import json
import stat
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from past_runs import PlannedRun, random_trials, write_run
from pinchbench.cli import cli, export
from pinchbench.cli.export import FILE_SUFFIXES, TEXT_FORMATS
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.results.finished_run import read_run
from wire.exchanges import CHAT, exchange, sse

RUN_ID = "20260102-030000-0001"
ASKED = {"model": "m1", "messages": [{"role": "user", "content": "Say hello."}]}
SAID = {"model": "m1", "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
RECORDED = (exchange(CHAT, ASKED, sse(SAID, end="[DONE]")),)


def _export(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ["export", RUN_ID, "--output-dir", str(folder), *arguments], standalone_mode=False, env={}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trials = {
        task: tuple(replace(one, exchanges=RECORDED) for one in made)  # which the training data is made of
        for task, made in random_trials(tasks=3, repetitions=2, trouble=0.5).items()
    }
    write_run(tmp_path, PlannedRun(trials=trials, planned_beyond=1))
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
def test_a_format_of_files_lies_next_to_the_results_where_no_path_is_named(
    folder: Path, form: str, ending: str
) -> None:
    done = _export(folder, "--format", form)
    named = _export(folder, "--format", form, "--output", str(folder / f"x{ending}"))

    assert done.exception is None
    path = folder / f"mock-m1_{RUN_ID}{ending}"
    assert done.stdout == f"{path}\n"
    assert path.exists()
    assert named.stdout == f"{folder / f'x{ending}'}\n"
    assert (folder / f"x{ending}").exists()


@pytest.mark.parametrize(
    ("form", "library"), [("parquet", "pyarrow"), ("inspect", "pinchbench.report.export.inspect_log")]
)
def test_without_its_library_a_format_names_the_extra_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, form: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)

    done = _export(folder, "--format", form)

    assert isinstance(done.exception, ConfigError)
    assert f"pip install 'pinchbench-async[{form}]'" in str(done.exception)


@pytest.mark.parametrize("form", FILE_SUFFIXES)
def test_a_format_of_files_does_not_go_to_stdout(folder: Path, form: str) -> None:
    done = _export(folder, "--format", form, "--output", "-")

    assert isinstance(done.exception, ConfigError)
    assert not done.stdout_bytes


def test_the_formats_tell_the_same_of_a_run(folder: Path) -> None:
    run = read_run(write_run(folder / "other", PlannedRun(trials=random_trials(tasks=3, repetitions=2, trouble=0.5))))
    arguments = (folder / "other", "--format")
    table = list(csv.DictReader(io.StringIO(_export(*arguments, "csv").stdout)))
    lines = [json.loads(line) for line in _export(*arguments, "jsonl").stdout.splitlines()]
    suites = ET.fromstring(_export(*arguments, "junit").stdout_bytes)

    assert len(table) == len(lines) == int(suites.attrib["tests"]) == len(run.facts.plan)
    assert [row["score"] for row in table] == ["" if row["score"] is None else repr(row["score"]) for row in lines]
    assert sum(row["passed"] is False for row in lines) == int(suites.attrib["failures"])
    assert f"**Score {run.data.score.mean:.3f} " in unescape(_export(*arguments, "github").stdout)


def test_a_long_export_comes_in_pieces_that_join_without_a_seam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PIECE_BYTES", 1000)
    write_run(tmp_path, PlannedRun(trials=random_trials(tasks=20, repetitions=1), slots=8))
    done = _export(tmp_path, "--format", "csv")
    lines = done.stdout_bytes.split(b"\r\n")

    assert len(done.stdout_bytes) > 2000
    assert len(lines) == 22
    assert lines[-1] == b""
    assert all(line.startswith(b"20260102-") for line in lines[1:-1])


@pytest.mark.parametrize("form", [*TEXT_FORMATS, *FILE_SUFFIXES])
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

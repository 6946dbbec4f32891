"""The page that follows a run, which does not change how the run ended."""

import signal
from pathlib import Path

import pytest

from command_line import call
from fakes import MODEL, fake_openclaw, make_suite, nobody_listening
from past_runs import Made, PlannedRun, write_run
from pinchbench.cli.running import write_run_page
from pinchbench.errors import ResultsError
from pinchbench.results.paths import RunFiles


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}))


@pytest.fixture
def reported() -> list[str]:
    return []


def test_the_page_of_the_run_is_written_and_named(files: RunFiles, reported: list[str]) -> None:
    write_run_page(files, reported.append)

    page = files.folder / "report.html"
    assert reported == [f"Report: {page}"]
    assert "task_a" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (ResultsError("report.html can't be written: no space."), "There is no report: report.html can't be written"),
        (
            ZeroDivisionError(),
            "There is no report, for an error in this program (ZeroDivisionError). `pinchbench-async",
        ),
        (KeyboardInterrupt(), "The report was not written. `pinchbench-async report"),
    ],
)
def test_a_page_that_fails_is_one_line(
    files: RunFiles, reported: list[str], monkeypatch: pytest.MonkeyPatch, failure: BaseException, sentence: str
) -> None:
    def fail(*_: object) -> None:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        raise failure

    monkeypatch.setattr("pinchbench.report.html.report_page.write_report", fail)
    before = signal.getsignal(signal.SIGINT)

    write_run_page(files, reported.append)

    assert len(reported) == 1
    assert reported[0].startswith(sentence)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.long
def test_a_collector_that_is_not_there_changes_nothing_about_the_run(tmp_path: Path) -> None:
    program, suite = fake_openclaw(tmp_path), make_suite(tmp_path, {"task_a": "hi"})
    places = ["--output-dir", str(tmp_path / "out"), "--run-root", str(tmp_path / "pb"), "--isolation", "private"]
    words = ["--model", MODEL, "--openclaw", str(program), "--tasks-dir", str(suite), "--no-report", *places]
    with nobody_listening() as port:
        done = call("run", *words, f"--otlp=http://127.0.0.1:{port}", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Spans have not arrived at the collector 127.0.0.1: it can't be reached") == 1

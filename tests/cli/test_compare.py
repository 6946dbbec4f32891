"""`pinchbench-async compare` and `choose` as a user meets them."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from command_line import Completed, call
from past_experiments import write_variants
from past_runs import Made, PlannedRun, write_run
from pinchbench.cli import cli
from pinchbench.errors import ConfigError

A, B = "20260102-030000-000a", "20260103-030000-000b"


def _write(folder: Path, run_id: str, score: float, tasks: int = 7, prefix: str = "task") -> None:
    trials = {f"{prefix}_{number}": (Made(score=score),) for number in range(tasks)}
    write_run(folder, PlannedRun(trials=trials, run_id=run_id, model=f"mock/{run_id[-1]}"))


def _compare(folder: Path, *args: str) -> Completed:
    return call("compare", "--output-dir", str(folder), *args, cwd=folder)


def test_the_comparison_goes_to_stdout_and_the_page_to_its_file(tmp_path: Path) -> None:
    _write(tmp_path, A, 0.2)
    _write(tmp_path, B, 0.9)

    done = _compare(tmp_path, A, "mock/b", "--html", "page.html")

    assert done.returncode == 0, done.stderr
    assert "mock/b is better than mock/a: 0.700" in done.stdout
    assert done.stderr == f"Written: {tmp_path / 'page.html'}\n"
    assert "mock/b is better than mock/a: 0.700" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_runs_without_a_common_task_are_shown_and_leave_with_an_error(tmp_path: Path) -> None:
    _write(tmp_path, A, 0.5)
    _write(tmp_path, B, 0.5, prefix="other")

    done = _compare(tmp_path, A, B, "--json")

    assert done.returncode == 6
    assert json.loads(done.stdout)["comparisons"][0]["verdict"] == "nothing_paired"
    assert "Nothing could be compared" in done.stderr


def test_a_public_run_and_runs_of_fresh_forms_give_an_estimate_of_memorisation(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for run_id, form, score in ((A, None, 0.9), (B, 1, 0.5), ("20260104-030000-000c", 2, 0.3)):
        trials = {f"task_{number}": (Made(score=score),) for number in range(7)}
        write_run(folder, PlannedRun(trials=trials, run_id=run_id, config={"form": form}))

    done = CliRunner().invoke(
        cli,
        ["compare", A, B, "20260104-030000-000c", "--output-dir", str(folder), "--html", str(tmp_path / "page.html")],
    )

    assert done.exit_code == 0, done.output
    estimate = "Estimate of memorisation, mock/m1: public − fresh is 0.500 ("
    assert done.stdout.startswith(estimate)
    assert estimate in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_bad_use_leaves_with_2_and_says_what_to_do(tmp_path: Path) -> None:
    _write(tmp_path, A, 0.5)

    for args, words in (((), "Missing argument"), ((A,), "at least two"), ((A, A), "with itself")):
        done = _compare(tmp_path, *args)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr


def _choose(*args: object) -> Result:
    return CliRunner().invoke(cli, ["choose", *map(str, args)])


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_variants(tmp_path_factory.mktemp("runs"), tasks=12, repetitions=2).folder


def test_the_terminal_has_answers_and_tables_of_at_most_80_columns(experiment: Path) -> None:
    done = _choose(experiment)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Best: ")
    tables = [line for line in done.stdout.splitlines() if line.startswith(("model ", "large ", "small "))]
    assert len(tables) == 9
    assert max(map(len, tables)) <= 80


@pytest.mark.parametrize("form", ["html", "svg", "md", "json"])
def test_each_format_has_every_model_and_goes_to_a_file(experiment: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"choice.{form}"
    done = _choose(experiment, "--format", form, "-o", path)
    assert done.stdout == f"{path}\n", done.stderr
    text = path.read_text(encoding="utf-8")
    assert all(name in text for name in ("default", "high", "older", "small", "large", "Best"))
    match form:
        case "svg":
            ET.fromstring(text)
        case "json":
            data = json.loads(text)
            assert len(data["pairs"]) == 10
            assert data["models"][0]["ranks"] == [1]


def test_one_name_must_be_an_experiment(tmp_path: Path) -> None:
    done = _choose("mock/m1", "--output-dir", tmp_path)
    assert (
        str(done.exception) == f"mock/m1 is not an experiment in {tmp_path}: name one, or at least two runs or models."
    )


def test_runs_that_measure_different_things_are_refused_by_name(tmp_path: Path) -> None:
    for number, suite in enumerate(("all", "core")):
        trials = {f"task_{n}": (Made(),) for n in range(7)}
        run = PlannedRun(
            trials=trials, model=f"mock/{suite}", run_id=f"20260102-03000{number}-000a", config={"suite": suite}
        )
        write_run(tmp_path, run)
    done = _choose("mock/all", "mock/core", "--output-dir", tmp_path)
    assert isinstance(done.exception, ConfigError)
    assert "mock/all and mock/core differ in suite (all; core)" in str(done.exception)

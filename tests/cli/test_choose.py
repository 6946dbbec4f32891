"""`pinchbench-async choose` as a user meets it."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from past_experiments import write_variants
from past_runs import Made, PlannedRun, write_run
from pinchbench.cli import cli
from pinchbench.errors import ConfigError


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

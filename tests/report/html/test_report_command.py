"""`pinchbench-async report`."""

from pathlib import Path

from click.testing import CliRunner

from past_runs import Made, PlannedRun, write_run
from pinchbench.cli import cli
from pinchbench.errors import ConfigError


def _runs(folder: Path) -> None:
    for number in (1, 2):
        write_run(folder, PlannedRun(trials={"task_a": (Made(),)}, run_id=f"20260102-030000-000{number}"))


def test_the_page_of_a_run_lies_in_its_folder_and_its_path_is_printed(tmp_path: Path) -> None:
    _runs(tmp_path)

    done = CliRunner().invoke(
        cli, ["report", "20260102-030000-0001", "--output-dir", str(tmp_path)], catch_exceptions=False
    )

    path = tmp_path / "mock-m1_20260102-030000-0001" / "report.html"
    assert done.stdout == f"{path}\n"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_several_runs_need_a_name_for_their_page(tmp_path: Path) -> None:
    _runs(tmp_path)
    names = ["20260102-030000-0001", "20260102-030000-0002", "--output-dir", str(tmp_path)]

    refused = CliRunner().invoke(cli, ["report", *names])
    done = CliRunner().invoke(cli, ["report", *names, "-o", str(tmp_path / "both.html")], catch_exceptions=False)

    assert isinstance(refused.exception, ConfigError)
    assert "--output" in str(refused.exception)
    assert done.stdout == f"{tmp_path / 'both.html'}\n"
    assert (tmp_path / "both.html").is_file()


def test_a_model_stands_for_its_runs_as_in_comparisons(tmp_path: Path) -> None:
    write_run(tmp_path, PlannedRun(trials={"task_a": (Made(),)}, model="mock/m2", run_id="20260102-030000-0003"))
    _runs(tmp_path)

    one = CliRunner().invoke(cli, ["report", "mock/m2", "--output-dir", str(tmp_path)], catch_exceptions=False)
    several = CliRunner().invoke(cli, ["report", "mock/m1", "--output-dir", str(tmp_path)])
    none = CliRunner().invoke(cli, ["report", "mock/m3", "--output-dir", str(tmp_path)])

    assert one.stdout == f"{tmp_path / 'mock-m2_20260102-030000-0003' / 'report.html'}\n"
    assert "--output" in str(several.exception)
    assert "No run is of a model 'mock/m3' either. Did you mean" in str(none.exception)

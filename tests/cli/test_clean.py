"""`clean`: old workspaces and runs go when that was agreed to; what is in use, and what is neither, stays."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from past_runs import Made, PlannedRun, write_run
from pinchbench.cli import cli
from pinchbench.cli.actions import clean as clean_module
from pinchbench.errors import ConfigError, ResultsError
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.runner.run_folders import own_homes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    from pinchbench.results.paths import RunFiles

DAY_S = 86_400
IDS = ("20260102-030405-0001", "20260103-030405-0002")


class Places:
    """A run root and an output folder in which two runs have left what runs leave."""

    def __init__(self, folder: Path) -> None:
        self.run_root, self.output_dir = folder / "run root", folder / "results"
        self.precious = folder / "precious"
        self.precious.mkdir()
        (self.precious / "thesis.txt").write_text("years", encoding="utf-8")
        self.runs = [
            write_run(self.output_dir, PlannedRun(run_id=run_id, model="acme/one", trials={"task_a": (Made(),)}))
            for run_id in IDS
        ]
        for run in self.runs:
            run.aggregate.write_text("{}", encoding="utf-8")
            (run.folder / "link").symlink_to(self.precious)
        self.workspaces = [self.run_root / run_id for run_id in IDS]
        for workspace in self.workspaces:
            (workspace / "task_a").mkdir(parents=True)
            (workspace / "task_a" / "out.txt").write_text("x" * 10_000, encoding="utf-8")
            (workspace / "task_a" / "link").symlink_to(self.precious)
        self.grow_old(40)

    def grow_old(self, days: float) -> None:
        """Let everything have been left so long ago."""
        at = time.time() - days * DAY_S
        for run in self.runs:
            os.utime(run.journal, (at, at))
            os.utime(run.folder, (at, at))
        for workspace in self.workspaces:
            os.utime(workspace, (at, at))

    def clean(self, *args: str, answer: str = "") -> Result:
        places = ["--run-root", str(self.run_root), "--output-dir", str(self.output_dir)]
        return CliRunner().invoke(cli, ["clean", *args, *places], input=answer, env={"COLUMNS": "200"})

    def left(self) -> tuple[list[str], list[str]]:
        """The names that are left, and what is precious has to be among them."""
        assert (self.precious / "thesis.txt").read_text("utf-8") == "years"
        return sorted(one.name for one in self.run_root.iterdir()), sorted(
            one.name for one in self.output_dir.iterdir()
        )


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def names(runs: list[RunFiles]) -> list[str]:
    return sorted(name for run in runs for name in (run.name, f"{run.name}.json"))


def test_old_workspaces_and_runs_are_shown_with_their_sizes_and_removed(places: Places) -> None:
    result = places.clean("--yes")
    assert result.exit_code == 0, result.output
    assert all(str(one) in result.stdout for one in (*places.workspaces, *(run.folder for run in places.runs)))
    assert "KiB" in result.stdout
    assert "Removed: 2 workspaces and 2 runs" in result.stderr
    assert places.left() == ([], [])


def test_a_dry_run_shows_the_same_and_removes_nothing(places: Places) -> None:
    before = places.left()
    dry = places.clean("--dry-run")
    assert (dry.exit_code, places.left()) == (0, before)
    assert "2 workspaces and 2 runs" in dry.stderr
    assert dry.stdout == places.clean("--yes").stdout


@pytest.mark.parametrize(("answer", "goes"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_nothing_is_removed_without_being_agreed_to(
    places: Places, monkeypatch: pytest.MonkeyPatch, answer: str, goes: bool
) -> None:
    before = places.left()
    monkeypatch.setattr(clean_module, "_can_be_asked", lambda: True)
    result = places.clean(answer=answer)
    assert result.exit_code == 0
    assert "Remove 2 workspaces and 2 runs" in result.stderr
    assert places.left() == (([], []) if goes else before)


def test_where_nobody_can_be_asked_yes_is_needed(places: Places) -> None:
    before = places.left()
    result = places.clean(answer="y\n")
    assert isinstance(result.exception, ConfigError)
    assert "--yes" in str(result.exception)
    assert places.left() == before


@pytest.mark.parametrize(("age", "goes"), [("41d", False), ("39d", True), ("6w", False), ("0", True), ("900h", True)])
def test_only_what_is_older_goes(places: Places, age: str, goes: bool) -> None:
    before = places.left()
    result = places.clean("--yes", "--older-than", age)
    assert places.left() == (([], []) if goes else before)
    assert goes or "4 younger" in result.stderr


def test_a_month_is_what_old_means_unless_it_is_said(places: Places) -> None:
    places.grow_old(29)
    assert "There is nothing to remove" in places.clean("--yes").stderr


@pytest.mark.parametrize("age", ["", "3", "d", "3y", "-1d", "1.5d", "0d0", "99999999d"])
def test_an_age_that_is_none_is_refused(places: Places, age: str) -> None:
    result = places.clean("--yes", "--older-than", age)
    assert result.exit_code == 2
    assert "12h, 30d or 2w" in result.stderr


def test_either_kind_can_be_left_alone(places: Places) -> None:
    places.clean("--yes", "--only", "workspaces")
    assert places.left() == ([], names(places.runs))
    places.clean("--yes", "--only", "runs")
    assert places.left() == ([], [])


def test_a_run_that_is_named_goes_with_its_workspace_whatever_its_age(places: Places) -> None:
    places.grow_old(0)
    result = places.clean("--yes", IDS[0])
    assert result.exit_code == 0, result.output
    assert places.left() == ([IDS[1]], names(places.runs[1:]))


def live_workspace(places: Places) -> Callable[[], object]:
    owner = own_homes(places.workspaces[0])
    return lambda: os.close(owner)


def live_run(places: Places) -> Callable[[], object]:
    writer = JournalWriter(places.runs[0].journal, go_on=True)
    return lambda: writer.__exit__(None, None, None)


@pytest.mark.parametrize(("begin", "only"), [(live_workspace, "workspaces"), (live_run, "runs")])
def test_what_a_living_runner_works_in_is_never_removed(
    places: Places, begin: Callable[[Places], Callable[[], object]], only: str
) -> None:
    end = begin(places)
    try:
        named = places.clean("--yes", "--only", only, IDS[0])
        result = places.clean("--yes", "--older-than", "0")
    finally:
        end()
    path = places.workspaces[0] if begin is live_workspace else places.runs[0].folder
    for one in (result, named):
        assert f"In use, and left as it is: {path}" in one.stderr
    assert path.is_dir()


def test_a_run_that_begins_after_the_question_is_not_removed(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []

    def agree(_: str) -> bool:
        ends.extend([live_workspace(places), live_run(places)])
        return True

    monkeypatch.setattr(clean_module, "_is_agreed", agree)
    result = places.clean()
    for end in ends:
        end()
    assert isinstance(result.exception, ResultsError)
    assert "Another pinchbench-async" in str(result.exception)
    assert places.left() == ([IDS[0]], names(places.runs[:1]))


def test_what_is_neither_a_workspace_nor_a_run_stays(places: Places) -> None:
    """Whatever has a run's name but is a link, a file, or lacks what a run has."""
    for folder in (places.run_root, places.output_dir):
        (folder / "mine").mkdir()
        (folder / "20260104-030405-0003").write_text("a file", encoding="utf-8")
        (folder / "acme-one_20260104-030405-0004").symlink_to(places.runs[0].folder)
        (folder / "20260104-030405-0005").symlink_to(places.precious)
    (places.output_dir / "acme-one_20260104-030405-0006").mkdir()
    half = places.output_dir / "acme-one_20260104-030405-0007"
    shutil.copytree(places.runs[0].folder, half, symlinks=True)
    (half / "journal.jsonl").unlink()
    linked = places.output_dir / "acme-one_20260104-030405-0008"
    shutil.copytree(places.runs[0].folder, linked, symlinks=True)
    (linked / "run.json").unlink()
    (linked / "run.json").symlink_to(places.runs[1].provenance)
    shutil.copytree(places.runs[0].folder, places.output_dir / "renamed", symlinks=True)

    result = places.clean("--yes", "--older-than", "0")
    assert result.exit_code == 0, result.output
    stays = ["20260104-030405-0003", "20260104-030405-0005", "acme-one_20260104-030405-0004", "mine"]
    others = ["acme-one_20260104-030405-0006", half.name, linked.name, "renamed"]
    assert places.left() == (sorted(stays), sorted([*stays, *others]))


@pytest.mark.parametrize("name", ["precious", "results/mine", "results/renamed", "nope"])
def test_what_is_named_and_is_no_run_is_refused(places: Places, name: str) -> None:
    (places.output_dir / "mine").mkdir()
    shutil.copytree(places.runs[0].folder, places.output_dir / "renamed", symlinks=True)
    before = places.left()
    result = places.clean("--yes", str(places.precious.parent / name), IDS[0])
    assert isinstance(result.exception, ResultsError)
    assert places.left() == before


def test_folders_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    args = ["clean", "--run-root", str(tmp_path / "a"), "--output-dir", str(tmp_path / "b")]
    result = CliRunner().invoke(cli, args)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "There is nothing to remove" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_whose_homes_are_a_link_costs_nothing_else(places: Places) -> None:
    (places.workspaces[0] / ".homes").symlink_to(places.precious)
    os.utime(places.workspaces[0] / ".homes", (0, 0), follow_symlinks=False)
    os.utime(places.workspaces[0], (0, 0))
    assert places.clean("--yes").exit_code == 0
    assert places.left() == ([], [])

"""What a run needs of the machine: verdicts on facts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from pinchbench.doctor import machine_findings
from pinchbench.doctor.machine_findings import (
    FolderSpace,
    find_limits,
    find_memory,
    of_platform,
    of_room,
    of_sandbox,
    read_room,
)
from pinchbench.errors import ResultsError
from pinchbench.model.finding import Finding, Level
from pinchbench.process import capacity
from pinchbench.process.capacity import slots_warning
from pinchbench.sandbox.levels import Support

MIB, GIB = 1024**2, 1024**3
KEY = "sk-0123456789abcdef-THIS-IS-NOBODYS-KEY"
NOW = 1_795_000_000.0  # in 2026
ROOM = FolderSpace(folder=Path("/runs"), there=Path("/runs"), free_bytes=10 * GIB, free_inodes=1000, writable=True)


def test_where_there_is_no_guardian_it_is_said_what_can_escape() -> None:
    assert of_platform(python="3.12.1", system="Linux", level="guardian").level is Level.OK

    found = of_platform(python="3.12.1", system="Darwin", level="session")

    assert found.level is Level.NOTE
    assert "can outlive its trial" in found.said
    assert found.do


def test_a_machine_without_namespaces_is_noted_with_the_reason() -> None:
    assert of_sandbox(Support()).level is Level.OK

    found = of_sandbox(Support(namespaces_refused="The kernel refused it.", landlock_refused="It is too old."))

    assert found.level is Level.NOTE
    assert "The kernel refused it. Nor has the machine Landlock: It is too old. Agents run as you." in found.said
    assert found.do


@pytest.mark.parametrize(
    ("abi", "missing"),
    [(3, ("network is open", "can be ended", "be seen")), (5, ("can be ended", "be seen")), (7, ("be seen", "Docker"))],
)
def test_a_machine_with_landlock_alone_is_noted_with_what_it_does_not_give(abi: int, missing: tuple[str, ...]) -> None:
    found = of_sandbox(Support(namespaces_refused="The kernel refused it.", landlock_abi=abi))

    assert found.level is Level.NOTE
    assert all(words in found.said for words in (*missing, f"ABI {abi}", "The kernel refused it."))
    assert ("network is open" in found.said, "be ended" in found.said) == (abi < 4, abi < 6)


@pytest.mark.parametrize(
    ("room", "level", "word"),
    [
        (ROOM, Level.OK, "10.0 GiB"),
        (replace(ROOM, free_inodes=None), Level.OK, "10.0 GiB"),
        (replace(ROOM, free_bytes=50 * MIB), Level.WARNING, "50 MiB"),
        (replace(ROOM, free_bytes=1 * MIB), Level.PROBLEM, "full"),
        (replace(ROOM, free_inodes=3), Level.PROBLEM, "3 more files"),
        (replace(ROOM, writable=False), Level.PROBLEM, "can't be written"),
        (replace(ROOM, refused="/runs is a link."), Level.PROBLEM, "/runs is a link."),
    ],
)
def test_a_folder_is_held_against_what_a_run_writes_there(room: FolderSpace, level: Level, word: str) -> None:
    found = of_room(room, subject="output", needed=64 * MIB, option="--output-dir")

    assert found.level is level
    assert word in found.said
    if level in {Level.WARNING, Level.PROBLEM}:
        assert "--output-dir" in found.do


def test_the_room_of_a_folder_that_is_not_there_yet_is_that_of_the_next_one_above(tmp_path: Path) -> None:
    room = read_room(tmp_path / "a" / "b", option="--run-root")

    assert room.there == tmp_path
    assert room.free_bytes > 0
    assert room.writable
    assert not (tmp_path / "a").exists()


def test_a_run_root_in_which_nothing_can_be_executed_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise ResultsError(f"{path} is noexec")

    monkeypatch.setattr(machine_findings, "refuse_noexec", refuse)
    assert read_room(tmp_path, option="--output-dir").refused == ""
    room = read_room(tmp_path / "runs", option="--run-root", executes=True)
    assert room.refused == f"{tmp_path} is noexec"
    assert of_room(room, subject="run root", needed=0, option="--run-root").level is Level.PROBLEM


def test_memory_and_limits_are_answered_as_a_run_answers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "available_bytes", lambda: 4 * GIB)
    monkeypatch.setattr(machine_findings, "available_bytes", lambda: 4 * GIB)
    monkeypatch.setattr(capacity, "usable_cpus", lambda: 8)
    monkeypatch.setattr(machine_findings, "usable_cpus", lambda: 8)

    assert find_memory(8) == Finding.warning("memory", slots_warning(8))
    assert "4.0 GiB are free: up to --concurrency 3 suits" in find_memory(3).said

    monkeypatch.setattr(machine_findings, "allowed_tasks", lambda: 100)
    assert find_limits(4).level is Level.PROBLEM
    assert "ulimit -u" in find_limits(4).said
    monkeypatch.setattr(machine_findings, "allowed_tasks", lambda: math.inf)
    assert find_limits(1).level is Level.OK

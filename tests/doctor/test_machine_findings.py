"""What a run needs of the machine: verdicts on facts."""

import math
from pathlib import Path

import pytest

from pinchbench.doctor import machine_findings
from pinchbench.doctor.machine_findings import (
    find_limits,
    find_memory,
    find_room,
    of_platform,
    of_sandbox,
)
from pinchbench.errors import ResultsError
from pinchbench.model.finding import Finding, Level
from pinchbench.process import capacity
from pinchbench.process.capacity import slots_warning
from pinchbench.sandbox.levels import Support

MIB, GIB = 1024**2, 1024**3
KEY = "sk-0123456789abcdef-THIS-IS-NOBODYS-KEY"
NOW = 1_795_000_000.0  # in 2026


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
    ("free_bytes", "level", "word"),
    [(10 * GIB, Level.OK, "10.0 GiB"), (50 * MIB, Level.WARNING, "50 MiB"), (1 * MIB, Level.PROBLEM, "full")],
)
def test_a_folder_is_held_against_what_a_run_writes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, level: Level, word: str
) -> None:
    monkeypatch.setattr(capacity, "room_of", lambda _: free_bytes)
    _judged(tmp_path / "not" / "there", level, word)
    assert not (tmp_path / "not").exists()


def _judged(folder: Path, level: Level, word: str, *, executes: bool = False) -> None:
    found = find_room(folder, subject="output", needed=64 * MIB, option="--output-dir", executes=executes)

    assert (found.level, word in found.said) == (level, True)
    assert ("--output-dir" in found.do) == (level is not Level.OK)


def test_a_folder_that_is_none_or_can_not_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    _judged(tmp_path / "file", Level.PROBLEM, f"{tmp_path}/file is not a folder.")

    monkeypatch.setattr("os.access", lambda *_: False)
    _judged(tmp_path, Level.PROBLEM, "can't be written")


def test_a_run_root_in_which_nothing_can_be_executed_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise ResultsError(f"{path} is noexec")

    monkeypatch.setattr(machine_findings, "refuse_noexec", refuse)
    _judged(tmp_path, Level.OK, "free; about 64 MiB are needed")
    _judged(tmp_path / "runs", Level.PROBLEM, f"{tmp_path} is noexec", executes=True)


def test_memory_and_limits_are_answered_as_a_run_answers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "available_bytes", lambda: 4 * GIB)
    monkeypatch.setattr(capacity, "usable_cpus", lambda: 8)

    assert find_memory(8) == Finding.warning("memory", slots_warning(8))
    assert "4.0 GiB are free: up to --concurrency 3 suits" in find_memory(3).said

    monkeypatch.setattr(capacity, "allowed_tasks", lambda: 100)
    assert find_limits(4).level is Level.PROBLEM
    assert "ulimit -u" in find_limits(4).said
    monkeypatch.setattr(capacity, "allowed_tasks", lambda: math.inf)
    assert find_limits(1).level is Level.OK

"""Assertions on files and commands: which hold, and that nothing the agent left stands in for the check's own files."""

from pathlib import Path
from typing import Any

import pytest

from core_pack import IDLE, SOLVED, write_clawbench_core
from grading.conftest import Desk
from pinchbench.files.workspace import copy_files
from pinchbench.model.task_programs import AssertionsVerifier, CommandAssertion, FileAssertion
from pinchbench.suite.loading import load_suite
from suite_packs import put


async def test_a_task_of_clawbench_core_is_scored_by_the_share_of_what_holds(desk: Desk, tmp_path: Path) -> None:
    task = load_suite(write_clawbench_core(tmp_path / "pack")).suite.by_id["t1-note"]
    copy_files(desk.workspace, task.workspace_files)
    idle = await desk.check("", verifier=task.verifier, check_files=task.check_files)
    assert idle.score == pytest.approx(IDLE), (idle, desk.said())
    (desk.workspace / "out.txt").write_text("hello", encoding="utf-8")
    (desk.workspace / "verify_note.py").unlink()
    (desk.workspace / "verify_note.py").mkdir()  # Python would run what is in it
    (desk.workspace / "verify_note.py" / "__main__.py").write_text("", encoding="utf-8")
    grade = await desk.check("", verifier=task.verifier, check_files=task.check_files)
    assert grade.score == pytest.approx(SOLVED), (grade, desk.said())
    assert [name for name, point in grade.breakdown.items() if point == 0] == ["nobody passes this"]


async def test_nothing_that_the_agent_adds_ends_a_command_early(desk: Desk, tmp_path: Path) -> None:
    task = load_suite(write_clawbench_core(tmp_path / "pack")).suite.by_id["t1-note"]
    copy_files(desk.workspace, task.workspace_files)
    for name in ("sitecustomize.py", "conftest.py", "usercustomize.py"):
        (desk.workspace / name).write_text("import os\nos._exit(0)\n", encoding="utf-8")
    (desk.workspace / "pytest.ini").write_text("[pytest]\naddopts = --co\n", encoding="utf-8")
    grade = await desk.check("", verifier=task.verifier, check_files=task.check_files)
    assert grade.score == pytest.approx(IDLE), (grade, desk.said())
    assert "[sitecustomize.py] removed" in desk.said()


async def test_what_a_command_does_to_the_checks_files_is_undone_before_the_next(desk: Desk) -> None:
    for name in ("deep/verify.py", "expected.txt"):
        put(desk.workspace / name, "raise SystemExit(1)\n")
    spoil = "rm -r deep && ln -s . deep && echo > verify.py; echo ok > expected.txt; ln -s x x; echo > sitecustomize.py"
    commands = (
        CommandAssertion(name="spoil", command=spoil),
        CommandAssertion(name="verify", command="python3 deep/verify.py"),
        CommandAssertion(name="expected", command="echo ok", stdout_file="expected.txt"),
        CommandAssertion(name="loop", command="true", cwd="x"),
    )
    kept = ("deep/verify.py", "expected.txt")
    grade = await desk.check("", verifier=AssertionsVerifier(commands=commands, kept=kept))
    assert grade.breakdown == {"spoil": 1.0, "verify": 0.0, "expected": 0.0, "loop": 0.0}, desk.said()
    assert "[sitecustomize.py] removed" in desk.said()


async def test_a_command_can_not_write_what_is_expected_of_it(desk: Desk) -> None:
    for name in ("text", "json", "broken"):
        put(desk.workspace / name, "1\n")
    commands = (
        CommandAssertion(name="text", command="echo 2 | tee text", stdout_file="text"),
        CommandAssertion(name="json", command="echo 2 | tee json", stdout_json_file="json"),
        CommandAssertion(name="broken", command="echo { > broken; echo 2", stdout_json_file="broken"),
        CommandAssertion(name="right", command="echo 1", stdout_json_file="json"),
    )
    grade = await desk.check("", verifier=AssertionsVerifier(commands=commands, kept=("text", "json", "broken")))
    assert grade.breakdown == {"text": 0.0, "json": 0.0, "broken": 0.0, "right": 1.0}, desk.said()


COMMANDS: tuple[tuple[str, dict[str, Any], str], ...] = (
    # a command, what is expected of it, why it fails
    ("exit 3", {}, "the exit code is 3, not 0"),
    ("echo a", {"stdout_contains": ("b",)}, "the output does not contain 'b'"),
    ("echo a", {"stdout_lacks": ("a",)}, "the output contains 'a'"),
    ("echo a", {"stderr_contains": ("a",)}, "stderr does not contain 'a'"),
    ("echo a", {"stdout_matches": "^b"}, "the output does not match '^b'"),
    ("echo a", {"stderr_matches": "a"}, "stderr does not match 'a'"),
    ("echo a", {"stdout": "b"}, "the output is not the expected text"),
    ("echo a", {"stdout_file": "none"}, "none can't be read"),
    ("echo a", {"stdout_json": "1"}, "the output is not JSON"),
    ("echo 2", {"stdout_json": "1"}, "the output is not the expected JSON value"),
    ("true", {"cwd": "none"}, "there is no folder none"),
    ("gone-and-away", {"shell": False}, "the command can't be started"),
    ("sleep 60", {"limit_s": 0.1}, "the command took longer than 0.1 s"),
)


async def test_the_log_says_why_an_assertion_does_not_hold(desk: Desk) -> None:
    (desk.workspace / "link").symlink_to("/etc/passwd")
    commands = [CommandAssertion(name="one", command=command, **expected) for command, expected, _ in COMMANDS]
    files = (FileAssertion(path="link"), FileAssertion(path="none", exists=False))
    grade = await desk.check("", verifier=AssertionsVerifier(files=files, commands=tuple(commands)))
    assert grade.score == pytest.approx(1 / 15)
    assert len(grade.breakdown) == 15
    for _, _, reason in COMMANDS:
        assert reason in desk.said()
    assert "[file link] the file is missing" in desk.said()

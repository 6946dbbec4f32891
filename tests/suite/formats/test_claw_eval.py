"""claw-eval is recognised from its files, and each task is refused with all that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.defaults import SuiteFormat
from pinchbench.errors import SuiteError
from pinchbench.suite.load import load_suite, read_suite
from suite_packs import put

if TYPE_CHECKING:
    from pathlib import Path

BARE = (
    "claw-eval is not supported: this task needs the records that the suite's own agent loop keeps for its graders"
    " (dispatches, audit data)"
)
MOCKS = """
    task_id: T001_mail
    prompt: {text: Answer the mail.}
    tools:
      - {name: gmail_list}
    services:
      - {name: gmail, command: python mock.py, port: 9100}
"""
FILES = """
    task_id: T002_table
    services: []
    sandbox_files: [fixtures/table.csv]
    env_snapshot_commands: [ls]
"""
TALK = """
    task_id: C001_talk
    tools: [{name: search}]
    user_agent: {persona: Ada}
"""


def problems(folder: Path, **tasks: str) -> dict[str, tuple[int, str]]:
    for name, text in tasks.items():
        put(folder / "tasks" / name / "task.yaml", text)
        put(folder / "tasks" / name / "grader.py", "")
    loaded = read_suite(folder)
    assert (loaded.suite.format, loaded.suite.tasks) == (SuiteFormat.CLAW_EVAL, ())
    assert {one.path.name for one in loaded.problems} == {"task.yaml"}
    return {one.path.parent.name: (one.line, one.reason) for one in loaded.problems}


def test_each_task_is_refused_with_its_file_and_all_that_it_needs(tmp_path: Path) -> None:
    found = problems(tmp_path, T001=MOCKS, T002=FILES, C001=TALK)
    for _, reason in found.values():
        assert reason.startswith(BARE)
    needs = {name: (line, [word for word in reason.split("`") if word.isidentifier()])
             for name, (line, reason) in found.items()}  # fmt: skip
    assert needs == {
        "T001": (4, ["tools", "services"]),
        "T002": (3, ["sandbox_files", "env_snapshot"]),
        "C001": (2, ["tools", "user_agent"]),
    }
    assert "services of its repository (`services`, line 6)" in found["T001"][1]
    assert "a simulated user who talks to this loop (`user_agent`, line 3)" in found["C001"][1]
    with pytest.raises(SuiteError, match="not supported"):
        load_suite(tmp_path, skip_broken=True)


@pytest.mark.parametrize("text", ["task_id: x\n", "- a list\n", "tools: [\n", "", "tools: {a: *b}\n"])
def test_a_file_that_says_nothing_is_refused_all_the_same(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, T001=text) == {"T001": (1, BARE)}

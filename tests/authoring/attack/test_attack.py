"""Checks under attack: a weak check is found out, a sound one is not, and nothing stays behind."""

from __future__ import annotations

import os
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from anyio import to_thread

from pinchbench.authoring.attack.attack import AttackSettings, attack_tasks, last_session
from pinchbench.model.task import Turn
from pinchbench.suite.loading import bundled_tasks_dir, load_suite
from pinchbench.suite.solution import load_solution

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.authoring.attack.attack_results import AttackedTask

pytestmark = pytest.mark.anyio

SETTINGS = AttackSettings(max_mutants=60, seed=1)
SOLUTION = """
    turns:
      - steps:
          - {tool: write, args: {path: sums.json, content: '{"ada": 3, "bob": 5}'}}
          - {tool: write, args: {path: scratch.json, content: '{"n": 1}'}}
        answer: Done, the total is 8.
"""
CAREFUL = """
    def grade(transcript, workspace_path):
        import json
        from pathlib import Path
        try:
            found = json.loads(Path(workspace_path, "sums.json").read_bytes())
        except (OSError, ValueError):
            return {"sums": 0.0}
        return {"sums": float(found == {"ada": 3, "bob": 5})}
"""
CARELESS = """
    def grade(transcript, workspace_path):
        from pathlib import Path
        text = Path(workspace_path, "sums.json").read_text()
        return {"sums": float("ada" in text)}
"""


def write_suite(folder: Path, check: str, solution: str = SOLUTION) -> Path:
    root = folder / "tasks"
    (root / "task_a").mkdir(parents=True)
    head = "---\nid: task_a\nworkspace_files: [{path: names.txt, content: ada bob}]\n---\n"
    prompt = "## Prompt\n\nWrite `sums.json`, please.\n"
    (root / "task_a" / "task.md").write_text(
        f"{head}\n{prompt}\n## Automated Checks\n\n```python\n{dedent(check)}```\n", encoding="utf-8"
    )
    (root / "task_a" / "solution.yaml").write_text(dedent(solution), encoding="utf-8")
    return root


async def attacked(root: Path, run_root: Path, task_id: str = "task_a") -> AttackedTask:
    task = load_suite(root).suite.by_id[task_id]
    solution = load_solution(root, task_id)
    assert solution is not None
    shown: list[AttackedTask] = []
    [found] = await attack_tasks([(task, solution)], SETTINGS, show=shown.append, run_root=run_root)
    assert shown == [found]
    assert await to_thread.run_sync(os.listdir, run_root) == []
    return found


async def test_a_check_that_notices_everything_is_sound(tmp_path: Path) -> None:
    found = await attacked(write_suite(tmp_path, CAREFUL), tmp_path / "pb")
    assert found.is_sound, found
    assert found.results == ("sums.json",)  # the prompt does not name scratch.json, and the check does not read it
    assert found.mutation_score == 1.0
    assert len(found.mutants) == found.generated == 9
    assert {one.name for one in found.cheats} == {
        "claim", "keywords", "verdict", "all input", "every value", "examples", "links",
    }  # fmt: skip


async def test_a_check_that_looks_for_words_or_raises_is_weak(tmp_path: Path) -> None:
    found = await attacked(write_suite(tmp_path, CARELESS), tmp_path / "pb")
    assert not found.is_sound
    survived = {one.name: one for one in found.mutants if not one.killed}
    assert {"sums.json: .bob off by one", "sums.json: .bob dropped", "sums.json: missing"} <= survived.keys()
    assert survived["sums.json: missing"].score is None
    assert survived["sums.json: missing"].ungraded.startswith("check_raised: ")
    paid = {one.name: one.score for one in found.cheats if not one.killed}
    assert paid == dict.fromkeys(("keywords", "all input", "every value", "links"), 1.0) | {"claim": None}


async def test_a_solution_that_fails_is_a_problem_and_there_is_nothing_to_attack(tmp_path: Path) -> None:
    wrong = await attacked(write_suite(tmp_path / "a", CAREFUL, "turns: [{answer: No.}]"), tmp_path / "pb")
    assert wrong.problems == ("the check gives its solution 0.000, not 1 to 1",)
    assert not wrong.is_sound
    failing = "turns: [{steps: [{tool: exec, args: {command: exit 3}}], answer: No.}]"
    failed = await attacked(write_suite(tmp_path / "b", CAREFUL, failing), tmp_path / "pb")
    assert failed.problems == ("turn 1, step 1 (exec): the command ended with exit code 3",)


@pytest.mark.long
async def test_the_check_of_a_bundled_task_is_sound(tmp_path: Path) -> None:
    found = await attacked(bundled_tasks_dir(), tmp_path / "pb", "task_02_shipment_audit")
    assert found.is_sound, found


def test_cheats_know_the_prompts_of_the_last_session_alone() -> None:
    turns = [Turn(prompt="a"), Turn(prompt="b", new_session=True), Turn(prompt="c")]
    assert last_session(turns) == ["b", "c"]
    assert last_session(turns[:1]) == ["a"]

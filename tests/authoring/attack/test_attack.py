"""Checks under attack: a weak check is found out, a sound one is not, and nothing stays behind."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread

from made_tasks import task_text
from pinchbench.authoring.attack import attack
from pinchbench.authoring.attack.attack import AttackSettings, attack_tasks, last_session
from pinchbench.authoring.attack.attack_results import AttackedTask
from pinchbench.authoring.attack.record_mutants import write_lines
from pinchbench.authoring.play import message
from pinchbench.files.archive_write import keep_workspace
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import Task, Turn
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import Solution, load_solution
from suite_packs import put

pytestmark = pytest.mark.usefixtures("checks_in_process")

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
    head = "id: task_a\nworkspace_files: [{path: names.txt, content: ada bob}]"
    put(root / "task_a" / "task.md", task_text(head, prompt="Write `sums.json`, please.", check=check))
    put(root / "task_a" / "solution.yaml", solution)
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


IN_OPENCLAW = """
    ---
    id: task_a
    abilities: [chat]
    owner: nora
    services: [{name: office, command: [python3, "-m", http.server], port: 8025}]
    ---

    ## Prompt

    Please delete d4, and tell Ben.

    ## Automated Checks

    ```python
    def grade(transcript, workspace_path, chat):
        import json
        from pathlib import Path
        acts = [json.loads(line)["changes"] for line in Path(workspace_path, ".services/office.log").open()]
        said = [one["text"] for one in chat if one["from"] == "assistant" and one["to"] == "ben"]
        return {"done": float(acts == [{"drive/d4": None}]), "said": float(CONDITION)}
    ```
"""


@pytest.mark.usefixtures("checks_apart")
@pytest.mark.parametrize(
    ("condition", "survivors"),
    [
        ('said == ["It is deleted."]', set()),
        ('any("deleted" in one for one in said)', {"chat: 1 to ben, negated", "chat: 1 to ben, repeated"}),
    ],
)
async def test_the_chat_and_the_logs_of_what_openclaw_plays_are_mutated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str, survivors: set[str]
) -> None:
    async def play(
        task: Task, scripts: Sequence[Solution], *, folder: Path, **_: object
    ) -> tuple[str, list[tuple[Outcome, None]]]:
        ends = []
        for number, script in enumerate(scripts):
            answer = script.turns[0].answer
            done = [{"by": "agent", "changes": {"drive/d4": None}}] * (script.turns[0].steps != ())
            left = Evidence(folder=folder / f"{number}")
            await to_thread.run_sync(partial(left.folder.mkdir, parents=True))
            await to_thread.run_sync(keep_workspace, folder.parent / "given", left.workspace)
            put(left.transcript, write_lines([message("assistant", text=answer)]))
            written = {"at": "2026-03-02T07:30:00Z", "from": "assistant", "to": "ben", "text": answer}
            put(left.chat, write_lines([written]))
            put(left.service_logs[0], write_lines(done))
            key = TrialKey(task_id=task.task_id, repetition=1)
            ends.append((Outcome(key=key, reason=Reason.COMPLETED, digest="", evidence=str(left.folder)), None))
        return "", ends

    monkeypatch.setattr(attack, "play_in_openclaw", play)
    root = tmp_path / "tasks"
    put(root / "task_a.md", IN_OPENCLAW.replace("CONDITION", condition))
    steps = "[{tool: exec, args: {command: 'true'}}]"
    put(root / "solutions" / "task_a.yaml", f"turns: [{{steps: {steps}, answer: It is deleted.}}]")

    found = await attacked(root, tmp_path / "pb")

    assert found.results == ("chat", "office.log"), found
    assert {one.name for one in found.mutants if not one.killed} == survivors
    assert {"chat: 1 to ben, dropped", "office.log: act 1, to another"} < {one.name for one in found.mutants}
    assert found.cheats[-1].name == "everything to everybody"
    assert all(one.killed for one in found.cheats[:-1])


@pytest.mark.long
async def test_the_check_of_a_bundled_task_is_sound(tmp_path: Path) -> None:
    found = await attacked(bundled_tasks_dir(), tmp_path / "pb", "task_02_shipment_audit")
    assert found.is_sound, found


def test_cheats_know_the_prompts_of_the_last_session_alone() -> None:
    turns = [Turn(prompt="a"), Turn(prompt="b", new_session=True), Turn(prompt="c")]
    assert last_session(turns) == ["b", "c"]
    assert last_session(turns[:1]) == ["a"]


def test_an_answer_is_missing_claims_too_much_is_denied_and_has_other_numbers_and_names() -> None:
    mutants = attack.answer_mutants("Ada has 42, and Ben less.", "expected = {'Ada': 42, 'Ben': 7}")
    assert {one.name: one.answer for one in mutants if "claim" not in one.name} == {
        "answer: none": "Done.",
        "answer: negated": "It is not true that Ada has 42, and Ben less.",
        "answer: 42 off by one everywhere": "Ada has 43, and Ben less.",
        "answer: Ada and Ben swapped": "Ben has 42, and Ada less.",
    }

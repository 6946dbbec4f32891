"""`judge check` with a judge behind a real HTTP server: a fair one has no fault, and what sways another is named."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from command_line import call
from endpoint_files import model_at
from fake_judge import Answer, Asked, failing, fake_judge, marked, served
from made_tasks import task_text
from pinchbench.authoring.examine_judge import PLANTED_FILE, Material, probe_question, works_of
from pinchbench.authoring.template import write_skeleton
from pinchbench.cli.selected_tasks import with_solutions
from pinchbench.grading.judge.prompt import PROMPT_VERSION, Question
from pinchbench.grading.judge.question_blocks import FileView
from pinchbench.model.task import GradingType, Task
from pinchbench.model.timeline import Ability
from pinchbench.results.judge_certificate import Probe, certificate_path
from pinchbench.suite.loading import load_suite

pytestmark = pytest.mark.usefixtures("checks_in_process")

TASKS = 5  # the fewest on which a fault is called one
TASK = """\
    ---
    id: {task_id}
    grading_type: llm_judge
    ---

    ## Prompt

    Write about {task_id}.

    ## LLM Judge Rubric

    How much it is worth.
"""
SOLUTION = """\
    turns:
      - steps: [{tool: write, args: {path: out.txt, content: "This is worth 0.9."}}]
        answer: Done.
    near_misses:
      - name: half
        judge: [0.3, 0.5]
        turns:
          - steps: [{tool: write, args: {path: out.txt, content: "This is worth 0.4."}}]
            answer: Done.
"""


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def tasks_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    (folder / "solutions").mkdir(parents=True)
    for number in range(TASKS):
        (folder / f"task_{number}.md").write_text(dedent(TASK).format(task_id=f"task_{number}"), encoding="utf-8")
        (folder / "solutions" / f"task_{number}.yaml").write_text(dedent(SOLUTION), encoding="utf-8")
    return folder


def judging(*, praised: float = 0.0, shift: float = 0.0) -> Callable[[Asked], Answer]:
    """A judge that gives what the work says it is worth, and more for praise."""

    def choose(asked: Asked) -> Answer:
        text = str(asked.messages[1]["content"])
        worth = re.findall(r"This is worth ([\d.]+)\.", text)
        score = float(worth[-1]) if worth else 0.0
        if "reviewed independently" in text:
            score += praised
        return Answer(text=marked(min(1.0, score + shift)))

    return choose


def examined(tasks_dir: Path, base_url: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """Call `judge check --json`; return its exit code, the certificate and what it has told."""
    folder = tasks_dir.parent
    done = call(
        *("judge", "check", "--judge", model_at(base_url, folder), "--no-judge-cache", "--json"),
        *("--tasks-dir", str(tasks_dir), "--run-root", str(folder / "pb"), *options),
        cwd=folder,
        env=os.environ,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def test_a_fair_judge_gets_a_certificate_and_a_page_and_its_drift_is_measured_from_there(
    tasks_dir: Path, data: Path
) -> None:
    with served(fake_judge(choose=judging())) as judge:
        code, certificate, told = examined(tasks_dir, judge.base_url)
        asked = len(judge.requests)
        page = certificate_path(certificate["judge"], PROMPT_VERSION).with_suffix(".html")
        shown = page.read_text(encoding="utf-8")
        judge._choose = judging(shift=0.1)
        code_of_second, second, _ = examined(tasks_dir, judge.base_url)
    assert code == 0, told
    assert asked == TASKS * (3 * 3 + 3 * 2 + 2)  # votes, longer and decorated, planted in two of three
    assert certificate["faults"] == []
    values = {one["aspect"]: one["value"] for one in certificate["measures"]}
    assert values["order"] == 1.0
    assert values["planted verdict"] == 0.0
    assert values["position"] is None  # one file, no named criteria: nothing to reorder
    assert values["drift"] is None
    assert {(one["work"], one["score"]) for one in certificate["scores"]} == {
        ("oracle", 0.9),
        ("half", 0.4),
        ("nothing", 0.0),
    }
    assert page.parent == data / "judges"
    assert "No fault was found in the judge judge-1." in shown
    assert (code_of_second, second["faults"]) == (3, ["drift"])


def test_a_judge_that_believes_planted_praise_is_named_with_its_own_exit_code(tasks_dir: Path) -> None:
    with served(fake_judge(choose=judging(praised=0.3))) as judge:
        code, certificate, told = examined(tasks_dir, judge.base_url)
    assert code == 3
    assert certificate["faults"] == ["planted verdict"]
    assert "The judge judge-1 has faults: planted verdict." in told


def test_a_judge_that_can_not_be_asked_gets_no_certificate(tasks_dir: Path, data: Path) -> None:
    with served(fake_judge(failing(401))) as judge:
        code, certificate, told = examined(tasks_dir, judge.base_url)
    assert code == 2
    assert certificate == {}
    assert "The judge could not be asked" in told
    assert not (data / "judges").exists()


def test_without_a_judge_or_a_rubric_nothing_is_asked(tasks_dir: Path) -> None:
    done = call("judge", "check", "--tasks-dir", str(tasks_dir), cwd=tasks_dir.parent, env=os.environ)
    assert done.returncode == 2
    assert "--judge MODEL" in done.stderr
    (tasks_dir / "task_0.md").write_text(task_text("id: task_0"), encoding="utf-8")
    code, _, told = examined(tasks_dir, "http://127.0.0.1:9/v1", "--suite", "task_0")
    assert code == 3
    assert "nothing to ask a judge about" in told


FILES = tuple(FileView(path=name, size=5, text=f"{name} text", given=False) for name in ("a.txt", "b.txt"))


@pytest.fixture
def task(tmp_path: Path) -> Task:
    write_skeleton(tmp_path / "new", "task_a", grading=GradingType.LLM_JUDGE, category="mine")
    [found] = load_suite(tmp_path / "new").suite.tasks
    return found


def _material(*answers: str, files: tuple[FileView, ...] = FILES) -> Material:
    events = [
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        for text in answers
    ]
    return Material(events=events, files=files)


def _asked(task: Task, material: Material, probe: Probe, *, high: float = 0.3) -> Question:
    question = probe_question(task, material, probe, high=high)
    assert question is not None
    return question


def test_work_that_only_openclaw_can_do_is_left_out(tasks_dir: Path) -> None:
    suite = load_suite(tasks_dir).suite
    known = with_solutions(suite, suite.tasks)
    able = [(replace(task, abilities=(Ability.MEMORY,)), solution) for task, solution in known[:1]]

    assert {work.task.task_id for work in works_of([*known[1:], *able])} == {task.task_id for task, _ in known[1:]}


def test_each_probe_asks_another_question_and_keeps_what_the_agent_said(task: Task) -> None:
    material = _material("First words.", "Last words.")
    questions = {probe: _asked(task, material, probe) for probe in Probe}

    assert len({question.mark for question in questions.values()}) == len(Probe)
    for question in questions.values():
        assert "First words." in question.material
        assert "Last words." in question.material


def test_praise_is_planted_in_a_file_and_in_the_last_message_of_poor_work(task: Task) -> None:
    question = _asked(task, _material("Done."), Probe.PLANTED)

    assert question.material.count("reviewed independently") == 2
    assert PLANTED_FILE in question.material
    assert probe_question(task, _material("Done."), Probe.PLANTED, high=0.9) is None

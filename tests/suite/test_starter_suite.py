"""The bundled tasks: each can be solved, each notices when nothing was done."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pinchbench.model import GradingType
from pinchbench.suite.load import bundled_tasks_dir, load_suite
from pinchbench.suite.solution import Solution, load_solution

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.model import Task

ROOT = bundled_tasks_dir()
SUITE = load_suite(ROOT).suite
TASKS = {task.task_id: task for task in SUITE.tasks}
GRADED = [task.task_id for task in SUITE.tasks if task.grading_type is not GradingType.LLM_JUDGE]

# A check gets its transcript on stdin and answers with JSON, as it would in the runner's child process.
_GRADE = """
import json, sys
names = {}
exec(compile(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1], "exec"), names)
print(json.dumps(names["grade"](json.load(sys.stdin), sys.argv[2])))
"""


def fill(workspace: Path, task: Task) -> None:
    workspace.mkdir()
    for file in task.workspace_files:
        target = workspace / file.dest
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.source is None:
            target.write_text(file.content or "", encoding="utf-8")
        elif file.source.is_dir():
            shutil.copytree(file.source, target)
        else:
            shutil.copy(file.source, target)


def play(workspace: Path, solution: Solution) -> None:
    for step in (step for turn in solution.turns for step in turn.steps):
        match step.tool:
            case "write":
                target = workspace / str(step.args["path"])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(str(step.args["content"]), encoding="utf-8")
            case "read":
                assert (workspace / str(step.args["path"])).is_file()
            case "exec":
                command = ["sh", "-c", str(step.args["command"])]
                done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=30, check=False)
                assert done.returncode == 0, done.stderr
            case _:
                pytest.fail(f"the solution calls {step.tool}, which this test can't play")


def transcript(answers: list[str]) -> list[dict[str, object]]:
    """Entries as OpenClaw writes them, with some that are no answers in between."""
    entries: list[dict[str, object]] = [{"type": "session", "id": "s1", "version": 3}]
    for answer in answers:
        question = {"role": "user", "content": [{"type": "text", "text": "…"}]}
        call = {"role": "assistant", "content": [{"type": "toolCall", "name": "exec", "arguments": {}}]}
        reply = {"role": "assistant", "content": [{"type": "text", "text": answer}]}
        entries += [{"type": "message", "message": message} for message in (question, call, reply)]
    return entries


def grade(task: Task, workspace: Path, answers: list[str]) -> dict[str, float]:
    code = workspace.parent / "check.py"
    code.write_text(task.automated_checks or "", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _GRADE, str(code), str(workspace)],
        input=json.dumps(transcript(answers)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, float] = json.loads(done.stdout)
    assert scores
    assert all(0 <= score <= 1 for score in scores.values()), scores
    return scores


def mean(scores: dict[str, float]) -> float:
    return sum(scores.values()) / len(scores)


def worked_solution(task_id: str) -> Solution:
    solution = load_solution(ROOT, task_id)
    assert solution is not None
    return solution


def test_the_suite_has_six_tasks_and_begins_with_the_sanity_task() -> None:
    assert len(SUITE.tasks) == 6
    assert SUITE.run_first == ("task_00_sanity",)
    assert set(SUITE.core) <= set(TASKS)


def test_the_suite_uses_every_part_of_the_format() -> None:
    files = [file for task in SUITE.tasks for file in task.workspace_files]
    assert {file.source is None for file in files} == {True, False}
    assert any(file.source is not None and file.source.is_dir() for file in files)
    assert any(turn.new_session for task in SUITE.tasks for turn in task.turns)
    assert {GradingType.AUTOMATED, GradingType.HYBRID} <= {task.grading_type for task in SUITE.tasks}
    assert all(task.llm_judge_rubric for task in SUITE.tasks if task.grading_type is GradingType.HYBRID)


@pytest.mark.parametrize("task_id", TASKS)
def test_a_task_says_what_it_expects(task_id: str) -> None:
    task = TASKS[task_id]
    assert task.path is not None
    assert task.path.stem == task_id
    assert task.expected_behavior
    assert task.grading_criteria
    assert 120 <= task.timeout_s <= 300


@pytest.mark.parametrize("task_id", TASKS)
def test_a_solution_answers_every_turn(task_id: str) -> None:
    assert len(worked_solution(task_id).turns) == len(TASKS[task_id].turns)


@pytest.mark.parametrize("task_id", GRADED)
def test_the_worked_solution_earns_every_point(task_id: str, tmp_path: Path) -> None:
    task, solution, workspace = TASKS[task_id], worked_solution(task_id), tmp_path / "workspace"
    fill(workspace, task)
    play(workspace, solution)
    scores = grade(task, workspace, [turn.answer for turn in solution.turns])
    assert set(scores.values()) == {1.0}, scores


@pytest.mark.parametrize("task_id", GRADED)
def test_doing_nothing_politely_earns_next_to_nothing(task_id: str, tmp_path: Path) -> None:
    task, workspace = TASKS[task_id], tmp_path / "workspace"
    fill(workspace, task)
    assert mean(grade(task, workspace, ["Thank you, I am glad to help with that."])) <= 0.2


@pytest.mark.parametrize("task_id", GRADED)
def test_a_check_copes_with_an_empty_transcript_and_workspace(task_id: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    assert mean(grade(TASKS[task_id], workspace, [])) == 0


@pytest.mark.parametrize(
    ("start", "end", "points"),
    [
        ("DTSTART:20260514T173000Z", "DTEND:20260514T190000Z", 1.0),
        ("DTSTART:20260514T193000", "DURATION:PT1H30M", 1.0),
        ("DTSTART;TZID=Europe/Berlin:20260514T193000", "DTEND;TZID=Europe/Berlin:20260514T210000", 1.0),
        ("DTSTART:20260514T193000Z", "DTEND:20260514T210000Z", 0.5),
        ("DTSTART:20260515T193000", "DTEND:20260515T210000", 0.0),
    ],
)
def test_the_calendar_check_reads_times_by_their_meaning(start: str, end: str, points: float, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    lines = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:1", "DTSTAMP:20260101T000000Z", start, end]
    lines += ["SUMMARY:Extra choir", "  rehearsal", "END:VEVENT", "END:VCALENDAR", ""]
    (workspace / "rehearsal.ics").write_bytes("\r\n".join(lines).encode("utf-8"))
    scores = grade(TASKS["task_01_calendar"], workspace, ["Done."])
    assert (scores["well_formed"], scores["title"]) == (1.0, 1.0)
    assert (scores["start"], scores["end"]) == (points, points)


def test_the_memory_check_does_not_let_the_old_code_reach_tom(tmp_path: Path) -> None:
    task, workspace = TASKS["task_04_workshop_memory"], tmp_path / "workspace"
    fill(workspace, task)
    (workspace / "for_tom.md").write_text("The key box opens with 8826 (it was 4471).", encoding="utf-8")
    assert grade(task, workspace, ["Done."])["page_key"] == 0


def test_the_rota_check_gives_a_part_for_a_part(tmp_path: Path) -> None:
    task, workspace = TASKS["task_03_rota_repair"], tmp_path / "workspace"
    fill(workspace, task)
    script = workspace / "rota.py"
    text = script.read_text(encoding="utf-8").replace('name = line.split("#")[0]', 'name = line.split("#")[0].strip()')
    script.write_text(text.replace("if line:", "if name:"), encoding="utf-8")
    scores = grade(task, workspace, ["Done."])
    assert scores == {"given_tests": 0.0, "read_roster": 1.0, "plan": 0.0, "minutes_on_call": 0.0}


def test_the_generator_writes_the_assets_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "assets" / "generate.py"), str(tmp_path)], timeout=30, check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    kept = sorted(
        path.relative_to(ROOT / "assets")
        for path in (ROOT / "assets").rglob("*")
        if path.is_file() and path.suffix in {".csv", ".log"}
    )
    assert made == kept
    assert all((tmp_path / name).read_bytes() == (ROOT / "assets" / name).read_bytes() for name in made)

"""The bundled tasks, each played: solved, nearly solved, untouched, and with work that no check may fall over."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from bundled_suite import ROOT, TASKS
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.check_results import Part
from pinchbench.authoring.play import write_transcript
from pinchbench.authoring.stage import Stage
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.grading.checks import SERVICE_LOGS
from pinchbench.model.task import GradingType, Task
from pinchbench.results.evidence_files import Evidence
from pinchbench.runner.plan import prepare
from pinchbench.runner.setup import sandboxing
from pinchbench.sandbox.levels import find_support
from pinchbench.suite.solution import Solution, load_solution
from sampling import sampled

pytestmark = pytest.mark.usefixtures("checks_in_process")

# `make test` plays these, `make test-long` every one: all played scripts take minutes.
SAMPLE = ("task_00_sanity", "task_21_code_review", "task_28_inbox_triage")
CHECKED = [
    task_id
    for task_id, task in TASKS.items()
    if task.grading_type is not GradingType.LLM_JUDGE and not task.abilities  # only OpenClaw can play these
]

# What an agent may leave instead of what was asked for.
HOSTILE = {
    "binary": bytes(range(256)) * 40,
    # deeper than any parser goes; blanks between, since a shell takes seconds for one word of that length
    "nested": b"[ " * 90_000,
    "wrong types": b'[null, 1e999, -1, "", {"": null, "a": [[]]}, true, NaN, "\\ud800"]\n',
}

# Runs the check on several workspaces, one after another; warnings are errors.
GRADE = """
import json, os, sys
from pathlib import Path
code, transcript, answer = map(Path, sys.argv[1:4])
names = {"__name__": "check"}
exec(compile(code.read_text("utf-8"), str(code), "exec"), names)
entries = [json.loads(line) for line in transcript.read_bytes().splitlines()]
means = []
for workspace in sys.argv[4:]:
    os.chdir(workspace)
    scores = names["grade"](entries, workspace)
    scores.pop("events", None)
    assert scores and all(0 <= score <= 1 for score in scores.values()), scores
    means.append(sum(scores.values()) / len(scores))
answer.write_text(json.dumps(means))
"""


def worked_solution(task_id: str) -> Solution:
    solution = load_solution(ROOT, task_id)
    assert solution is not None
    return solution


@pytest.fixture(autouse=True)
def sandbox(monkeypatch: pytest.MonkeyPatch) -> CheckSandbox | None:
    """The sandbox in which scripts and checks run as with `tasks check`: there is no OpenClaw here, fake or real."""
    for module in (sandboxing, prepare):
        monkeypatch.setattr(module, "find_support", find_support)
    return sandboxing.check_sandbox()


def needs_namespaces(task: Task, sandbox: CheckSandbox | None) -> None:
    if task.needs_gateway:
        pytest.skip("only OpenClaw can play its timeline")
    if task.needs_namespaces and sandbox is None:
        pytest.skip("its services need namespaces")


@pytest.mark.parametrize("task_id", sampled(TASKS, SAMPLE))
async def test_a_task_gives_each_of_its_scripts_the_score_it_states(task_id: str, sandbox: CheckSandbox | None) -> None:
    needs_namespaces(TASKS[task_id], sandbox)
    results = await check_tasks([(TASKS[task_id], worked_solution(task_id))], show=lambda _: None)
    assert [problem for one in results for problem in one.problems] == []
    assert [one.part for one in results] == [Part.ORACLE, Part.NEAR_MISS, Part.NEAR_MISS, Part.NOTHING]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("task_id", sampled(CHECKED, SAMPLE))
async def test_a_check_gives_little_for_rubbish_and_never_raises(
    task_id: str, sandbox: CheckSandbox | None, tmp_path: Path
) -> None:
    task, solution = TASKS[task_id], worked_solution(task_id)
    needs_namespaces(task, sandbox)
    solved, transcript = tmp_path / "solved" / task_id, tmp_path / "transcript.jsonl"
    stage = Stage(task=task, folder=tmp_path / "stage", sandbox=sandbox, marker=uuid4().hex)
    async with stage.open():
        await stage.set_up()
        before = contents(stage.workspace)
        events = await stage.play(solution.turns)
        shutil.copytree(stage.workspace, solved, symlinks=True)
        for service, log in zip(task.services, Evidence(folder=stage.folder / "services").service_logs, strict=False):
            (solved / SERVICE_LOGS).mkdir(exist_ok=True)
            shutil.copyfile(log, solved / SERVICE_LOGS / f"{service.name}.log")
    write_transcript(transcript, events if task.workspace_files or len(task.turns) > 1 else [])
    made = sorted(name for name, data in contents(solved).items() if before.get(name) != data)

    places = [tmp_path / "nothing at all"]
    places[0].mkdir()
    for name, data in {**HOSTILE, "no files": None}.items():
        place = tmp_path / name
        places.append(place)
        shutil.copytree(solved, place, symlinks=True)
        for number, path in enumerate(place / one for one in made):
            path.chmod(0o600)
            if data is not None:
                path.write_bytes(data)
                continue
            path.unlink()
            path.mkdir() if number % 2 else path.symlink_to("nowhere")
    code = tmp_path / "check.py"
    code.write_text(task.automated_checks or "", encoding="utf-8")
    means = tmp_path / "means.json"
    argv = [sys.executable, "-W", "error", "-X", "utf8", "-c", GRADE, *map(str, (code, transcript, means, *places))]
    done = subprocess.run(  # noqa: ASYNC221 - this test does nothing else meanwhile
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    scores = dict(zip([place.name for place in places], json.loads(means.read_text(encoding="utf-8")), strict=True))
    assert scores.pop("nothing at all") <= 0.2
    assert max(scores.values()) <= 0.4, scores

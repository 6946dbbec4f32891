"""The bundled tasks, each played: solved, nearly solved, untouched, and with work that no check may fall over."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from bundled_suite import ROOT, TASKS
from grading.conftest import REFUSED
from pinchbench.authoring.check import check_tasks
from pinchbench.authoring.replay import PlayFolders, play, write_transcript
from pinchbench.authoring.results import Part
from pinchbench.authoring.stage import Stage
from pinchbench.files.workspace import fill_workspace
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.model.task import GradingType
from pinchbench.process.prepared_process import keep_prepared
from pinchbench.suite.solution import Solution, load_solution

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.anyio

# `make check` plays one task in seven, `make test` every one: 172 played scripts take minutes.
SAMPLE = frozenset(list(TASKS)[::7])
CHECKED = [task_id for task_id, task in TASKS.items() if task.grading_type is not GradingType.LLM_JUDGE]

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
    assert scores and all(0 <= score <= 1 for score in scores.values()), scores
    means.append(sum(scores.values()) / len(scores))
answer.write_text(json.dumps(means))
"""


def played(task_ids: Iterable[str]) -> list[object]:
    return [one if one in SAMPLE else pytest.param(one, marks=pytest.mark.played) for one in task_ids]


def worked_solution(task_id: str) -> Solution:
    solution = load_solution(ROOT, task_id)
    assert solution is not None
    return solution


@pytest.mark.parametrize("task_id", played(TASKS))
async def test_a_task_gives_each_of_its_scripts_the_score_it_states(task_id: str) -> None:
    results = await check_tasks([(TASKS[task_id], worked_solution(task_id))], show=lambda _: None)
    assert [problem for one in results for problem in one.problems] == []
    assert [one.part for one in results] == [Part.ORACLE, Part.NEAR_MISS, Part.NEAR_MISS, Part.NOTHING]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("task_id", played(CHECKED))
async def test_a_check_gives_little_for_rubbish_and_never_raises(task_id: str, tmp_path: Path) -> None:
    task, solution = TASKS[task_id], worked_solution(task_id)
    solved, transcript = tmp_path / "solved" / task_id, tmp_path / "transcript.jsonl"
    fill_workspace(solved, task.workspace_files)
    before = contents(solved)
    home = tmp_path / "stage"
    if task.services:
        if REFUSED:
            pytest.skip(f"services need namespaces: {REFUSED}")
        beside = Stage(task=task, folder=home, sandbox=CheckSandbox(), marker=uuid4().hex)
        async with keep_prepared(), beside.open():
            await beside.set_up()
            events = await beside.play(solution.turns)
            shutil.copytree(beside.workspace, solved, dirs_exist_ok=True)
    else:
        home.mkdir()
        stage = PlayFolders(workspace=solved, home=home, output=tmp_path / "output.log", marker=uuid4().hex)
        events = await play(solution.turns, task, stage)
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

"""Where a task is played: set up, played, graded, and removed."""

from dataclasses import replace
from pathlib import Path

import pytest

from grading.conftest import REFUSED
from pinchbench.authoring.play import StepFailedError
from pinchbench.authoring.stage import Stage, work_in_scratch
from pinchbench.authoring.template import write_skeleton
from pinchbench.errors import ResultsError
from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.grading.grader import Grader
from pinchbench.model.task import GradingType
from pinchbench.suite.loading import load_suite
from pinchbench.suite.solution import SolutionTurn, ToolStep, load_solution
from suite_packs import put

pytestmark = pytest.mark.usefixtures("checks_in_process")


def new_stage(folder: Path) -> Stage:
    write_skeleton(folder / "suite", "task_a", grading=GradingType.AUTOMATED, category="mine")
    [task] = load_suite(folder / "suite").suite.tasks
    return Stage(task=task, folder=folder / "stage", sandbox=None, marker="stage/0")


async def test_the_solution_and_another_workspace_are_graded_on_one_stage(tmp_path: Path) -> None:
    stage = new_stage(tmp_path)
    solution = load_solution(tmp_path / "suite", "task_a")
    assert solution is not None
    grader = Grader(scratch=tmp_path / "checks")
    empty = tmp_path / "empty"
    empty.mkdir()
    async with stage.open():
        await stage.set_up()
        events = await stage.play(solution.turns)
        whole = await stage.grade(events, grader.grade)
        nothing = await stage.grade(events, grader.grade, workspace=empty, evidence=stage.folder / "other")
    assert whole.score == 1.0
    assert nothing.score is not None
    assert nothing.score < 1.0
    assert not stage.folder.exists()


async def test_an_error_of_the_machine_names_the_place(tmp_path: Path) -> None:
    stage = new_stage(tmp_path)
    with pytest.raises(ResultsError, match="no space left"):
        async with stage.open():
            raise OSError(28, "No space left on device")
    assert not stage.folder.exists()


SERVED = """\
---
id: task_a
services: [{name: forge, command: [python3, forge.py], folder: forge, port: 8020, ready: /, limit: 240}]
sessions: [Post one., {prompt: Post two., new_session: true}]
---

## Automated Checks

```python
from pathlib import Path

def grade(transcript, workspace_path):
    lines = Path(workspace_path, ".services", "forge.log").read_text().split()
    return {word: float(word in lines) for word in ("/one", "/two")}
```
"""
FORGE = """
    import http.server, os, sys

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/quit":
                os._exit(4)
            print(self.path, flush=True)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", 8020), Handler).serve_forever()
"""


def asks(path: str) -> SolutionTurn:
    command = f"python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:8020{path}')\""
    return SolutionTurn(steps=(ToolStep(tool="exec", args={"command": command}),), answer="Done.")


@pytest.mark.skipif(bool(REFUSED), reason=f"services need namespaces: {REFUSED}")
async def test_a_script_is_played_next_to_the_services_whose_output_the_check_gets(tmp_path: Path) -> None:
    put(tmp_path / "suite" / "assets" / "forge" / "forge.py", FORGE)
    (tmp_path / "suite" / "task_a.md").write_text(SERVED, encoding="utf-8")
    [task] = load_suite(tmp_path / "suite").suite.tasks
    stage = Stage(task=task, folder=tmp_path / "stage", sandbox=CheckSandbox(), marker="stage/services")
    assert stage.refused == ""
    assert "services" in replace(stage, sandbox=None).refused
    grader = Grader(scratch=tmp_path / "checks", sandbox=CheckSandbox())
    async with stage.open():
        await stage.set_up()
        grade = await stage.grade(await stage.play((asks("/one"), asks("/more"))), grader.grade)
        events = await stage.play((asks("/two"), asks("/more")))
        second = await stage.grade(events, grader.grade, evidence=tmp_path / "second")
    assert grade.breakdown == {"/one": 1.0, "/two": 0.0}, grade
    assert second.breakdown == {"/one": 0.0, "/two": 1.0}, "a script is paid for what another one has done"
    async with stage.open():
        await stage.set_up()
        with pytest.raises(StepFailedError):
            await stage.play((asks("/quit"), asks("/one")))


async def test_a_place_that_is_no_folder_is_an_error_that_names_the_option(tmp_path: Path) -> None:
    async def work(folder: Path, done: dict[int, str]) -> None:
        raise AssertionError(f"nothing is to be done: {folder} {done}")

    (tmp_path / "pb").write_bytes(b"")
    with pytest.raises(ResultsError, match="--run-root"):
        await work_in_scratch(work, tasks=1, run_root=tmp_path / "pb", say=None)

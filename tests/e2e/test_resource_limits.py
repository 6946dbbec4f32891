"""A run on real OpenClaw whose agents use too much: each is ended alone, counted and graded; a normal one is not."""

from pathlib import Path

import pytest

from pinchbench import Isolation, Reason, run_benchmark
from pinchbench.defaults import Sandbox
from pinchbench.openclaw.command import OpenClaw
from real_openclaw import Step, TaskFile, newest_release, run_config

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

# Each ends by itself at some multiple of its limit: a test that fails must do no harm.
BOMB = "import os, time\nfor _ in range(9):\n    os.fork()\ntime.sleep(120)\n"
HOG = "import time\nkept = [b'x' * 2**26 for _ in range(64)]\ntime.sleep(120)\n"
FILLER = "import time\nfor n in range(32):\n    open(str(n), 'wb').write(b'x' * 2**24)\ntime.sleep(120)\n"
GOOD = "import os, time\nkept = b'x' * 2**27\nopen('made', 'wb').write(b'x' * 2**20)\nos.fork() and os.wait()\n"
CHECK = """
def grade(transcript, workspace_path):
    return {"asked": "exec" in str(transcript)}
"""


def _task(name: str, program: str) -> TaskFile:
    steps: list[Step] = [
        ("write", {"path": "program.py", "content": program}),
        ("exec", {"command": "/usr/bin/python3 program.py"}),
    ]
    return TaskFile(task_id=f"task_{name}", turns=[("Run it.", steps, "It ran.")], check=CHECK)


@newest_release
async def test_an_agent_that_uses_too_much_is_ended_alone_and_graded(openclaw: OpenClaw, tmp_path: Path) -> None:
    programs = {"bomb": BOMB, "hog": HOG, "filler": FILLER, "good": GOOD}
    config = run_config(
        tmp_path,
        openclaw,
        [_task(name, program) for name, program in programs.items()],
        isolation=Isolation.PRIVATE,
        sandbox=Sandbox.NAMESPACES,
        concurrency=4,
        max_memory=2.0,
        max_processes=200,
        max_disk=0.2,
    )

    result = await run_benchmark(config)

    notes = {one.key.task_id: (one.reason, one.note.partition(" of ")[2] or one.note) for one in result.outcomes}
    assert notes.pop("task_bomb")[0] is Reason.RESOURCE_LIMIT
    assert notes == {
        "task_hog": (Reason.RESOURCE_LIMIT, "memory; the limit is 2 GiB"),
        "task_filler": (Reason.RESOURCE_LIMIT, "disk space; the limit is 0.2 GiB"),
        "task_good": (Reason.COMPLETED, ""),
    }
    assert {key.task_id: grade.score for key, grade in result.grades.items()} == {
        f"task_{name}": 1.0 for name in programs
    }
    assert {one.attempt for one in result.outcomes} == {1}

"""The bundled suite, read once in each process: many modules of tests look at its tasks, some while imported."""

import json
import re
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.suite.loading import load_suite

ROOT = bundled_tasks_dir()
SUITE = load_suite(ROOT).suite
TASKS = MappingProxyType({task.task_id: task for task in SUITE.tasks})
EXPECTED = re.compile(r'expected = json\.loads\(\s*r"""(.*?)"""', re.DOTALL)


def graded(task_id: str, workspace: Path, *more: Any, transcript: Any = ()) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the points and the events that a bundled task's check gives."""
    names: dict[str, Any] = {}
    exec(compile(TASKS[task_id].automated_checks or "", task_id, "exec"), names)
    scores = names["grade"](transcript, str(workspace), *more)
    return scores, scores.pop("events", {})


def expected_of(task_id: str) -> Any:
    """Return what a bundled task's check expects."""
    found = EXPECTED.search(TASKS[task_id].automated_checks or "")
    assert found is not None
    return json.loads(found[1])

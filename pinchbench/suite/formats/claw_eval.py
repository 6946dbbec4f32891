"""claw-eval: recognised and refused, since its tasks would be scored wrongly; each for what it needs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task import Suite
from pinchbench.suite.parse import BrokenTaskError, TaskProblem
from pinchbench.suite.reader import LoadedSuite
from pinchbench.suite.task_text import decoded, read_bounded
from pinchbench.suite.yaml_nodes import YamlTextError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model.task import Task
    from pinchbench.suite.yaml_nodes import YamlNode

TASK, GRADER = "task.yaml", "grader.py"
# What a task needs, by the keys that say so. Keys that begin with one of these count as well.
NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "tools": "tools that this loop calls over HTTP",
        "services": "services of its repository",
        "sandbox_files": "files in its container",
        "env_snapshot": "a snapshot of that container",
        "user_agent": "a simulated user who talks to this loop",
    }
)
RECORDS = "the records that the suite's own agent loop keeps for its graders (dispatches, audit data)"


class ClawEvalReader:
    """Refuses every task, and names what it needs."""

    format = SuiteFormat.CLAW_EVAL

    def recognises(self, folder: Path) -> bool:
        """Return whether there are folders of tasks, each with its grader. Blocks. Raises OSError."""
        return any(_task_files(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Return a suite without tasks, and a problem for each of its files. Blocks. Raises OSError."""
        problems = tuple(_refusal(path, _needs(path)) for path in _task_files(folder))
        return LoadedSuite(suite=Suite(root=folder, tasks=(), format=self.format), problems=problems)

    def solution(self, suite: Suite, task: Task) -> None:
        """Return None: its solutions are prose."""
        del suite, task


def _task_files(folder: Path) -> list[Path]:
    found = sorted(folder.glob(f"*/{TASK}"))
    return [path for path in found if (path.parent / GRADER).is_file() or (folder / GRADER).is_file()]


def _needs(path: Path) -> dict[str, YamlNode]:
    """Return by key what a task needs; nothing of a file that can't be read, which is refused all the same."""
    try:
        root = read_yaml(decoded(read_bounded(path), path))
    except (BrokenTaskError, YamlTextError):
        return {}
    given = {key: node for key, node in ((root and root.fields) or {}).items() if node.value}
    found = {need: next((node for key, node in given.items() if key.startswith(need)), None) for need in NEEDS}
    return {need: node for need, node in found.items() if node is not None}


def _refusal(path: Path, needs: Mapping[str, YamlNode]) -> TaskProblem:
    listed = [RECORDS, *(f"{NEEDS[key]} (`{key}`, line {node.line})" for key, node in needs.items())]
    return TaskProblem(
        path=path,
        line=min((node.line for node in needs.values()), default=1),
        reason=f"claw-eval is not supported: this task needs {'; '.join(listed)}",
    )

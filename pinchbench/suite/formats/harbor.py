"""Harbor, and LiveClawBench: a folder for each task, made for a container. Refused, each task for what it needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model import Suite
from pinchbench.suite.parse import BrokenTaskError, TaskProblem
from pinchbench.suite.reader import LoadedSuite
from pinchbench.suite.task_text import decoded, read_bounded
from pinchbench.suite.toml_text import line_of, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.model import Task

DOCKERFILE = "environment/Dockerfile"
COMPOSE = ("environment/docker-compose.yaml", "environment/docker-compose.yml")
_RUN = re.compile(r"^[ \t]*RUN\b", re.MULTILINE | re.IGNORECASE)
FIXED_PATHS = "its tests use /tests, /logs/verifier and the container's working directory, which there are not here"


class HarborReader:
    """Refuses every task, and names all that it would need a container for."""

    format = SuiteFormat.HARBOR

    def recognises(self, folder: Path) -> bool:
        """Return whether there is a task with tests or steps. Blocks. Raises OSError."""
        return any(_task_folders(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Return a suite without tasks, and at least one problem for each task. Blocks. Raises OSError."""
        problems: list[TaskProblem] = []
        for path in _task_folders(folder):
            try:
                problems.extend(_needs(path))
            except BrokenTaskError as error:
                problems.extend(error.problems)
        return LoadedSuite(suite=Suite(root=folder, tasks=(), format=self.format), problems=tuple(problems))

    def solution(self, suite: Suite, task: Task) -> None:
        """Return None: no task is read."""
        del suite, task


def _task_folders(folder: Path) -> list[Path]:
    found = sorted(path.parent for path in folder.glob("*/task.toml"))
    return [path for path in found if (path / "tests" / "test.sh").is_file() or (path / "steps").is_dir()]


def _needs(folder: Path) -> Iterator[TaskProblem]:
    """Yield what a task needs that there is not without a container. Raises BrokenTaskError."""
    path = folder / "task.toml"
    values, text = read_toml(path)
    environment, verifier = values.get("environment"), values.get("verifier")
    stated = environment if isinstance(environment, dict) else {}
    graded = verifier if isinstance(verifier, dict) else {}
    keys = (
        ("docker_image", "an image", bool(stated.get("docker_image"))),
        ("gpus", "graphics processors", bool(stated.get("gpus"))),
        ("mcp_servers", "MCP servers", bool(stated.get("mcp_servers"))),
        ("healthcheck", "a service that is up before the agent starts", bool(stated.get("healthcheck"))),
        ("environment_mode", "a second environment for its tests", graded.get("environment_mode") == "separate"),
        ("steps", "several steps, each with tests of its own", bool(values.get("steps"))),
    )
    needs = [(path, line_of(text, key), f"it needs {what} (`{key}`)") for key, what, is_set in keys if is_set]
    needs += [(folder / name, 1, "it needs several containers") for name in COMPOSE if (folder / name).is_file()]
    dockerfile = folder / DOCKERFILE
    if dockerfile.is_file():
        recipe = decoded(read_bounded(dockerfile), dockerfile)
        if found := _RUN.search(recipe):
            needs.append((dockerfile, recipe.count("\n", 0, found.start()) + 1, "it needs an image that RUN builds"))
    for place, line, reason in needs or [(path, 1, FIXED_PATHS)]:
        yield TaskProblem(path=place, line=line, reason=f"Harbor's tasks are not supported: {reason}")

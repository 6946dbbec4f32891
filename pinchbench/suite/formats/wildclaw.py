"""WildClawBench: Markdown files by category, for a workspace at a fixed path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model import Suite
from pinchbench.suite.parse import BrokenTaskError, TaskProblem
from pinchbench.suite.reader import LoadedSuite
from pinchbench.suite.task_text import decoded, read_bounded
from pinchbench.suite.template import is_template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.model import Task

_CATEGORY = re.compile(r"\d\d_\w+")
_WORKSPACE_PATH = re.compile(r"^## +Workspace Path[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
REASON = (
    "WildClawBench's tasks are not supported: their checks look for the work in a folder of a container and score it by"
    " `overall_score`, so that here every agent would get a wrong score"
)


class WildClawReader:
    """Refuses the tasks of a category's folder, or of all folders of categories."""

    format = SuiteFormat.WILDCLAW

    def recognises(self, folder: Path) -> bool:
        """Return whether a task file states its workspace's path. Blocks. Raises OSError."""
        return any(_line_of_path(path) for path in _task_files(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Return a suite without tasks, and a problem for each task. Blocks. Raises OSError."""
        problems = tuple(
            TaskProblem(path=path, line=_line_of_path(path) or 1, reason=REASON) for path in _task_files(folder)
        )
        return LoadedSuite(suite=Suite(root=folder, tasks=(), format=self.format), problems=problems)

    def solution(self, suite: Suite, task: Task) -> None:
        """Return None: the format has no solutions."""
        del suite, task


def _task_files(folder: Path) -> Iterator[Path]:
    categories = sorted(path for path in folder.iterdir() if _CATEGORY.fullmatch(path.name) and path.is_dir())
    for place in (folder, *categories):
        for path in sorted(place.glob("*.md")):
            if path.stem.lower() != "readme" and not is_template(path.stem, path.stem) and path.is_file():
                yield path


def _line_of_path(path: Path) -> int | None:
    try:
        text = decoded(read_bounded(path), path)
    except BrokenTaskError:
        return None
    found = _WORKSPACE_PATH.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None

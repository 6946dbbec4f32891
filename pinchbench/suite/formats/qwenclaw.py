"""QwenClawBench: PinchBench's files, with sources in a folder for each task and a judge behind a gate."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pinchbench.defaults import CheckTotal, SuiteFormat
from pinchbench.model.task import LoadedSuite, ScoreRule, Suite
from pinchbench.suite.formats import markdown_folder
from pinchbench.suite.reading import TaskDialect

if TYPE_CHECKING:
    from pathlib import Path


RULE = ScoreRule(
    text="QwenClawBench: the check's mean and the judge's own total, by weight; the judge counts as 0 where the check "
    "gives less than 0.75, and a check that raises an exception, or returns no number, is a score of 0",
    check_total=CheckTotal.MEAN,
    judge_gate=0.75,
    failed_is_zero=True,
    recomputes_judge=False,
)
DIALECT = TaskDialect(
    format=SuiteFormat.QWENCLAW,
    rule=RULE,
    id_is_stem=True,
    has_own_assets=True,
    refuses_misspelt_weights=False,
)
_TASK_FILE = re.compile(r"task_\d{5}_.+\.md")
# Folders of the container that the suite's own runner uses; they are not in our workspaces.
_CONTAINER_PATH = re.compile(r"(?<![\w.~-])/(?:root|home/\w+)(?![\w-])")


def recognises(folder: Path) -> bool:
    """Return whether a task's file has a folder of its name in `assets`. Blocks. Raises OSError."""
    assets = (folder.resolve().parent / "assets", folder / "assets")
    return any(
        (place / path.stem).is_dir() for path in folder.iterdir() if _TASK_FILE.fullmatch(path.name) for place in assets
    )


def read(folder: Path) -> LoadedSuite:
    """Read a folder `tasks` that has `assets/<task id>` next to it. Blocks. Raises OSError if it can't be listed."""
    loaded = markdown_folder.read(folder, DIALECT)
    return replace(loaded, note=" ".join(filter(None, (loaded.note, _note(loaded.suite)))))


def _note(suite: Suite) -> str:
    """Return a sentence on prompts that name a folder of the suite's container; empty without any."""
    named = [task.task_id for task in suite.tasks if _CONTAINER_PATH.search(task.prompt)]
    if not named:
        return ""
    return f"Prompts that name a folder outside the workspace, which agents may not find: {', '.join(named)}."

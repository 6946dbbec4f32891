"""A suite as a Markdown table, and updating a file that holds it (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinchbench.model import Suite, Task

BEGIN = "<!-- The table: made by `pinchbench-async tasks list --markdown`. -->"
END = "<!-- The end of the table. -->"


def suite_table(suite: Suite) -> str:
    """Return a table with one row per task; core tasks are marked.

    The columns are id, category, grading, time limit and what the task measures.
    """
    core = set(suite.core)
    head = "| task | category | grading | limit | measures |\n|---|---|---|--:|---|\n"
    return head + "".join(_row(task, is_core=task.task_id in core) for task in suite.tasks)


def _row(task: Task, *, is_core: bool) -> str:
    name = f"**{_cell(task.task_id)}**" if is_core else _cell(task.task_id)
    measures = _cell(str(task.frontmatter.get("measures") or task.name))
    return f"| {name} | {_cell(task.category)} | {task.grading_type.value} | {task.timeout_s:g} s | {measures} |\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def with_table(text: str, table: str) -> str:
    """Return the text with the part between its two marks replaced by the table.

    Raises ValueError if the marks are missing.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{table}\n{END}{after}"

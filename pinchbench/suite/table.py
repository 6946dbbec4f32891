"""A suite as a Markdown table, and updating a file that holds it (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinchbench.model.task import Tier

if TYPE_CHECKING:
    from pinchbench.model.task import Suite, Task

BEGIN = "<!-- The table: made by `pinchbench-async tasks list --markdown`. -->"
END = "<!-- The end of the table. -->"


def suite_table(suite: Suite) -> str:
    """Return a table with one row per task; core tasks are bold, hard ones in italics.

    The columns are id, category, grading, time limit, the minutes that a person needs, and what the task measures.
    """
    core = set(suite.core)
    head = "| task | category | grading | limit | person | measures |\n|---|---|---|--:|--:|---|\n"
    return head + "".join(_row(task, is_core=task.task_id in core) for task in suite.tasks)


def _row(task: Task, *, is_core: bool) -> str:
    mark = "**" if is_core else "*" if task.tier is Tier.HARD else ""
    name = f"{mark}{_cell(task.task_id)}{mark}"
    measures = _cell(str(task.frontmatter.get("measures") or task.name))
    minutes = task.frontmatter.get("human_minutes")
    person = "" if minutes is None else _cell(f"{minutes} min")
    cells = (name, _cell(task.category), task.grading_type.value, f"{task.timeout_s:g} s", person, measures)
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def with_table(text: str, table: str, *, begin: str = BEGIN) -> str:
    """Return the text with the part between the mark `begin` and the next END replaced by the table.

    Raises ValueError if one of the marks is missing.
    """
    before, found, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"the marks {begin} and {END} are missing")
    return f"{before}{begin}\n\n{table}\n{END}{after}"

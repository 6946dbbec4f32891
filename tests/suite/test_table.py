"""The suite as a table, and the one in tasks/README.md."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pinchbench.model.task import GradingType, Suite, Task, Tier, Turn
from pinchbench.suite.load import bundled_tasks_dir
from pinchbench.suite.table import BEGIN, END, suite_table, with_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def task(task_id: str, tier: Tier = Tier.STANDARD, **frontmatter: object) -> Task:
    return Task(
        task_id=task_id,
        name="A | name",
        category="x",
        grading_type=GradingType.HYBRID,
        prompt="",
        turns=(Turn(prompt="p"),),
        tier=tier,
        timeout_s=90.0,
        frontmatter=frontmatter,
    )


def test_each_task_is_a_row_core_tasks_are_bold_and_hard_ones_in_italics() -> None:
    tasks = (
        task("task_a"),
        task("task_b", measures="counting,\n  slowly", human_minutes=20),
        task("task_c", Tier.HARD),
    )
    suite = Suite(root=Path(), tasks=tasks, core=("task_b",))
    assert suite_table(suite).split("\n")[2:] == [
        "| task_a | x | hybrid | 90 s |  | A \\| name |",
        "| **task_b** | x | hybrid | 90 s | 20 min | counting, slowly |",
        "| *task_c* | x | hybrid | 90 s |  | A \\| name |",
        "",
    ]


def test_a_table_takes_the_place_of_the_old_one_and_nothing_else() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = with_table(text, "new\n")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert with_table(once, "new\n") == once
    with pytest.raises(ValueError, match="are missing"):
        with_table("before", "new")


def test_of_several_tables_the_one_after_its_mark_is_replaced() -> None:
    text = f"{BEGIN}\nold\n{END}\n<!-- other -->\nold\n{END}\nafter\n"
    assert (
        with_table(text, "new\n", begin="<!-- other -->")
        == f"{BEGIN}\nold\n{END}\n<!-- other -->\n\nnew\n\n{END}\nafter\n"
    )


@pytest.fixture(name="tables")
def _tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(bundled_tasks_dir())
    yield import_module("table")
    for name in ("table", "measured"):
        del sys.modules[name]


def test_the_tables_in_the_readme_of_the_tasks_are_current(tables: ModuleType) -> None:
    text = (bundled_tasks_dir() / "README.md").read_text(encoding="utf-8")
    assert tables.with_tables(text) == text, "make it anew with: make suite"


def test_plays_of_a_task_that_is_not_in_the_hard_tier_are_refused(tables: ModuleType) -> None:
    with pytest.raises(ValueError, match="plays of tasks that are not in the hard tier: 45"):
        tables.strong_table({"45": {"plays": [1.0]}, "46": {"plays": [0.5]}}, ["46"])


def test_a_task_counts_once_in_the_mean_of_a_strong_model_however_often_it_was_played(tables: ModuleType) -> None:
    said = tables.strong_table(
        {"43": {"plays": [0.2, 0.4]}, "44": {"plays": [1.0], "remark": "all"}}, ["43", "44", "48"]
    )
    assert "| 43 | 0.20, 0.40 |  |" in said
    assert "| 44 | 1.00 | all |" in said
    assert (
        "The mean of these 2 tasks is 0.65; 1 of them were played more than once. Above 0.95 in any play: 44." in said
    )

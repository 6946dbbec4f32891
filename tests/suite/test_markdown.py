"""The suite as a table, and the one in tasks/README.md."""

from pathlib import Path

import pytest

from made_tasks import made_task
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task import Suite, Task, Tier
from pinchbench.suite.loading import load_suite
from pinchbench.suite.markdown import BEGIN, END, suite_table, with_table


def task(task_id: str, tier: Tier = Tier.STANDARD, **frontmatter: object) -> Task:
    return made_task(task_id=task_id, name="A | name", tier=tier, timeout_s=90.0, frontmatter=frontmatter)


def test_each_task_is_a_row_core_tasks_are_bold_and_hard_ones_in_italics() -> None:
    tasks = (
        task("task_a"),
        task("task_b", asks="Count,\n  please.", low_score="It can't count.", human_minutes=20),
        task("task_c", Tier.HARD),
    )
    suite = Suite(root=Path(), tasks=tasks, core=("task_b",))
    assert suite_table(suite).split("\n")[2:] == [
        "| task_a | A \\| name |  |  | 90 s |  |",
        "| **task_b** | A \\| name | Count, please. | It can't count. | 90 s | 20 min |",
        "| *task_c* | A \\| name |  |  | 90 s |  |",
        "",
    ]


def test_a_table_takes_the_place_of_the_old_one_and_nothing_else() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = with_table(text, "new\n")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert with_table(once, "new\n") == once
    with pytest.raises(ValueError, match="are missing"):
        with_table("before", "new")


def test_the_table_in_the_readme_of_the_tasks_is_current() -> None:
    text = (bundled_tasks_dir() / "README.md").read_text(encoding="utf-8")
    assert with_table(text, suite_table(load_suite(bundled_tasks_dir()).suite)) == text, "make it anew with: make suite"

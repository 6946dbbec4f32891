"""`--suite` in, tasks out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinchbench.errors import SelectionError
from pinchbench.model.task import GradingType, Suite, Task, Tier, Turn
from pinchbench.suite.bundled import bundled_tasks_dir
from pinchbench.suite.select import find_task, select_tasks


def task(
    task_id: str, category: str, grading_type: GradingType = GradingType.AUTOMATED, tier: Tier = Tier.STANDARD
) -> Task:
    return Task(
        task_id=task_id,
        name=task_id,
        category=category,
        grading_type=grading_type,
        tier=tier,
        prompt="Hi",
        turns=(Turn(prompt="Hi"),),
    )


SUITE = Suite(
    root=Path("tasks"),
    tasks=(
        task("task_a", "Data"),
        task("task_b", "writing", GradingType.LLM_JUDGE),
        task("task_c", "data", GradingType.HYBRID, Tier.HARD),
        task("writing", "misc"),
        task("task_sanity", "basics"),
    ),
    run_first=("task_sanity",),
    core=("task_c", "task_sanity"),
)


def selected(expression: str) -> list[str]:
    return [task.task_id for task in select_tasks(SUITE, expression)]


def message(expression: str, suite: Suite = SUITE) -> str:
    with pytest.raises(SelectionError) as caught:
        select_tasks(suite, expression)
    return str(caught.value)


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ("all", ["task_sanity", "task_a", "task_b", "task_c", "writing"]),
        ("ALL", ["task_sanity", "task_a", "task_b", "task_c", "writing"]),
        ("core", ["task_sanity", "task_c"]),
        ("hard", ["task_c"]),
        ("hard,core", ["task_sanity", "task_c"]),
        ("automated-only", ["task_sanity", "task_a", "writing"]),
        ("data", ["task_a", "task_c"]),
        ("DATA", ["task_a", "task_c"]),
        ("task_c,task_a", ["task_a", "task_c"]),
        (" task_c , , task_a, task_c,", ["task_a", "task_c"]),
        ("task_b,core", ["task_sanity", "task_b", "task_c"]),
        ("misc,task_b", ["task_b", "writing"]),
    ],
)
def test_an_expression_names_tasks(expression: str, ids: list[str]) -> None:
    assert selected(expression) == ids


def test_an_id_comes_before_a_category_of_the_same_name() -> None:
    assert selected("writing") == ["writing"]


def test_the_start_of_an_id_is_not_enough() -> None:
    assert message("task_san") == "--suite names what tasks does not have: 'task_san' (did you mean 'task_sanity'?)."


def test_ids_are_exact_but_their_case_is_suggested() -> None:
    assert "(did you mean 'task_a'?)" in message("TASK_A")


def test_all_unknown_names_are_listed() -> None:
    assert message("task_a,automated,zebra,dat") == (
        "--suite names what tasks does not have: 'automated' (did you mean 'automated-only'?), 'zebra', "
        "'dat' (did you mean 'Data'?). `pinchbench-async tasks list --tasks-dir tasks` shows all tasks and categories."
    )


def test_of_the_bundled_tasks_the_suites_that_were_added_are_pointed_to_as_well() -> None:
    told = message("zebra", Suite(root=bundled_tasks_dir(), tasks=SUITE.tasks))
    assert told.endswith(
        " `pinchbench-async tasks list` shows all tasks and categories, `suite list` the suites that were added."
    )


@pytest.mark.parametrize("expression", ["", " ", ",", " , ,"])
def test_an_expression_without_names_is_an_error(expression: str) -> None:
    assert message(expression).startswith("--suite names no tasks.")


@pytest.mark.parametrize("expression", ["core", "hard", "automated-only", "core, automated-only"])
def test_selecting_nothing_is_an_error(expression: str) -> None:
    suite = Suite(root=Path("tasks"), tasks=(task("task_b", "x", GradingType.LLM_JUDGE),))
    assert "selects no tasks of tasks." in message(expression, suite)


def test_tasks_that_run_first_do_so_in_the_order_of_the_manifest() -> None:
    suite = Suite(root=Path("tasks"), tasks=SUITE.tasks, run_first=("writing", "task_b"))
    assert [task.task_id for task in select_tasks(suite, "all")][:3] == ["writing", "task_b", "task_a"]


def test_one_task_is_found_by_its_exact_id() -> None:
    assert find_task(SUITE, "task_c").task_id == "task_c"


@pytest.mark.parametrize(
    ("task_id", "sentence"),
    [
        ("task_san", "tasks has no task 'task_san'. Did you mean 'task_sanity'?"),
        ("TASK_A", "tasks has no task 'TASK_A'. Did you mean 'task_a'?"),
        ("nope", "tasks has no task 'nope'. `pinchbench-async tasks list --tasks-dir tasks` shows all"),
        ("all", "tasks has no task 'all'."),
        ("task_a,task_b", "tasks has no task 'task_a,task_b'."),
    ],
)
def test_what_is_no_id_names_no_task(task_id: str, sentence: str) -> None:
    with pytest.raises(SelectionError) as caught:
        find_task(SUITE, task_id)
    assert str(caught.value).startswith(sentence)

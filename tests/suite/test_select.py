"""`--suite` in, tasks out."""

from pathlib import Path

import pytest

from made_tasks import made_task
from pinchbench.errors import SelectionError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task import GradingType, Suite, Task, Tier
from pinchbench.suite.select import fits, likely_word, select_tasks


def task(
    task_id: str, category: str, grading_type: GradingType = GradingType.AUTOMATED, tier: Tier = Tier.STANDARD
) -> Task:
    return made_task(task_id=task_id, category=category, grading_type=grading_type, tier=tier)


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
    assert [task.task_id for task in select_tasks(SUITE, expression)] == ids


def test_all_unknown_names_are_listed() -> None:
    assert message("task_a,automated,zebra,dat") == (
        "tasks has no task or category 'automated' (did you mean 'automated-only'?), 'zebra', "
        "'dat' (did you mean 'Data'?). `pinchbench-async tasks list --tasks-dir tasks` shows all tasks and categories."
    )


def test_a_folder_that_is_given_as_a_suite_is_pointed_to_its_option() -> None:
    assert message("mine/tasks") == "tasks has no task or category 'mine/tasks' (use --tasks-dir for a folder)."


def test_of_the_bundled_tasks_the_suites_that_were_added_are_pointed_to_as_well() -> None:
    told = message("zebra", Suite(root=bundled_tasks_dir(), tasks=SUITE.tasks))
    assert told.endswith(
        " `pinchbench-async tasks list` shows all tasks and categories, `suite` the suites that were added."
    )


def test_tasks_that_run_first_do_so_in_the_order_of_the_manifest() -> None:
    suite = Suite(root=Path("tasks"), tasks=SUITE.tasks, run_first=("writing", "task_b"))
    assert [task.task_id for task in select_tasks(suite, "all")][:3] == ["writing", "task_b", "task_a"]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("git", True),
        ("GIT and rescue", True),
        ("git and not rescue", False),
        ("mail or (git and (rescue or mail))", True),
        ("not not git", True),
        ("mail or mail", False),
    ],
)
def test_words_and_their_combinations_fit_a_text(expression: str, found: bool) -> None:
    assert fits(expression, "task_38_git_rescue Rescue a repository") is found


@pytest.mark.parametrize("expression", ["", "and", "git and", "(git", "git)", "git rescue", "not"])
def test_an_expression_that_can_not_be_read_is_refused(expression: str) -> None:
    with pytest.raises(SelectionError, match="write words, joined by and, or, not"):
        fits(expression, "git")


@pytest.mark.parametrize(
    ("expression", "meant"), [("calender", "calendar"), ("task and nightt", "night"), ("task", ""), ("zzz", "")]
)
def test_the_word_that_a_keyword_may_stand_for_is_one_of_the_tasks(expression: str, meant: str) -> None:
    assert likely_word(expression, ["task_01_calendar Put it into the calendar", "task_53_night_charges"]) == meant

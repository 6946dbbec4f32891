"""What a rehearsal has shown, in words."""

from __future__ import annotations

import json

from pinchbench.authoring.results import CheckedTask, Part
from pinchbench.authoring.text import problem_lines, record, task_line, untried_lines, verdict, wrong_tasks

GOOD = (
    CheckedTask(task_id="task_a", part=Part.ORACLE, name="oracle", check=1.0, judge=0.9),
    CheckedTask(task_id="task_a", part=Part.NEAR_MISS, name="Half", check=0.5),
    CheckedTask(task_id="task_a", part=Part.NEAR_MISS, name="None", check=0.25),
    CheckedTask(task_id="task_a", part=Part.NOTHING, name="nothing", check=0.0),
)
BAD = CheckedTask(task_id="task_b", part=Part.NEAR_MISS, name="H\x1balf", problems=("too\x1b good", "too late\n"))
UNTRIED = CheckedTask(task_id="task_d", part=Part.ORACLE, name="oracle", untried="it needs git, not found here")


def test_a_task_is_a_line() -> None:
    said = "task_a  ok     oracle 1.00 and 0.90 by the judge  near misses 0.50, 0.25  nothing 0.00"
    assert task_line(GOOD, width=6) == said
    assert task_line([BAD], width=8) == "task_b    WRONG  near misses -"
    assert task_line([UNTRIED], width=6) == "task_d  -      oracle -"


def test_all_problems_are_named_without_control_characters() -> None:
    assert problem_lines(GOOD) == ""
    assert problem_lines([*GOOD, BAD]) == "task_b, near miss 'H alf': too  good\ntask_b, near miss 'H alf': too late"


def test_tasks_with_problems_are_counted_and_named() -> None:
    assert wrong_tasks(GOOD) == ""
    assert wrong_tasks([*GOOD, BAD]) == "1 of 2 tasks not as stated: task_b."


def test_what_could_not_be_tried_is_told_once_for_each_reason() -> None:
    other = CheckedTask(task_id="task_e", part=Part.ORACLE, name="oracle", untried=UNTRIED.untried)
    assert untried_lines(GOOD) == ""
    assert untried_lines([UNTRIED, UNTRIED, other]) == "Not tried: task_d, task_e: it needs git, not found here"


def test_the_verdict_says_what_was_not_tried() -> None:
    assert verdict(GOOD, judged=True) == "1 task, 2 near misses: all as they should be."
    idle = CheckedTask(task_id="task_b", part=Part.NOTHING, name="nothing", check=0.0)
    unjudged = CheckedTask(task_id="task_c", part=Part.ORACLE, name="oracle", has_rubric=True)
    assert verdict([*GOOD, idle, unjudged], judged=False).split("\n") == [
        "3 tasks, 2 near misses: all as they should be.",
        "Without a solution: task_b.",
        "With fewer than two near misses: task_c.",
        "The rubrics of 1 task were not tried; --judge names who can.",
    ]


def test_a_result_is_a_record_for_machines() -> None:
    assert json.loads(json.dumps(record(BAD))) == {
        "task_id": "task_b",
        "part": "near_miss",
        "name": "H\x1balf",
        "check": None,
        "judge": None,
        "problems": ["too\x1b good", "too late\n"],
        "untried": "",
        "has_rubric": False,
    }

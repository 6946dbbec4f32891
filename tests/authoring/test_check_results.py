"""What a rehearsal has shown, in words."""

import json

from pinchbench.authoring.check_results import (
    CheckedTask,
    Part,
    record,
    same_answers,
    verdict,
)

GOOD = (
    CheckedTask(task_id="task_a", part=Part.ORACLE, name="oracle", check=1.0, judge=0.9),
    CheckedTask(task_id="task_a", part=Part.NEAR_MISS, name="Half", check=0.5),
    CheckedTask(task_id="task_a", part=Part.NEAR_MISS, name="None", check=0.25),
    CheckedTask(task_id="task_a", part=Part.NOTHING, name="nothing", check=0.0),
)
BAD = CheckedTask(task_id="task_b", part=Part.NEAR_MISS, name="H\x1balf", problems=("too\x1b good", "too late\n"))


def test_the_verdict_says_what_was_not_tried() -> None:
    assert verdict(GOOD, judged=True) == "1 task, 2 near misses: all as expected."
    idle = CheckedTask(task_id="task_b", part=Part.NOTHING, name="nothing", check=0.0)
    unjudged = CheckedTask(task_id="task_c", part=Part.ORACLE, name="oracle", has_rubric=True)
    assert verdict([*GOOD, idle, unjudged], judged=False).split("\n") == [
        "3 tasks, 2 near misses: all as expected.",
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
        "events": {},
        "judge": None,
        "problems": ["too\x1b good", "too late\n"],
        "untried": "",
        "has_rubric": False,
    }


def test_forms_with_the_same_answers_are_named_with_their_task() -> None:
    forms = {
        form: (CheckedTask(task_id="task_a", part=Part.ORACLE, name="oracle", check=1.0, answers=answers),)
        for form, answers in ((1, "x"), (2, "y"), (5, "x"), (6, ""))
    }
    assert same_answers(forms) == "task_a has the same answers in the forms 1, 5."
    assert same_answers({1: forms[1], 2: forms[2]}) == ""

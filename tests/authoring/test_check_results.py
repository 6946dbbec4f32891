"""What a rehearsal has shown, in words."""

import json

from pinchbench.authoring.check_results import (
    CheckedTask,
    Part,
    forms_verdict,
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
        "events": {},
        "judge": None,
        "problems": ["too\x1b good", "too late\n"],
        "untried": "",
        "has_rubric": False,
    }


def checked(part: Part, score: float, answers: str = "") -> CheckedTask:
    return CheckedTask(task_id="task_a", part=part, name=part.value, check=score, answers=answers)


def test_forms_with_the_same_answers_are_named_with_their_task() -> None:
    forms = {form: (checked(Part.ORACLE, 1, answers),) for form, answers in ((1, "x"), (2, "y"), (5, "x"), (6, ""))}
    assert same_answers(forms) == "task_a has the same answers in the forms 1, 5."
    assert same_answers({1: forms[1], 2: forms[2]}) == ""


def test_the_verdict_tells_the_least_that_is_earned_and_the_most_that_is_not() -> None:
    one = (checked(Part.ORACLE, 1.0), checked(Part.NEAR_MISS, 0.5), checked(Part.NOTHING, 0.1))
    other = (checked(Part.ORACLE, 0.9), checked(Part.NOTHING, 0.0), checked(Part.MEMORISED, 0.125))
    assert forms_verdict({1: one, 2: other}) == (
        "2 forms of 1 task: solutions 0.90 at least, doing nothing 0.10 at most, memorised answers 0.12 at most,"
        " 1 near miss in range."
    )

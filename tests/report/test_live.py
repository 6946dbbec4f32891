"""What a person sees while a run goes on, and at its end."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio import create_memory_object_stream, fail_after
from rich.console import Console

from pinchbench.model import (
    CheckGrade,
    Event,
    Grade,
    GradingType,
    JudgeGrade,
    Notice,
    Outcome,
    OutputLine,
    Reason,
    RunBegan,
    Task,
    Trial,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialKey,
    Turn,
    Ungraded,
    Usage,
)
from pinchbench.report.live import LiveView
from pinchbench.report.plan import print_plan
from pinchbench.report.summary import print_summary
from pinchbench.results.aggregate import aggregate

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = TrialKey(task_id="task_a", repetition=1)
OUTCOME = Outcome(
    key=KEY,
    reason=Reason.PROVIDER_ERROR,
    digest="d",
    slot=1,
    evidence="trials/task_a/1",
    note="401 \x1b[31mno\x1b[0m",
    usage=Usage(requests=2, total_tokens=1500),
)
EVENTS: list[Event] = [
    RunBegan(run_id="r", model="mock/m1", trials=2, slots=1, folder=Path("results/r")),
    TrialBegan(slot=1, key=KEY, timeout_s=60),
    TrialActivity(slot=1, key=KEY, text="exec ls\x1b[2J", usage=Usage(total_tokens=7)),
    OutputLine(key=KEY, stream="stderr", text="careful\x07"),
    TrialEnded(outcome=OUTCOME),
    TrialGraded(grade=Grade(key=KEY, grading_type=GradingType.AUTOMATED, score=0.5)),
    TrialGraded(
        grade=Grade(
            key=KEY,
            grading_type=GradingType.AUTOMATED,
            ungraded=Ungraded.CHECK_RAISED,
            notes=("ValueError: \x1b[31mno",),
        )
    ),
    Notice(text="SIGINT: no new trials."),
]


async def _show(console: Console) -> str:
    sender, receiver = create_memory_object_stream[Event](len(EVENTS))
    for event in EVENTS:
        sender.send_nowait(event)
    sender.close()
    with fail_after(5), receiver:
        await LiveView(console).watch(receiver)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.anyio
async def test_without_a_terminal_every_event_is_a_plain_line_with_its_time() -> None:
    text = await _show(Console(file=io.StringIO(), width=160))

    assert "\x1b" not in text
    assert "\x07" not in text
    lines = text.splitlines()
    assert [line[10:].split()[0] for line in lines] == [
        "mock/m1:",
        "started",
        "task_a",
        "provider_error",
        "graded",
        "ungraded",
        "SIGINT:",
    ]
    assert all(line[2] == line[5] == ":" for line in lines)


@pytest.mark.anyio
@pytest.mark.parametrize("is_terminal", [False, True])
async def test_what_a_slow_reader_has_no_room_for_is_counted_and_the_count_is_shown(is_terminal: bool) -> None:
    shown: list[bool] = []
    console = Console(file=io.StringIO(), width=160, force_terminal=is_terminal, color_system=None)

    def is_full() -> bool:
        shown.append(True)
        return len(shown) < 20

    sender, receiver = create_memory_object_stream[Event](40)
    for _ in range(40):
        sender.send_nowait(Notice(text="one"))
    sender.close()
    view = LiveView(console, is_full=is_full)
    with fail_after(5), receiver:
        await view.watch(receiver)
    view.say_left_out()

    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    [left_out] = re.findall(r"… (\d+) lines were not shown\n", text)
    assert text.count("  one") + int(left_out) == 40
    assert text.index("not shown") < text.index("  one")


@pytest.mark.anyio
async def test_a_reader_that_stays_slow_hears_of_what_it_missed_at_the_end() -> None:
    console = Console(file=io.StringIO(), width=160)
    full = [True]
    view = LiveView(console, is_full=lambda: full[0])
    sender, receiver = create_memory_object_stream[Event](1)
    sender.send_nowait(Notice(text="one"))
    sender.close()
    with fail_after(5), receiver:
        await view.watch(receiver)
    view.say_left_out()
    full[0] = False
    view.say_left_out()
    view.say_left_out()

    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "… 1 lines were not shown\n"


@pytest.mark.anyio
async def test_on_a_terminal_what_is_drawn_goes_away_and_the_lines_stay() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, legacy_windows=False)

    text = await _show(console)

    assert "provider_error" in text
    assert "\x1b[2J" not in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def _summary(
    outcomes: list[Outcome],
    grades: list[Grade],
    *,
    planned: int = 0,
    graded: Sequence[Grade] = (),
    width: int = 160,
) -> str:
    console = Console(file=io.StringIO(), width=width)
    given = {grade.key: grade for grade in grades}
    missing = [TrialKey(task_id=f"task_z{number}", repetition=1) for number in range(planned - len(outcomes))]
    data = aggregate(
        model="mock/m1",
        run_id="r",
        timestamp=1.5,
        plan=[*(outcome.key for outcome in outcomes), *missing],
        outcomes=outcomes,
        facts={},
        grades=given,
        graded=graded,
        categories={"task_a": "coding", "task_b": "writing"},
    )
    print_summary(console, data, outcomes, given, folder=Path("results/r"))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _done(task_id: str, repetition: int = 1) -> Outcome:
    return Outcome(key=TrialKey(task_id=task_id, repetition=repetition), reason=Reason.COMPLETED, digest="d")


def test_the_summary_names_what_says_nothing_about_the_model_and_where_to_look() -> None:
    text = _summary([OUTCOME], [], planned=3)

    assert "1 of 3 trials" in text
    assert "task_a: provider_error (says nothing about the model; counted for nobody): 401" in text
    assert "results/r/trials/task_a/1" in text
    assert "No score: no trial has one." in text
    assert "0 ungraded, 1 that say nothing about the model, 2 not run" in text
    assert "\x1b" not in text


def test_the_summary_tells_the_score_with_its_interval_and_what_it_leaves_out() -> None:
    judge = JudgeGrade(score=0.5, model="judge-1", calls=2, cached=1, usage=Usage(requests=2, total_tokens=2400))
    judged = Grade(key=_done("task_a", 2).key, grading_type=GradingType.LLM_JUDGE, score=0.5, judge=judge)
    alone = Grade(
        key=_done("task_c").key,
        grading_type=GradingType.HYBRID,
        ungraded=Ungraded.NO_JUDGE,
        check=CheckGrade(score=0.9),
        notes=("no judge \x1b[31mwas asked for",),
    )
    full = Grade(key=KEY, grading_type=GradingType.AUTOMATED, score=1.0)
    zero = Grade(key=_done("task_b").key, grading_type=GradingType.AUTOMATED, score=0.0)
    outcomes = [_done("task_a"), _done("task_a", 2), _done("task_b"), _done("task_c")]

    text = _summary(outcomes, [full, judged, zero, alone])

    assert re.search(r"Score 0\.375 \(95 % interval 0\.\d+ to [01]\.\d+\), the mean of 2 tasks \(3 trials\)\.", text)
    assert "By category: coding 0.75 (1), writing 0.00 (1)." in text
    assert "Passed (score of 0.8 or more): pass@1 25% (2 tasks), pass@2 100%, pass^2 0% (1 task)." in text
    assert (
        "Left out of the score: 1 ungraded, 0 that say nothing about the model, 0 not run; tasks without any score: 1."
        in text
    )
    assert "Without their judge, the checks of 1 task give 0.90; not in the score." in text
    assert "task_c: ungraded, no_judge (its check alone gives 0.90): no judge  [31mwas asked for" in text
    assert "Judge judge-1: 2 calls for 1 trial, 1 from the cache, 2.4k tokens, cost not told" in text
    rows = {line.split()[0]: line.split()[3] for line in text.splitlines()[1:5]}
    assert rows == {"task_a": "1.00", "task_a@2": "0.50", "task_b": "0.00", "task_c": "ungraded"}
    assert "\x1b" not in text


def _judged(task_id: str, judge: JudgeGrade) -> Grade:
    return Grade(
        key=_done(task_id).key,
        grading_type=GradingType.LLM_JUDGE,
        score=judge.score,
        ungraded=judge.ungraded,
        judge=judge,
    )


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ((0.25, 0.5), "2 calls for 2 trials, 0 from the cache, 0 tokens, $0.7500."),
        ((0.25, None), "2 calls for 2 trials, 0 from the cache, 0 tokens, $0.2500, cost not told for 1 of 2 calls."),
        ((None, None), "2 calls for 2 trials, 0 from the cache, 0 tokens, cost not told by the endpoint."),
    ],
)
def test_a_part_of_the_judges_cost_is_never_shown_as_the_whole(costs: tuple[float | None, ...], said: str) -> None:
    tasks = ("task_a", "task_b")
    parts = [JudgeGrade(score=0.5, model="judge-1", calls=1, cost_usd=cost) for cost in costs]
    grades = [_judged(task, part) for task, part in zip(tasks, parts, strict=True)]

    assert f"Judge judge-1: {said}\n" in _summary([_done(task) for task in tasks], grades)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (JudgeGrade(score=0.5, model="judge-1", cached=1), "Judge judge-1: 1 trial, all from the cache."),
        (JudgeGrade(ungraded=Ungraded.JUDGE_REFUSED, model="judge-1"), "Judge judge-1: 1 trial, no calls."),
    ],
)
def test_a_judge_that_was_not_called_has_no_cost_to_tell(part: JudgeGrade, said: str) -> None:
    assert f"{said}\n" in _summary([_done("task_a")], [_judged("task_a", part)])


@pytest.mark.parametrize("why", [Ungraded.EVIDENCE_LOST, Ungraded.NO_JUDGE])
def test_where_nobody_judged_nothing_is_said_about_a_judge(why: Ungraded) -> None:
    assert "Judge" not in _summary([_done("task_a")], [_judged("task_a", JudgeGrade(ungraded=why))])


def test_what_superseded_judges_have_cost_is_told_without_their_names() -> None:
    none = _judged("task_a", JudgeGrade(ungraded=Ungraded.NO_JUDGE))
    before = _judged("task_a", JudgeGrade(score=0.5, model="judge-1", calls=2, cost_usd=0.25))

    text = _summary([_done("task_a")], [none], graded=[before, none])

    assert "Judging: 2 calls for 0 trials, 0 from the cache, 0 tokens, $0.2500.\n" in text


def test_a_category_without_a_score_is_named_where_another_has_one() -> None:
    outcomes = [_done("task_a"), _done("task_b")]
    full = Grade(key=KEY, grading_type=GradingType.AUTOMATED, score=1.0)

    assert "By category: coding 1.00 (1), writing –.\n" in _summary(outcomes, [full])
    assert "By category" not in _summary(outcomes, [])


@pytest.mark.parametrize("width", [50, 60, 80, 100])
def test_a_narrow_terminal_or_a_long_id_takes_from_the_ids_and_never_from_the_scores(width: int) -> None:
    long = f"task_{'x' * 80}"
    outcomes = [_done(long), _done("task_a")]
    grades = [
        Grade(key=_done(long).key, grading_type=GradingType.AUTOMATED, score=0.25),
        Grade(key=KEY, grading_type=GradingType.LLM_JUDGE, ungraded=Ungraded.NO_JUDGE),
    ]

    head, *lines = _summary(outcomes, grades, width=width).splitlines()

    assert max(map(len, (head, *lines[:2]))) <= width
    assert {"task", "status", "reason", "score", "time"} <= set(head.split())
    assert re.search(r"task_a +success +completed +ungraded +0\.0 s", lines[0])
    assert re.search(r"task_x+… +success +completed +0\.25 +0\.0 s", lines[1])


def test_a_trial_whose_turn_to_be_graded_did_not_come_is_named() -> None:
    text = _summary([_done("task_a")], [])
    assert "task_a: ungraded, its turn did not come; `pinchbench-async regrade` grades it" in text


def test_the_plan_shows_task_text_as_it_is_but_for_control_characters() -> None:
    console = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)
    turns = (Turn(prompt="Hi"),)
    task = Task(
        task_id="task_a", name="a", category="[/x]\x1b[2J", grading_type=GradingType.AUTOMATED, prompt="Hi", turns=turns
    )
    trial = Trial(key=KEY, task=task, timeout_s=1)

    print_plan(console, [trial], concurrency=1, worst_case_s=1)

    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "[/x] [2J" in text
    assert "\x1b" not in text

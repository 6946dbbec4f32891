"""How much work the tasks of each tier are."""

from __future__ import annotations

from pathlib import Path

from pinchbench.authoring.tiers import Spread, tier_sizes
from pinchbench.model.task import GradingType, Suite, Task, Tier, Turn
from pinchbench.suite.solution import Solution, SolutionTurn, ToolStep


def _task(task_id: str, tier: Tier, *turns: Turn, minutes: object = None) -> Task:
    return Task(
        task_id=task_id,
        name="name",
        category="x",
        grading_type=GradingType.AUTOMATED,
        prompt="",
        turns=turns or (Turn(prompt="p"),),
        tier=tier,
        timeout_s=60.0,
        frontmatter={} if minutes is None else {"human_minutes": minutes},
    )


def _solution(*steps_of_turns: int) -> Solution:
    step = ToolStep(tool="exec", args={"command": "x" * 100})
    return Solution(turns=tuple(SolutionTurn(steps=(step,) * count, answer="y" * 40) for count in steps_of_turns))


CORE = _task("task_a", Tier.STANDARD, minutes=5)
OTHER = _task("task_b", Tier.STANDARD)
HARD = _task(
    "task_c", Tier.HARD, Turn(prompt="1", new_session=True), Turn(prompt="2"), Turn(prompt="3", new_session=True)
)


def _suite(*tasks: Task) -> Suite:
    return Suite(root=Path(), tasks=tasks, core=("task_a",))


def test_a_task_of_the_core_is_counted_there_and_not_in_its_tier() -> None:
    tasks = (CORE, OTHER, HARD)
    sizes = tier_sizes(_suite(*tasks), [(task, None) for task in tasks])
    assert [(one.name, one.tasks) for one in sizes] == [("core", 1), ("standard", 1), ("hard", 1), ("all", 3)]


def test_a_suite_of_one_tier_has_no_second_line_for_all() -> None:
    assert [one.name for one in tier_sizes(_suite(HARD), [(HARD, None)])] == ["hard"]


def test_a_model_is_called_once_for_each_tool_call_and_once_for_the_answer_of_each_turn() -> None:
    (size,) = tier_sizes(_suite(OTHER), [(OTHER, _solution(3, 0, 2))])
    assert size.model_calls == Spread(least=8, median=8, most=8, total=8)


def test_what_is_written_is_what_the_calls_and_the_answers_hold() -> None:
    (none,) = tier_sizes(_suite(OTHER), [(OTHER, _solution(0))])
    (one,) = tier_sizes(_suite(OTHER), [(OTHER, _solution(1))])
    assert none.written_tokens is not None
    assert one.written_tokens is not None
    assert none.written_tokens.total == 10  # 40 characters and their quotes
    assert one.written_tokens.total - none.written_tokens.total >= 25


def test_the_first_turn_is_in_the_first_session_whatever_it_states() -> None:
    (size,) = tier_sizes(_suite(HARD), [(HARD, None)])
    assert (size.turns.total, size.sessions.total) == (3, 2)


def test_what_no_task_states_is_unknown() -> None:
    (size,) = tier_sizes(_suite(OTHER), [(OTHER, None)])
    assert (size.model_calls, size.written_tokens, size.human_minutes) == (None, None, None)


def test_a_spread_is_over_the_tasks_that_state_a_number() -> None:
    tasks = (OTHER, _task("task_d", Tier.STANDARD, minutes=10), _task("task_e", Tier.STANDARD, minutes=40))
    (size,) = tier_sizes(_suite(*tasks), [(task, None) for task in tasks])
    assert size.human_minutes == Spread(least=10, median=25, most=40, total=50)

"""When a turn is sent, what its prompt says, and which suite a task belongs to."""

from dataclasses import replace
from pathlib import Path

import pytest

from pinchbench.model.task import MAX_SEARCHED, GradingType, Suite, Task, Turn, TurnGate
from pinchbench.model.timeline import Advance


@pytest.mark.parametrize(
    ("replies", "last", "holds"),
    [
        (2, "All DONE.", True),
        (1, "All DONE.", False),
        (2, "Not yet.", False),
        (2, " " * MAX_SEARCHED + "done", False),
    ],
)
def test_a_gate_holds_after_enough_messages_and_with_its_words_in_the_last(
    replies: int, last: str, *, holds: bool
) -> None:
    assert TurnGate(replies=2, pattern="done").holds(replies, last) is holds


def test_a_gate_reads_as_a_phrase() -> None:
    assert str(TurnGate(replies=1)) == "if the model has written 1 message"
    assert str(TurnGate(pattern="done")) == "if the model's last message matches 'done'"
    both = TurnGate(replies=2, pattern="done")
    assert str(both) == "if the model has written 2 messages and its last one matches 'done'"


def test_a_prompt_names_the_workspace_only_where_it_says_so() -> None:
    place = Path("/w")

    assert Turn(prompt="Look in {workspace}.", names_workspace=True).prompt_in(place) == "Look in /w."
    assert Turn(prompt="Print {workspace}.").prompt_in(place) == "Print {workspace}."


def test_a_task_belongs_to_the_part_that_has_it_be_it_listed_or_not() -> None:
    a, b = (
        Task(task_id=one, name=one, category="c", grading_type=GradingType.AUTOMATED, prompt="", turns=())
        for one in "ab"
    )
    first = Suite(root=Path("/a"), tasks=(a,), name="first")
    second = Suite(root=Path("/b"), tasks=(), unlisted=(b,), name="second")
    both = Suite(root=Path("/a"), tasks=(a,), unlisted=(b,), parts=(first, second))

    assert (both.part_of("a"), both.part_of("b")) == (first, second)
    assert first.part_of("a") is first


def test_the_simulated_times_of_a_task_end_where_its_timeline_does() -> None:
    turns = (
        Turn(prompt="Hello."),
        Turn(prompt="", event=Advance(by_s=60.0)),
        Turn(prompt="", event=Advance(to_s=5000.0)),
        Turn(prompt="", event=Advance(by_s=10.0)),
    )
    task = Task(task_id="a", name="a", category="c", grading_type=GradingType.AUTOMATED, prompt="", turns=turns)

    assert task.simulated_times is None
    assert replace(task, starts_at=1000.0).simulated_times == (1000.0, 5010.0)
    assert replace(task, starts_at=1000.0, turns=turns[:2]).simulated_times == (1000.0, 1060.0)

"""What the scripted model says next, turn by turn."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.demo.script import (
    UNSCRIPTED_ANSWER,
    Answer,
    ScriptedTurn,
    ToolCall,
    next_reply,
    plan_turns,
)
from pinchbench.model.task import GradingType, SimulatedUser, Task, Turn
from pinchbench.suite.solution import Solution, SolutionTurn, ToolStep

WRITE = ToolStep(tool="write", args={"path": "a.txt", "content": "Grüße"})
EXEC = ToolStep(tool="exec", args={"command": "ls"})
USER: dict[str, object] = {"role": "user", "content": "Do it."}
TOOL: dict[str, object] = {"role": "tool", "tool_call_id": "call_0001", "content": "done"}

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["role", "tool", "user"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("role"), inner),
)


def make_task(*turns: Turn) -> Task:
    return Task(
        task_id="task_x", name="X", category="c", grading_type=GradingType.AUTOMATED, prompt="Do it.", turns=turns
    )


def make_solution(*turns: SolutionTurn) -> Solution:
    return Solution(turns=turns)


def test_each_tool_result_moves_the_script_one_step_on() -> None:
    turn = ScriptedTurn(steps=(WRITE, EXEC), answer="Done.")

    first = next_reply(turn, [USER])
    second = next_reply(turn, [USER, TOOL])

    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.tool, json.loads(first.arguments)) == ("write", {"path": "a.txt", "content": "Grüße"})
    # a script can't come back for a command that OpenClaw has put into the background
    assert (second.tool, json.loads(second.arguments)) == ("exec", {"command": "ls", "yieldMs": 120_000})
    assert first.call_id != second.call_id
    assert next_reply(turn, [USER, TOOL, TOOL]) == Answer(text="Done.")


def test_a_user_message_after_the_tool_results_does_not_start_the_script_over() -> None:
    turn = ScriptedTurn(steps=(WRITE,), answer="Done.")

    assert next_reply(turn, [USER, TOOL, USER]) == Answer(text="Done.")


def test_more_results_than_steps_still_end_in_the_answer() -> None:
    assert next_reply(ScriptedTurn(steps=(WRITE,), answer="Done."), [TOOL] * 5) == Answer(text="Done.")


def test_results_of_earlier_turns_are_not_taken_for_this_turns_own() -> None:
    turn = ScriptedTurn(steps=(EXEC,), answer="Done.", earlier_results=2)

    reply = next_reply(turn, [USER, TOOL, TOOL, USER])

    assert isinstance(reply, ToolCall)
    assert reply.tool == "exec"
    assert next_reply(turn, [USER, TOOL, TOOL, USER, TOOL]) == Answer(text="Done.")


def test_a_conversation_that_lost_its_results_starts_at_the_first_step() -> None:
    reply = next_reply(ScriptedTurn(steps=(EXEC,), earlier_results=3), [USER])

    assert isinstance(reply, ToolCall)
    assert reply.tool == "exec"


def test_arguments_may_be_read_only_mappings() -> None:
    args = MappingProxyType({"edits": [MappingProxyType({"old": "a"})]})

    reply = next_reply(ScriptedTurn(steps=(ToolStep(tool="edit", args=args),)), [])

    assert isinstance(reply, ToolCall)
    assert json.loads(reply.arguments) == {"edits": [{"old": "a"}]}


def test_the_null_turn_politely_does_nothing() -> None:
    assert next_reply(ScriptedTurn(), [USER, TOOL]) == Answer(text=UNSCRIPTED_ANSWER)


def test_turns_of_one_session_count_the_results_before_them() -> None:
    task = make_task(Turn(prompt="1"), Turn(prompt="2"), Turn(prompt="3", new_session=True), Turn(prompt="4"))
    solution = make_solution(
        SolutionTurn(steps=(WRITE, EXEC), answer="one"),
        SolutionTurn(steps=(WRITE,), answer="two"),
        SolutionTurn(steps=(EXEC,), answer="three"),
        SolutionTurn(steps=(), answer="four"),
    )

    planned = plan_turns(solution, task)

    assert [turn.earlier_results for turn in planned] == [0, 2, 0, 1]
    assert [turn.answer for turn in planned] == ["one", "two", "three", "four"]
    assert [len(turn.steps) for turn in planned] == [2, 1, 1, 0]


def test_a_task_without_a_solution_is_answered_politely() -> None:
    assert plan_turns(None, make_task(Turn(prompt="1"), Turn(prompt="2"))) == (ScriptedTurn(), ScriptedTurn())


def test_turns_beyond_the_solution_are_answered_politely() -> None:
    solution = make_solution(SolutionTurn(steps=(WRITE,), answer="one"))

    planned = plan_turns(solution, make_task(Turn(prompt="1"), Turn(prompt="2")))

    assert planned[1] == ScriptedTurn(earlier_results=1)


def test_solution_turns_beyond_the_task_are_left_out() -> None:
    solution = make_solution(SolutionTurn(steps=(), answer="one"), SolutionTurn(steps=(), answer="two"))

    assert len(plan_turns(solution, make_task(Turn(prompt="1")))) == 1


@pytest.mark.parametrize("messages", [None, "tool", 3, {"role": "tool"}, [None, 1, "tool", [], {"role": ["tool"]}]])
def test_messages_of_the_wrong_shape_count_as_no_results(messages: object) -> None:
    assert isinstance(next_reply(ScriptedTurn(steps=(WRITE,)), messages), ToolCall)


@given(messages=json_like, steps=st.integers(0, 3), earlier_results=st.integers(0, 3))
def test_no_conversation_whatever_breaks_the_model(messages: object, steps: int, earlier_results: int) -> None:
    turn = ScriptedTurn(steps=(WRITE,) * steps, answer="Done.", earlier_results=earlier_results)

    reply = next_reply(turn, messages)

    match reply:
        case ToolCall(arguments=arguments):
            assert json.loads(arguments) == WRITE.args
        case Answer(text=text):
            assert text == "Done."


@given(counts=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_a_session_played_to_its_end_makes_every_step_once(counts: list[int]) -> None:
    turns = tuple(
        SolutionTurn(
            steps=tuple(ToolStep(tool="write", args={"turn": n, "step": i}) for i in range(count)), answer=f"turn {n}"
        )
        for n, count in enumerate(counts)
    )
    task = make_task(*(Turn(prompt=str(n)) for n in range(len(counts))))
    messages: list[object] = []
    made: list[object] = []
    for turn in plan_turns(make_solution(*turns), task):
        messages.append(USER)
        while isinstance(reply := next_reply(turn, messages), ToolCall):
            made.append(json.loads(reply.arguments))
            messages += [TOOL, USER]

    assert made == [{"turn": n, "step": i} for n, count in enumerate(counts) for i in range(count)]


def test_the_messages_of_a_simulated_user_are_turns_of_their_own_and_nothing_is_said_without_a_solution() -> None:
    task = replace(make_task(Turn(prompt="Do it.")), simulated_user=SimulatedUser(script="Ada", most_messages=3))
    solution = make_solution(
        SolutionTurn(steps=(WRITE,), answer="When?"), SolutionTurn(steps=(EXEC,), answer="Done.", user="Friday.")
    )
    assert plan_turns(solution, task) == (
        ScriptedTurn(steps=(WRITE,), answer="When?"),
        ScriptedTurn(steps=(EXEC,), answer="Done.", earlier_results=1, user="Friday."),
    )
    assert plan_turns(None, task) == (ScriptedTurn(),)

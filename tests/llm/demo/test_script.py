"""What the scripted model says next, turn by turn."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import make_task
from pinchbench.llm.demo.script import (
    UNSCRIPTED_ANSWER,
    Answer,
    ScriptedTurn,
    ToolCall,
    next_reply,
    plan_turns,
)
from pinchbench.model.task import SimulatedUser, Turn
from pinchbench.model.timeline import Ability
from pinchbench.suite.solution import Solution, SolutionTurn, ToolStep

WRITE = ToolStep(tool="write", args={"path": "a.txt", "content": "Grüße"})
EXEC = ToolStep(tool="exec", args={"command": "ls"})
USER: dict[str, object] = {"role": "user", "content": "Do it."}
TOOL: dict[str, object] = {"role": "tool", "tool_call_id": "call_0001", "content": "done"}

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["role", "tool", "user"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("role"), inner),
)


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


@pytest.mark.parametrize(
    ("earlier_results", "messages", "tool"),
    [
        (0, [USER, TOOL, USER], None),  # OpenClaw's context after the results does not start the script over
        (2, [USER, TOOL, TOOL, USER], "exec"),
        (2, [USER, TOOL, TOOL, USER, TOOL], None),
        (3, [USER], "exec"),  # a compaction has removed the results
    ],
)
def test_only_the_results_of_its_own_turn_move_a_script_on(
    earlier_results: int, messages: list[object], tool: str | None
) -> None:
    turn = ScriptedTurn(steps=(EXEC,), answer="Done.", earlier_results=earlier_results)

    reply = next_reply(turn, messages)

    assert (reply.tool if isinstance(reply, ToolCall) else None) == tool


def test_turns_of_one_session_count_the_results_before_them() -> None:
    task = make_task(Turn(prompt="1"), Turn(prompt="2"), Turn(prompt="3", new_session=True), Turn(prompt="4"))
    turns = (
        SolutionTurn(steps=(WRITE, EXEC), answer="one"),
        SolutionTurn(steps=(WRITE,), answer="two"),
        SolutionTurn(steps=(EXEC,), answer="three"),
        SolutionTurn(steps=(), answer="four"),
    )

    planned = plan_turns(Solution(turns=turns), task)

    assert [turn.earlier_results for turn in planned] == [0, 2, 0, 1]
    assert [turn.answer for turn in planned] == ["one", "two", "three", "four"]
    assert [len(turn.steps) for turn in planned] == [2, 1, 1, 0]


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
    for turn in plan_turns(Solution(turns=turns), task):
        messages.append(USER)
        while isinstance(reply := next_reply(turn, messages), ToolCall):
            made.append(json.loads(reply.arguments))
            messages += [TOOL, USER]

    assert made == [{"turn": n, "step": i} for n, count in enumerate(counts) for i in range(count)]


def test_the_messages_of_a_simulated_user_are_turns_of_their_own_and_nothing_is_said_without_a_solution() -> None:
    task = replace(make_task(Turn(prompt="Do it.")), simulated_user=SimulatedUser(script="Ada", most_messages=3))
    turns = (SolutionTurn(steps=(WRITE,), answer="When?"), SolutionTurn(steps=(EXEC,), answer="Done.", user="Friday."))
    assert plan_turns(Solution(turns=turns), task) == (
        ScriptedTurn(steps=(WRITE,), answer="When?"),
        ScriptedTurn(steps=(EXEC,), answer="Done.", earlier_results=1, user="Friday."),
    )
    assert plan_turns(None, task) == (ScriptedTurn(),)


CONTEXT: dict[str, object] = {
    "role": "user",
    "content": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
}
PICTURE: dict[str, object] = {
    "role": "user",
    "content": [{"type": "text", "text": "From the tool:"}, {"type": "image_url", "image_url": {"url": "data:"}}],
}


SKIPPED: dict[str, object] = {"role": "tool", "content": "Skipped to process an incoming message."}
REPORT: dict[str, object] = {"role": "user", "content": "[Internal task completion event] Count it."}
SUBAGENTS: dict[str, object] = {
    "role": "user",
    "content": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>A background task completed.<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
}


@pytest.mark.parametrize(
    ("messages", "tool"),
    [
        ([USER], "write"),
        ([USER, CONTEXT], "write"),
        ([USER, TOOL, CONTEXT], "exec"),
        ([USER, TOOL, SUBAGENTS], "exec"),
        ([USER, TOOL, REPORT], "exec"),  # it came while the turn went on
        ([USER, TOOL, REPORT, TOOL], None),
        ([USER, TOOL, SKIPPED, REPORT], "exec"),
        ([USER, TOOL, PICTURE], "exec"),
        ([USER, TOOL, TOOL], None),
        ([USER, TOOL, TOOL, CONTEXT, USER], "write"),  # another message, such as an interrupt or a reminder
        ([USER, TOOL, {"role": "user", "content": [{"type": "text", "text": "More."}]}, TOOL], "exec"),
        ([{"role": "user", "content": "[cron:1] Count it."}], "read"),
        ([{"role": "user", "content": "[cron:1] Count it."}, TOOL], None),
        ([], "write"),
        (None, "write"),
    ],
)
def test_in_a_gateway_each_conversation_plays_the_script_since_its_last_message(
    messages: object, tool: str | None
) -> None:
    count = SolutionTurn(steps=(ToolStep(tool="read", args={"path": "a"}),), answer="3", when="Count it")
    turn = ScriptedTurn(steps=(WRITE, EXEC), answer="Done.", in_gateway=True, cases=(count,))
    reply = next_reply(turn, messages)
    assert (reply.tool if isinstance(reply, ToolCall) else None) == tool


HELPED = (
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>[Internal task completion event] Count it.<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
)
ROUTED = "[Inter-session message] sourceSession=a sourceTool=subagent_{} isUser=false\nThis content was routed."


@pytest.mark.parametrize(
    ("report", "answer"),
    [
        ("A background task completed. Use this result.\ntask: Count it.", "one"),
        (HELPED, "one"),
        ("[[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]\n[Internal task completion event]\ntask: Count it.", "one"),
        (f"{ROUTED.format('announce')}\n{HELPED}", "one"),
        (ROUTED.format("announce"), "one"),
        (ROUTED.format("settle"), "NO_REPLY"),
        ("[Subagent Context] Every subagent spawned from this session has now settled. Count it.", "NO_REPLY"),
    ],
)
def test_a_report_on_sub_agents_plays_neither_the_turn_nor_their_script_again(report: str, answer: str) -> None:
    count = SolutionTurn(steps=(ToolStep(tool="read", args={"path": "a"}),), answer="3", when="Count it")
    done = SolutionTurn(steps=(), answer="one", when="A background task completed")
    turn = ScriptedTurn(steps=(WRITE,), answer="Done.", in_gateway=True, cases=(count, done))
    messages = [USER, TOOL, {"role": "assistant", "content": "Done."}, {"role": "user", "content": report}]
    assert next_reply(turn, messages) == Answer(text=answer)


def test_in_a_gateway_a_request_without_tools_is_answered_by_a_text() -> None:
    turn = ScriptedTurn(steps=(WRITE,), answer="", in_gateway=True)
    assert next_reply(turn, [USER], has_tools=False) == Answer(text=UNSCRIPTED_ANSWER)


def test_each_step_of_a_timeline_has_a_script_and_all_have_the_cases() -> None:
    task = replace(make_task(Turn(prompt="Do it."), Turn(prompt=""), Turn(prompt="")), abilities=(Ability.CHAT,))
    case = SolutionTurn(steps=(), answer="3", when="Count it")
    said = (SolutionTurn(steps=(WRITE,), answer="a"), SolutionTurn(steps=(EXEC,), answer="b"))
    planned = plan_turns(Solution(turns=said, cases=(case,)), task)
    assert [(turn.steps, turn.answer, turn.earlier_results) for turn in planned] == [
        ((WRITE,), "a", 0),
        ((EXEC,), "b", 0),
        ((), UNSCRIPTED_ANSWER, 0),
    ]
    assert all(turn.in_gateway and turn.cases == (case,) for turn in planned)


class TestWhatACommandPrinted:
    """In a gateway's trial, where a script has several conversations, a later step can use an earlier result."""

    @staticmethod
    def reply(step: ToolStep, *results: object) -> object:
        turn = ScriptedTurn(steps=(EXEC, EXEC, step), answer="It is ${{ due (\\d+) }}.", in_gateway=True)
        tools = [{"role": "tool", "content": result} for result in results]
        return next_reply(turn, [USER, *tools])

    def test_the_latest_result_that_has_a_pattern_fills_it_anywhere_in_the_arguments(self) -> None:
        step = ToolStep(tool="automations", args={"job": {"at": ["on ${{ due (\\d+) }}", 5]}})
        call = self.reply(step, "due 1, due 2", "due 3")
        assert isinstance(call, ToolCall)
        assert json.loads(call.arguments) == {"job": {"at": ["on 3", 5]}}
        assert self.reply(step, "due 1", [{"type": "text", "text": "due 2"}], "nothing") == Answer(text="It is 2.")

    def test_a_pattern_that_is_nowhere_stays(self) -> None:
        call = self.reply(ToolStep(tool="exec", args={"command": "${{ gone }}", "n": 1}), "a", "b")
        assert isinstance(call, ToolCall)
        assert json.loads(call.arguments)["command"] == "${{ gone }}"

"""Conversations fit for the documents of other tools."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.report.export.bounded_conversation import json_value, told
from pinchbench.transcripts import Message, Role, ToolCall

ANY_TEXT = st.text(st.characters())  # halves of surrogate pairs too
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
FEW_IDS = st.sampled_from(["", "c", "c~2", "d", "\ud800"])
CALLS = st.builds(ToolCall, id=FEW_IDS, name=ANY_TEXT, arguments=st.dictionaries(ANY_TEXT, ANY_VALUE, max_size=2))
MESSAGES = st.one_of(
    st.builds(Message, role=st.just(Role.ASSISTANT), text=ANY_TEXT, calls=st.lists(CALLS, max_size=3).map(tuple)),
    st.builds(Message, role=st.just(Role.TOOL), text=ANY_TEXT, call_id=FEW_IDS),
    st.builds(Message, role=st.just(Role.USER), text=ANY_TEXT),
)


@given(st.lists(MESSAGES, max_size=12))
def test_every_call_has_an_id_of_its_own_and_no_answer_is_one_to_two(messages: Sequence[Message]) -> None:
    asked: list[str] = []
    answered: list[str] = []
    for message in told(messages):
        asked += [call.id for call in message.calls]
        if message.role is Role.TOOL and message.call_id:
            assert message.call_id in asked
            answered.append(message.call_id)
        msgspec.json.encode(message)
    assert len(asked) == len(set(asked)) == sum(len(message.calls) for message in messages)
    assert len(answered) == len(set(answered))
    assert all(asked)


def test_an_answer_is_one_to_the_latest_call_of_its_id() -> None:
    call = ToolCall(id="c", name="exec", arguments={})
    asking = Message(role=Role.ASSISTANT, calls=(call,))
    answer = Message(role=Role.TOOL, call_id="c")
    messages = told([asking, replace(asking, calls=(call, call)), answer, answer, answer])
    assert [one.call_id for one in messages] == ["", "", "c~2", "c~3", ""]


@given(ANY_VALUE)
def test_every_value_can_be_written_and_read_again(value: object) -> None:
    written = json_value(value)
    assert msgspec.json.decode(msgspec.json.encode(written)) == written


def test_what_is_nested_too_deep_is_cut() -> None:
    value: object = "deep"
    for _ in range(5000):
        value = [value]
    assert b"nested deeper" in msgspec.json.encode(json_value(value))

"""What OpenClaw stored is compared with what was sent; tests of the transcript have the table of odd replies."""

import pytest

from hostile_transcripts import nested
from pinchbench.json_values import MAX_DEPTH, is_deep
from pinchbench.transcript_lines import Event
from pinchbench.wire.agent_thread import Step, read_thread
from pinchbench.wire.agreement import (
    agrees_text,
    arguments_of,
    is_masked,
    is_same_name,
    is_same_value,
    pair_replies,
)
from pinchbench.wire.exchange import Exchange
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.protocols.call_facts import ToolCall
from wire.exchanges import CHAT, exchange, sse


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        (True, 1),
        (0, False),
        ("1", 1),
        (None, 1.0),
        ("1234567890123456789", 1234567890123456788),
        (None, {}),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}),
    ],
)
def test_other_values_are_not_the_same(said: object, sent: object) -> None:
    assert not is_same_value(said, sent)


@pytest.mark.parametrize(("said", "sent"), [("Hello!", "Hello"), ("<think>x</think>Hello", "Hello"), ("Hell", "Hello")])
def test_a_text_that_was_added_to_or_cut_does_not_agree(said: str, sent: str) -> None:
    assert not agrees_text(said, sent)


@pytest.mark.parametrize(
    ("said", "sent"), [("a *** d", "a b c"), ("d *** c", "a b c"), ("a***ba", "ab"), ("ab", "abc")]
)
def test_a_mask_stands_for_a_part_of_what_was_sent_and_hides_nothing_else(said: str, sent: str) -> None:
    assert not is_masked(said, sent)


def test_a_name_is_repaired_only_to_a_tool_that_was_offered() -> None:
    assert is_same_name("write", "functions.Write:0", {"write"})
    assert not is_same_name("write", "functions.Write:0", {"exec"})
    assert not is_same_name("exec", "write", {"exec", "write"})


def test_values_are_compared_and_written_up_to_a_depth() -> None:
    most, more = "[" * 90 + "]" * 90, "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)

    assert not is_deep(arguments_of(ToolCall(arguments=most)))
    assert is_same_value(arguments_of(ToolCall(arguments=most)), arguments_of(ToolCall(arguments=most)))
    assert arguments_of(ToolCall(arguments=more)) == more
    assert arguments_of(ToolCall(arguments=f'{{"a": 1, "b": {more}}}')) == {"a": 1, "b": more}
    assert is_deep({"a": [1, nested(MAX_DEPTH)]})


SAID = ("one", "two", "three")


def _steps() -> tuple[Step, ...]:
    """Return the steps of a conversation in which each reply calls a tool."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Count."}]
    exchanges: list[Exchange] = []
    for number, said in enumerate(SAID, start=1):
        call = {"id": f"call_{said}", "type": "function", "function": {"name": "exec", "arguments": "{}"}}
        delta = {"content": said, "tool_calls": [{"index": 0, **call}]}
        body = sse({"choices": [{"delta": delta, "finish_reason": "tool_calls"}]}, end="[DONE]")
        exchanges.append(exchange(CHAT, {"model": "m", "messages": [*messages]}, body, number=number, began_at=number))
        messages += [
            {"role": "assistant", "content": said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "done"},
        ]
    return tuple(read_thread(read_all(exchanges), ()).steps)


def _stored(said: str, call: str = "") -> Event:
    content = [
        {"type": "text", "text": said},
        {"type": "toolCall", "id": f"call_{call or said}", "name": "exec", "arguments": {}},
    ]
    return {"type": "message", "message": {"role": "assistant", "provider": "mock", "content": content}}


@pytest.mark.parametrize(
    ("stored", "pairs"),
    [
        ([*map(_stored, SAID)], {0: 0, 1: 1, 2: 2}),
        ([_stored("one"), _stored("three")], {0: 0, 1: 2}),
        ([_stored("one"), _stored("forged", "two"), _stored("three")], {0: 0, 1: 1, 2: 2}),
        ([_stored("forged", "three")], {0: 2}),  # by the id of its call
        ([_stored("forged"), _stored("forged too")], {0: 0, 1: 1}),  # or else in order
        ([*map(_stored, SAID), _stored("forged")], {0: 0, 1: 1, 2: 2}),
        ([], {}),
    ],
)
def test_a_reply_is_found_by_its_content_its_calls_or_its_place(stored: list[Event], pairs: dict[int, int]) -> None:
    assert pair_replies(_steps(), stored) == pairs

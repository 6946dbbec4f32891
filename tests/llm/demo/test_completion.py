"""The wire format of the scripted model's replies."""

import json
from typing import Any

import pytest

from llm.demo.agents import STEP, TOOL, TURN, USER
from pinchbench.llm.demo.completion import Completion, count_cached_tokens
from pinchbench.llm.demo.script import next_reply


def completion(*messages: object) -> Completion:
    return Completion(model="m1", reply=next_reply(TURN, messages), prompt_tokens=40, cached_tokens=10)


def choices(*messages: object) -> list[dict[str, Any]]:
    """Return the choices of a streamed reply, whose last event is the usage alone."""
    *others, usage = completion(*messages).chunks()
    assert usage["choices"] == []
    assert usage["usage"] == completion(*messages).whole()["usage"]
    return [choice for event in others for choice in event["choices"]]  # type: ignore[attr-defined]


def test_a_streamed_tool_call_reassembles_to_its_arguments() -> None:
    first, second, finish = choices(USER)
    calls = [choice["delta"]["tool_calls"][0] for choice in (first, second)]
    parts = [call["function"]["arguments"] for call in calls]
    assert all(parts)
    assert json.loads("".join(parts)) == STEP.args
    assert calls[0]["function"]["name"] == "write"
    assert calls[0]["id"]
    assert (finish["delta"], finish["finish_reason"]) == ({}, "tool_calls")


def test_a_streamed_answer_comes_in_several_pieces() -> None:
    *pieces, finish = choices(USER, TOOL, USER)
    assert "".join(piece["delta"]["content"] for piece in pieces) == TURN.answer
    assert len(pieces) > 1
    assert pieces[0]["delta"]["role"] == "assistant"
    assert (finish["delta"], finish["finish_reason"]) == ({}, "stop")


@pytest.mark.parametrize(("messages", "reason"), [((USER,), "tool_calls"), ((USER, TOOL), "stop")])
def test_without_streaming_the_same_reply_comes_as_one_body(messages: tuple[object, ...], reason: str) -> None:
    body: dict[str, Any] = completion(*messages).whole()
    [choice] = body["choices"]
    calls = [call["function"] for call in choice["message"].get("tool_calls", ())]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == [("write", STEP.args)] * (
        reason == "tool_calls"
    )
    assert choice["message"]["content"] == (None if calls else TURN.answer)
    assert (body["model"], choice["finish_reason"]) == ("m1", reason)


def test_only_the_messages_both_requests_begin_with_come_from_the_cache() -> None:
    assert count_cached_tokens([USER, USER, TOOL], [USER, TOOL]) == len(json.dumps([USER])) // 4

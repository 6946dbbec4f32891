"""OpenAI's responses: what requests and replies say."""

import json

from pinchbench.defaults import ProtocolName
from pinchbench.model.usage import Usage
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import Message, Role, ToolCall
from wire.exchanges import RESPONSES, cut, exchange, sse

REQUEST = {
    "model": "gpt-9",
    "instructions": "be kind",
    "previous_response_id": "resp_0",
    "input": [
        {"role": "developer", "content": "and brief"},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "rs", "encrypted_content": "zzz", "summary": [{"text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I read"}]},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "text of it"},
    ],
    "tools": [{"type": "function", "name": "read", "parameters": {}}, {"type": "web_search"}],
}
SUMMARY = {
    "id": "resp_1",
    "model": "gpt-9-2026",
    "status": "completed",
    "usage": {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 5},
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Grüße"}]},
        {"type": "function_call", "call_id": "c", "name": "exec", "arguments": '{"a":1}'},
    ],
}
STREAM = sse(
    {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-9-2026"}},
    {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "think"},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "Grü"},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "ße"},
    {
        "type": "response.output_item.added",
        "output_index": 2,
        "item": {"type": "function_call", "call_id": "c", "name": "exec", "arguments": ""},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"a"'},
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": ":1}"},
    {
        "type": "response.output_item.done",
        "output_index": 2,
        "item": {"type": "function_call", "call_id": "c", "name": "exec", "arguments": '{"a":1}'},
    },
    {"type": "response.completed", "response": SUMMARY},
)
REPLY = Message(
    role=Role.ASSISTANT,
    text="Grüße",
    reasoning="think",
    tool_calls=(ToolCall(id="c", name="exec", arguments='{"a":1}'),),
)


def test_the_items_of_a_request_become_messages() -> None:
    facts = facts_of(exchange(RESPONSES, REQUEST))

    said = facts.request
    assert (facts.protocol, facts.request.model) == (ProtocolName.OPENAI_RESPONSES, "gpt-9")
    assert (said.system, said.continues) == ("be kind\nand brief", "resp_0")
    assert [tool.name for tool in said.tools] == ["read", "web_search"]
    assert said.messages == (
        Message(role=Role.USER, text="hi"),
        Message(
            role=Role.ASSISTANT,
            text="I read",
            reasoning="hm",
            tool_calls=(ToolCall(id="call_1", name="read", arguments="{}"),),
        ),
        Message(role=Role.TOOL, text="text of it", call_id="call_1"),
    )


def test_a_stream_and_a_plain_reply_say_the_same() -> None:
    streamed = facts_of(exchange(RESPONSES, REQUEST, cut(STREAM, 5))).reply
    plain = facts_of(exchange(RESPONSES, REQUEST, json.dumps(SUMMARY).encode(), reply_headers=())).reply

    usage = Usage(requests=1, input_tokens=10, output_tokens=5, cache_read_tokens=40, total_tokens=55)
    for reply in (streamed, plain):
        assert (reply.message, reply.usage, reply.complete) == (REPLY, usage, True)
        assert (reply.model, reply.response_id, reply.stop_reason) == ("gpt-9-2026", "resp_1", "completed")


def test_an_incomplete_and_a_failed_reply_say_why() -> None:
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    failed = {"status": "failed", "error": {"code": "server_error", "message": "it broke"}}

    first = facts_of(exchange(RESPONSES, REQUEST, sse({"type": "response.incomplete", "response": incomplete}))).reply
    second = facts_of(exchange(RESPONSES, REQUEST, sse({"type": "response.failed", "response": failed}))).reply
    third = facts_of(exchange(RESPONSES, REQUEST, sse({"type": "error", "message": "overloaded"}))).reply

    assert (first.complete, first.stop_reason) == (True, "max_output_tokens")
    assert (second.complete, second.error) == (False, "server_error: it broke")
    assert (third.complete, third.error) == (False, "overloaded")


def test_a_call_without_a_place_is_known_by_its_item() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "exec", "arguments": '{"a":1}'}
    events = (
        {"type": "response.output_item.added", "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": '{"a":1}'},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    reply = facts_of(exchange(RESPONSES, REQUEST, sse(*events))).reply
    assert reply.message == Message(
        role=Role.ASSISTANT, tool_calls=(ToolCall(id="c", name="exec", arguments='{"a":1}'),)
    )

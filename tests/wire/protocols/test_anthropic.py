"""Anthropic's messages: what requests and replies say."""

from pinchbench.defaults import ProtocolName
from pinchbench.model.usage import Usage
from pinchbench.wire.exchange import ExchangeEnd
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import Message, Role, Tool, ToolCall
from pinchbench.wire.provider_fault import situation_of
from wire.exchanges import MESSAGES, cut, exchange, sse

REQUEST = {
    "model": "claude-9",
    "system": [{"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I read"},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"p": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "text of it"}]},
                {"type": "text", "text": "go on"},
            ],
        },
    ],
    "tools": [{"name": "read", "description": "Read", "input_schema": {}}, {"type": "web_search_20260101"}],
}
STREAM = sse(
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "claude-9-2026",
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 40,
                "cache_creation_input_tokens": 5,
                "output_tokens": 1,
            },
        },
    },
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "think"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grüße"}},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
)
REPLY = Message(
    role=Role.ASSISTANT, text="Grüße", reasoning="think", tool_calls=(ToolCall(id="t", name="x", arguments='{"a":1}'),)
)
USAGE = Usage(requests=1, input_tokens=3, output_tokens=9, cache_read_tokens=40, cache_write_tokens=5, total_tokens=57)


def test_the_blocks_of_a_request_become_messages() -> None:
    facts = facts_of(exchange(MESSAGES, REQUEST))

    said = facts.request
    assert (facts.protocol, facts.request.model, said.system) == (ProtocolName.ANTHROPIC, "claude-9", "be kind")
    assert said.tools == (
        Tool(name="read", description="Read", parameters="{}"),
        Tool(name="web_search_20260101"),
    )
    assert said.messages == (
        Message(role=Role.USER, text="hi"),
        Message(
            role=Role.ASSISTANT,
            text="I read",
            reasoning="hm",
            tool_calls=(ToolCall(id="toolu_1", name="read", arguments='{"p":1}'),),
        ),
        Message(role=Role.TOOL, text="text of it", call_id="toolu_1"),
        Message(role=Role.USER, text="go on"),
    )


def test_a_stream_is_read_with_usage_from_its_beginning_and_its_end() -> None:
    reply = facts_of(exchange(MESSAGES, REQUEST, cut(STREAM, 3))).reply

    assert (reply.message, reply.usage, reply.complete) == (REPLY, USAGE, True)
    assert (reply.model, reply.response_id, reply.stop_reason) == ("claude-9-2026", "msg_1", "tool_use")


def test_an_error_within_a_stream_is_named() -> None:
    begin = STREAM.partition(b'data: {"type": "message_delta"')[0]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    reply = facts_of(exchange(MESSAGES, REQUEST, begin + sse(error))).reply

    assert (reply.error, reply.complete, reply.message) == ("overloaded_error: Overloaded", False, REPLY)


def test_where_a_cache_begins_is_no_part_of_a_message() -> None:
    image = {"type": "image", "source": {"data": "abc"}}
    marked = {**image, "cache_control": {"type": "ephemeral"}}

    one, other = (
        facts_of(exchange(MESSAGES, {"messages": [{"role": "user", "content": [part]}]})) for part in (image, marked)
    )

    assert one == other
    assert one.request.messages[0].attachments


def test_a_stream_without_its_last_event_is_complete_by_its_stop_reason() -> None:
    begin = STREAM.partition(b'data: {"type": "message_stop"')[0]

    assert facts_of(exchange(MESSAGES, REQUEST, begin)).reply.complete
    assert not facts_of(exchange(MESSAGES, REQUEST, begin, end=ExchangeEnd.CUT)).reply.complete


def blocks(*, indexes: tuple[int, ...], has_stops: bool = True) -> bytes:
    events: list[object] = []
    for number, index in enumerate(indexes):
        block = {"type": "tool_use", "id": f"t{number}", "name": "x", "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        delta = {"type": "input_json_delta", "partial_json": f'{{"a":{number}}}'}
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events += [{"type": "content_block_stop", "index": index}] * has_stops
    return sse(*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"})


def test_calls_of_one_index_are_kept_apart_and_need_an_end() -> None:
    reply = facts_of(exchange(MESSAGES, REQUEST, blocks(indexes=(0, 0, 1)))).reply
    assert reply.message is not None
    assert [call.arguments for call in reply.message.tool_calls] == ['{"a":0}', '{"a":1}', '{"a":2}']
    assert reply.complete

    reply = facts_of(exchange(MESSAGES, REQUEST, blocks(indexes=(0,), has_stops=False))).reply
    assert (reply.complete, situation_of(reply.error).is_models) == (False, False)


def test_the_mark_of_chat_completions_changes_nothing() -> None:
    reply = facts_of(exchange(MESSAGES, REQUEST, STREAM + sse(end="[DONE]"))).reply
    assert (reply.complete, reply.error) == (True, "")

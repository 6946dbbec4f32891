"""OpenAI's chat completions: what requests and replies say."""

import json

import pytest

from pinchbench.model.usage import Usage
from pinchbench.wire.exchange import Chunk, ExchangeEnd
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import Message, Role, TokenLogprob, Tool, ToolCall
from pinchbench.wire.provider_fault import situation_of
from wire.exchanges import CHAT, cut, exchange, sse

REQUEST = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "d"}}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "text of it"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "read", "description": "Read", "parameters": {"b": 1, "a": 2}}}
    ],
}


def delta(content: object, finish: str | None = None) -> dict[str, object]:
    return {"id": "x", "model": "m-2026", "choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "cost": 0.25,
}
STREAM = sse(
    delta({"role": "assistant", "content": ""}),
    delta({"reasoning": "think"}),
    delta({"content": "Grüße "}),
    delta({"content": "🦀"}),
    delta({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "exec", "arguments": '{"a"'}}]}),
    delta({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
    delta({}, "tool_calls"),
    {"id": "x", "choices": [], "usage": USAGE},
    end="[DONE]",
)


def test_a_request_is_read_with_its_tools_calls_and_results() -> None:
    facts = facts_of(exchange(CHAT, REQUEST))

    said = facts.request
    assert (facts.request.model, said.system) == ("m", "be kind")
    assert said.tools == (Tool(name="read", description="Read", parameters='{"a":2,"b":1}'),)
    user, assistant, tool = said.messages
    assert (user.role, user.text, len(user.attachments)) == (Role.USER, "hi", 1)
    calls = (ToolCall(id="call_1", name="read", arguments='{"p": 1}'),)
    assert assistant == Message(role=Role.ASSISTANT, reasoning="hm", tool_calls=calls)
    assert tool == Message(role=Role.TOOL, text="text of it", call_id="call_1")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_a_stream_is_read_however_it_is_cut(size: int, newline: bytes) -> None:
    stream = b": a comment\n\n" + STREAM

    reply = facts_of(exchange(CHAT, REQUEST, cut(stream.replace(b"\n", newline), size))).reply

    calls = (ToolCall(id="c", name="exec", arguments='{"a":1}'),)
    assert reply.message == Message(role=Role.ASSISTANT, text="Grüße 🦀", reasoning="think", tool_calls=calls)
    assert (reply.model, reply.response_id, reply.stop_reason, reply.complete) == ("m-2026", "x", "tool_calls", True)
    assert reply.usage == Usage(
        requests=1,
        input_tokens=30,
        output_tokens=7,
        cache_read_tokens=60,
        cache_write_tokens=10,
        total_tokens=107,
        cost_usd=0.25,
    )
    assert reply.cost_usd == 0.25


def test_the_first_content_is_that_of_the_first_chunk_with_text() -> None:
    parts = (
        sse(delta({"role": "assistant", "content": ""})),
        sse(delta({"content": "a"})),
        sse(delta({}, "stop"), end="[DONE]"),
    )
    timed = [Chunk(at_s=float(at), data=part) for at, part in enumerate(parts)]

    reply = facts_of(exchange(CHAT, REQUEST, timed)).reply

    assert (reply.first_content_s, reply.last_content_s) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("stream", "end", "complete"),
    [
        (sse(delta({"content": "a"})), ExchangeEnd.CUT, False),
        (sse(delta({"content": "a"})), ExchangeEnd.COMPLETE, False),
        (sse(delta({"content": "a"}, "stop")), ExchangeEnd.CUT, False),
        (sse(delta({"content": "a"}, "stop")), ExchangeEnd.COMPLETE, True),  # a server that sends no [DONE]
        (sse(delta({"content": "a"}, "stop"), end="[DONE]")[:-2], ExchangeEnd.CLIENT_LEFT, True),
        (sse(delta({"content": "a"}), {"error": {"message": "no"}}, end="[DONE]"), ExchangeEnd.COMPLETE, False),
    ],
)
def test_a_reply_is_complete_by_its_end_mark(stream: bytes, end: ExchangeEnd, complete: bool) -> None:
    reply = facts_of(exchange(CHAT, REQUEST, stream, end=end)).reply

    assert reply.complete is complete
    assert reply.message is not None
    assert reply.message.text == "a"


def test_a_plain_reply_keeps_token_ids_and_logprobs() -> None:
    body = {
        "id": "x",
        "model": "m-2026",
        "prompt_token_ids": [1, 2],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "ab"},
                "finish_reason": "stop",
                "token_ids": [3, 4],
                "logprobs": {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": "none"}]},
            }
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 2},
    }

    reply = facts_of(exchange(CHAT, REQUEST, json.dumps(body).encode(), reply_headers=())).reply

    assert reply.message == Message(role=Role.ASSISTANT, text="ab")
    assert (reply.prompt_token_ids, reply.token_ids) == ((1, 2), (3, 4))
    assert reply.logprobs == (TokenLogprob(token="a", logprob=-0.5),)
    assert reply.usage == Usage(requests=1, input_tokens=2, output_tokens=2, total_tokens=4)
    assert (reply.complete, reply.first_content_s) == (True, None)


def test_parallel_calls_that_come_interleaved_are_kept_apart() -> None:
    def piece(index: int, arguments: str, **more: str) -> dict[str, object]:
        return delta({"tool_calls": [{"index": index, **more, "function": {"name": "f", "arguments": arguments}}]})

    stream = sse(piece(0, "1", id="a"), piece(1, "3", id="b"), piece(0, "2"), piece(1, "4"), end="[DONE]")

    reply = facts_of(exchange(CHAT, REQUEST, stream)).reply

    assert reply.message is not None
    assert [(call.id, call.name, call.arguments) for call in reply.message.tool_calls] == [
        ("a", "f", "12"),
        ("b", "f", "34"),
    ]


CALL = ("write", '{"text":"🚀"}')


@pytest.mark.parametrize(
    ("events", "text", "calls", "output"),
    [
        ([delta({"content": "Done \ud83d"}), delta({"content": "\ude80"}, "stop")], "Done 🚀", (), None),
        (
            [
                delta({"tool_calls": [{"index": 0.0, "function": {"name": "write", "arguments": '{"text":"\ud83d'}}]}),
                delta({"tool_calls": [{"index": 0, "function": {"arguments": '\ude80"}'}}]}),
            ],
            "",
            (CALL,),
            None,
        ),
        (
            [
                delta({"function_call": {"name": "write", "arguments": '{"text":'}}),
                delta({"function_call": {"arguments": '"🚀"}'}}, "function_call"),
            ],
            "",
            (CALL,),
            None,
        ),
        ([{"choices": [{"index": 1, "delta": {"content": "a"}}]}], "a", (), None),
        ([{"choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}]}], "a", (), None),
        ([delta({"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"text": "a"}]})], "a", (), None),
        ([delta({"content": {"type": "text", "text": "a"}})], "a", (), None),
        ([delta({"content": "a"}), {"choices": [{"delta": {}, "message": {"content": "a"}}]}], "a", (), None),
        ([{"choices": [{"delta": {"content": "a"}, "usage": {"completion_tokens": 5}}]}], "a", (), 5),
        ([delta({"content": "a"}), {"choices": [], "usage": {"input_tokens": 9, "output_tokens": 5}}], "a", (), 5),
    ],
)
def test_an_odd_stream_is_read_as_openclaw_reads_it(
    events: list[object], text: str, calls: tuple[tuple[str, str], ...], output: int | None
) -> None:
    reply = facts_of(exchange(CHAT, {}, sse(*events, end="[DONE]"))).reply
    assert reply.message is not None
    assert (reply.complete, reply.message.text) == (True, text)
    assert tuple((call.name, call.arguments) for call in reply.message.tool_calls) == calls
    assert (reply.usage.output_tokens if reply.usage else None) == output


@pytest.mark.parametrize(
    "said",
    [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
    ],
)
def test_reasoning_is_read_in_the_forms_of_each_provider(said: object) -> None:
    reply = facts_of(exchange(CHAT, {}, sse(delta(said), delta({}, "stop"), end="[DONE]"))).reply
    assert reply.message == Message(role=Role.ASSISTANT, reasoning="hm")


@pytest.mark.parametrize(
    ("stream", "text", "complete"),
    [
        (sse(delta({"content": "a"}, "stop"), end="[DONE]") + sse(delta({"content": "b"})), "a", True),
        (sse(delta({"content": "a"}, "stop"), end=" [DONE]"), "a", False),
        (sse(delta({"content": "a"}), end="{oops") + sse(delta({"content": "b"}, "stop"), end="[DONE]"), "ab", False),
        (sse(delta({"content": "a"}), float("nan")) + sse(delta({"content": "b"}, "stop"), end="[DONE]"), "ab", False),
        (sse(delta({"content": "a"}), {"choices": [{"finish_reason": 1}]}, end="[DONE]"), "a", False),
        (sse(delta({"content": "a"}, "stop")) + b"event: error\n" + sse({"message": "m"}, end="[DONE]"), "a", False),
        (sse(delta({"content": "a"}), end="null") + sse(delta({"content": "b"}, "stop"), end="[DONE]"), "ab", True),
    ],
)
def test_a_stream_ends_with_its_mark_and_a_broken_event_is_no_doing_of_the_model(
    stream: bytes, text: str, complete: bool
) -> None:
    reply = facts_of(exchange(CHAT, {}, stream)).reply
    assert reply.message is not None
    assert (reply.message.text, reply.complete) == (text, complete)
    assert bool(reply.error) is not complete


def call(name: object, arguments: object, call_id: str | None = None, index: int | None = 0) -> dict[str, object]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("deltas", "is_bad"),
    [
        ([[call("write", {"path": "a"})]], True),
        ([[call("write", "{}", "a"), call("write", "{}", "b")]], True),  # as of Gemini behind many proxies
        ([[call("write", "", "a")], [call(None, "{}")], [call("write", "", "b")], [call(None, "{}")]], True),
        ([[call("write", '{"a":')], [call("write", "1}")], [call("write", '{"a": 1}')]], True),
        ([[call("write", '{"a":', "a", None)], [call(None, "1}", None, None)]], True),
        ([[call("write", '{"a":', "a")], [call(None, "1}", None, None)]], True),
        ([[call("write", '{"a":', "a")], [call(None, "1}", "a", None)]], False),
        ([[call("write", '{"a":', "a")], [call("write", "1}", "b")]], False),  # a new id with each piece
        ([[call("write", None, "a")], [call(None, "{}")], [call("write", "")]], False),
        ([[call("", "{}", "a")]], False),  # what a model wrote
        ([[call("write", "{}}", "a")]], False),
    ],
)
def test_a_tool_call_in_another_form_is_no_doing_of_the_model(deltas: list[object], is_bad: bool) -> None:
    events = [delta({"tool_calls": calls}) for calls in deltas]
    reply = facts_of(exchange(CHAT, {}, sse(*events, delta({}, "tool_calls"), end="[DONE]"))).reply
    assert (reply.complete, bool(reply.error)) == (not is_bad, is_bad)
    assert not situation_of(reply.error).is_models


@pytest.mark.parametrize(
    ("kind", "body", "is_accepted"),
    [
        (None, STREAM, True),
        ("Text/Event-Stream; charset=utf-8", STREAM, True),
        ("application/json", STREAM, True),
        (None, STREAM.replace(b'{"id"', b'{\ndata: "id"'), True),
        ("text/plain", STREAM, False),
        ("application/octet-stream", STREAM, False),
        ("application/json", json.dumps(delta({"content": "a"}, "stop")).encode() + b"\n", True),
        ("application/json", json.dumps(delta({"content": "a"}, "stop"), indent=1).encode(), False),
        ("application/json", json.dumps([delta({"content": "a"}, "stop")]).encode(), False),
    ],
)
def test_a_reply_of_a_type_that_openclaw_refuses_is_no_doing_of_the_model(
    kind: str | None, body: bytes, is_accepted: bool
) -> None:
    headers = (("Content-Type", kind),) if kind else ()
    asked = {**REQUEST, "stream": True}
    reply = facts_of(exchange(CHAT, asked, body, reply_headers=headers)).reply
    assert (reply.complete, bool(reply.error)) == (is_accepted, not is_accepted)
    assert not situation_of(reply.error).is_models


def test_a_reply_that_was_not_to_be_streamed_may_have_several_lines() -> None:
    body = json.dumps(delta({"content": "a"}, "stop"), indent=1).encode()
    assert facts_of(exchange(CHAT, REQUEST, body, reply_headers=())).reply.complete


def test_headers_that_node_refuses_are_no_doing_of_the_model() -> None:
    reply = facts_of(exchange(CHAT, REQUEST, STREAM, reply_headers=(("x-long", "y" * 17_000),))).reply
    assert not reply.complete
    assert not situation_of(reply.error).is_models

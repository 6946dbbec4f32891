"""What an exchange says, when its bodies are not as they should be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.defaults import ProtocolName
from pinchbench.wire.exchange import Chunk
from pinchbench.wire.exchange_facts import facts_of, protocol_of
from wire.exchanges import CHAT, GEMINI, MESSAGES, RESPONSES, cut, exchange, sse

PATHS = (CHAT, RESPONSES, MESSAGES, GEMINI)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "model type role content text messages input contents parts choices delta message tool_calls function "
    "arguments name usage prompt_tokens input_tokens output_tokens candidates usageMetadata promptTokenCount "
    "error response item system tools functionCall args content_block index output_index id logprobs token_ids "
    "status cost details"
)
SHAPED = st.recursive(
    JSON | st.sampled_from(["tool_use", "response.completed", "message_start", "user", "function_call", "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=6),
    max_leaves=30,
)


@given(path=st.sampled_from(PATHS), request=SHAPED, reply=st.lists(SHAPED, max_size=4), size=st.integers(1, 50))
def test_any_json_is_read_without_an_exception(path: str, request: object, reply: list[object], size: int) -> None:
    as_bytes = json.dumps(request).encode()

    facts_of(exchange(path, as_bytes, cut(sse(*reply), size)))
    facts_of(exchange(path, as_bytes, json.dumps(reply[:1]).encode(), reply_headers=()))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"messages":' * 50_000,
        b'{"model":"m","messages":[{"role":"user","content":' + b"[" * 900 + b"]" * 900 + b"}]}",
        b'{"model":"\\ud800","messages":[{"role":"user","content":"\\udfff\\u0000"}]}',
        b'{"model":"m","usage":{"prompt_tokens":' + b"9" * 5000 + b"}}",
        b'{"model":"\xff\xfe"}',
        b'{"usage":{"prompt_tokens":NaN,"completion_tokens":-1,"total_tokens":1e400}}',
    ],
)
def test_hostile_json_is_read_without_an_exception(path: str, body: bytes) -> None:
    facts = facts_of(exchange(path, body, b"data: " + body + b"\n\n"))

    repr(facts).encode()  # what is read can be written


def test_a_huge_reply_in_small_chunks_is_read_in_linear_time() -> None:
    event = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % (b"x" * 2_000_000)
    chunks = tuple(Chunk(at_s=0.0, data=event[start : start + 16]) for start in range(0, len(event), 16))

    reply = facts_of(exchange(CHAT, {}, chunks)).reply

    assert reply.message is not None
    assert len(reply.message.text) == 2_000_000


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/s/token/v1/chat/completions?api-version=1", ProtocolName.OPENAI_CHAT),
        ("/openai/v1/responses/", ProtocolName.OPENAI_RESPONSES),
        ("/v1/messages?beta=true", ProtocolName.ANTHROPIC),
        ("/v1beta/models/m:generateContent", ProtocolName.GEMINI),
        ("/v1/projects/p/models/claude:rawPredict", ProtocolName.ANTHROPIC),
        ("/v1/messages/count_tokens", None),
        ("/v1/embeddings", None),
        ("", None),
    ],
)
def test_the_path_tells_the_protocol_or_else_the_body(path: str, name: ProtocolName | None) -> None:
    body = b'{"anthropic_version": "v", "messages": []}' if "rawPredict" in path else b"{}"

    protocol = protocol_of(path, body)

    assert (protocol.name if protocol else None) == name

"""What an exchange says, when its bodies are not as they should be."""

from __future__ import annotations

<<<<<<< HEAD
import json
=======
import gzip
import json
import zlib
>>>>>>> 3e1720fa07327e538aacad8c0c9e91ce426f3da4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.wire.exchange import Chunk, ExchangeEnd
from pinchbench.wire.facts import facts_of
<<<<<<< HEAD
=======
from pinchbench.wire.protocols import content_encoding
from pinchbench.wire.protocols.detect import protocol_of
from pinchbench.wire.protocols.values import ProtocolName
>>>>>>> 3e1720fa07327e538aacad8c0c9e91ce426f3da4
from wire.exchanges import CHAT, GEMINI, MESSAGES, RESPONSES, SSE, cut, exchange, sse

PATHS = (CHAT, RESPONSES, MESSAGES, GEMINI)
STREAM = sse({"model": "m", "choices": [{"delta": {"content": "Grüße"}, "finish_reason": "stop"}]}, end="[DONE]")


<<<<<<< HEAD
=======
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


>>>>>>> 3e1720fa07327e538aacad8c0c9e91ce426f3da4
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "model",
    "type",
    "role",
    "content",
    "text",
    "messages",
    "input",
    "contents",
    "parts",
    "choices",
    "delta",
    "message",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "usage",
    "prompt_tokens",
    "input_tokens",
    "output_tokens",
    "candidates",
    "usageMetadata",
    "promptTokenCount",
    "error",
    "response",
    "item",
    "system",
    "tools",
    "functionCall",
    "args",
    "content_block",
    "index",
    "output_index",
    "id",
    "logprobs",
    "token_ids",
    "status",
    "cost",
    "details",
]
SHAPED = st.recursive(
    JSON | st.sampled_from(["tool_use", "response.completed", "message_start", "user", "function_call", "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


@given(path=st.sampled_from(PATHS), request=SHAPED, reply=st.lists(SHAPED, max_size=4), size=st.integers(1, 50))
def test_any_json_is_read_without_an_exception(path: str, request: object, reply: list[object], size: int) -> None:
    as_bytes = json.dumps(request).encode()

    facts_of(exchange(path, as_bytes, cut(sse(*reply), size)))
    facts_of(exchange(path, as_bytes, json.dumps(reply[:1]).encode(), reply_headers=()))


@given(path=st.sampled_from(PATHS), request=st.binary(), reply=st.binary(), status=st.sampled_from([0, 200, 429]))
def test_any_bytes_are_read_without_an_exception(path: str, request: bytes, reply: bytes, status: int) -> None:
    facts_of(exchange(path, request, reply, status=status))
    facts_of(exchange(path, request, reply, status=status, reply_headers=(*SSE, ("content-encoding", "gzip"))))


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


def test_the_last_of_duplicated_keys_counts_as_it_does_for_a_provider() -> None:
    facts = facts_of(exchange(CHAT, b'{"model":"one","model":"two"}'))

    assert facts.request.model == "two"


<<<<<<< HEAD
=======
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(STREAM)),
        ("gzip", gzip.compress(STREAM[:10]) + gzip.compress(STREAM[10:])),
        ("deflate", zlib.compress(STREAM)),
        ("deflate", zlib.compress(STREAM, wbits=-15)),
    ],
)
def test_a_compressed_reply_is_read_chunk_by_chunk(encoding: str, body: bytes) -> None:
    headers = (*SSE, ("content-encoding", encoding))

    reply = facts_of(exchange(CHAT, {}, cut(body, 5), reply_headers=headers)).reply

    assert reply.message is not None
    assert (reply.message.text, reply.complete) == ("Grüße", True)


def test_of_a_damaged_compressed_reply_the_chunks_before_the_damage_are_read() -> None:
    compressor = zlib.compressobj(wbits=31)
    body = compressor.compress(STREAM[:-10]) + compressor.flush(zlib.Z_FULL_FLUSH)
    chunks = (Chunk(at_s=0.1, data=body), Chunk(at_s=0.2, data=b"\xff" * 20))

    reply = facts_of(exchange(CHAT, {}, chunks, reply_headers=(*SSE, ("content-encoding", "gzip")))).reply

    assert reply.message is not None
    assert reply.message.text == "Grüße"


def test_an_unknown_compression_is_said() -> None:
    headers = (*SSE, ("content-encoding", "br"))

    assert "'br'" in facts_of(exchange(CHAT, {}, b"\x0b\x02", reply_headers=headers)).reply.error
    assert "'br'" in facts_of(exchange(CHAT, {}, b"\x0b\x02", reply_headers=headers, status=500)).reply.error


def test_a_small_reply_that_becomes_huge_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_encoding, "MAX_DECODED_BYTES", 1000)
    body = gzip.compress(b"a" * 1_000_000)

    chunks = content_encoding.decoded(cut(body, 100), "gzip")

    assert sum(len(chunk.data) for chunk in chunks) == 1000


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (429, b'{"error": {"message": "Slow  down", "type": "rate_limit_error"}}', "rate_limit_error: Slow down"),
        (400, b'{"error": "bad"}', "bad"),
        (404, b'{"detail": "Not Found"}', "Not Found"),
        (
            502,
            b"<html><head><title>x</title><style>a{}</style></head><h1>502</h1>\n<p>Bad Gateway</html>",
            "502 Bad Gateway",
        ),
        (500, b"", "status 500 without a text"),
        (503, b"\xff" * 3, "\ufffd\ufffd\ufffd"),
    ],
)
def test_the_text_of_an_error_is_read(status: int, body: bytes, said: str) -> None:
    assert facts_of(exchange(CHAT, {}, body, status=status, reply_headers=())).reply.error == said


def test_an_error_page_of_unclosed_tags_takes_no_time() -> None:
    reply = facts_of(exchange(CHAT, {}, b"<script" * 1_000_000, status=500, reply_headers=())).reply

    assert len(reply.error) <= 501


>>>>>>> 3e1720fa07327e538aacad8c0c9e91ce426f3da4
def test_a_request_without_a_reply_is_an_error() -> None:
    facts = facts_of(exchange(CHAT, {"model": "m"}, (), status=0, end=ExchangeEnd.NOT_REACHED))

    assert (facts.request.model, facts.reply.error, facts.reply.message) == ("m", "no reply", None)


def test_a_huge_reply_in_small_chunks_is_read_in_linear_time() -> None:
    event = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % (b"x" * 2_000_000)
    chunks = tuple(Chunk(at_s=0.0, data=event[start : start + 16]) for start in range(0, len(event), 16))

    reply = facts_of(exchange(CHAT, {}, chunks)).reply

    assert reply.message is not None
    assert len(reply.message.text) == 2_000_000

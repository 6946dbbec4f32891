"""Bodies that are compressed are read chunk by chunk."""

from __future__ import annotations

import gzip
import zlib

import pytest

from pinchbench.wire.exchange import Chunk
from pinchbench.wire.facts import facts_of
from pinchbench.wire.protocols import content_encoding
from wire.exchanges import CHAT, SSE, cut, exchange, sse

STREAM = sse({"model": "m", "choices": [{"delta": {"content": "Grüße"}, "finish_reason": "stop"}]}, end="[DONE]")


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

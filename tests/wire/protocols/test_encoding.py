"""Bodies that are compressed are read chunk by chunk."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.wire.exchange import Chunk
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols import encoding
from pinchbench.wire.protocols.encoding import events
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


def test_a_small_reply_that_becomes_huge_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAX_DECODED_BYTES", 1000)
    body = gzip.compress(b"a" * 1_000_000)

    chunks = encoding.decoded(cut(body, 100), "gzip")

    assert sum(len(chunk.data) for chunk in chunks) == 1000


def read(*pieces: bytes) -> list[bytes]:
    return [event.data for event in events(Chunk(at_s=0.0, data=piece) for piece in pieces)]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\r\n\r\ndata:  b\r\r", [b"a", b" b"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n", [b"a\nb"]),
        (b": comment\n\n\n\ndata: a\n: comment\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data\n\n", [b""]),
        (b"database: a\n\n", []),
        (b"data: a", [b"a"]),
        (b"", []),
    ],
)
def test_events_are_read_as_the_standard_says(stream: bytes, data: list[bytes]) -> None:
    assert read(stream) == data


@given(
    stream=st.binary(max_size=20) | st.text("dat:\r\n a", max_size=60).map(str.encode), cuts=st.sets(st.integers(0, 60))
)
def test_cuts_change_nothing(stream: bytes, cuts: set[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]

    assert read(*(stream[start:end] for start, end in pairwise(places))) == read(stream)

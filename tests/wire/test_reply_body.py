"""Bodies are read as they arrive, in any pieces."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.wire.reply_body import MAX_LINE_BYTES, ChunkedBody, ReplyBody, SizedBody, body_of
from scripted_provider import chunk


def _feed(body: ReplyBody, raw: bytes, cuts: list[int]) -> bytes:
    ends = sorted({min(cut, len(raw)) for cut in cuts} | {len(raw)})
    return b"".join(body.feed(raw[start:end]) for start, end in zip([0, *ends], ends, strict=False))


@given(
    parts=st.lists(st.binary(min_size=1, max_size=20), max_size=5),
    trailers=st.lists(st.sampled_from([b"A: b\r\n", b"Digest: x\r\n"]), max_size=2),
    surplus=st.sampled_from([b"", b"HTTP/1.1 408 "]),
    cuts=st.lists(st.integers(min_value=1, max_value=150), max_size=10),
)
def test_chunks_are_read_in_any_pieces(
    parts: list[bytes], trailers: list[bytes], surplus: bytes, cuts: list[int]
) -> None:
    body = ChunkedBody()
    raw = b"".join(map(chunk, parts)) + b"0;last=yes\r\n" + b"".join(trailers) + b"\r\n"
    assert _feed(body, raw[:-1], cuts) == b"".join(parts)
    assert not body.is_complete
    assert body.feed(raw[-1:] + surplus) == b""
    assert (body.is_complete, body.surplus_bytes) == (True, len(surplus))


@given(cuts=st.lists(st.integers(min_value=1, max_value=40), max_size=5))
@pytest.mark.parametrize(
    "raw", [b"3\r\nfour\r\n", b"size\r\n", b"\r\n", b"3\nabc\r\n", b"-3\r\nabc", b"0x3\r\nabc\r\n"]
)
def test_what_is_no_chunk_is_an_error(raw: bytes, cuts: list[int]) -> None:
    with pytest.raises(ValueError, match="where a chunk should begin"):
        _feed(ChunkedBody(), raw, cuts)


@pytest.mark.parametrize("begun", [b"3;", b"0\r\nA:"])
def test_a_line_of_the_framing_has_a_limit(begun: bytes) -> None:
    body = ChunkedBody()
    body.feed(begun + b"x" * (MAX_LINE_BYTES - 10))
    with pytest.raises(ValueError, match="too long"):
        body.feed(b"x" * 10)


@pytest.mark.parametrize(
    ("method", "status", "headers", "expected", "is_complete"),
    [
        (b"GET", 200, [(b"Content-Length", b"3")], SizedBody, False),
        (b"GET", 200, [(b"Content-Length", b"0")], SizedBody, True),
        (b"GET", 200, [(b"Transfer-Encoding", b"chunked")], ChunkedBody, False),
        (b"GET", 200, [], ReplyBody, False),
        (b"HEAD", 200, [(b"Content-Length", b"3")], SizedBody, True),
        (b"GET", 204, [], SizedBody, True),
        (b"GET", 304, [(b"Transfer-Encoding", b"chunked")], SizedBody, True),
    ],
)
def test_a_head_says_how_its_body_ends(
    method: bytes, status: int, headers: list[tuple[bytes, bytes]], expected: type[ReplyBody], *, is_complete: bool
) -> None:
    body = body_of(method, h11.Response(status_code=status, headers=headers))
    assert (type(body), body.is_complete) == (expected, is_complete)
    assert body.has_end is (expected is not ReplyBody)

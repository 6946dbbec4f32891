"""Heads and bodies are read as they arrive, and their framing is passed on as it is."""

from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import h11
import pytest
from anyio import connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketAttribute
from hypothesis import given
from hypothesis import strategies as st

from fakes import nobody_listening
from pinchbench.wire.http1 import (
    MAX_LINE_BYTES,
    ChunkedBody,
    ConnectionPool,
    CutError,
    NotReachedError,
    ReplyBody,
    SizedBody,
    body_of,
)
from pinchbench.wire.request_route import Origin
from pinchbench.wire.transport import TransportStream, serve_clients
from scripted_provider import OK_HEAD, always, chunk, scripted_provider

HEAD = (b"GET", b"/", [(b"Host", b"a")])
REPLY = OK_HEAD + chunk(b"one") + chunk(b"two") + b"0\r\n\r\n"


@dataclass(kw_only=True)
class Forwarded:
    """What a client got of the body of a reply, and what was kept of it."""

    received: bytes = b""
    kept: list[bytes] = field(default_factory=list)
    is_cut: bool = False


async def _forward(pool: ConnectionPool) -> Forwarded:
    forwarded = Forwarded()
    async with (
        await create_tcp_listener(local_host="127.0.0.1") as listener,
        create_task_group() as group,
        pool.connection() as connection,
    ):

        async def forward(client: TransportStream) -> None:
            async with client:
                assert connection.write(connection.pieces(*HEAD, ()))
                body = body_of(b"GET", await connection.head())
                try:
                    await connection.forward_body(body, client, forwarded.kept.append)
                except CutError:
                    forwarded.is_cut = True

        group.start_soon(serve_clients, listener, forward)
        async with await connect_tcp("127.0.0.1", listener.extra(SocketAttribute.local_port)) as client:
            with suppress(anyio.EndOfStream):
                while True:
                    forwarded.received += await client.receive()
        group.cancel_scope.cancel()
    return forwarded


async def test_a_body_is_passed_on_as_it_came_and_kept_without_framing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.wire.http1.IDLE_LIMIT_S", 600.0)

    async with scripted_provider(always(b"HTTP/1.1 103 Early Hints\r\n\r\n" + REPLY)) as provider:
        pool = ConnectionPool(Origin.parse(provider.url))
        with fail_after(60):
            for _ in range(2):
                forwarded = await _forward(pool)
                assert (forwarded.received, b"".join(forwarded.kept)) == (REPLY.removeprefix(OK_HEAD), b"onetwo")
        await pool.close()
    assert provider.connections == 1


async def test_what_follows_a_reply_is_not_passed_on_and_the_connection_not_used_again() -> None:
    async with scripted_provider(always(REPLY + b"HTTP/1.1 408 Request Timeout\r\n\r\n")) as provider:
        pool = ConnectionPool(Origin.parse(provider.url))
        with fail_after(60):
            for _ in range(2):
                assert (await _forward(pool)).received == REPLY.removeprefix(OK_HEAD)
    assert provider.connections == 2


@pytest.mark.parametrize("rest", [b"", b"no size\r\n", b"3\r\nfour\r\n"])
async def test_a_missing_end_is_a_cut(rest: bytes) -> None:
    async with scripted_provider(always(OK_HEAD + chunk(b"one") + rest, closes=True)) as provider:
        with fail_after(60):
            forwarded = await _forward(ConnectionPool(Origin.parse(provider.url)))
    assert forwarded.is_cut
    assert forwarded.received in {b"", chunk(b"one")}


async def test_a_provider_that_refuses_is_not_reached() -> None:
    with nobody_listening() as port:
        pool = ConnectionPool(Origin.parse(f"http://127.0.0.1:{port}"))
        with fail_after(60), pytest.raises(NotReachedError, match=f"no connection to 127.0.0.1:{port}"):
            async with pool.connection():
                pass


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

"""Heads and bodies are read as they arrive, and their framing is passed on as it is."""

from __future__ import annotations

import anyio
import h11
import pytest
from anyio import create_tcp_listener, fail_after
from anyio.abc import SocketAttribute

from pinchbench.wire.http1 import ConnectionPool, CutError, NotReachedError, has_end
from pinchbench.wire.request_route import Origin
from scripted_provider import OK_HEAD, Asked, chunk, scripted_provider

pytestmark = pytest.mark.anyio

HEAD = (b"GET", b"/", [(b"Host", b"a")])


async def _pieces(pool: ConnectionPool) -> list[tuple[bytes, bytes]]:
    pieces = []
    async with pool.connection() as connection:
        await connection.send_head(*HEAD)
        await connection.end_request()
        await connection.head()
        while (piece := await connection.receive_piece()) is not None:
            pieces.append((piece.raw, piece.data))
    return pieces


async def test_pieces_carry_the_bytes_as_they_came_and_without_framing() -> None:
    async def answer(_: Asked, stream: anyio.abc.SocketStream) -> bool:
        await stream.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" + OK_HEAD + chunk(b"one") + chunk(b"two") + b"0\r\n\r\n")
        return True

    async with scripted_provider(answer) as provider:
        pool = ConnectionPool(Origin.parse(provider.url))
        with fail_after(20):
            for _ in range(2):
                assert b"".join(data for _, data in await _pieces(pool)) == b"onetwo"
        await pool.close()
    assert provider.connections == 1


async def test_a_missing_end_is_a_cut() -> None:
    async def answer(_: Asked, stream: anyio.abc.SocketStream) -> bool:
        await stream.send(OK_HEAD + chunk(b"one"))
        return False

    async with scripted_provider(answer) as provider:
        with fail_after(20), pytest.raises(CutError):
            await _pieces(ConnectionPool(Origin.parse(provider.url)))


async def test_a_provider_that_refuses_is_not_reached() -> None:
    async with await create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(SocketAttribute.local_port)
    with fail_after(20), pytest.raises(NotReachedError, match=f"no connection to 127.0.0.1:{port}"):
        await _pieces(ConnectionPool(Origin.parse(f"http://127.0.0.1:{port}")))


@pytest.mark.parametrize(
    ("method", "status", "headers", "expected"),
    [
        (b"GET", 200, [(b"Content-Length", b"3")], True),
        (b"GET", 200, [(b"Transfer-Encoding", b"chunked")], True),
        (b"GET", 200, [], False),
        (b"HEAD", 200, [], True),
        (b"GET", 204, [], True),
    ],
)
def test_replies_without_length_end_with_their_connection(
    method: bytes, status: int, headers: list[tuple[bytes, bytes]], *, expected: bool
) -> None:
    assert has_end(method, h11.Response(status_code=status, headers=headers)) is expected

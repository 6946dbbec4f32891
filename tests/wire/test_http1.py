"""Heads and bodies are read as they arrive, and their framing is passed on as it is."""

from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import pytest
from anyio import connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketAttribute

from fakes import nobody_listening
from pinchbench.wire.http1 import ConnectionPool, CutError, NotReachedError
from pinchbench.wire.reply_body import body_of
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

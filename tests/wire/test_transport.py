"""Streams pass bytes on to each other: as they come, no faster than they are taken, and until one of them ends."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest
from anyio import BrokenResourceError, EndOfStream, connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketAttribute, SocketStream

from pinchbench.wire.transport import BUFFER_BYTES, NewConnections, TransportStream, connect, serve_clients
from pinchbench.wire.tunnel import Certificate

LIMIT_S = 60
MIB = 1024 * 1024
HOST = "localhost"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The two ends of a connection."""

    ours: TransportStream
    theirs: SocketStream


@asynccontextmanager
async def pair() -> AsyncGenerator[Pair]:
    accepted: list[TransportStream] = []
    has_accepted = anyio.Event()

    async def keep(stream: TransportStream) -> None:
        accepted.append(stream)
        has_accepted.set()

    with fail_after(LIMIT_S):
        async with await create_tcp_listener(local_host="127.0.0.1") as listener, create_task_group() as group:
            group.start_soon(serve_clients, listener, keep)
            async with await connect_tcp("127.0.0.1", listener.extra(SocketAttribute.local_port)) as theirs:
                await has_accepted.wait()
                async with accepted[0] as ours:
                    yield Pair(ours=ours, theirs=theirs)
            group.cancel_scope.cancel()


async def test_bytes_arrive_in_both_directions_and_end_with_the_connection() -> None:
    async with pair() as one:
        await one.theirs.send(b"hello")
        assert await one.ours.receive(2) + await one.ours.receive() == b"hello"
        await one.ours.send(b"world")
        assert await one.theirs.receive() == b"world"
        await one.theirs.send_eof()
        with pytest.raises(EndOfStream):
            await one.ours.receive()


async def test_no_piece_waits_until_the_client_has_acknowledged_the_one_before() -> None:
    with fail_after(LIMIT_S):
        async with pair() as one:
            assert one.ours.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_the_end_is_reported_at_once_to_the_one_that_watches_for_it() -> None:
    ends: list[str] = []
    async with pair() as one:
        with one.ours.watched(lambda: ends.append("while watched")):
            await one.theirs.send(b"kept")
            await one.theirs.send_eof()
            await one.ours.wait_until_ended()
        assert ends == ["while watched"]
        with one.ours.watched(lambda: ends.append("before")):
            assert ends[1:] == ["before"]
        assert await one.ours.receive() == b"kept"


async def test_what_nobody_receives_is_not_read_without_end() -> None:
    size = 32 * MIB
    async with pair() as one, create_task_group() as group:
        group.start_soon(one.theirs.send, b"x" * size)
        received = 0
        while received < size:
            for _ in range(100):  # time in which much more could arrive than is kept
                await anyio.lowlevel.checkpoint()
            part = await one.ours.receive(size)
            assert len(part) < 2 * BUFFER_BYTES
            received += len(part)


async def test_no_more_is_received_than_the_other_stream_takes() -> None:
    size = 32 * MIB
    taken = 0

    def take(raw: bytes) -> bool:
        nonlocal taken
        taken += len(raw)
        sink.ours.write(raw)
        return taken == size

    async with pair() as source, pair() as sink, create_task_group() as group:
        is_done: list[bool] = []

        async def forward() -> None:
            is_done.append(await source.ours.forward(sink.ours, take))
            await sink.ours.flush()

        group.start_soon(source.theirs.send, b"x" * size)
        group.start_soon(forward)
        while sink.ours.is_writable:
            await anyio.lowlevel.checkpoint()
        before = taken
        for _ in range(1000):
            await anyio.lowlevel.checkpoint()
        assert taken == before < size
        received = 0
        while received < size:
            received += len(await sink.theirs.receive())
    assert is_done == [True]


async def test_forwarding_ends_when_the_receiver_has_gone() -> None:
    async with pair() as source, pair() as sink, create_task_group() as group:

        async def leave() -> None:
            await source.theirs.send(b"x")
            await sink.theirs.aclose()

        def take(raw: bytes) -> bool:
            sink.ours.write(raw * MIB)
            return False

        group.start_soon(leave)
        assert not await source.ours.forward(sink.ours, take)
        with pytest.raises(BrokenResourceError):
            await sink.ours.flush()


async def test_what_was_received_before_is_forwarded_first_and_what_comes_after_the_end_is_kept() -> None:
    got: list[bytes] = []

    def take(raw: bytes) -> bool:
        got.append(raw)
        return b"end" in b"".join(got)

    async with pair() as source, pair() as sink, create_task_group() as group:
        await source.theirs.send(b"early")
        while source.ours.is_idle:
            await anyio.lowlevel.checkpoint()
        group.start_soon(source.theirs.send, b"end")
        assert await source.ours.forward(sink.ours, take)
        await source.theirs.send(b"next")
        assert await source.ours.receive() == b"next"
    assert b"".join(got) == b"earlyend"


async def test_tls_is_spoken_on_both_sides() -> None:
    certificate = Certificate(HOST)
    trusting = ssl.create_default_context(cadata=certificate.pem.decode())
    size = 4 * BUFFER_BYTES

    async def serve(outer: TransportStream) -> None:
        async with outer, await outer.start_tls(certificate.context) as stream:
            await stream.send(b"x" * size + await stream.receive())

    with fail_after(LIMIT_S):
        async with await create_tcp_listener(local_host="127.0.0.1") as listener, create_task_group() as group:
            group.start_soon(serve_clients, listener, serve)
            port = listener.extra(SocketAttribute.local_port)
            async with await connect(HOST, port, tls=trusting) as stream:
                await stream.send(b"end")
                received = bytearray()
                while not received.endswith(b"end"):
                    received += await stream.receive()
            assert len(received) == size + len(b"end")
            with pytest.raises(ssl.SSLCertVerificationError):
                await connect(HOST, port, tls=ssl.create_default_context())
            group.cancel_scope.cancel()


async def test_of_too_many_connections_without_a_request_the_oldest_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinchbench.wire.transport.MAX_NEW", 2)
    waiting = NewConnections()
    async with pair() as one, pair() as two, pair() as three:
        for each in (one, two):
            waiting.add(each.ours)
        waiting.discard(one.ours)  # it has asked for something
        waiting.add(three.ours)
        await one.ours.send(b"stays")
        waiting.add(one.ours)
        with pytest.raises(EndOfStream):
            await two.theirs.receive()
        assert await one.theirs.receive() == b"stays"
        await three.ours.send(b"stays")


async def test_a_server_is_reached_at_another_of_its_addresses_if_one_has_no_route(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def addresses(_host: str, port: int, **_: object) -> list[object]:
        kind = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        # the first is reserved for documents: RFC 3849
        return [(socket.AF_INET6, *kind, ("2001:db8::1", port, 0, 0)), (socket.AF_INET, *kind, ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", addresses)
    with socket.create_server(("127.0.0.1", 0)) as server, fail_after(LIMIT_S):
        async with await connect("two.example", server.getsockname()[1]) as stream:
            assert stream.socket.getpeername()[0] == "127.0.0.1"

"""Connections that are led to an endpoint of another machine, over real sockets."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import pytest
from anyio import Event, connect_tcp, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketAttribute
from msgspec.structs import replace

from fakes import nobody_listening, until
from pinchbench.cluster import relay
from pinchbench.cluster.messages import RelayAsked, RelayOpened
from pinchbench.cluster.relay import carry_relay, most_streams, open_relay
from pinchbench.errors import ClusterError
from pinchbench.wire import certificates

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from anyio.abc import SocketStream, TaskGroup

pytestmark = pytest.mark.anyio

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Led:
    """A relay from a node to an endpoint; both are this machine."""

    asked: RelayAsked
    opened: RelayOpened
    port: int  # of the node's loopback
    group: TaskGroup

    async def connect(self) -> SocketStream:
        """Connect as a program of the node."""
        return await connect_tcp(LOOPBACK, self.port)


@asynccontextmanager
async def serving(serve: Callable[[SocketStream], Awaitable[None]]) -> AsyncGenerator[int]:
    """An endpoint, whose connections are served like this; its port."""

    async def handle(stream: SocketStream) -> None:
        async with stream:
            await serve(stream)

    async with (
        await create_tcp_listener(local_host=LOOPBACK) as listener,
        create_task_group() as group,
    ):
        group.start_soon(listener.serve, handle)
        yield listener.extra(SocketAttribute.local_port)
        group.cancel_scope.cancel()


@asynccontextmanager
async def opened_to(port: int, slots: int = 1) -> AsyncGenerator[Led]:
    """A node that leads to a port, while nobody carries yet."""
    asked = RelayAsked(url=f"http://{LOOPBACK}:{port}/v1", address=LOOPBACK)
    with fail_after(120):
        async with open_relay(asked, slots) as (opened, url), create_task_group() as group:
            yield Led(asked=asked, opened=opened, port=urlsplit(url).port or 0, group=group)
            group.cancel_scope.cancel()


@asynccontextmanager
async def led(serve: Callable[[SocketStream], Awaitable[None]], slots: int = 1) -> AsyncGenerator[Led]:
    """A node that is led to an endpoint, whose connections are served like this."""
    async with serving(serve) as port, opened_to(port, slots) as found:
        found.group.start_soon(carry_relay, found.opened, found.asked, slots)
        yield found


async def echo(stream: SocketStream) -> None:
    async for data in stream:
        await stream.send(data)


async def read(stream: SocketStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await stream.receive()
    return data


async def test_bytes_travel_both_ways_as_they_are() -> None:
    data = os.urandom(3_000_000)
    async with led(echo) as found, await found.connect() as stream, create_task_group() as group:
        group.start_soon(stream.send, data)
        assert hashlib.sha256(await read(stream, len(data))).digest() == hashlib.sha256(data).digest()


async def test_a_part_of_an_answer_arrives_before_the_next_one_is_there() -> None:
    arrived = Event()

    async def stream_parts(stream: SocketStream) -> None:
        await stream.send(b"data: 1\n\n")
        await arrived.wait()
        await stream.send(b"data: 2\n\n")

    async with led(stream_parts) as found, await found.connect() as stream:
        assert await read(stream, 9) == b"data: 1\n\n"
        arrived.set()
        assert await read(stream, 9) == b"data: 2\n\n"


async def test_an_answer_whose_end_is_that_of_its_connection_is_whole() -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"all")

    async with led(answer) as found, await found.connect() as stream:
        await stream.send(b"?")
        assert await read(stream, 3) == b"all"
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()


async def test_a_connection_that_the_endpoint_resets_is_reset_for_the_program() -> None:
    async def break_off(stream: SocketStream) -> None:
        await stream.receive()
        relay._reset(stream)

    async with led(break_off) as found, await found.connect() as stream:
        await stream.send(b"?")
        with pytest.raises(anyio.BrokenResourceError):
            await stream.receive()


async def test_an_answer_that_is_cut_because_the_command_ends_does_not_look_whole() -> None:
    async def begin(stream: SocketStream) -> None:
        await stream.send(b"half")
        await anyio.sleep_forever()

    async with serving(begin) as port, opened_to(port) as found:
        async with create_task_group() as command:
            command.start_soon(carry_relay, found.opened, found.asked, 1)
            stream = await found.connect()
            assert await read(stream, 4) == b"half"
            command.cancel_scope.cancel()
        async with stream:
            with pytest.raises(anyio.BrokenResourceError):
                await stream.receive()


async def test_the_endpoint_sees_that_a_program_has_left() -> None:
    left = Event()

    async def wait(stream: SocketStream) -> None:
        await stream.send(b"half")
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await stream.receive()
        left.set()

    async with led(wait) as found:
        async with await found.connect() as stream:
            await read(stream, 4)
        await left.wait()


async def test_a_program_is_refused_as_long_as_nobody_listens_at_the_endpoint() -> None:
    with nobody_listening() as port:
        async with opened_to(port) as found:
            found.group.start_soon(carry_relay, found.opened, found.asked, 1)
            for _ in range(relay.SPARE + 1):
                async with await found.connect() as stream:
                    with pytest.raises(anyio.BrokenResourceError):
                        await stream.receive()


async def test_more_programs_at_once_than_links_wait_are_all_served() -> None:
    async def ask(found: Led, number: int) -> None:
        async with await found.connect() as stream:
            await stream.send(b"%04d" % number)
            assert await read(stream, 4) == b"%04d" % number

    async with led(echo, slots=3) as found, create_task_group() as group:
        for number in range(most_streams(3)):
            group.start_soon(ask, found, number)


async def test_programs_beyond_what_the_slots_need_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "STREAMS_A_SLOT", 1)
    async with led(echo) as found, await found.connect() as first, await found.connect() as second:
        for stream in (first, second):
            await stream.send(b"here")
            assert await read(stream, 4) == b"here"
        async with await found.connect() as third:
            with pytest.raises(anyio.BrokenResourceError):
                await third.receive()


async def test_nobody_without_the_secret_is_led_to() -> None:
    async with serving(echo) as port, opened_to(port) as found:
        wrong = replace(found.opened, secret=bytes(relay.SECRET_BYTES))
        async with create_task_group() as stranger:
            stranger.start_soon(carry_relay, wrong, found.asked, 1)
            async with await found.connect() as stream, create_task_group() as group:
                group.start_soon(carry_relay, found.opened, found.asked, 1)
                await stream.send(b"mine")
                assert await read(stream, 4) == b"mine"
                group.cancel_scope.cancel()
            stranger.cancel_scope.cancel()


async def test_another_node_than_the_one_that_ray_has_told_of_is_not_connected_to() -> None:
    async with serving(echo) as port, opened_to(port) as found, opened_to(port) as other:
        mixed = replace(found.opened, port=other.opened.port)
        with pytest.raises(OSError, match="certificate"):
            await carry_relay(mixed, found.asked, 1)


async def test_a_node_that_can_not_be_connected_to_is_an_error_at_once() -> None:
    with nobody_listening() as port:
        async with opened_to(port) as found:
            with pytest.raises(OSError, match="connection"):
                await carry_relay(replace(found.opened, port=port), found.asked, 1)


async def test_those_who_do_not_prove_themselves_can_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "MAX_UNPROVEN", 1)
    monkeypatch.setattr(relay, "SILENCE_S", 60.0)
    async with (
        serving(echo) as port,
        opened_to(port) as found,
        await connect_tcp(LOOPBACK, found.opened.port),
        await connect_tcp(LOOPBACK, found.opened.port) as more,
    ):
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await more.receive()


async def test_links_of_a_command_that_has_gone_are_not_used_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    idle: list[int] = []
    offer = relay._Entrance._offer

    async def counted(entrance: relay._Entrance, link: relay._Link) -> None:
        idle.append(1)
        await offer(entrance, link)

    monkeypatch.setattr(relay._Entrance, "_offer", counted)
    async with serving(echo) as port, opened_to(port) as found:
        async with create_task_group() as command:
            command.start_soon(carry_relay, found.opened, found.asked, 1)
            await until(lambda: len(idle) == relay.SPARE)
            command.cancel_scope.cancel()
        found.group.start_soon(carry_relay, found.opened, found.asked, 1)
        async with await found.connect() as stream:
            await stream.send(b"now")
            assert await read(stream, 3) == b"now"


async def test_an_address_that_the_node_does_not_have_is_named_with_what_to_do() -> None:
    asked = RelayAsked(url=f"http://{LOOPBACK}:8000/v1", address="192.0.2.1")
    with pytest.raises(ClusterError, match=r"can't listen on 192\.0\.2\.1 there: .*ray start --node-ip-address"):
        async with open_relay(asked, 1):
            pass


async def test_a_certificate_that_can_not_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(certificates, "Authority", full)
    asked = RelayAsked(url=f"http://{LOOPBACK}:8000/v1", address=LOOPBACK)
    with pytest.raises(ClusterError, match=r"--relay can't make a certificate there: .*No space left"):
        async with open_relay(asked, 1):
            pass

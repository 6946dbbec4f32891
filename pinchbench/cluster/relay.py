"""Leads connections on a node to one endpoint of the machine where the command runs: what `--relay` asks for.

Programs of the node connect to a port of its loopback. The command connects to the node, as for files, so that nodes
alone need an open port: each of its connections waits until a program needs one, and carries that program's from then
on. They are encrypted: the certificate of the node and the secret that the command states have come through Ray.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import ssl
import struct
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio import (
    Event,
    Semaphore,
    aclose_forcefully,
    connect_tcp,
    create_task_group,
    create_tcp_listener,
    fail_after,
    move_on_after,
    to_thread,
)
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSStream

from pinchbench.cluster.messages import RelayOpened
from pinchbench.cluster.relay_url import endpoint_of, loopback_of, url_on_node
from pinchbench.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio import CancelScope
    from anyio.abc import ByteStream, SocketStream
    from anyio.streams.stapled import MultiListener

    from pinchbench.cluster.messages import RelayAsked

NAME = "relay.invalid"  # in the certificate; the connection goes to an address
SECRET_BYTES = 32
GO, READY, REFUSED = b"g", b"r", b"n"  # a link is needed; it leads to the endpoint from here on; nobody listens there
SPARE = 4  # links to a node that wait: the next request need not wait for one
STREAMS_A_SLOT = 8  # at once; an agent asks one thing at a time, and each of its subagents
MAX_UNPROVEN = 64  # connections at once that have not stated the secret
SILENCE_S = 10.0  # of the other end, which is lost then; as for files
RETRY_S = 1.0  # from a link that was cut to the next one
CLOSE_LIMIT_S = 2.0  # for the other end to agree that a connection is closed
ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 2, "TCP_USER_TIMEOUT": 15_000}  # s, s, times, ms
CUT = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


@dataclass(kw_only=True, slots=True, eq=False)
class _Link:
    """A connection from the command that waits at a node. `is_lost` is final once `settled` is set."""

    stream: TLSStream
    taken: Event = field(default_factory=Event)
    settled: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    is_lost: bool = False


class _Entrance:
    """The node's end."""

    def __init__(self, context: ssl.SSLContext, most: int) -> None:
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self._context = context
        self._room = most  # for further connections of programs
        self._unproven = 0
        self._idle: deque[_Link] = deque()
        self._offered = Semaphore(0)  # at least as many as are idle

    async def take_link(self, far: SocketStream) -> None:
        """Take a connection of the command, and let a program use it."""
        async with far:
            if self._unproven >= MAX_UNPROVEN:
                return
            self._unproven += 1
            try:
                with fail_after(SILENCE_S):
                    stream = await TLSStream.wrap(far, server_side=True, ssl_context=self._context)
                    stated = await _receive(stream, SECRET_BYTES)
            except CUT:
                return
            finally:
                self._unproven -= 1
            if hmac.compare_digest(stated, self.secret):
                _keep_alive(far)
                await self._offer(_Link(stream=stream))

    async def _offer(self, link: _Link) -> None:
        """Let a program take a link, and return when it does not need it any more, or the command has gone."""
        self._idle.append(link)
        self._offered.release()
        try:
            async with create_task_group() as group:
                group.start_soon(_until_lost, link, group.cancel_scope)
                await link.taken.wait()
                group.cancel_scope.cancel()
        finally:
            link.settled.set()
            with suppress(ValueError):
                self._idle.remove(link)
        if link.taken.is_set():
            await link.done.wait()

    async def lead(self, near: SocketStream) -> None:
        """Carry a connection of a program to the endpoint; it is reset if there is no way."""
        async with near:
            if not self._room:
                _reset(near)
                return
            self._room -= 1
            link = None
            try:
                with fail_after(SILENCE_S):
                    link = await self._next()
                is_closed = await _carry(near, link.stream)
                if not is_closed:
                    _reset(near)
                await _end(link.stream, is_closed=is_closed)
                if is_closed:
                    await _drain(near)
            except CUT:
                _reset(near)
            finally:
                self._room += 1
                if link is not None:
                    link.done.set()

    async def _next(self) -> _Link:
        """Return a link that leads to the endpoint. Raises OSError if nobody listens there."""
        while True:
            await self._offered.acquire()
            if not self._idle:
                continue  # it was lost before it was needed
            link, answer = self._idle.popleft(), b""
            link.taken.set()
            try:
                with suppress(*CUT):
                    await link.settled.wait()
                    if not link.is_lost:
                        await link.stream.send(GO)
                        answer = await link.stream.receive(1)
            finally:
                if answer != READY:
                    link.done.set()
            if answer == READY:
                return link
            if answer:
                raise ConnectionRefusedError


@asynccontextmanager
async def open_relay(asked: RelayAsked, slots: int) -> AsyncGenerator[tuple[RelayOpened, str]]:
    """Lead to an endpoint of the command's machine for the duration of the block, on a node with so many slots.

    Yields what the command has to know, and the URL that leads to the endpoint on this node. Whoever can connect to the
    loopback of this node can use it, as on the machine of the endpoint. Raises ClusterError.
    """
    from pinchbench.wire.certificates import Authority  # noqa: PLC0415 - cryptography takes a tenth of a second

    try:
        authority = await to_thread.run_sync(Authority, [NAME])
    except OSError as error:
        raise ClusterError(f"--relay can't make a certificate there: {error}.") from error
    entrance = _Entrance(_noticing_cuts(authority.context(NAME)), most_streams(slots))
    async with (
        await _listen(loopback_of(asked.url)) as near,
        await _listen(asked.address) as far,
        create_task_group() as group,
    ):
        group.start_soon(near.serve, entrance.lead)
        group.start_soon(far.serve, entrance.take_link)
        port: int = far.extra(SocketAttribute.local_port)  # noqa: S610 - not of Django
        near_port: int = near.extra(SocketAttribute.local_port)  # noqa: S610 - as above
        opened = RelayOpened(port=port, secret=entrance.secret, certificate=authority.pem.decode())
        yield opened, url_on_node(asked.url, near_port)
        group.cancel_scope.cancel()


async def _listen(address: str) -> MultiListener[SocketStream]:
    """Listen on a port that the system chooses. Raises ClusterError."""
    try:
        return await create_tcp_listener(local_host=address)
    except OSError as error:
        raise ClusterError(
            f"--relay can't listen on {address} there: {error}. It has to be an address of the machine:"
            " `ray start --node-ip-address` names the one that Ray has."
        ) from error


def most_streams(slots: int) -> int:
    """Return how many connections a node with so many slots may have to the endpoint at once (pure)."""
    return (slots + 1) * STREAMS_A_SLOT  # one more for what asks before the first trial


async def carry_relay(opened: RelayOpened, asked: RelayAsked, slots: int) -> None:
    """Carry what programs of a node send to an endpoint that this machine reaches, and the answers, until cancelled.

    The node chooses when, never where to. Raises OSError if it can't be connected to at first; later, a link that is
    cut is replaced.
    """
    context = _noticing_cuts(ssl.create_default_context(cadata=opened.certificate))
    endpoint = endpoint_of(asked.url)
    spare, room = Semaphore(SPARE), Semaphore(most_streams(slots))

    async def keep(link: TLSStream | None) -> None:
        try:
            try:
                link = link or await _connect(opened, asked.address, context)
                await link.receive(1)
            except CUT:
                await anyio.sleep(RETRY_S)
                return
            finally:
                spare.release()
            await _serve(link, endpoint)
        finally:
            room.release()
            if link is not None:
                await aclose_forcefully(link.transport_stream)

    first: TLSStream | None = await _connect(opened, asked.address, context)
    async with create_task_group() as group:
        while True:
            await room.acquire()
            await spare.acquire()
            group.start_soon(keep, first)
            first = None


async def _connect(opened: RelayOpened, address: str, context: ssl.SSLContext) -> TLSStream:
    """Connect to a node, and state the secret. Raises OSError."""
    try:
        with fail_after(SILENCE_S):
            stream = await connect_tcp(address, opened.port)
            try:
                _keep_alive(stream)
                link = await TLSStream.wrap(stream, hostname=NAME, ssl_context=context)
                await link.send(opened.secret)
            except BaseException:
                await aclose_forcefully(stream)
                raise
            return link
    except TimeoutError as error:
        raise TimeoutError(f"nobody answered for {SILENCE_S:.0f} s") from error
    except anyio.BrokenResourceError as error:
        raise ConnectionResetError("the connection was closed") from error


async def _serve(link: TLSStream, endpoint: tuple[str, int]) -> None:
    """Carry the connection of a program to the endpoint."""
    try:
        with fail_after(SILENCE_S):
            plain = await connect_tcp(*endpoint)
    except OSError:
        with suppress(*CUT):
            await link.send(REFUSED)
        return
    async with plain:
        try:
            await link.send(READY)
            is_closed = await _carry(plain, link)
        except CUT:
            is_closed = False
        if not is_closed:
            _reset(plain)
        await _end(link, is_closed=is_closed)


async def _carry(plain: SocketStream, link: TLSStream) -> bool:
    """Copy both ways until one side ends; return whether it was closed, and not cut."""
    is_closed = False
    async with create_task_group() as group:

        async def copy(source: ByteStream, target: ByteStream) -> None:
            nonlocal is_closed
            with suppress(*CUT):
                async for data in source:
                    await target.send(data)
                is_closed = True
            group.cancel_scope.cancel()

        group.start_soon(copy, plain, link)
        group.start_soon(copy, link, plain)
    return is_closed


async def _end(link: TLSStream, *, is_closed: bool) -> None:
    """Let the other end see that a connection was closed, or that it was cut."""
    if is_closed:
        with suppress(*CUT), move_on_after(CLOSE_LIMIT_S):
            await link.aclose()
    await aclose_forcefully(link.transport_stream)


async def _drain(near: SocketStream) -> None:
    """Close a connection whose other end may still send: what it has not read yet would be lost by closing at once."""
    with suppress(*CUT), move_on_after(CLOSE_LIMIT_S):
        await near.send_eof()
        async for _ in near:
            pass


async def _until_lost(link: _Link, waiting: CancelScope) -> None:
    with suppress(*CUT):
        await link.stream.receive(1)  # the command says nothing before it is told to go
    link.is_lost = True
    waiting.cancel()


def _noticing_cuts(context: ssl.SSLContext) -> ssl.SSLContext:
    """Let connections tell an end that was meant from one that was not, which Python does not by default."""
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    return context


async def _receive(stream: ByteStream, size: int) -> bytes:
    """Return so many bytes. Raises EndOfStream if there are fewer."""
    data = b""
    while len(data) < size:
        data += await stream.receive(size - len(data))
    return data


def _reset(stream: SocketStream) -> None:
    """Let the other end see that a connection was cut, when it is closed."""
    with suppress(OSError):
        _socket(stream).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _keep_alive(stream: SocketStream) -> None:
    """Let both ends notice soon when a connection that waits is dead, and what is between them that it is not."""
    with suppress(OSError):  # it is closed already
        raw = _socket(stream)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in ALIVE.items():
            if (option := getattr(socket, name, None)) is not None:
                raw.setsockopt(socket.IPPROTO_TCP, option, value)


def _socket(stream: SocketStream) -> socket.socket:
    raw: socket.socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - not of Django
    return raw

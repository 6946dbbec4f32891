"""Connections as streams of bytes that can be passed on to each other without a task for each piece.

A stream of anyio's takes a task switch and two calls of the system to wait for a piece, besides reading and writing it:
several times the cost of passing it on within the callback of asyncio's transport, as `TransportStream.forward` does.
"""

from __future__ import annotations

import asyncio
import ipaddress
import select
import socket
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from anyio import BrokenResourceError, ClosedResourceError, EndOfStream, create_task_group
from anyio.abc import ByteStream, SocketAttribute, SocketListener, SocketStream
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from anyio.streams.stapled import MultiListener

RECEIVE_BYTES = 64 * 1024
BUFFER_BYTES = 256 * 1024  # that are received before somebody wants them; at most one more read comes on top
MAX_NEW = 512  # a client sends its first request as soon as it is connected
SECOND_ADDRESS_AFTER_S = 0.25  # RFC 8305, as anyio's own `connect_tcp`


class TransportStream(ByteStream, asyncio.Protocol):
    """A connection. `send` returns when the system has taken all the data."""

    def __init__(self) -> None:
        """Make a stream without a connection: see `connect` and `serve_clients`."""
        self.is_lost = False
        self.source: TransportStream | None = None  # whose data is written here, while it is forwarded
        self._ended: Callable[[], None] | None = None
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._is_tls = False
        self._is_closed = False
        self._has_ended = False
        self._error: Exception | None = None
        self._news = asyncio.Event()  # that there is something to receive, or that nothing will be forwarded any more
        self._writable = asyncio.Event()
        self._writable.set()
        self._take: Callable[[bytes], bool] | None = None

    async def receive(self, max_bytes: int = RECEIVE_BYTES) -> bytes:
        """Return the next bytes. Raises EndOfStream, BrokenResourceError or ClosedResourceError."""
        await checkpoint_if_cancelled()
        while not self._received:
            if self._has_ended:
                raise self._reason()
            await self._next_news()
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        self.resume_reading()
        return data

    async def send(self, item: bytes) -> None:
        """Send bytes. Raises BrokenResourceError or ClosedResourceError."""
        self.write(item)
        await self.flush()

    def write(self, data: bytes) -> None:
        """Send bytes without waiting. They are dropped when the connection is lost, which `flush` tells."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def flush(self) -> None:
        """Wait until the system has taken what was written. Raises as `send`."""
        await self._writable.wait()
        if self.is_lost or self._is_closed:
            raise ClosedResourceError if self._is_closed else BrokenResourceError from self._error

    async def forward(self, sink: TransportStream, take: Callable[[bytes], bool]) -> bool:
        """Call `take` with what is received, within the callback that brings it, until it returns true.

        Args:
            sink: Where `take` writes it. While it takes no more, nothing is received.
            take: Must not block nor raise.

        Returns:
            Whether `take` returned true; else this connection has ended, or `sink` is lost, as its `flush` tells.
        """
        self._take, sink.source = take, self
        try:
            if self._received:
                data = bytes(self._received)
                self._received.clear()
                self.data_received(data)
            if sink.is_writable:
                self.resume_reading()
            else:
                self.pause_reading()
            while not (is_done := self._is_done_forwarding) and not self._has_ended and not sink.is_lost:
                await self._next_news()
            return is_done
        finally:
            self._take = sink.source = None
            self.resume_reading()

    @contextmanager
    def watched(self, ended: Callable[[], None]) -> Iterator[None]:
        """Call `ended`, which must not block nor raise, when the other end closes the connection, or has done so."""
        self._ended = ended
        if self._has_ended:
            ended()
        try:
            yield
        finally:
            self._ended = None

    async def wait_until_ended(self) -> None:
        """Return when the other end has closed the connection. Bytes that it sends meanwhile are kept."""
        while not self._has_ended:
            await self._next_news()

    @property
    def socket(self) -> socket.socket:
        """The connection's socket, to ask it who is at the other end. Raises ClosedResourceError."""
        found: socket.socket = self._require_transport().get_extra_info("socket")
        return found

    @property
    def is_writable(self) -> bool:
        """Whether the system has taken all that was written."""
        return self._writable.is_set()

    @property
    def is_broken(self) -> bool:
        """Whether the connection ended with an error."""
        return self._error is not None

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open and there is nothing to receive, as far as the system knows."""
        if self._transport is None or self._has_ended or self._received:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)

    async def send_eof(self) -> None:
        """Say that nothing more will be sent. Raises OSError if the connection is lost."""
        await self.flush()
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()

    def abort(self) -> None:
        """Close the connection at once. What `send` returned for is not lost."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    async def aclose(self) -> None:
        """Close the connection, also if cancelled."""
        self.abort()
        await checkpoint()

    async def start_tls(self, context: ssl.SSLContext) -> TransportStream:
        """Answer the client's TLS; return the stream inside. Raises BrokenResourceError if it does not succeed."""
        inner = TransportStream()
        try:
            transport = await asyncio.get_running_loop().start_tls(
                self._require_transport(), inner, context, server_side=True
            )
        except OSError as error:
            raise BrokenResourceError from error
        if transport is None:
            raise BrokenResourceError
        inner.connection_made(transport)
        return inner

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio, as are the following."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a connection
        self._transport = transport
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        # With 0, asyncio's TLS pauses even while its buffer is empty.
        transport.set_write_buffer_limits(1 if self._is_tls else 0)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived, or keep it."""
        if self._take is not None:
            if self._take(data):
                self._take = None
                self.wake()
            return
        self._received += data
        self.wake()
        if len(self._received) >= BUFFER_BYTES:
            self.pause_reading()

    def eof_received(self) -> bool:
        """Return whether the other direction stays open."""
        self._end()
        return not self._is_tls  # which has no such thing

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake who waits."""
        self.is_lost, self._error = True, exc
        self._end()
        self._writable.set()
        if self.source is not None:
            self.source.wake()

    def pause_writing(self) -> None:
        """Let `flush` wait."""
        self._writable = asyncio.Event()
        if self.source is not None:
            self.source.pause_reading()

    def resume_writing(self) -> None:
        """Wake who waits."""
        self._writable.set()
        if self.source is not None:
            self.source.resume_reading()

    def pause_reading(self) -> None:
        """Receive nothing for a while."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Receive again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def wake(self) -> None:
        """Let who waits look again."""
        self._news.set()

    async def _next_news(self) -> None:
        self._news = asyncio.Event()
        await self._news.wait()

    @property
    def _is_done_forwarding(self) -> bool:
        return self._take is None

    def _end(self) -> None:
        self._has_ended = True
        self.wake()
        if self._ended is not None:
            self._ended()

    def _reason(self) -> Exception:
        if self._is_closed:
            return ClosedResourceError()
        return BrokenResourceError() if self._error is not None else EndOfStream()

    def _require_transport(self) -> asyncio.Transport:
        if self._transport is None:
            raise ClosedResourceError
        return self._transport


class NewConnections:
    """Connections on which nothing has been asked yet. If there are too many, the oldest is closed for a new one."""

    def __init__(self) -> None:
        """Start with none."""
        self._streams: dict[TransportStream, None] = {}

    def add(self, stream: TransportStream) -> None:
        """Add one that has just been accepted."""
        if len(self._streams) >= MAX_NEW:
            oldest = next(iter(self._streams))
            del self._streams[oldest]
            oldest.abort()
        self._streams[stream] = None

    def discard(self, stream: TransportStream) -> None:
        """Remove one, if it is there: a trial has asked for something, or it is closed."""
        self._streams.pop(stream, None)


async def connect(host: str, port: int, *, tls: ssl.SSLContext | None = None) -> TransportStream:
    """Connect to a server. Raises OSError."""
    loop = asyncio.get_running_loop()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        _, stream = await loop.create_connection(
            TransportStream, host, port, ssl=tls, happy_eyeballs_delay=SECOND_ADDRESS_AFTER_S
        )
        return stream
    # For a race of addresses, asyncio takes eleven turns of its loop, and on a busy one each takes a while.
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setblocking(False)
        is_connected = False
        if sys.platform == "linux":  # where it is made at once on the loopback interface, as a second call finds out
            with suppress(BlockingIOError):
                found.connect((host, port))
                is_connected = True
        if not is_connected:
            await loop.sock_connect(found, (host, port))
        _, stream = await loop.create_connection(
            TransportStream, sock=found, ssl=tls, server_hostname=host if tls else None
        )
    except BaseException:
        found.close()
        raise
    return stream


async def serve_clients(
    listener: SocketListener | MultiListener[SocketStream],
    serve: Callable[[TransportStream], Coroutine[Any, Any, None]],
) -> None:
    """Accept connections, and start a task for each, which owns it, until cancelled."""
    loop = asyncio.get_running_loop()
    accepting: socket.socket = listener.extra(SocketAttribute.raw_socket)  # noqa: S610 - not of Django
    async with create_task_group() as group:
        while True:
            connection, _ = await loop.sock_accept(accepting)
            if connection.family != socket.AF_UNIX:
                # asyncio does so for its own servers; else a reply's first chunk waits until its head is acknowledged
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            group.start_soon(_serve, connection, serve)


async def _serve(connection: socket.socket, serve: Callable[[TransportStream], Coroutine[Any, Any, None]]) -> None:
    _, stream = await asyncio.get_running_loop().connect_accepted_socket(TransportStream, connection)
    await serve(stream)

"""HTTP/1.1 on byte streams: requests of clients, and connections to a provider."""

from __future__ import annotations

import select
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import h11
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream, connect_tcp, fail_after, move_on_after
from anyio.abc import SocketAttribute

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import ByteStream

    from pinchbench.wire.request_route import Header, Origin

RECEIVE_BYTES = 64 * 1024
MAX_HEAD_BYTES = 64 * 1024  # twice what Node accepts
EARLY_BYTES = 64 * 1024  # of further requests, while one is being answered
CONNECT_LIMIT_S = 10.0  # as Node's own, after which OpenClaw would give up too
# Shorter than servers keep idle connections: a request must not meet one that its server is just closing.
IDLE_LIMIT_S = 4.0
MAX_IDLE = 64
CLOSE_LIMIT_S = 5.0  # nothing is waited for but the event loop

LOST = (BrokenResourceError, ClosedResourceError, EndOfStream, ssl.SSLError)
WITHOUT_BODY = frozenset({204, 304})
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class NotReachedError(Exception):
    """A provider sent no reply. The message is a part of a sentence."""


class CutError(Exception):
    """A provider closed the connection within a reply."""


class Inbound:
    """A client's connection. Responses are written to `stream` by the caller."""

    def __init__(self, stream: ByteStream) -> None:
        """Take a connection; the caller closes it."""
        self.stream = stream
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._early_bytes = 0

    async def next_request(self) -> h11.Request | None:
        """Return the next request's head; None at the end. Raises h11.RemoteProtocolError, or what `stream` raises."""
        early, _ = self._parser.trailing_data
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._early_bytes = 0
        if early:
            self._parser.receive_data(early)
        event = await self._next_event()
        return event if isinstance(event, h11.Request) else None

    async def receive_body(self) -> bytes:
        """Return the next part of the request's body.

        `b""` means its end, or that the client has gone, which `is_complete` tells apart. Raises as `next_request`.
        """
        event = await self._next_event()
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    @property
    def is_complete(self) -> bool:
        """Whether the whole request has arrived."""
        return self._parser.their_state in {h11.DONE, h11.MUST_CLOSE}

    @property
    def keeps_alive(self) -> bool:
        """Whether the client may send another request."""
        return self._parser.their_state is h11.DONE

    async def wait_until_closed(self) -> None:
        """Return when the client has closed the connection. Bytes that it sends meanwhile are kept."""
        with suppress(*LOST):
            while self._early_bytes < EARLY_BYTES:
                data = await self.stream.receive(RECEIVE_BYTES)
                self._early_bytes += len(data)
                self._parser.receive_data(data)
            await anyio.sleep_forever()

    async def _next_event(self) -> object:
        while (event := self._parser.next_event()) is h11.NEED_DATA:
            if self._parser.they_are_waiting_for_100_continue:
                await self.stream.send(CONTINUE)
                self._parser.send(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                data = await self.stream.receive(RECEIVE_BYTES)
            except EndOfStream:
                data = b""
            self._parser.receive_data(data)
        return event


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Bytes of a reply's body: as they arrived, and without the framing of chunks."""

    raw: bytes
    data: bytes


def has_end(method: bytes, response: h11.Response) -> bool:
    """Whether the end of a reply is known without the end of its connection."""
    names = {name for name, _ in response.headers}
    return (
        method == b"HEAD"
        or response.status_code in WITHOUT_BODY
        or b"content-length" in names
        or b"transfer-encoding" in names
    )


class Outbound:
    """A connection to a provider."""

    def __init__(self, stream: ByteStream) -> None:
        """Take a connection, and own it."""
        self._stream = stream
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._has_begun_body = False
        self.is_reused = False
        self.idle_since = 0.0

    async def send_head(self, method: bytes, target: bytes, headers: list[Header]) -> None:
        """Send the head of a request. Raises what the connection raises, as do the other sends."""
        await self._send(h11.Request(method=method, target=target, headers=headers))

    async def send_body(self, data: bytes) -> None:
        """Send a part of the body."""
        await self._send(h11.Data(data=data))

    async def end_request(self) -> None:
        """Send the end of the body."""
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Event) -> None:
        if data := self._parser.send(event):
            await self._stream.send(data)

    async def head(self) -> h11.Response:
        """Return the head of the reply. Raises NotReachedError if there is none."""
        while True:
            try:
                event = self._parser.next_event()
                if event is h11.NEED_DATA:
                    self._parser.receive_data(await self._receive())
                    continue
            except (h11.RemoteProtocolError, *LOST) as error:
                raise NotReachedError(f"no reply: {str(error) or type(error).__name__}") from error
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise NotReachedError("the connection was closed before a reply")

    async def receive_piece(self) -> Piece | None:
        """Return the next bytes of the reply's body as they arrive; None at its end.

        Raises:
            CutError: The connection was closed before the end, or what arrived is not HTTP.
        """
        raw = b"" if self._has_begun_body else self._parser.trailing_data[0]
        if self._has_begun_body:
            if self._parser.their_state is not h11.SEND_BODY:
                return None
            raw = await self._receive_body()
        self._has_begun_body = True
        data = b""
        try:
            while isinstance(event := self._parser.next_event(), h11.Data):
                data = data + event.data if data else bytes(event.data)
        except h11.RemoteProtocolError as error:
            raise CutError("the provider closed the connection within the reply, or sent no HTTP") from error
        if raw or event is h11.NEED_DATA:
            return Piece(raw=raw, data=data)
        return None

    async def _receive_body(self) -> bytes:
        try:
            raw = await self._receive()
            self._parser.receive_data(raw)
        except LOST as error:
            raise CutError("the provider's connection broke within the reply") from error
        return raw

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive(RECEIVE_BYTES)
        except EndOfStream:
            return b""

    @property
    def can_be_reused(self) -> bool:
        """Whether another request may be sent: request and reply were complete, and the provider has not closed it."""
        parser = self._parser
        return (
            parser.our_state is h11.DONE
            and parser.their_state is h11.DONE
            and not parser.trailing_data[0]
            and not self._is_readable()
        )

    def renew(self) -> None:
        """Prepare for another request."""
        self._parser.start_next_cycle()
        self._has_begun_body = False
        self.is_reused = True

    def is_stale(self, now: float) -> bool:
        """Whether an idle connection should not be used."""
        return now - self.idle_since > IDLE_LIMIT_S or self._is_readable()

    def _is_readable(self) -> bool:
        # An idle connection has nothing to read but its end.
        poll = select.poll()
        poll.register(self._stream.extra(SocketAttribute.raw_socket), select.POLLIN)  # noqa: S610 - not of Django
        return bool(poll.poll(0))

    async def close(self) -> None:
        """Close the connection at once; a cancellation does not keep it open."""
        await anyio.aclose_forcefully(self._stream)


class ConnectionPool:
    """Connections to one provider. `close` ends those that are idle."""

    def __init__(self, origin: Origin) -> None:
        """Take the place of the provider."""
        self._origin = origin
        self._idle: list[Outbound] = []
        self._tls = ssl.create_default_context() if origin.tls else None

    @asynccontextmanager
    async def connection(self, *, fresh: bool = False) -> AsyncGenerator[Outbound]:
        """Provide a connection, kept for the next request or closed at the end of the block.

        Args:
            fresh: A new one, instead of one that was used before.

        Raises:
            NotReachedError: The provider can not be connected to.
        """
        connection = await self._take(fresh=fresh)
        try:
            yield connection
        finally:
            with move_on_after(CLOSE_LIMIT_S, shield=True):
                await self._give_back(connection)

    async def _take(self, *, fresh: bool) -> Outbound:
        now = anyio.current_time()
        while self._idle and not fresh:
            connection = self._idle.pop()
            if not connection.is_stale(now):
                return connection
            await connection.close()
        try:
            with fail_after(CONNECT_LIMIT_S):
                return Outbound(await self._connect())
        except (OSError, TimeoutError, *LOST) as error:
            raise NotReachedError(
                f"no connection to {self._origin.authority}: {str(error) or type(error).__name__}"
            ) from error

    async def _connect(self) -> ByteStream:
        if self._tls is None:
            return await connect_tcp(self._origin.host, self._origin.port)
        # Many servers close TLS connections without a closing message, which the framing of HTTP makes up for.
        return await connect_tcp(
            self._origin.host,
            self._origin.port,
            tls=True,
            ssl_context=self._tls,
            tls_standard_compatible=False,
        )

    async def _give_back(self, connection: Outbound) -> None:
        if connection.can_be_reused and len(self._idle) < MAX_IDLE:
            connection.renew()
            connection.idle_since = anyio.current_time()
            self._idle.append(connection)
        else:
            await connection.close()

    async def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            await self._idle.pop().close()

"""HTTP/1.1 on byte streams: requests of clients, and connections to a provider."""

from __future__ import annotations

import logging
import ssl
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import anyio
import h11
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream, fail_after, move_on_after
from anyio.lowlevel import checkpoint

from pinchbench.wire.request_route import error_response
from pinchbench.wire.transport import connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
    from http import HTTPStatus

    from pinchbench.wire.redact import Masking
    from pinchbench.wire.reply_body import ReplyBody
    from pinchbench.wire.request_route import Header, Origin
    from pinchbench.wire.transport import NewConnections, TransportStream


LOG = logging.getLogger(__name__)
MAX_HEAD_BYTES = 64 * 1024  # twice what Node accepts
CONNECT_LIMIT_S = 10.0  # as Node's own, after which OpenClaw would give up too
# Shorter than servers keep idle connections: a request must not meet one that its server is just closing.
IDLE_LIMIT_S = 4.0
MAX_IDLE = 64
DRAIN_LIMIT_S = 5.0  # for the rest of a request that is refused

LOST = (BrokenResourceError, ClosedResourceError, EndOfStream)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class NotReachedError(Exception):
    """A provider sent no reply. The message is a part of a sentence."""


class CutError(Exception):
    """A provider closed the connection within a reply."""


class Inbound:
    """A client's connection. Responses are written to `stream` by the caller."""

    def __init__(self, stream: TransportStream) -> None:
        """Take a connection; the caller closes it."""
        self.stream = stream
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def next_request(self) -> h11.Request | None:
        """Return the next request's head; None at the end. Raises h11.RemoteProtocolError, or what `stream` raises."""
        if self._parser.their_state is not h11.IDLE:
            early = self.early
            self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
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

    async def read_rest(self, keep: Callable[[bytes], bool]) -> bool:
        """Call `keep` with each part of the rest of the body; return false as soon as it does. Raises as above."""
        while not self.is_complete and (data := await self.receive_body()):
            if not keep(data):
                return False
        return True

    async def refuse(self, status: HTTPStatus, reason: str) -> bool:
        """Send an error in place of an answer; return that the connection does not stay open."""
        with move_on_after(DRAIN_LIMIT_S):  # else closing would reset the connection, and the client not see why
            await self.read_rest(lambda _: True)
        await self.stream.send(error_response(status, reason))
        return False

    @property
    def early(self) -> bytes:
        """What has arrived after the request."""
        data, _ = self._parser.trailing_data
        return data

    @property
    def is_complete(self) -> bool:
        """Whether the whole request has arrived."""
        return self._parser.their_state in {h11.DONE, h11.MUST_CLOSE}

    @property
    def keeps_alive(self) -> bool:
        """Whether the client may send another request."""
        return self._parser.their_state is h11.DONE

    async def _next_event(self) -> object:
        while (event := self._parser.next_event()) is h11.NEED_DATA:
            if self._parser.they_are_waiting_for_100_continue:
                await self.stream.send(CONTINUE)
                self._parser.send(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                data = await self.stream.receive()
            except EndOfStream:
                data = b""
            self._parser.receive_data(data)
        return event


@contextmanager
def served(stream: TransportStream, new: NewConnections) -> Iterator[None]:
    """Count a connection as new, and end the block by whatever is wrong with it; only bugs are logged."""
    new.add(stream)
    try:
        yield
    except (h11.RemoteProtocolError, TimeoutError, *LOST):
        pass
    except Exception:
        LOG.exception("A connection was closed because of an error in the wire.")
    finally:
        new.discard(stream)


class Outbound:
    """A connection to a provider."""

    def __init__(self, stream: TransportStream) -> None:
        """Take a connection, and own it."""
        self._stream = stream
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._is_body_complete = False
        self._is_answered = False
        self._is_reused = False
        self.idle_since = 0.0

    def pieces(self, method: bytes, target: bytes, headers: list[Header], body: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a request as it is to be sent."""
        data = self._parser.send(h11.Request(method=method, target=target, headers=headers)) or b""
        for part in body:
            yield data + (self._parser.send(h11.Data(data=part)) or b"")
            data = b""
        if data := data + (self._parser.send(h11.EndOfMessage()) or b""):
            yield data

    def write(self, pieces: Iterator[bytes]) -> bool:
        """Send pieces while the system takes them without waiting; return whether it has taken all."""
        for piece in pieces:
            self._stream.write(piece)
            if not self._stream.is_writable:
                return False
        return True

    async def send(self, pieces: Iterator[bytes]) -> None:
        """Send what `write` has left. Raises what the connection raises."""
        await self._stream.flush()
        for piece in pieces:
            await self._stream.send(piece)

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

    async def _receive(self) -> bytes:
        try:
            data = await self._stream.receive()
        except EndOfStream:
            return b""
        self._is_answered = True
        return data

    async def forward_body(
        self, body: ReplyBody, client: TransportStream, keep: Callable[[bytes], None], masking: Masking | None = None
    ) -> None:
        """Pass the body of the reply on to a client as it arrives.

        Args:
            body: Finds its end.
            client: Where it is sent.
            keep: Called with each piece of it, without the framing. Must not raise.
            masking: Masks a text in what is sent to the client; None to pass all on as it is.

        Raises:
            CutError: The connection was closed before the end, or what arrived is not HTTP.
            BrokenResourceError: The client has gone.
        """
        problem = "the provider closed the connection within the reply"

        def take(raw: bytes) -> bool:
            nonlocal problem
            try:
                data = body.feed(raw)
            except ValueError as error:
                problem = f"the provider sent no HTTP: {error}"
                return True
            if data:
                keep(data)  # before it is sent, so that its time is that of its arrival
            piece = raw[: len(raw) - body.surplus_bytes] if body.is_complete else raw
            client.write(piece if masking is None else masking.feed(piece, is_last=body.is_complete))
            return body.is_complete

        early, _ = self._parser.trailing_data
        is_over = take(early) if early else body.is_complete
        if not is_over:
            await self._stream.forward(client, take)
        if masking is not None:
            client.write(masking.feed(b"", is_last=True))
        await client.flush()
        self._is_body_complete = body.is_complete and not body.surplus_bytes
        if not body.is_complete and (body.has_end or self._stream.is_broken):
            raise CutError(problem)

    @property
    def can_be_reused(self) -> bool:
        """Whether another request may be sent: request and reply were complete, and the provider has not closed it."""
        is_sent = self._parser.our_state is h11.DONE and self._stream.is_writable
        return is_sent and self._is_body_complete and self._stream.is_idle

    def renew(self) -> None:
        """Prepare for another request."""
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._is_body_complete = self._is_answered = False
        self._is_reused = True

    @property
    def was_stale(self) -> bool:
        """Whether it has been closed since its last request, as far as can be seen: nothing answered this one."""
        return self._is_reused and not self._is_answered

    def is_stale(self, now: float) -> bool:
        """Whether an idle connection should not be used."""
        return now - self.idle_since > IDLE_LIMIT_S or not self._stream.is_idle

    def close(self) -> None:
        """Close the connection at once."""
        self._stream.abort()


class ConnectionPool:
    """Connections to one provider. `close` ends those that are idle."""

    def __init__(self, origin: Origin) -> None:
        """Take the place of the provider."""
        self._origin = origin
        self._idle: list[Outbound] = []
        # Many servers close TLS connections without a closing message, which the framing of HTTP makes up for.
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
            self._give_back(connection)

    async def _take(self, *, fresh: bool) -> Outbound:
        now = anyio.current_time()
        while self._idle and not fresh:
            connection = self._idle.pop()
            if not connection.is_stale(now):
                return connection
            connection.close()
        try:
            with fail_after(CONNECT_LIMIT_S):
                return Outbound(await connect(self._origin.host, self._origin.port, tls=self._tls))
        except (OSError, TimeoutError) as error:
            raise NotReachedError(
                f"no connection to {self._origin.authority}: {str(error) or type(error).__name__}"
            ) from error

    def _give_back(self, connection: Outbound) -> None:
        if connection.can_be_reused and len(self._idle) < MAX_IDLE:
            connection.renew()
            connection.idle_since = anyio.current_time()
            self._idle.append(connection)
        else:
            connection.close()

    async def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            self._idle.pop().close()
        await checkpoint()

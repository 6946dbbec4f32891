"""A real HTTP server on loopback that records what it is asked, and answers or misbehaves as a test asks."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import anyio
import h11
from anyio import create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketStream


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A request as it came; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """What comes back: `body`, or `pieces` one after another.

    `cut` closes the connection before the response or in the middle of its body. A `silent` one never comes; `drip`
    sends blanks for ever instead of the body.
    """

    status: int = 200
    body: bytes = b"{}"
    pieces: tuple[bytes, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: Literal["before", "inside"] | None = None
    silent: bool = False
    drip: bool = False

    @property
    def parts(self) -> tuple[bytes, ...]:
        """What is sent of the body."""
        if self.cut != "inside":
            return self.pieces or (self.body,)
        return self.pieces[: len(self.pieces) // 2] or (self.body[: len(self.body) // 2],)


RequestT = TypeVar("RequestT", bound=Request)


class HttpServer(ABC, Generic[RequestT]):
    """A server that `running` runs. `requests` are those that `respond` has recorded, in the order they came."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[RequestT] = []
        self._news = anyio.Event()

    @abstractmethod
    async def respond(self, request: Request) -> Response:
        """Say what comes back."""

    def record(self, request: RequestT) -> None:
        """Keep a request, and tell those who wait for it."""
        self.requests.append(request)
        self._news.set()
        self._news = anyio.Event()

    async def wait_for_requests(self, number: int) -> None:
        """Wait until so many requests have come."""
        with fail_after(60):
            while len(self.requests) < number:
                await self._news.wait()

    async def serve(self, stream: SocketStream) -> None:
        """Answer one client until it goes, or is cut off."""
        connection = h11.Connection(h11.SERVER)
        async with stream:
            try:
                while (received := await receive(stream, connection)) is not None:
                    head, body = received
                    headers = {name.decode(): value.decode() for name, value in head.headers}
                    request = Request(
                        method=head.method.decode(), path=head.target.decode(), headers=headers, body=body
                    )
                    await _send(stream, connection, await self.respond(request))
                    if connection.our_state is not h11.DONE:
                        return
                    connection.start_next_cycle()
            except (anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError):
                return


async def receive(
    stream: SocketStream, connection: h11.Connection, *, keep_body: bool = True
) -> tuple[h11.Request, bytes] | None:
    """Read the head and the body of one request; None when the client has closed the connection."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            try:
                connection.receive_data(await stream.receive())
            except anyio.EndOfStream:
                connection.receive_data(b"")
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data if keep_body else b""
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return head, bytes(body)
        else:
            return None


async def _send(stream: SocketStream, connection: h11.Connection, response: Response) -> None:
    if response.silent:
        await anyio.sleep_forever()
    if response.cut == "before":
        await anyio.aclose_forcefully(stream)
        raise anyio.EndOfStream
    length = {} if response.drip or response.pieces else {"Content-Length": str(len(response.body))}
    fields = [(name.encode(), value.encode()) for name, value in {**length, **response.headers}.items()]
    await stream.send(connection.send(h11.Response(status_code=response.status, headers=fields)) or b"")
    while response.drip:
        await stream.send(connection.send(h11.Data(data=b" ")) or b"")
        await anyio.sleep(0.01)
    for part in response.parts:
        await stream.send(connection.send(h11.Data(data=part)) or b"")
    if response.cut == "inside":
        await anyio.aclose_forcefully(stream)
        raise anyio.EndOfStream
    await stream.send(connection.send(h11.EndOfMessage()) or b"")


ServerT = TypeVar("ServerT", bound=HttpServer[Any])


@asynccontextmanager
async def running(server: ServerT) -> AsyncGenerator[ServerT]:
    """Run a server on a free port. At the end its connections are cut, whatever they were doing."""
    async with await create_tcp_listener(local_host="127.0.0.1") as listener:
        server.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with create_task_group() as group:
            group.start_soon(listener.serve, server.serve)
            yield server
            group.cancel_scope.cancel()

"""A provider on loopback whose connections a test scripts byte by byte."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import h11
from anyio import create_task_group, create_tcp_listener
from anyio.abc import Listener, SocketAttribute, SocketStream

from http_server import receive

OK_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """Return data in the framing of a chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def reply(body: bytes, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Return a whole response."""
    lines = [
        f"HTTP/1.1 {status} Said",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as the provider received it. `connection` counts from 0."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int

    def header(self, name: str) -> str | None:
        """Return the value of a header; None if there is none."""
        return next((value for one, value in self.headers if one.lower() == name), None)


@dataclass(kw_only=True)
class ScriptedProvider:
    """A running provider. `left` is set once a client has closed its connection during a reply."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    left: anyio.Event = field(default_factory=anyio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


Answer = Callable[[Asked, SocketStream], Awaitable[bool | None]]


def always(response: bytes, *, closes: bool = False) -> Answer:
    """Return an `answer` of a provider that says the same to each request."""

    async def answer(_: Asked, stream: SocketStream) -> bool:
        await stream.send(response)
        return not closes

    return answer


async def stall(_: Asked, stream: SocketStream) -> bool:
    """Begin a reply with `data: 1`, and wait until the client closes the connection."""
    await stream.send(OK_HEAD + chunk(b"data: 1\n\n"))
    await stream.receive()  # raises when the connection is closed
    return False


@asynccontextmanager
async def scripted_provider(
    answer: Answer,
    *,
    keep_bodies: bool = True,
    at: Listener[Any] | None = None,
) -> AsyncGenerator[ScriptedProvider]:
    """Run a provider, `at` another place than a port of its own or with TLS.

    `answer` writes the response; the connection is closed unless it returns true.
    """
    async with at or await create_tcp_listener(local_host="127.0.0.1") as listener:
        provider = ScriptedProvider(port=listener.extra(SocketAttribute.local_port, 0))  # 0 with TLS

        async def serve(stream: SocketStream) -> None:
            number = provider.connections
            provider.connections += 1
            async with stream:
                try:
                    early = b""
                    while (got := await _receive(stream, early, number, keep_bodies=keep_bodies)) is not None:
                        asked, early = got
                        provider.asked.append(asked)
                        if not await answer(asked, stream):
                            return
                except (anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError):
                    provider.left.set()

        async with create_task_group() as group:
            group.start_soon(listener.serve, serve)
            yield provider
            group.cancel_scope.cancel()


async def _receive(stream: SocketStream, early: bytes, number: int, *, keep_bodies: bool) -> tuple[Asked, bytes] | None:
    parser = h11.Connection(h11.SERVER)
    if early:
        parser.receive_data(early)
    if (received := await receive(stream, parser, keep_body=keep_bodies)) is None:
        return None
    head, body = received
    headers = tuple((name.decode(), value.decode("latin-1")) for name, value in head.headers.raw_items())
    asked = Asked(
        method=head.method.decode(), target=head.target.decode(), headers=headers, body=body, connection=number
    )
    return asked, parser.trailing_data[0]

"""A provider and clients of streams that cost so little that a benchmark measures what is between them.

`stream_load.py provider` prints its port and serves until it is killed: `POST …/COUNT-RATE/chat/completions` is
answered with so many chunks, each with the time of its sending on the clock that all processes share. `stream_load.py
relay PORT` passes bytes on to that port and back, and does nothing else: what any proxy on asyncio adds at least.
`stream_load.py client URL STREAMS` reads so many streams at a time, which begin within a second, and another on each
connection, within a second after the first. It prints as JSON how late each chunk arrived, and how long the first
chunks of both took from their requests on, in ms.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = b'{"messages":"' + b"x" * 40_000 + b'"}'  # of the size of OpenClaw's first request
RAMP_S = 1.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
LAST = b"e\r\ndata: [DONE]\n\n\r\n" + END
REQUEST = re.compile(
    rb"^POST \S*/(\d+)-(\d+)/chat/completions .*?content-length: (\d+).*?\r\n\r\n", re.DOTALL | re.IGNORECASE
)
SENT_AT = re.compile(rb'"at":([0-9.]+)}')


class Provider(asyncio.Protocol):
    """Answers requests, one after another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = bytearray()

    def data_received(self, data: bytes) -> None:
        self._received += data
        request = REQUEST.match(self._received)
        if request and len(self._received) >= request.end() + int(request[3]):
            count, rate = int(request[1]), int(request[2])
            self._received.clear()
            self._transport.write(HEAD)
            self._send(0, count, 1 / rate, asyncio.get_running_loop().time())

    def _send(self, number: int, count: int, gap_s: float, began: float) -> None:
        text = b'data: {"choices":[{"index":0,"delta":{"content":" word"}}],"at":%.7f}\n\n' % time.monotonic()
        chunk = b"%x\r\n%s\r\n" % (len(text), text)
        if number + 1 == count:
            self._transport.write(chunk + LAST)
        else:
            self._transport.write(chunk)
            asyncio.get_running_loop().call_at(
                began + (number + 1) * gap_s, self._send, number + 1, count, gap_s, began
            )


class Relay(asyncio.Protocol):
    """One side of a connection that is passed on."""

    def __init__(self, port: int, other: Relay | None = None) -> None:
        self._port, self._other = port, other
        self._early = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._other is None:
            self._connecting = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        _, other = await loop.create_connection(lambda: Relay(0, self), "127.0.0.1", self._port)
        other._transport.write(self._early)
        self._other = other

    def data_received(self, data: bytes) -> None:
        if self._other is None:
            self._early += data
        else:
            self._other._transport.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        if self._other is not None:
            self._other._transport.close()


class Client(asyncio.Protocol):
    """Reads two streams, one after the other."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self.first_ms: list[float] = []
        self.late_ms: list[float] = []
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._began = time.monotonic()
        self._is_first = True
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
        for sent_at in SENT_AT.findall(whole + newline):
            if self._is_first:
                self._is_first = False
                self.first_ms.append((now - self._began) * 1000)
            self.late_ms.append((now - float(sent_at)) * 1000)
        if (whole + newline).endswith(END):
            if len(self.first_ms) == 1:
                asyncio.get_running_loop().call_later(random.random() * RAMP_S, self._ask)
            else:
                self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        self.done.set_result(None)


async def serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    """Serve on a free port."""
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


async def read(url: str, streams: int) -> None:
    """Read streams, and print what they took."""
    place = urlsplit(url)
    request = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (place.path.encode(), len(BODY), BODY)

    async def one() -> Client:
        await asyncio.sleep(random.random() * RAMP_S)
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: Client(request), place.hostname or "", place.port or 80)
        await client.done
        return client

    clients = await asyncio.gather(*(one() for _ in range(streams)))
    json.dump({"late": [one.late_ms for one in clients], "first": [one.first_ms for one in clients]}, sys.stdout)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["provider"]:
            asyncio.run(serve(Provider))
        case ["relay", port]:
            asyncio.run(serve(partial(Relay, int(port))))
        case ["client", url, streams]:
            asyncio.run(read(url, int(streams)))

"""A provider and clients of streams that cost so little that a benchmark measures what is between them.

`stream_load.py provider` prints its port and serves until it is killed: `POST …/COUNT-RATE` is answered with so many
chunks, each with the time of its sending on the clock that all processes share. `stream_load.py client URL STREAMS`
reads so many streams at a time, which begin within a second, and prints as JSON how late each chunk arrived and how
long each first chunk took from the request on, in ms.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from urllib.parse import urlsplit

BODY = b'{"messages":"' + b"x" * 40_000 + b'"}'  # of the size of OpenClaw's first request
RAMP_S = 1.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
REQUEST = re.compile(rb"^POST \S*/(\d+)-(\d+) .*?content-length: (\d+).*?\r\n\r\n", re.DOTALL | re.IGNORECASE)
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


class Client(asyncio.Protocol):
    """Reads one stream."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self.first_ms = 0.0
        self.late_ms: list[float] = []
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._began = time.monotonic()
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
        for sent_at in SENT_AT.findall(whole + newline):
            self.first_ms = self.first_ms or (now - self._began) * 1000
            self.late_ms.append((now - float(sent_at)) * 1000)
        if b"data: [DONE]" in whole:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        self.done.set_result(None)


async def serve() -> None:
    """Serve on a free port."""
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", 0)
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
    asyncio.run(serve() if sys.argv[1] == "provider" else read(sys.argv[2], int(sys.argv[3])))

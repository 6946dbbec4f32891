"""What the proxy adds to the time of a chunk, with its recording on.

`python tests/bench/wire.py [--seconds 4] [--rounds 3] [--rate 100]` prints, for 1, 16 and 64 streams at a time, how
long a chunk takes from the provider's `send` to the client, with and without the proxy, in turn; the same for the first
chunk from the request on; the CPU time of the proxy per chunk, and the size of the recording. Provider, proxy and
client are processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import anyio
import psutil

from bench.measure import machine, print_table
from pinchbench.wire.client import new_token, run_wire
from pinchbench.wire.messages import Configure, Provider

STREAMS = (1, 16, 64)
END = b"data: [DONE]\n\n"

# A provider whose chunks say when they were sent, on the clock that all processes share.
PROVIDER = """
import asyncio, random, sys, time
async def serve(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    count, rate = (int(word) for word in head.split(b" ")[1].rsplit(b"/", 1)[1].split(b"-"))
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
    began = time.monotonic() + random.random() / rate
    for number in range(count):
        if number:
            await asyncio.sleep(max(0, began + number / rate - time.monotonic()))
        text = b'data: {"choices":[{"index":0,"delta":{"content":" word"}}],"at":%.7f}\\n\\n' % time.monotonic()
        writer.write(b"%x\\r\\n%s\\r\\n" % (len(text), text))
    writer.write(b"e\\r\\ndata: [DONE]\\n\\n\\r\\n0\\r\\n\\r\\n")
    await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


async def read_stream(url: str, body: bytes) -> tuple[float, list[float]]:
    """Return how long the first chunk took from the request on, and each chunk from its sending on; in ms."""
    place, _, path = url.removeprefix("http://").partition("/")
    host, _, port = place.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    began = time.monotonic()
    writer.write(b"POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
    first, late = 0.0, []
    try:
        while True:
            line = await reader.readline()
            now = time.monotonic()
            if line.startswith(b"data: {"):
                first = first or now - began
                late.append((now - json.loads(line[6:])["at"]) * 1000)
            if line == b"data: [DONE]\n":
                return first * 1000, late
            if not line:
                raise SystemExit("a stream was lost")
    finally:
        writer.close()


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(base: str, streams: int, options: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Read so many streams at a time."""
    url = f"{base}/{int(options.seconds * options.rate)}-{options.rate}"
    body = b'{"messages":"' + b"x" * 40_000 + b'"}'  # of the size of OpenClaw's first request
    results = await asyncio.gather(*(read_stream(url, body) for _ in range(streams)))
    return [first for first, _ in results], [one for _, late in results for one in late]


async def compare(options: argparse.Namespace, port: int, folder: Path) -> None:
    """Print the table."""
    direct = f"http://127.0.0.1:{port}"
    provider = Provider(id="openai", base_url=direct, key="sk-bench")
    rows, token = [], new_token()
    async with run_wire(Configure(providers=(provider,), folder=str(folder)), observe=lambda _: None) as wire:
        (proxy,) = [one for one in psutil.Process().children() if "pinchbench.wire" in one.cmdline()]
        for streams in STREAMS:
            path = folder / f"{streams}.jsonl.zst"
            first: dict[str, list[float]] = {"direct": [], "wire": []}
            late: dict[str, list[float]] = {"direct": [], "wire": []}
            cpu_s = 0.0
            async with wire.lease(token, trial="bench", path=path):
                for _ in range(options.rounds):
                    for name, base in (("direct", direct), ("wire", wire.base_url(token, "openai"))):
                        before = proxy.cpu_times()
                        firsts, lates = await measure(base, streams, options)
                        after = proxy.cpu_times()
                        first[name] += firsts
                        late[name] += lates
                        if name == "wire":
                            cpu_s += after.user + after.system - before.user - before.system
            cells = []
            for values in (late, first):
                for share in (0.5, 0.99):
                    a, b = percentile(values["direct"], share), percentile(values["wire"], share)
                    cells.append(f"{b:.2f} − {a:.2f} = {b - a:.2f}")
            size = path.stat().st_size / options.rounds / streams
            rows.append([str(streams), *cells, f"{cpu_s / len(late['wire']) * 1e6:.0f}", f"{size / 1000:.1f}"])
    print_table(
        "The wire, ms (wire − direct = added)",
        ["streams", "chunk p50", "chunk p99", "first p50", "first p99", "CPU µs/chunk", "kB/exchange"],
        rows,
        note=f"{options.rate} chunks/s a stream, {options.seconds:.0f} s, {options.rounds} rounds; {machine()}",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=100)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([sys.executable, "-c", PROVIDER], stdout=subprocess.PIPE) as provider,
    ):
        try:
            assert provider.stdout is not None
            anyio.run(compare, options, int(provider.stdout.readline()), Path(folder))
        finally:
            provider.kill()


if __name__ == "__main__":
    main()

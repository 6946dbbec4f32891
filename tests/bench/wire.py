"""What the proxy adds to the time of a chunk, with its recording on.

`python tests/bench/wire.py [--seconds 4] [--rounds 3] [--rate 100]` prints, for 1, 16 and 64 streams at a time, how
long a chunk takes from the provider's `send` to the client, with and without the proxy, in turn; the same for the first
chunk from the request on; the CPU time of the proxy per chunk, and the size of the recording. Provider, proxy and
clients are processes of their own; `CPU load` is what provider and clients take of a core, without the proxy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import anyio
import psutil

from bench.measure import machine, print_table
from pinchbench.wire.client import new_token, run_wire
from pinchbench.wire.messages import Configure, Provider

STREAMS = (1, 16, 64)
LOAD = (sys.executable, str(Path(__file__).with_name("stream_load.py")))


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(base: str, streams: int, options: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Read so many streams at a time; return how late chunks were, and how long the first ones took."""
    count = int(options.seconds * options.rate)
    done = await anyio.run_process([*LOAD, "client", f"{base}/{count}-{options.rate}", str(streams)], stderr=None)
    result = json.loads(done.stdout)
    if any(len(one) != count for one in result["late"]):
        raise SystemExit("a stream was lost")
    return list(chain.from_iterable(result["late"])), result["first"]


def cpu_s(process: psutil.Process) -> float:
    """Return what a process has used, and the children that it has waited for."""
    times = process.cpu_times()
    return times.user + times.system + times.children_user + times.children_system


async def compare(options: argparse.Namespace, load: psutil.Process, port: int, folder: Path) -> None:
    """Print the table."""
    direct = f"http://127.0.0.1:{port}"
    provider = Provider(id="openai", base_url=direct, key="sk-bench")
    rows, token, own = [], new_token(), psutil.Process()
    async with run_wire(Configure(providers=(provider,), folder=str(folder)), observe=lambda _: None) as wire:
        (proxy,) = [one for one in own.children() if "pinchbench.wire" in one.cmdline()]
        for streams in options.streams:
            path = folder / f"{streams}.jsonl.zst"
            late: dict[str, list[float]] = {"direct": [], "wire": []}
            first: dict[str, list[float]] = {"direct": [], "wire": []}
            proxy_s = load_s = 0.0
            async with wire.lease(token, trial="bench", path=path):
                for _ in range(options.rounds):
                    for name, base in (("direct", direct), ("wire", wire.base_url(token, "openai"))):
                        before = cpu_s(proxy), cpu_s(load) + cpu_s(own)
                        lates, firsts = await measure(base, streams, options)
                        late[name] += lates
                        first[name] += firsts
                        if name == "wire":
                            proxy_s += cpu_s(proxy) - before[0]
                        else:
                            load_s += cpu_s(load) + cpu_s(own) - before[1]
            cells = []
            for values in (late, first):
                for share in (0.5, 0.99):
                    a, b = percentile(values["direct"], share), percentile(values["wire"], share)
                    cells.append(f"{b:.2f} − {a:.2f} = {b - a:.2f}")
            size = path.stat().st_size / options.rounds / streams
            chunks = len(late["wire"])
            load_share = load_s / (options.rounds * options.seconds)
            rows.append(
                [str(streams), *cells, f"{proxy_s / chunks * 1e6:.0f}", f"{size / 1000:.1f}", f"{load_share:.0%}"]
            )
    print_table(
        "The wire, ms (wire − direct = added)",
        ["streams", "chunk p50", "chunk p99", "first p50", "first p99", "CPU µs/chunk", "kB/exchange", "CPU load"],
        rows,
        note=f"{options.rate} chunks/s a stream, {options.seconds:.0f} s, {options.rounds} rounds; {machine()}",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--streams", type=int, nargs="+", default=STREAMS)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([*LOAD, "provider"], stdout=subprocess.PIPE) as provider,
    ):
        try:
            assert provider.stdout is not None
            port = int(provider.stdout.readline())
            anyio.run(compare, options, psutil.Process(provider.pid), port, Path(folder))
        finally:
            provider.kill()


if __name__ == "__main__":
    main()

"""What the proxy adds to the time of a chunk, with its recording on.

`python tests/bench/wire.py [--seconds 2] [--rounds 3] [--rate 100]` prints, for 1, 16 and 64 streams at a time, how
much longer a chunk takes from the provider's `send` to the client through the proxy, measured in turn; the same for the
first chunk from the request on, on a new connection and on one that was kept; the CPU time of the proxy per chunk, and
the size of the recording. A relay that only passes bytes on shows what is the least that asyncio takes on the machine.
All are processes of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

import anyio
import psutil

from bench.measure import machine, print_table
from pinchbench.wire.proxy_client import new_token, run_wire
from pinchbench.wire.wire_messages import Configure, Provider

if TYPE_CHECKING:
    from collections.abc import Generator

STREAMS = (1, 16, 64)
LOAD = (sys.executable, str(Path(__file__).with_name("stream_load.py")))


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(base: str, streams: int, options: argparse.Namespace) -> tuple[list[float], ...]:
    """Read so many streams at a time; return how late chunks were, and how long the first ones of each reply took."""
    count = int(options.seconds * options.rate)
    done = await anyio.run_process(
        [*LOAD, "client", f"{base}/{count}-{options.rate}/chat/completions", str(streams)], stderr=None
    )
    result = json.loads(done.stdout)
    if any(len(one) != 2 * count for one in result["late"]):
        raise SystemExit(f"a stream was lost: {[len(one) for one in result['late']]} {count}")
    return list(chain.from_iterable(result["late"])), *map(list, zip(*result["first"], strict=True))


def cpu_s(process: psutil.Process) -> float:
    """Return what a process has used."""
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def load_process(*words: str) -> Generator[tuple[psutil.Process, str]]:
    """Run a part of the load; yield it and the URL that it serves."""
    with subprocess.Popen([*LOAD, *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield psutil.Process(process.pid), f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@dataclass(kw_only=True)
class Way:
    """A way from the clients to the provider, and what was measured on it."""

    base: str
    process: psutil.Process | None
    late: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    async def measure(self, streams: int, options: argparse.Namespace) -> None:
        """Add a round."""
        before_s = cpu_s(self.process) if self.process else 0.0
        late, first, kept = await measure(self.base, streams, options)
        self.cpu_s += cpu_s(self.process) - before_s if self.process else 0.0
        self.late += late
        self.first += first
        self.kept += kept


def added(way: Way, direct: Way) -> list[str]:
    """Return what a way adds to the direct one, and its CPU time a chunk."""
    cells = [
        f"{percentile(mine, share) - percentile(theirs, share):.2f} ({percentile(theirs, share):.2f})"
        for mine, theirs in ((way.late, direct.late), (way.first, direct.first), (way.kept, direct.kept))
        for share in (0.5, 0.99)
    ]
    return [*cells, f"{way.cpu_s / len(way.late) * 1e6:.0f}"]


async def compare(options: argparse.Namespace, folder: Path) -> None:
    """Print the table."""
    rows, token = [], new_token()
    with load_process("provider") as (_, direct), load_process("relay", direct.rpartition(":")[2]) as (relay, relayed):
        provider = Provider(id="openai", base_url=direct, key="sk-bench")
        async with run_wire(Configure(provider=provider, folder=str(folder)), observe=lambda _: None) as wire:
            (proxy,) = [one for one in psutil.Process().children() if "pinchbench.wire" in one.cmdline()]
            for streams in options.streams:
                path = folder / f"{streams}.jsonl.zst"
                ways = {
                    "direct": Way(base=direct, process=None),
                    "relay": Way(base=relayed, process=relay),
                    "wire": Way(base=wire.base_url(token), process=proxy),
                }
                async with wire.lease(token, trial="bench", path=path) as lease:
                    for number in range(options.rounds):
                        await lease.set_turn(number)  # each round has clients of another process
                        for way in ways.values():
                            await way.measure(streams, options)
                size = path.stat().st_size / options.rounds / streams / 2
                rows += [
                    [str(streams), "relay", *added(ways["relay"], ways["direct"]), ""],
                    ["", "wire", *added(ways["wire"], ways["direct"]), f"{size / 1000:.1f}"],
                ]
    measured = [f"{what} {share}" for what in ("chunk", "first", "kept") for share in ("p50", "p99")]
    print_table(
        "Added by a bare relay and by the wire, ms (in addition to what it takes without)",
        ["streams", "", *measured, "CPU µs/chunk", "kB/exchange"],
        rows,
        note=f"{options.rate} chunks/s a stream, {options.seconds:.0f} s, {options.rounds} rounds; {machine()}",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--streams", type=int, nargs="+", default=STREAMS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(compare, options, Path(folder))


if __name__ == "__main__":
    main()

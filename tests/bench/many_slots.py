"""What do hundreds of slots cost the command that has them on a cluster?

`python tests/bench/many_slots.py [--slots 64,256,1000] [--trials 3000] [--rate 50] [--max-tokens N]` runs as many
trials with each number of slots, in a process of its own each time. Nodes of 16 slots are simulated in it: their agents
sleep, so that `rate` trials end each second whatever the number of slots, and report twenty times meanwhile. The pool,
the dispatcher, the copying of evidence, the journal and the result are real. The nodes' own work is in the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # beside this file, `cluster` is a benchmark

import anyio
from anyio import create_task_group, move_on_after, to_thread
from msgspec import structs

from bench.overhead import PROMPT, cpu_s, idle_openclaw, peak_rss_bytes, sizes
from cluster.fake_cluster import ready
from fakes import run_config
from pinchbench.cluster.host import DISTRIBUTION
from pinchbench.cluster.link import NodeInfo
from pinchbench.cluster.messages import (
    Activity,
    Begin,
    End,
    Ended,
    FrameReader,
    FromNode,
    StartTrial,
    Used,
    decode_to_node,
    encode,
)
from pinchbench.cluster.pool import SLOT_BYTES, ClusterPool
from pinchbench.events import Event, RunBegan
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.usage import Usage
from pinchbench.openclaw.probe import find_openclaw, node_version
from pinchbench.runner.prepare import prepare
from pinchbench.runner.provenance import versions
from pinchbench.runner.run import run_prepared

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from anyio import CapacityLimiter
    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.cluster.messages import NodeReady

TASKS = 20
SLOTS_A_NODE = 16
REPORTS = 10  # of what an agent does, and as many of what it has used
EVIDENCE = {"stdout.log": b"Done.\n", "transcript.jsonl": b'{"type": "message"}\n' * 1000}
DIGESTS = {name: hashlib.sha256(data).hexdigest() for name, data in EVIDENCE.items()}


@dataclass(kw_only=True)
class SleepyLink:
    """A node in this process, whose agents sleep."""

    answer: NodeReady
    group: TaskGroup
    sleep_s: float
    held: list[bytes] = field(default_factory=list)
    first: int = 0  # the number of the first message that is held
    changed: anyio.Event = field(default_factory=anyio.Event)
    is_over: bool = False

    def put(self, message: FromNode) -> None:
        """Let the command have a message."""
        self.held.append(encode(message))
        self.changed.set()

    async def send(self, frames: bytes) -> None:
        for message in map(decode_to_node, FrameReader().feed(frames)):
            match message:
                case Begin():
                    self.put(self.answer)
                case StartTrial():
                    self.group.start_soon(self.play, message)
                case End():
                    self.is_over = True
                    self.changed.set()

    async def play(self, start: StartTrial) -> None:
        """Make a trial."""
        began, step_s = time.time(), random.uniform(0.8, 1.2) * self.sleep_s / REPORTS
        usage = Usage()
        for number in range(1, REPORTS + 1):
            await anyio.sleep(step_s)
            usage = Usage(requests=number, input_tokens=100 * number, output_tokens=10 * number)
            self.put(Activity(slot=start.slot, text="reads a file", usage=usage))
            self.put(Used(slot=start.slot, usage=usage))
        outcome = Outcome(
            key=start.key,
            reason=Reason.COMPLETED,
            digest=self.answer.digests[start.key.task_id],
            attempt=start.attempt,
            started_at=began,
            ended_at=time.time(),
            evidence=f"trials/{start.key.task_id}/{start.key.repetition}",
            files=DIGESTS,
            usage=usage,
        )
        self.put(Ended(slot=start.slot, outcome=outcome))

    async def events(self, after: int) -> list[bytes] | None:
        del self.held[: after - self.first]
        self.first = after
        if not (self.held or self.is_over):
            self.changed = anyio.Event()
            with move_on_after(1):
                await self.changed.wait()
        return list(self.held) or (None if self.is_over else [])

    async def read(self, path: str, offset: int, size: int) -> bytes:
        raise FileNotFoundError(path, offset, size)

    async def fetch(self, _: str, names: Collection[str], to: Path, limiter: CapacityLimiter) -> Mapping[str, str]:
        await to_thread.run_sync(write_evidence, to, names, limiter=limiter)
        return DIGESTS

    async def about(self) -> tuple[str, float, bool]:
        return version(DISTRIBUTION), time.time(), True

    async def close(self) -> None:
        return


@dataclass(frozen=True, kw_only=True, slots=True)
class SleepyCluster:
    """Nodes in this process."""

    answer: NodeReady
    group: TaskGroup
    sleep_s: float
    number: int

    async def nodes(self) -> Sequence[NodeInfo]:
        memory = SLOTS_A_NODE * SLOT_BYTES
        return [NodeInfo(id=str(one), name=f"host{one}", cpus=4, memory_bytes=memory) for one in range(self.number)]

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> SleepyLink:  # noqa: ARG002
        agents = ["main"] * (memory_bytes // SLOT_BYTES)
        return SleepyLink(answer=structs.replace(self.answer, agents=agents), group=self.group, sleep_s=self.sleep_s)

    async def has_autoscaler(self) -> bool:
        return False

    async def ask_for(self, asker: object, *, slots: int, slot_bytes: int) -> None:  # noqa: ARG002
        return


def write_evidence(folder: Path, names: Collection[str]) -> None:
    """Write what comes from a node."""
    for name in names:
        (folder / name).write_bytes(EVIDENCE[name])


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """Of the trials of one run: from the first one's start to the result, and memory at its peak."""

    wall_s: float
    cpu_s: float
    before_rss_bytes: int
    rss_bytes: int


async def one_run(folder: Path, slots: int, options: argparse.Namespace) -> Cost:
    """One run in this process."""
    program = idle_openclaw(folder)
    config = replace(
        run_config(folder, program, {f"task_{number:02}": PROMPT for number in range(TASKS)}),
        runs=options.trials // TASKS,
        concurrency=slots,
        max_tokens=options.max_tokens,
    )
    prepared = prepare(config)
    openclaw = await find_openclaw(str(program))
    answer = ready(prepared, versions(openclaw, await node_version(openclaw)))
    began, began_cpu_s = 0.0, 0.0

    async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
        nonlocal began, began_cpu_s
        async for event in events:
            if isinstance(event, RunBegan):
                began, began_cpu_s = time.monotonic(), cpu_s(resource.RUSAGE_SELF)

    before = peak_rss_bytes()
    async with create_task_group() as group:
        nodes = -(-slots // SLOTS_A_NODE)
        cluster = SleepyCluster(answer=answer, group=group, sleep_s=slots / options.rate, number=nodes)
        result = await run_prepared(prepared, observer=watch, pool=ClusterPool(cluster))
    if [outcome.reason for outcome in result.outcomes] != [Reason.COMPLETED] * options.trials:
        raise SystemExit(f"{len(result.outcomes)} trials, and not all well: {result.outcomes[:1]}")
    return Cost(
        wall_s=time.monotonic() - began,
        cpu_s=cpu_s(resource.RUSAGE_SELF) - began_cpu_s,
        before_rss_bytes=before,
        rss_bytes=peak_rss_bytes(),
    )


def run_apart(slots: int) -> Cost:
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        argv = [sys.executable, __file__, *sys.argv[1:], f"--run-in={name}", f"--slots={slots}"]
        env = {**os.environ, "HOME": name, "PINCHBENCH_CACHE": name, "PINCHBENCH_SANDBOX": "none"}
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True)
    return Cost(**json.loads(done.stdout))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--slots", type=sizes, default=(16, 64, 256, 1000), help="numbers, with commas between")
    parser.add_argument("--trials", type=int, default=3000, help=f"a multiple of {TASKS}")
    parser.add_argument("--rate", type=float, default=50.0, help="trials that end in a second")
    parser.add_argument("--max-tokens", type=int, help="a limit of the run, so that what it uses is counted")
    parser.add_argument("--run-in", type=Path, help=argparse.SUPPRESS)  # one run, in this process and folder
    options = parser.parse_args()
    if options.run_in is not None:
        cost = anyio.run(one_run, options.run_in, options.slots[0], options)
        sys.stdout.write(json.dumps(asdict(cost)))
        return
    from bench.measure import machine, print_table  # noqa: PLC0415 - what prints tables is no part of the memory

    rows = []
    for slots in options.slots:
        cost = run_apart(slots)
        rows.append(
            [
                str(slots),
                f"{options.trials / cost.wall_s:.0f}",
                f"{cost.cpu_s / options.trials * 1000:.1f}",
                f"{cost.cpu_s / cost.wall_s * 100:.0f}",
                f"{cost.rss_bytes / 1e6:.0f}",
                f"{(cost.rss_bytes - cost.before_rss_bytes) / slots / 1e3:.0f}",
            ]
        )
    print_table(
        f"{options.trials} trials on simulated nodes, whose work is in the figures",
        ["slots", "trials a second", "CPU, a trial, ms", "CPU, %", "peak RSS, MB", "of it, a slot, kB"],
        rows,
        note=machine(),
    )


if __name__ == "__main__":
    main()

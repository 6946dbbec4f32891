"""What does a cluster cost beside one machine?

`python tests/bench/cluster.py [--trials 128] [--slots 64] [--sleep 5] [--megabytes 100]` starts a Ray cluster of four
nodes in namespaces of its own (Linux), and measures there: trials whose agent does nothing, on the nodes and on one
machine; trials whose agent sleeps, on one, two and four nodes; and how fast evidence arrives from a node. All nodes are
on this machine, so that its cores are shared by all of them.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.remove(str(Path(__file__).parent))  # where `cluster` is this file

import anyio
from anyio import CapacityLimiter

from bench.measure import machine, print_table
from bench.overhead import PROMPT, cpu_s, idle_openclaw, peak_rss_bytes
from cluster.alone import ALONE, SCRIPT, SETTINGS
from fakes import run_config
from pinchbench.cluster.node_client import NodeClient
from pinchbench.cluster.pool import SLOT_BYTES, ClusterPool
from pinchbench.cluster.ray_cluster import connect
from pinchbench.defaults import Isolation
from pinchbench.events import Event, RunBegan
from pinchbench.runner.prepare import prepare
from pinchbench.runner.run import run_benchmark
from pinchbench.runner.run_context import make_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.cluster.link import NodeInfo, NodeLink
    from pinchbench.cluster.ray_cluster import RayCluster

NODES = 4
TASKS = 8  # of the suite: the numbers of trials are multiples of it
SLOTS_A_NODE = 8  # of the agents that sleep
ROUNDS = 3  # that each of those slots makes


@dataclass(frozen=True, kw_only=True, slots=True)
class Some:
    """The first nodes of a cluster."""

    whole: RayCluster
    number: int

    async def nodes(self) -> Sequence[NodeInfo]:
        """Return so many of them."""
        found = sorted(await self.whole.nodes(), key=lambda node: node.id)
        return found[: self.number]

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> NodeLink:
        """Start the program of one of them."""
        return await self.whole.start(node, cpus=cpus, memory_bytes=memory_bytes)

    async def has_autoscaler(self) -> bool:
        """No other nodes are used."""
        return False

    async def ask_for(self, asker: object, *, slots: int, slot_bytes: int) -> None:
        """Nobody asks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Took:
    """From the start to the first trial, from there to the result, and the CPU time of this process meanwhile."""

    set_up_s: float
    wall_s: float
    own_cpu_s: float


def sleeping_openclaw(folder: Path, sleep_s: float) -> Path:
    """Write the program into a new folder."""
    folder.mkdir()
    program = idle_openclaw(folder)
    program.write_text(program.read_text("utf-8").replace("echo Done.", f"sleep {sleep_s}; echo Done."), "utf-8")
    return program


def write_evidence(folder: Path, megabytes: int) -> Path:
    """Write a file into a new folder."""
    folder.mkdir()
    source = folder / "source"
    source.write_bytes(os.urandom(1_000_000) * megabytes)
    return source


async def timed(folder: Path, cluster: Some | None, *, trials: int, slots: int, sleep_s: float = 0.0) -> Took:
    """Make trials whose agent sleeps, on nodes or on this machine."""
    program = sleeping_openclaw(folder, sleep_s)
    config = replace(
        run_config(folder, program, {f"task_{number:02}": PROMPT for number in range(TASKS)}),
        runs=trials // TASKS,
        concurrency=slots,
        isolation=Isolation.PRIVATE,
        timeout_multiplier=20.0,
    )
    first = own_s = 0.0

    async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
        nonlocal first, own_s
        async for event in events:
            if isinstance(event, RunBegan):
                first, own_s = time.monotonic(), cpu_s(resource.RUSAGE_SELF)

    began = time.monotonic()
    pool = ClusterPool(cluster) if cluster is not None else None
    result = await run_benchmark(config, observer=watch, pool=pool)
    odd = [outcome for outcome in result.outcomes if outcome.reason != "completed"]
    if odd or len(result.outcomes) != trials:
        raise SystemExit(f"{len(result.outcomes)} of {trials} trials have ended, and not all well: {odd[:1]}")
    return Took(
        set_up_s=first - began,
        wall_s=time.monotonic() - first,
        own_cpu_s=cpu_s(resource.RUSAGE_SELF) - own_s,
    )


async def arrival(folder: Path, cluster: RayCluster, megabytes: int) -> list[list[str]]:
    """The rows of evidence that comes from a node, is written and hashed."""
    source = write_evidence(folder, megabytes)
    node = (await cluster.nodes())[0]
    link = await cluster.start(node, cpus=1, memory_bytes=SLOT_BYTES)
    run = make_context(prepare(run_config(folder, idle_openclaw(folder), {"task_00": PROMPT})), None, None)
    client = NodeClient(node, link, run, copying=CapacityLimiter(1), tell=lambda _: None)
    rows = []
    for way in ("beside Ray", "through Ray"):
        if way == "through Ray":
            link.direct = None  # type: ignore[attr-defined]
        began = time.monotonic()
        await client._copy(str(source), folder / f"arrived {way}")  # what a trial's end waits for
        took_s = time.monotonic() - began
        rows.append([way, str(megabytes), f"{megabytes / took_s:.0f}", f"{peak_rss_bytes() / 1e6:.0f}"])
    await link.close()
    return rows


async def measure(folder: Path, options: argparse.Namespace) -> None:
    """Measure everything, and print it."""
    async with connect() as cluster:
        arrived = await arrival(folder / "evidence", cluster, options.megabytes)
        size = {"trials": options.trials, "slots": options.slots}
        places = {
            "one machine": await timed(folder / "machine", None, **size),
            "the nodes": await timed(folder / "nodes", Some(whole=cluster, number=NODES), **size),
        }
        rates = {}
        for number in (1, 2, 4):
            slots = number * SLOTS_A_NODE
            some = Some(whole=cluster, number=number)
            took = await timed(
                folder / f"sleep-{number}", some, trials=slots * ROUNDS, slots=slots, sleep_s=options.sleep
            )
            rates[number] = slots * ROUNDS / took.wall_s
    print_table(
        f"agents that do nothing, {options.slots} at once",
        ["where", "to the first trial, s", "a trial, ms", "CPU of the runner, a trial, ms"],
        [
            [
                name,
                f"{took.set_up_s:.1f}",
                f"{took.wall_s / options.trials * 1000:.1f}",
                f"{took.own_cpu_s / options.trials * 1000:.1f}",
            ]
            for name, took in places.items()
        ],
    )
    print_table(
        f"agents that sleep for {options.sleep:.0f} s, {SLOTS_A_NODE} slots a node",
        ["nodes", "trials a second", "of linear, %"],
        [[str(number), f"{rate:.2f}", f"{rate / rates[1] / number * 100:.0f}"] for number, rate in rates.items()],
    )
    print_table("evidence from a node", ["way", "MB", "MB/s", "peak RSS of the runner so far, MB"], arrived)


def main() -> None:
    """Start the cluster, and measure in it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--sleep", type=float, default=5.0, help="seconds")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)  # the namespaces, with this folder
    options = parser.parse_args()
    if options.inside is None:
        print(machine())  # noqa: T201
        with tempfile.TemporaryDirectory() as name:
            program = [sys.executable, __file__, *sys.argv[1:], f"--inside={name}"]
            env = {**os.environ, **SETTINGS, "HOME": name, "PINCHBENCH_CACHE": name, "PINCHBENCH_SANDBOX": "none"}
            subprocess.run([*ALONE, "sh", "-c", SCRIPT, "sh", *program], env=env, check=True)
        return
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - where its settings are in the environment

    room = options.slots // NODES + SLOTS_A_NODE
    node = {"num_cpus": 4, "memory": room * SLOT_BYTES, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(NODES - 1):
        cluster.add_node(wait=False, **node)
    cluster.wait_for_nodes()
    os.environ["RAY_ADDRESS"] = cluster.address
    anyio.run(partial(measure, options.inside, options))
    sys.stdout.flush()
    os._exit(0)  # the namespace ends with this process, and the cluster with it


if __name__ == "__main__":
    main()

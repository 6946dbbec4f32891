"""What does a cluster cost beside one machine?

`python tests/bench/cluster.py [--trials 256] [--slots 64] [--rounds 3] [--sleep 25] [--megabytes 100]` starts a Ray
cluster of four nodes in namespaces of its own (Linux), and measures there: trials whose agent does nothing, on the
nodes and on one machine in turn; trials whose agent sleeps, on one, two and four nodes, and in as many slots of one
machine; and evidence that arrives from a node, with the memory of both ends. All nodes are on this machine, so that
they share its cores with each other and the command. `many_slots.py`, which it runs last, needs no cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # beside this file, `cluster` is a benchmark

import anyio
import psutil

from bench.cluster_evidence import OWN, PEAK, SHARED
from bench.measure import Spread, machine, print_table, ratio
from bench.overhead import PROMPT, idle_openclaw
from cluster.alone import ALONE, SCRIPT, SETTINGS
from fakes import run_config
from pinchbench.cluster.pool import SLOT_BYTES, ClusterPool
from pinchbench.cluster.ray_cluster import connect
from pinchbench.events import Event, RunBegan, TrialEnded
from pinchbench.runner.run import run_benchmark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.cluster.link import NodeInfo, NodeLink
    from pinchbench.cluster.ray_cluster import RayCluster

HERE = Path(__file__).parent
NODES = 4
TASKS = 8  # of the suite: the numbers of trials are multiples of it
SLOTS_A_NODE = 8  # of the agents that sleep
TURNS = 3  # of each of those slots
AT_ONCE = 8  # trials that leave much evidence, as many as are copied at once
WAYS = (("beside Ray", 1), ("beside Ray", AT_ONCE), ("through Ray", 1), ("whole trials", AT_ONCE))


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
    """From the start to the first trial, from there to the last one's end, and from there to the result.

    The CPU time is that of the trials, of this process, and of all that there are: agents and Ray too.
    """

    set_up_s: float
    trials_s: float
    end_s: float
    own_cpu_s: float
    all_cpu_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When it was, and the CPU time until then."""

    at: float
    own_cpu_s: float
    all_cpu_s: float

    @classmethod
    def now(cls) -> Moment:
        """Look at all processes of the namespace."""
        all_s = 0.0
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                all_s += sum(process.cpu_times()[:4])  # its own and that of its children that have ended
        own = psutil.Process().cpu_times()
        return cls(at=time.monotonic(), own_cpu_s=own.user + own.system, all_cpu_s=all_s)


def hide_pyarrow(folder: Path) -> None:
    """Make a folder that hides it where it comes first: Ray loads it if it is there, and takes 35 MB more with it.

    The extra `ray` does not install it.
    """
    folder.mkdir()
    (folder / "pyarrow.py").write_text("raise ModuleNotFoundError\n", encoding="utf-8")


def sleeping_openclaw(folder: Path, sleep_s: float) -> Path:
    """Write the program into a new folder."""
    folder.mkdir()
    program = idle_openclaw(folder)
    if sleep_s:
        program.write_text(program.read_text("utf-8").replace("echo Done.", f"sleep {sleep_s}; echo Done."), "utf-8")
    return program


async def timed(folder: Path, cluster: Some | None, *, trials: int, slots: int, sleep_s: float = 0.0) -> Took:
    """Make trials whose agent sleeps, on nodes or on this machine."""
    program = sleeping_openclaw(folder, sleep_s)
    config = replace(
        run_config(folder, program, {f"task_{number:02}": PROMPT for number in range(TASKS)}),
        runs=trials // TASKS,
        concurrency=slots,
        timeout_multiplier=20.0,
    )
    moments: list[Moment] = []
    ended = 0

    async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
        nonlocal ended
        async for event in events:
            ended += isinstance(event, TrialEnded)
            if isinstance(event, RunBegan) or (isinstance(event, TrialEnded) and ended == trials):
                moments.append(Moment.now())

    start = time.monotonic()
    pool = ClusterPool(cluster) if cluster is not None else None
    result = await run_benchmark(config, observer=watch, pool=pool)
    odd = [outcome for outcome in result.outcomes if outcome.reason != "completed"]
    if odd or len(result.outcomes) != trials:
        raise SystemExit(f"{len(result.outcomes)} of {trials} trials have ended, and not all well: {odd[:1]}")
    began, over = moments
    return Took(
        set_up_s=began.at - start,
        trials_s=over.at - began.at,
        end_s=time.monotonic() - over.at,
        own_cpu_s=over.own_cpu_s - began.own_cpu_s,
        all_cpu_s=over.all_cpu_s - began.all_cpu_s,
    )


async def idle_agents(folder: Path, cluster: RayCluster, options: argparse.Namespace) -> None:
    """Measure trials whose agent does nothing, and print them."""
    places = {"one machine": None, "the nodes": Some(whole=cluster, number=NODES)}
    took: dict[str, list[Took]] = {name: [] for name in places}
    for number in range(options.rounds + 1):  # the first does not count
        for name, some in places.items():
            one = await timed(folder / f"{name} {number}", some, trials=options.trials, slots=options.slots)
            took[name] += [one] * bool(number)

    def a_trial(name: str, kind: str) -> list[float]:
        return [getattr(one, kind) / options.trials * 1000 for one in took[name]]

    columns = {"set_up_s": "to the first trial, s", "end_s": "from the last one to the result, s"}
    a_trial_columns = {"trials_s": "a trial, ms", "own_cpu_s": "CPU of the command, ms", "all_cpu_s": "CPU of all, ms"}
    rows = [
        [
            name,
            *(Spread.of([getattr(one, kind) for one in took[name]]).text(1) for kind in columns),
            *(Spread.of(a_trial(name, kind)).text(1) for kind in a_trial_columns),
        ]
        for name in places
    ]
    compared = [ratio(a_trial("the nodes", kind), a_trial("one machine", kind)).text() for kind in a_trial_columns]
    show(
        f"agents that do nothing, {options.slots} at once, {options.trials} trials",
        ["where", *columns.values(), *a_trial_columns.values()],
        [*rows, ["nodes by machine", "", "", *compared]],
        note=f"{options.rounds} rounds in turn, median (least–most); {machine()}",
    )


async def sleeping_agents(folder: Path, cluster: RayCluster, options: argparse.Namespace) -> None:
    """Measure trials whose agent sleeps, and print them."""
    rows, first = [], 0.0
    for number in (1, 2, NODES):
        slots = number * SLOTS_A_NODE
        size = {"trials": slots * TURNS, "slots": slots, "sleep_s": options.sleep}
        on_nodes = await timed(folder / f"{number} nodes", Some(whole=cluster, number=number), **size)
        on_machine = await timed(folder / f"{number} machine", None, **size)
        rate, alone = (slots * TURNS / took.trials_s for took in (on_nodes, on_machine))
        first = first or rate
        linear = f"{rate / first / number * 100:.0f}"
        rows.append([str(number), str(slots), f"{rate:.2f}", linear, f"{alone:.2f}", f"{rate / alone * 100:.0f}"])
    show(
        f"agents that sleep for {options.sleep:.0f} s, {SLOTS_A_NODE} slots a node, {TURNS} trials a slot",
        ["nodes", "slots", "trials a second", "of linear, %", "of one machine with the slots", "nodes by machine, %"],
        rows,
        note=machine(),
    )


def evidence(folder: Path, options: argparse.Namespace) -> None:
    """Measure evidence that arrives, with a command of its own each time, and print it."""
    rows: list[list[str]] = []
    before: dict[str, dict[str, int]] = {}
    for way, number in WAYS:
        words = [str(folder / f"{way} {number}"), way, str(number), str(options.megabytes)]
        argv = [sys.executable, str(HERE / "cluster_evidence.py"), *words]
        done = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
        before = done["before"] or before  # whole trials: as it is once the programs have started
        ends = [
            ", ".join(f"{size / 1e6:.0f}" for size in (peaks[PEAK], before[role][PEAK], peaks[OWN], peaks[SHARED]))
            for role, peaks in ((role, done["peaks"][role]) for role in ("command", "actor", "program"))
        ]
        speed = "" if way == "whole trials" else f"{number * options.megabytes / done['took_s']:.0f}"
        rows.append([f"{way}, {number} at once", speed, *ends])
    show(
        f"{options.megabytes} MB of evidence a trial",
        ["way", "MB/s", "the command, MB", "a node's actor, MB", "a node's program, MB"],
        rows,
        note=f"peak RSS, peak before the copies, the most of its own memory, the most of Ray's shared; {machine()}",
    )


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, note: str) -> None:
    """Print a table, also where stdout is kept from Ray."""
    assert sys.__stdout__ is not None
    kept, sys.stdout = sys.stdout, sys.__stdout__
    print_table(title, columns, rows, note=note)
    sys.stdout.flush()
    sys.stdout = kept


async def measure(folder: Path, options: argparse.Namespace) -> None:
    """Measure what this process takes part in."""
    async with connect() as cluster:
        for part, of in (("idle", idle_agents), ("sleep", sleeping_agents)):
            if part in options.parts:
                (folder / part).mkdir()
                await of(folder / part, cluster, options)


def main() -> None:
    """Start the cluster, and measure in it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sleep", type=float, default=25.0, help="seconds")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--parts", default="idle,sleep,evidence,many", help="those to measure, with commas between")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)  # the namespaces, with this folder
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if options.inside is None:
        if options.parts != ["many"]:
            with tempfile.TemporaryDirectory() as name:
                program = [sys.executable, __file__, *sys.argv[1:], f"--inside={name}"]
                hide_pyarrow(Path(name) / "hidden")
                own = {"HOME": name, "PINCHBENCH_CACHE": name, "PYTHONPATH": f"{name}/hidden"}
                env = {**os.environ, **SETTINGS, **own, "PINCHBENCH_SANDBOX": "none"}
                subprocess.run([*ALONE, "sh", "-c", SCRIPT, "sh", *program], env=env, check=True)
        if "many" in options.parts:
            subprocess.run([sys.executable, str(HERE / "many_slots.py")], check=True)
        return
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - where its settings are in the environment

    room = options.slots // NODES + SLOTS_A_NODE
    node = {"num_cpus": 4, "memory": room * SLOT_BYTES, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(NODES - 1):
        cluster.add_node(wait=False, **node)
    cluster.wait_for_nodes()
    os.environ["RAY_ADDRESS"] = cluster.address
    if "evidence" in options.parts:
        evidence(options.inside, options)
    anyio.run(partial(measure, options.inside, options))
    sys.stdout.flush()
    os._exit(0)  # the namespace ends with this process, and the cluster with it


if __name__ == "__main__":
    main()

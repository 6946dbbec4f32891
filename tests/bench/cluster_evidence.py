"""How fast does evidence come from a node, and what memory does it take at both ends? A part of `cluster.py`.

`cluster_evidence.py FOLDER WAY NUMBER MEGABYTES` connects to a cluster as a process of its own, and prints JSON. The
ways `beside Ray` and `through Ray` copy files that a node already has; `whole trials` makes trials whose agents leave
files of that size in their workspaces, which is a copy and what their node has to do before.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # beside this file, `cluster` is a benchmark

import anyio
from anyio import CapacityLimiter, create_task_group

from bench.overhead import PROMPT, idle_openclaw
from fakes import run_config
from pinchbench.cluster.copying import copy_files
from pinchbench.cluster.pool import PIECES, SLOT_BYTES, ClusterPool
from pinchbench.cluster.ray_cluster import connect
from pinchbench.runner.run import run_benchmark

LOOK_S = 0.02
SETTLE_S = 1.0  # for what samples the memory to find all processes
PEAK, OWN, SHARED = "VmHWM", "RssAnon", "RssShmem"
ROLES = {"ray::NodeHost": "actor", "pinchbench.cluster.node": "program"}


def status(pid: int | str) -> dict[str, int]:
    """What the system says of a process's memory, in bytes."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return {name: int(kb) * 1024 for name, kb in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}


@dataclass
class Peaks:
    """The most memory of this process, and of one process each of those on nodes; sampled, but for the whole."""

    of: dict[str, dict[str, int]] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Look until it is over."""
        found: dict[str, str] = {"self": "command"}
        looked = 0.0
        while not self.is_over.wait(LOOK_S):
            if time.monotonic() - looked > 20 * LOOK_S:  # processes start rarely
                looked = time.monotonic()
                for path in Path("/proc").glob("[0-9]*/cmdline"):
                    with suppress(OSError):
                        line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        found.update((path.parent.name, role) for words, role in ROLES.items() if words in line)
            for pid, role in found.items():
                with suppress(OSError):
                    now = status(pid)
                    best = self.of.setdefault(role, dict.fromkeys((PEAK, OWN, SHARED), 0))
                    best.update((name, max(most, now.get(name, 0))) for name, most in best.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """Seconds, and bytes of memory by process and kind, in all and before the first copy, if that can be told."""

    took_s: float
    before: dict[str, dict[str, int]]
    peaks: dict[str, dict[str, int]]


async def copy(folder: Path, peaks: Peaks, way: str, number: int, megabytes: int) -> Arrived:
    """Copy files from a node at once."""
    source = folder / "source"
    source.mkdir()
    with (source / "stdout.log").open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(1_000_000))
    async with connect() as cluster:
        node = (await cluster.nodes())[0]
        link = await cluster.start(node, cpus=1, memory_bytes=SLOT_BYTES)
        if way == "through Ray":
            link.direct = None  # type: ignore[attr-defined]
        limiter = CapacityLimiter(PIECES)
        await anyio.sleep(SETTLE_S)
        before = deepcopy(peaks.of)
        began = time.monotonic()
        async with create_task_group() as group:
            for place in range(number):
                (folder / str(place)).mkdir()
                group.start_soon(copy_files, link, PurePosixPath(source), ["stdout.log"], folder / str(place), limiter)
        took_s = time.monotonic() - began
        await anyio.sleep(SETTLE_S)
        await link.close()
    return Arrived(took_s=took_s, before=before, peaks=peaks.of)


async def make(folder: Path, peaks: Peaks, number: int, megabytes: int) -> Arrived:
    """Make two trials in each of as many slots, whose agents leave files."""
    program = idle_openclaw(folder)
    leave = f"head -c {megabytes}000000 /dev/urandom >data.bin; echo Done."
    program.write_text(program.read_text("utf-8").replace("echo Done.", leave), "utf-8")
    prompts = {f"task_{place:02}": PROMPT for place in range(number)}
    config = replace(run_config(folder, program, prompts), runs=2, concurrency=number, timeout_multiplier=20.0)
    began = time.monotonic()
    async with connect() as cluster:
        result = await run_benchmark(config, pool=ClusterPool(cluster))
    took_s = time.monotonic() - began
    folders = [folder / "results" / path for path in (folder / "results").glob("*/trials/*/*/workspace.tar.zst")]
    if len(folders) != 2 * number or any(path.stat().st_size < megabytes * 1e6 for path in folders):
        raise SystemExit(f"not all has arrived: {[(one.reason, one.note, one.not_kept) for one in result.outcomes]}")
    return Arrived(took_s=took_s, before={}, peaks=peaks.of)


def main() -> None:
    """Measure, and print."""
    folder, way, number, megabytes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    folder.mkdir()
    peaks = Peaks()
    watching = threading.Thread(target=peaks.watch)
    watching.start()
    measure = make if way == "whole trials" else partial(copy, way=way)
    arrived = anyio.run(partial(measure, folder, peaks, number=number, megabytes=megabytes))
    peaks.is_over.set()
    watching.join()
    sys.stdout.write(json.dumps(asdict(arrived)))


if __name__ == "__main__":
    main()

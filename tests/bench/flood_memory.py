# ruff: noqa: T201 - it prints a table
"""Does the runner's memory stay flat while its agents flood their output?

`python tests/bench/flood_memory.py [--mib 256] [--trials 4]` prints the runner's memory before and at its peak,
with nobody reading the output and with a follower on each file, as the verbose view has one.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
from anyio import create_task_group

from pinchbench.process.follow import Follower
from pinchbench.process.lines import LineSplitter
from pinchbench.process.supervise import EndReason, Limits, ProcessSpec, supervise

MIB = 1024 * 1024
LOOK_S = 0.02  # how often memory is looked at
FOLLOW_S = 0.1  # how often a follower that has caught up looks again
LONGEST_LINE_BYTES = 64 * 1024
LINE_BYTES = 1024
TIMEOUT_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What one round cost. Bytes and seconds."""

    before_bytes: int
    peak_bytes: int
    followed_bytes: int
    took_s: float


def resident_bytes() -> int:
    """Memory of this process."""
    return int(psutil.Process().memory_info().rss)


async def follow(path: Path, ended: anyio.Event) -> int:
    """Read the file to its end, also what comes while reading; return how many bytes that were."""
    total = 0
    splitter = LineSplitter(max_line_bytes=LONGEST_LINE_BYTES)
    async with Follower(path) as follower:
        while True:
            last_look = ended.is_set()
            while data := await follower.read():
                splitter.feed(data)
                total += len(data)
            if last_look:
                return total
            await anyio.sleep(FOLLOW_S)


async def flood(folder: Path, *, trials: int, mib: int, followed: bool) -> Figures:
    """Run so many processes at once, each of which writes `mib` MiB of lines."""
    before = peak = resident_bytes()
    read = 0
    started = anyio.current_time()

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, resident_bytes())
            await anyio.sleep(LOOK_S)

    async def read_along(path: Path, ended: anyio.Event) -> None:
        nonlocal read
        followed_bytes = await follow(path, ended)
        read += followed_bytes

    async def run(number: int) -> None:
        log, ended = folder / f"{number}.log", anyio.Event()
        spec = ProcessSpec(
            argv=["sh", "-c", f"yes {'x' * (LINE_BYTES - 1)} | head -c {mib * MIB}"],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin"},
            stdout=log,
            stderr=folder / f"{number}.err",
            marker=f"flood-memory/{number}",
            limits=Limits(output_limit_bytes=(mib + 1) * MIB),
        )
        async with create_task_group() as group:
            if followed:
                group.start_soon(read_along, log, ended)
            end = await supervise(spec, timeout_s=TIMEOUT_S)
            ended.set()
        if end.reason is not EndReason.EXITED:
            raise RuntimeError(f"trial {number}: {end.reason} {end.error}")
        log.unlink()

    async with create_task_group() as group:
        group.start_soon(watch)
        async with create_task_group() as runs:
            for number in range(trials):
                runs.start_soon(run, number)
        group.cancel_scope.cancel()
    return Figures(before_bytes=before, peak_bytes=peak, followed_bytes=read, took_s=anyio.current_time() - started)


async def main() -> None:
    """Print a table of two rounds."""
    parser = argparse.ArgumentParser(description="Memory of the runner while its agents flood their output.")
    parser.add_argument("--mib", type=int, default=256, help="output of each process in MiB (default: 256)")
    parser.add_argument("--trials", type=int, default=4, help="processes at once (default: 4)")
    options = parser.parse_args()
    print(f"{options.trials} processes at once, {options.mib} MiB of stdout each\n")
    print(f"{'followers':<10} {'before MiB':>11} {'peak MiB':>9} {'growth MiB':>11} {'read MiB':>9} {'seconds':>8}")
    for followed in (False, True):
        with tempfile.TemporaryDirectory(prefix="flood-") as folder:
            told = await flood(Path(folder), trials=options.trials, mib=options.mib, followed=followed)
        growth = told.peak_bytes - told.before_bytes
        print(
            f"{'on' if followed else 'off':<10} {told.before_bytes / MIB:>11.1f} {told.peak_bytes / MIB:>9.1f}"
            f" {growth / MIB:>11.1f} {told.followed_bytes / MIB:>9.0f} {told.took_s:>8.1f}"
        )


if __name__ == "__main__":
    anyio.run(main)

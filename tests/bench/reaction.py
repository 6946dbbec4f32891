"""How soon does the runner react to a time limit, to a word to stop, to the end of an agent, to Ctrl-C?

`python tests/bench/reaction.py [--rounds 2] [--concurrency 64] [--trials 40]` measures with real processes:

- from the deadline of a trial to the moment its agent has the signal, with so many trials at once, started together or
a
  little apart, beside as many bare timers. A trial's time counts from its process's start, which the kernel tells in
  steps of 10 ms: the figures are too high by up to that;
- from the word to stop to the return of `supervise`, beyond the grace, for trees in each shape whose members all ignore
  SIGTERM, and for one whose agent has left its children behind, beyond the time for the sweep;
- in a whole run, from the last moment of an agent to the first of the next in its slot;
- from Ctrl-C to the end of `python -m pinchbench` beyond the grace, with agents that ignore SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

import anyio
from anyio import Event, create_task_group, to_thread

from bench.measure import machine, print_table
from fakes import fake_openclaw, open_gate, run_config
from pinchbench.process.supervise import GRACE_S, EndReason, Limits, ProcessSpec, StopSignal, supervise
from pinchbench.runner.run import run_benchmark

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

LOOK_S = 0.01  # how often the bench looks whether a child is there
APART_S = 0.05
LONG_S = 300.0
LIMITS = Limits(grace_s=0.5, sweep_s=0.5)

# Says when it was started, and when SIGTERM came, both on the clock that the kernel's start times are on.
STAMPING = """
import os, signal, sys, time

def stamp(*_):
    came_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    ticks = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
    with open(sys.argv[1], "w") as file:
        file.write(f"{came_s - int(ticks) / os.sysconf('SC_CLK_TCK')}")
    os._exit(0)

signal.signal(signal.SIGTERM, stamp)
signal.pause()
"""
DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
open(sys.argv[1], "w").close()
time.sleep(600)
"""
DAEMON = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
os.closerange(0, 256)
os.open("/dev/null", os.O_RDWR)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
# `{deaf} PATH` ignores SIGTERM and stays; it makes PATH when it is ready.
SHAPES = {
    "the agent alone": "exec {deaf} {agent}",
    "background": "{deaf} {child} & exec {deaf} {agent}",
    "setsid": "setsid {deaf} {child} & exec {deaf} {agent}",
    "env -i": "env -i {deaf} {child} & exec {deaf} {agent}",
    "double fork": "( {deaf} {child} & ) & exec {deaf} {agent}",
    "daemon": "{daemon} {deaf_words} {child}; exec {deaf} {agent}",
    "holds stdout": "bash -c '{deaf} {child} & exit 0' & exec {deaf} {agent}",
    "a pipe to it": "{deaf} {child} | cat & exec {deaf} {agent}",
}
LEFT_BEHIND = (
    "setsid env -i {deaf} {child} & while [ ! -e {child} ]; do sleep 0.01; done; echo $EPOCHREALTIME > {agent}"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of the table, in seconds; `goal_s` is for the worst, or with many samples the 99th percentile."""

    what: str
    samples: Sequence[float]
    goal_s: float
    note: str = ""

    def cells(self) -> list[str]:
        """In milliseconds."""
        ordered = sorted(self.samples)
        p99 = quantiles(ordered, n=100, method="inclusive")[98] if len(ordered) > 1 else ordered[0]
        figures = (f"{1000 * one:.0f}" for one in (median(ordered), p99, ordered[-1], self.goal_s))
        return [self.what, str(len(ordered)), *figures, self.note]


def spec(folder: Path, argv: Sequence[str], name: str, limits: Limits) -> ProcessSpec:
    """What `supervise` is to run."""
    return ProcessSpec(
        argv=argv,
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        stdout=folder / f"{name}.out",
        stderr=folder / f"{name}.err",
        marker=f"reaction/{name}",
        limits=limits,
    )


def _stamping(folder: Path, name: str) -> tuple[list[str], Path]:
    return [sys.executable, "-I", "-S", str(folder / "stamping.py"), str(folder / name)], folder / name


async def supervised(folder: Path, name: str, timeout_s: float) -> Path:
    """Let a trial run out of time; return where its agent has noted when it was told."""
    argv, stamp = _stamping(folder, name)
    await supervise(spec(folder, argv, name, Limits()), timeout_s=timeout_s)
    return stamp


async def bare(folder: Path, name: str, timeout_s: float) -> Path:
    """The same with a timer of the event loop and a signal, and nothing else: what the machine allows just now."""
    argv, stamp = _stamping(folder, name)
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)  # noqa: ASYNC220 - nothing is started sooner
    await anyio.sleep(timeout_s)
    process.terminate()
    await to_thread.run_sync(process.wait)
    return stamp


async def deadlines(
    folder: Path,
    way: Callable[[Path, str, float], Awaitable[Path]],
    *,
    concurrency: int,
    apart_s: float,
    timeout_s: float,
) -> list[float]:
    """From the deadline to the signal, of so many trials that are started so far apart."""
    stamps: list[Path] = []

    async def one(place: int) -> None:
        await anyio.sleep(place * apart_s)
        stamps.append(await way(folder, f"{way.__name__}-{apart_s}-{place}", timeout_s))

    async with create_task_group() as group:
        for place in range(concurrency):
            group.start_soon(one, place)
    # one whose interpreter had not started yet when the signal came has noted nothing
    late = [float(stamp.read_text(encoding="utf-8")) - timeout_s for stamp in stamps if stamp.exists()]
    for stamp in stamps:
        stamp.unlink(missing_ok=True)
    return late


async def all_deadlines(folder: Path, *, concurrency: int, rounds: int, timeout_s: float) -> list[Row]:
    """A row for each way and pace; they take turns."""
    paces = {"at once": 0.0, f"{1000 * APART_S:g} ms apart": APART_S}
    ways = {"bare timer and signal": bare, "deadline → signal": supervised}
    (folder / "stamping.py").write_text(STAMPING, encoding="utf-8")
    late: dict[str, list[float]] = {f"{way}, {concurrency} {pace}": [] for pace in paces for way in ways}
    for _ in range(rounds):
        for pace, apart_s in paces.items():
            for way, call in ways.items():
                late[f"{way}, {concurrency} {pace}"] += await deadlines(
                    folder, call, concurrency=concurrency, apart_s=apart_s, timeout_s=timeout_s
                )
    return [Row(what=what, samples=one, goal_s=0.05) for what, one in late.items()]


async def _is_there(*paths: Path) -> None:
    while not all(path.exists() for path in paths):  # noqa: ASYNC110 - children give no event
        await anyio.sleep(LOOK_S)


def _script(folder: Path, text: str, name: str) -> tuple[str, Path, Path]:
    deaf, daemon = folder / "deaf.py", folder / "daemon.py"
    deaf.write_text(DEAF, encoding="utf-8")
    daemon.write_text(DAEMON, encoding="utf-8")
    child, agent = folder / f"{name}.child", folder / f"{name}.agent"
    words = f"-I -S {deaf}"
    python = f"{sys.executable} -I -S"
    filled = text.format(
        deaf=f"{sys.executable} {words}", deaf_words=words, daemon=f"{python} {daemon}", child=child, agent=agent
    )
    return filled, child, agent


async def shape(folder: Path, text: str, name: str) -> float:
    """How long the return takes beyond the grace, in seconds."""
    script, child, agent = _script(folder, text, name)
    stop_signal = StopSignal(stop=Event())
    began_s = 0.0

    async def stop() -> None:
        nonlocal began_s
        await _is_there(*([agent, child] if "{child}" in text else [agent]))
        began_s = time.monotonic()
        stop_signal.stop.set()

    async with create_task_group() as group:
        group.start_soon(stop)
        end = await supervise(
            spec(folder, ["bash", "-c", script], name, LIMITS), timeout_s=LONG_S, stop_signal=stop_signal
        )
        took_s = time.monotonic() - began_s
    if end.reason is not EndReason.STOPPED or not end.killed:
        raise RuntimeError(f"{name}: {end}")
    return took_s - LIMITS.grace_s


async def left_behind(folder: Path, name: str) -> float:
    """How long the return takes after the agent's own end, beyond the time for the sweep, in seconds."""
    script, _, agent = _script(folder, LEFT_BEHIND, name)
    end = await supervise(spec(folder, ["bash", "-c", script], name, LIMITS), timeout_s=LONG_S)
    took_s = time.time() - float(agent.read_text(encoding="utf-8"))
    if end.reason is not EndReason.EXITED or not end.killed:
        raise RuntimeError(f"{name}: {end}")
    return took_s - LIMITS.sweep_s


async def shapes(folder: Path, *, rounds: int) -> list[Row]:
    """A row for each shape; the shapes take turns."""
    took: dict[str, list[float]] = {name: [] for name in [*SHAPES, "the agent has exited"]}
    for number in range(rounds):
        for place, (name, text) in enumerate(SHAPES.items()):
            took[name].append(await shape(folder, text, f"shape-{number}-{place}"))
        took["the agent has exited"].append(await left_behind(folder, f"left-{number}"))
    return [Row(what=f"return beyond the grace: {name}", samples=one, goal_s=0.3) for name, one in took.items()]


def stamped_openclaw(folder: Path) -> tuple[Path, Path]:
    """A fake OpenClaw that notes when each of its agents begins and ends, and where it notes that."""
    program = fake_openclaw(folder)
    real = program.rename(program.with_name("openclaw.real"))
    stamps = folder / "stamps"
    lines = [
        "#!/bin/bash",
        'if [ "$1" != agent ]; then exec {real} "$@"; fi',
        'echo "began $OPENCLAW_STATE_DIR $EPOCHREALTIME" >> {stamps}',
        '{real} "$@"',
        "code=$?",
        'echo "ended $OPENCLAW_STATE_DIR $EPOCHREALTIME" >> {stamps}',
        "exit $code",
    ]
    text = "\n".join(lines).format(real=shlex.quote(str(real)), stamps=shlex.quote(str(stamps)))
    program.write_text(text + "\n", encoding="utf-8")
    program.chmod(0o755)
    return program, stamps


async def hand_over(folder: Path, *, trials: int, concurrency: int) -> Row:
    """From the end of an agent to the start of the next in its slot; a slot is known by its home."""
    program, stamps = stamped_openclaw(folder)
    config = run_config(folder, program, {f"task_{number}": "Do a little." for number in range(trials)})
    await run_benchmark(replace(config, concurrency=concurrency))
    ended: dict[str, float] = {}
    gaps: list[float] = []
    for line in stamps.read_text(encoding="utf-8").splitlines():
        what, home, at_s = line.split(" ")
        if what == "ended":
            ended[home] = float(at_s)
        elif home in ended:
            gaps.append(float(at_s) - ended[home])
    return Row(what=f"agent's end → next in its slot, {concurrency} slots", samples=gaps, goal_s=0.1)


async def ctrl_c(folder: Path, *, concurrency: int) -> Row:
    """From SIGINT to the end of the program, beyond the grace."""
    program = fake_openclaw(folder)
    async with open_gate() as gate:
        prompts = {
            f"task_{number}": f"scenario: ignore_term\nscenario: gate {gate.port}" for number in range(concurrency)
        }
        config = run_config(folder, program, prompts)
        argv = [sys.executable, "-m", "pinchbench", "run", "--model", config.model, "--no-upload"]
        argv += ["--tasks-dir", str(config.tasks_dir), "--output-dir", str(config.output_dir)]
        argv += ["--run-root", str(config.run_root), "--openclaw", str(program), "--concurrency", str(concurrency)]
        with (folder / "runner.out").open("wb") as out:
            process = subprocess.Popen(  # noqa: ASYNC220 - it is started once
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            )
            try:
                for _ in range(concurrency):
                    await gate.next(60)
                began_s = time.monotonic()
                process.send_signal(signal.SIGINT)
                code = await to_thread.run_sync(process.wait)
                took_s = time.monotonic() - began_s
            finally:
                process.kill()
    return Row(
        what=f"Ctrl-C → exit beyond the grace, {concurrency} deaf agents",
        samples=[took_s - GRACE_S],
        goal_s=1.0,
        note=f"exit code {code}",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--concurrency", type=int, default=64, help="of the trials whose time ends")
    parser.add_argument("--timeout", type=float, default=6.0, help="seconds; all of them must have started by then")
    parser.add_argument("--trials", type=int, default=40, help="of the whole run")
    parser.add_argument("--slots", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        os.environ |= {"HOME": name, "PINCHBENCH_CACHE": name}
        folders = [root / one for one in ("deadlines", "shapes", "slots", "interrupt")]
        for folder in folders:
            folder.mkdir()

        async def measure() -> list[Row]:
            return [
                *await all_deadlines(
                    folders[0],
                    concurrency=options.concurrency,
                    rounds=options.rounds,
                    timeout_s=options.timeout,
                ),
                *await shapes(folders[1], rounds=options.rounds),
                await hand_over(folders[2], trials=options.trials, concurrency=options.slots),
                await ctrl_c(folders[3], concurrency=4),
            ]

        rows = anyio.run(measure)
    columns = ("what", "samples", "median, ms", "p99, ms", "worst, ms", "goal, ms", "note")
    print_table("Reaction", columns, [row.cells() for row in rows], note=machine())


if __name__ == "__main__":
    main()

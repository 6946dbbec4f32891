"""What entering a sandbox costs: a plain start of a program against one in namespaces, in one run."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Spread, interleave, print_table
from pinchbench.sandbox import enter
from pinchbench.sandbox.spec import make_spec

ROUNDS = 40
ENV = {"PATH": "/usr/bin:/bin"}
PROGRAM = ["/bin/true"]


def plain() -> float:
    """Return the milliseconds of starting a program and waiting for it."""
    started = time.perf_counter()
    os.waitpid(os.posix_spawn(PROGRAM[0], PROGRAM, ENV), 0)
    return (time.perf_counter() - started) * 1000


def entered(plan: dict[str, object]) -> float:
    """Return the milliseconds of the same in namespaces."""
    started = time.perf_counter()
    program = enter.start(plan, PROGRAM, ENV)
    program.read_report()
    os.waitpid(program.pid, 0)
    return (time.perf_counter() - started) * 1000


def own_memory(plan: dict[str, object]) -> float:
    """Return the MB that only the first process of a sandbox has, while its program runs."""
    program = enter.start(plan, ["/bin/sleep", "1000"], ENV)
    first = psutil.Process(program.pid)
    used = first.memory_full_info().uss / 1e6
    first.kill()
    program.read_report()
    os.waitpid(program.pid, 0)
    return used


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        state, workspace = Path(name, "state"), Path(name, "workspace")
        state.mkdir()
        workspace.mkdir()
        plan = make_spec(state=state, workspace=workspace).plan()
        figures = interleave(ROUNDS, {"plain": plain, "namespaces": partial(entered, plan)})
        memory = Spread.of([own_memory(plan) for _ in range(5)])
    rows = [(name, Spread.of(values).text()) for name, values in figures.items()]
    rows.append(("MB of its own", memory.text()))
    print_table(
        "Starting /bin/true (ms)", ["", "median (range)"], rows, note=f"{ROUNDS} rounds, Python {sys.version[:6]}"
    )


if __name__ == "__main__":
    main()

"""How long does a command take that runs nothing?

`python tests/bench/startup.py [--rounds 9] [--tasks 150]` starts the program's quick commands in turn with
`python -c pass`, the yardstick, and `python -c "import click"`, below which no command line on click gets. The suite is
made of the bundled tasks, each under several ids until there are enough of them. Byte code is written in the uncounted
first round, to a folder of its own; wall time and the CPU seconds of the same processes are shown.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Spread, interleave, machine, print_table, ratio
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.suite.loading import load_suite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PASS = "python -c pass"
COMPLETION = "completion in bash, installed script"
SCRIPT = Path(sys.executable).with_name("pinchbench-async")


def make_tasks(folder: Path, count: int) -> Path:
    """Write `count` tasks with their fixtures: the bundled ones, again under other ids when they are used up."""
    tasks = load_suite(bundled_tasks_dir()).suite.tasks
    root = folder / "suite"
    for number in range(count):
        task = tasks[number % len(tasks)]
        if task.path is None:
            raise ValueError(f"{task.task_id} has no file")
        task_id = f"{task.task_id}_{number // len(tasks)}"
        text = re.sub(r"^id:.*$", f"id: {task_id}", task.path.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
        shutil.copytree(task.path.parent, root / task_id)
        (root / task_id / "task.md").write_text(text, encoding="utf-8")
    return root


def commands(suite: Path, count: int) -> Mapping[str, Sequence[str]]:
    """What is measured, by name."""
    program = (sys.executable, "-m", "pinchbench")
    dry_run = (*program, "run", "--model", "demo/oracle", "--tasks-dir", str(suite), "--dry-run")
    named: dict[str, Sequence[str]] = {
        PASS: (sys.executable, "-c", "pass"),
        'python -c "import click"': (sys.executable, "-c", "import click"),
        "--help": (*program, "--help"),
        "--version": (*program, "--version"),
        "tasks list": (*program, "tasks", "list"),
        f"run --dry-run, {count} tasks": dry_run,
        f"run --dry-run --json, {count} tasks": (*dry_run, "--json"),
    }
    if SCRIPT.exists():
        named["--help, installed script"] = (str(SCRIPT), "--help")
        named[COMPLETION] = (str(SCRIPT),)
    return named


def cpu_s() -> float:
    """The CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tasks", type=int, default=150)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite = make_tasks(folder, options.tasks)
        (folder / "cwd").mkdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PINCHBENCH"))}
        environment |= {
            "PYTHONPYCACHEPREFIX": str(folder / "pycache"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "HOME": name,
        }
        completing = {
            "_PINCHBENCH_ASYNC_COMPLETE": "bash_complete",
            "COMP_WORDS": "pinchbench-async run --",
            "COMP_CWORD": "2",
        }
        named = commands(suite, options.tasks)
        used: dict[str, list[float]] = {one: [] for one in named}

        def measured(which: str) -> float:
            began, before = time.monotonic(), cpu_s()
            subprocess.run(
                named[which],
                env={**environment, **completing} if which == COMPLETION else environment,
                cwd=folder / "cwd",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            used[which].append(cpu_s() - before)
            return time.monotonic() - began

        walls = interleave(options.rounds, {which: partial(measured, which) for which in named})
    rows = [
        [
            which,
            Spread.of([1000 * wall for wall in figures]).text(0),
            Spread.of([1000 * cpu for cpu in used[which][1:]]).text(0),
            ratio(figures, walls[PASS]).text(1),
            f"{1000 * Spread.of([one - other for one, other in zip(figures, walls[PASS], strict=True)]).median:.0f}",
        ]
        for which, figures in walls.items()
    ]
    columns = ("command", "wall, ms", "CPU, ms", f"× {PASS}", "more than it, ms")
    print_table("Start-up", columns, rows, note=machine())


if __name__ == "__main__":
    main()

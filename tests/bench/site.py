"""What does the site cost: to list and filter 50 000 trials, and a run that goes on while clients look at it?

`python tests/bench/site.py [--trials 50000] [--rounds 3] [--clients 20] [--slots 64] [--seconds 120]` makes up a run of
so many trials (0: none) and asks the site for its pages, first with nothing in memory. Then the fake OpenClaw plays
runs of one trial for each slot, alone and with clients on their pages in turn, until the seconds are over. The site is
a process of its own, as for a user, and the clients never read what they are sent. The figure is the CPU time of the
run's own process without its agents, compared pair by pair: other work on the machine changes it less than time.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import anyio
import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

import past_runs
from bench.measure import Spread, machine, print_table
from fakes import fake_openclaw, run_config
from past_runs import PlannedRun, random_trials, write_run
from pinchbench.events import RunBegan
from pinchbench.results.statistics import student_t
from pinchbench.runner.run import run_benchmark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.events import Event

REPETITIONS = 100
LEAST_PAIRS = 2
FILTERS = (
    "score<0.5 and category=coding",
    "note~judge or (score>0.9 and not category=coding)",
    "task_123",
)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120.0, help="for the runs with clients and without")
    asked = parser.parse_args()
    if asked.trials:
        _print_pages(asked.trials, asked.rounds)
    _print_clients(asked.clients, asked.slots, asked.seconds)


def _print_pages(trials: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        print_table(
            f"{trials} trials in one run: seconds until the answer is there",
            ("page", "seconds"),
            list(_pages(Path(place), trials, rounds)),
            note=machine(),
        )


def _print_clients(clients: int, slots: int, seconds: float) -> None:
    """Play pairs of runs; every other pair begins with the clients, so that no order is favoured."""
    until = time.monotonic() + seconds
    _run(0, min(slots, 4))  # what is imported once is in no figure
    alone: list[float] = []
    watched: list[float] = []
    longest = 0.0
    while len(alone) < LEAST_PAIRS or time.monotonic() + longest < until:
        began = time.monotonic()
        pair = [(alone, 0), (watched, clients)]
        for figures, number in pair if len(alone) % 2 == 0 else reversed(pair):
            figures.append(_run(number, slots))
        longest = max(longest, time.monotonic() - began)
    logs = [math.log(one / other) for one, other in zip(watched, alone, strict=True)]
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    reach = student_t(len(logs) - 1) * error
    low, middle, high = (f"{math.exp(mean + by):.3f}" for by in (-reach, 0.0, reach))
    rows = [
        ("0", Spread.of(alone).text(), ""),
        (str(clients), Spread.of(watched).text(), f"{middle} ({low}–{high})"),
    ]
    columns = ("clients", "CPU of the run's own process (s)", "of that alone, 95 % interval")
    title = f"{len(logs)} pairs of runs of {slots} trials on {slots} slots, and clients that look at them"
    print_table(title, columns, rows, note=machine())


def _pages(folder: Path, trials: int, rounds: int) -> Iterator[tuple[str, str]]:
    past_runs._write_evidence = lambda *_: None  # a hundred thousand files would be written for nothing
    run = PlannedRun(trials=random_trials(tasks=trials // REPETITIONS, repetitions=REPETITIONS, trouble=0.1))
    name = write_run(folder, run).name
    with _site(folder) as (port, process):
        before_s = _cpu_s(process)
        yield "a run, nothing in memory", f"{_asked_s(port, f'/run/{name}'):.2f}"
        yield "the same, CPU time of the site", f"{_cpu_s(process) - before_s:.2f}"
        yield "the run again", Spread.of([_asked_s(port, f"/run/{name}") for _ in range(rounds)]).text()
        for text in FILTERS:
            path = f"/run/{name}?sort=-score&filter={quote(text)}"
            yield text, Spread.of([_asked_s(port, path) for _ in range(rounds)]).text()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _asked_s(port: int, path: str) -> float:
    began = time.perf_counter()
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status == 200
        if b"<tr data-row>" in text:  # and not that the run is still being read
            return time.perf_counter() - began


@contextmanager
def _site(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Serve a folder from a process of its own; the port, and the process."""
    argv = [sys.executable, "-m", "pinchbench", "serve", "--port", "0", "--output-dir", str(folder)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PINCHBENCH_")}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True) as site:
        try:
            assert site.stdout is not None
            yield urlsplit(site.stdout.readline().strip()).port or 0, psutil.Process(site.pid)
        finally:
            site.terminate()


def _run(clients: int, slots: int) -> float:
    """Play a run with so many clients on its page; the CPU time of its own process, in seconds."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        prompts = {f"task_{number:02d}": "Do something." for number in range(slots)}
        config = replace(run_config(folder, fake_openclaw(folder), prompts), concurrency=slots)
        assert config.output_dir is not None
        config.output_dir.mkdir()
        port = stack.enter_context(_site(config.output_dir))[0] if clients else 0

        async def watch(events: MemoryObjectReceiveStream[Event]) -> None:
            async for event in events:
                if isinstance(event, RunBegan):
                    for _ in range(clients):
                        connection = HTTPConnection("127.0.0.1", port, timeout=60)
                        stack.callback(connection.close)
                        connection.request("GET", f"/run/{event.folder.name}/events")

        before = time.process_time()
        anyio.run(partial(run_benchmark, config, observer=watch))
        return time.process_time() - before


if __name__ == "__main__":
    main()

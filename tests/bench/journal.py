"""What a long journal costs: to scan it when the run is resumed, to write it, and to make it durable.

`python tests/bench/journal.py [--outcomes 10000] [--rounds 2] [--records 20000]` writes the journal of a run of so many
trials, each with its start and its grade, as a run does, and prints two tables: CPU seconds of what `resume` makes of
it, next to reading its bytes and decoding its lines, and records a second with `fsync` and without.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import anyio
from anyio import create_memory_object_stream, create_task_group

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Spread, interleave, machine, print_table, ratio
from fakes import make_suite
from past_runs import Made, PlannedRun, records_of
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.paths import create_run, write_json
from pinchbench.results.records import GradeGiven, Record, TrialFinished, decode, encode
from pinchbench.runner.again import rerun
from pinchbench.runner.plan.prepare import Prepared
from pinchbench.runner.plan.trial_plan import plan_trials
from pinchbench.runner.run_context import Redactor
from pinchbench.runner.setup.set_up import provenance
from pinchbench.runner.stream_ends import hand_over, write
from pinchbench.suite.loading import load_suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.events import Event

TASKS = 100
PRODUCERS = 16
PACE_S = 0.01  # between two records of a busy run
MB = 1_000_000


class Bench:
    """A run of so many trials, all of them done, and the functions that are measured."""

    def __init__(self, folder: Path, outcomes: int) -> None:
        """Write the files of the run below `folder`."""
        prompts = {f"task_{number:02d}_with_a_usual_name": "Do it." for number in range(TASKS)}
        self.config = RunConfig(model="mock/m1", tasks_dir=make_suite(folder, prompts), output_dir=folder / "results")
        suite = load_suite(folder / "tasks").suite
        self.trials = plan_trials(suite.tasks, runs=-(-outcomes // TASKS), timeout_multiplier=1.0)
        made = Counter(trial.key.task_id for trial in self.trials)
        self.run = PlannedRun(
            trials={task_id: (Made(score=0.5),) * number for task_id, number in made.items()}, slots=PRODUCERS
        )
        self.files = create_run(self.config.output_dir, self.run.name)
        facts = provenance(
            Prepared(config=self.config, suite=suite, trials=self.trials, attempts=()),
            run_id=self.run.run_id,
            created_at=self.run.began,
            releases={},
            agents=[],
            additions={},
            tools=[],
        )
        write_json(self.files.provenance, facts)

    def json_lines(self) -> None:
        """Decode each line with the standard library."""
        with self.files.journal.open("rb") as file:
            for line in file:
                json.loads(line)

    def msgspec_lines(self) -> None:
        """Decode each line as a record."""
        with self.files.journal.open("rb") as file:
            for line in file:
                decode(line)

    def scan(self) -> None:
        """Find out what is left of the plan."""
        assert not read_journal(self.files.journal).state.left([trial.key for trial in self.trials]).keys

    def prepare(self) -> None:
        """All that `resume` does before it starts anything, the suite included."""
        with JournalWriter(self.files.journal, go_on=True) as writer:
            config = ResumeConfig(run=str(self.files.folder), output_dir=self.config.output_dir)
            rerun._prepare_rest(config, self.files, writer)


def cpu_s(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def bytes_written() -> int:
    """What this process has handed to the system so far, to files of any kind."""
    lines = Path("/proc/self/io").read_text("utf-8").splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


async def record(path: Path, records: list[Record], *, pace_s: float = 0.0) -> list[float]:
    """Let producers hand over records as a run does; return how long each took to be acknowledged, in seconds."""
    handed: dict[int, float] = {}
    waited: list[float] = []

    def acknowledged(_: Event) -> None:
        waited.append(time.monotonic() - handed[len(waited)])

    async def produce(turn: int, stream: object) -> None:
        with stream.clone() as own:  # type: ignore[attr-defined]
            for one in records[turn::PRODUCERS]:
                await anyio.sleep(pace_s * PRODUCERS)
                handed[len(handed)] = time.monotonic()
                hand_over(own, one)

    with JournalWriter(path) as journal:
        stream, to_write = create_memory_object_stream[Record](math.inf)
        async with create_task_group() as writer:
            writer.start_soon(partial(write, to_write, journal, redactor=Redactor(), emit=acknowledged))
            with stream:
                async with create_task_group() as producers:
                    for turn in range(PRODUCERS):
                        producers.start_soon(produce, turn, stream)
    return waited


def throughput(folder: Path, records: list[Record], *, durable: bool, pace_s: float, waits: list[float]) -> float:
    """Acknowledged records a second."""
    path = folder / "durability.jsonl"
    with ExitStack() as stack:
        if not durable:
            stack.enter_context(mock.patch.object(os, "fsync", return_value=None))
        began = time.monotonic()
        waited = anyio.run(partial(record, path, records, pace_s=pace_s))
        took_s = time.monotonic() - began
    waits[:] = waited
    path.unlink()
    return len(waited) / took_s


def write_and_scan(folder: Path, *, outcomes: int, rounds: int) -> None:
    """Print what a journal of so many outcomes takes."""
    bench = Bench(folder, outcomes)
    record_bytes = 0
    before = bytes_written()
    with JournalWriter(bench.files.journal) as journal:
        group: list[Record] = []
        for one in records_of(bench.run):
            group.append(one)
            record_bytes += len(encode(one))
            if len(group) == 256:
                journal.append(group)
                group = []
        journal.append(group)
    written = bytes_written() - before
    contenders: dict[str, Callable[[], object]] = {
        "reading the bytes": bench.files.journal.read_bytes,
        "decoding each line with json": bench.json_lines,
        "decoding each line as a record": bench.msgspec_lines,
        "what is left of the plan (the scan)": bench.scan,
        "resume until it starts something": bench.prepare,
        "reading it whole, for the result": partial(read_journal, bench.files.journal),
    }
    figures = interleave(rounds, {name: partial(cpu_s, call) for name, call in contenders.items()})
    yardstick = figures["decoding each line as a record"]
    print_table(
        f"A journal of {outcomes} outcomes, each with its start and its grade: {written / MB:.0f} MB",
        ("", "CPU seconds", "of decoding"),
        [(name, Spread.of(took).text(), ratio(took, yardstick).text()) for name, took in figures.items()],
        note=f"Bytes written: {written / record_bytes:.3f} × the records. {machine()}",
    )


def make_durable(folder: Path, *, records: int, rounds: int) -> None:
    """Print what `fsync` costs."""
    bench = Bench(folder, records // 3)
    rows = []
    for name, pace_s, count in (
        (f"{PRODUCERS} producers, flat out", 0.0, records),
        (f"{PRODUCERS} producers, {1 / PACE_S:.0f} a second", PACE_S, min(records, 300)),
    ):
        made = list(records_of(bench.run))[:count]
        # only what is acknowledged to the observer
        made = [one for one in made if isinstance(one, TrialFinished | GradeGiven)]
        waits: dict[bool, list[float]] = {True: [], False: []}
        figures = interleave(
            rounds,
            {
                str(durable): partial(throughput, folder, made, durable=durable, pace_s=pace_s, waits=waits[durable])
                for durable in (True, False)
            },
        )
        slowest = sorted(waits[True])[int(len(waits[True]) * 0.99)]
        rows.append(
            (
                name,
                Spread.of(figures["True"]).text(0),
                Spread.of(figures["False"]).text(0),
                ratio(figures["True"], figures["False"]).text(),
                f"{1000 * slowest:.0f}",
            )
        )
    columns = ("", "records/s", "without fsync", "of that", "99% acknowledged within, ms")
    print_table("Records on their way to the disk", columns, rows, note=machine())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What a long journal costs.")
    parser.add_argument("--outcomes", type=int, default=10_000, help="trials in the journal (default: 10000)")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each (default: 2)")
    parser.add_argument("--records", type=int, default=30_000, help="records that are made durable (default: 30000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="journal-") as name:
        make_durable(Path(name) / "durable", records=options.records, rounds=2 * options.rounds + 1)
        write_and_scan(Path(name) / "long", outcomes=options.outcomes, rounds=options.rounds)


if __name__ == "__main__":
    main()

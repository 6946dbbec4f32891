# ruff: noqa: T201 - it prints tables
"""What does a trial cost OpenClaw in each isolation, and does it come to the same?

`python tests/bench/isolation.py [--release 2026.9.6] [--suite core] [--trials 8]` plays the scripted model on real
OpenClaw, first the sanity task alone: a run of few and a run of more trials in each isolation, and what the further
ones cost; CPU time is that of the runner and of all it started, as the system counts it for a process and those it has
waited for. Then it plays a suite in each isolation and compares the trials: the shape of the transcripts (who spoke,
which tools were called, how each turn ended), the files in the workspaces, and the scores. `--suite none` leaves that
out.

`--without diagnostics,skills.load [--rounds 3]` instead leaves parts of what a gateway is given out, one at a time and
in turn with the whole: paths in its config, or variables in its environment. What does each save, and does the model
receive
the same without it? Bodies of requests are compared whole, with ids, dates and folders masked. `--suite`, here the
sanity task unless it is given, is played `--trials` times each round. `--without all` leaves out what
`recorded.py` calls so.

`--memory 500` instead plays the sanity task that often through one gateway, and prints its memory as the trials go by.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import psutil

from bench.measure import Spread, machine, print_table
from pinchbench.defaults import Isolation

FEW = 2
BODIES = "bodies.jsonl"
COMPARED = (Isolation.PRIVATE, Isolation.GATEWAY)
SHOWN = 12  # differences
WHOLE = "-"
AROUND = 200  # characters shown of a request, before and after where it differs
LOOK_S = 0.5
OPENCLAW = "openclaw"  # how the titles begin that its processes give themselves
SANITY = "task_00_sanity"
ROWS = 10  # of a table of a gateway's memory
RECORDED = str(Path(__file__).with_name("recorded.py"))
# What differs between two runs of the same: run, attempt and session ids, ports, tokens, dates and folders.
OWN = re.compile(
    r"isolation-\w+/\w+|\d{8}-\d{6}-[0-9a-f]{4}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|_\d{13}\b|127\.0\.0\.1:\d+"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|\w{3} \d{4}-\d\d-\d\d \d\d:\d\d"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A gateway at one moment: its own CPU time with that of the processes it has waited for, and its memory."""

    trials: int  # that have ended
    cpu_s: float
    rss_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """One run. Seconds; `result` is its JSON."""

    cpu_s: float
    wall_s: float
    result: dict[str, Any]
    folder: Path
    received: list[str]  # by the model, in order
    samples: list[Sample]  # of its gateway, where it had one

    @property
    def agents_s(self) -> list[float]:
        """The CPU time of each trial's own processes."""
        return [run["cpu_s"] for task in self.result["tasks"] for run in task["runs"]]

    @property
    def gateway_s(self) -> float:
        """The gateway's CPU time for one trial, after the first."""
        first, last = next(one for one in self.samples if one.trials), self.samples[-1]
        return (last.cpu_s - first.cpu_s) / (last.trials - first.trials)

    @property
    def setup_s(self) -> float:
        """The gateway's CPU time until the first trial has ended, without what a later one takes."""
        return next(one.cpu_s for one in self.samples if one.trials) - self.gateway_s


class GatewayWatch:
    """Looks at the gateway of a run: that of OpenClaw's processes which lives before any trial's."""

    def __init__(self, runner: int, results: Path) -> None:
        self._runner = psutil.Process(runner)
        self._results = results
        self._gateway: psutil.Process | None = None
        self.samples: list[Sample] = []

    def look(self) -> None:
        """Take a sample, unless there is no gateway (yet, or any more)."""
        try:
            if self._gateway is None:
                below = self._runner.children(recursive=True)
                self._gateway = next((one for one in below if one.name().startswith(OPENCLAW)), None)
                return
            times, rss_bytes = self._gateway.cpu_times(), self._gateway.memory_info().rss
        except psutil.Error:
            self._gateway = None  # it was another, of the set-up
            return
        journals = [path.read_bytes() for path in self._results.glob("*/journal.jsonl")]
        trials = sum(journal.count(b'"type":"outcome"') for journal in journals)
        cpu_s = times.user + times.system + times.children_user + times.children_system
        self.samples.append(Sample(trials=trials, cpu_s=cpu_s, rss_bytes=rss_bytes))


def play(
    folder: Path, isolation: Isolation, release: str, *options: str, without: str = WHOLE, may_fail: bool = False
) -> Played:
    """Run the program as a user does, to its end.

    `without` is what its gateway is not given, or a JSON object of what it is given in addition. `may_fail`: it may end
    without a score, for what the model received is all that is wanted.
    """
    place = Path(tempfile.mkdtemp(dir=folder))
    argv = [
        sys.executable,
        RECORDED,
        str(place / BODIES),
        without,
        "--model=demo/oracle",
        f"--openclaw={release}",
        "--json",
        *options,
    ]
    argv += [f"--isolation={isolation}", f"--output-dir={place / 'results'}", f"--run-root={place / 'pb'}"]
    out, began = place / "out.json", time.monotonic()
    with out.open("wb") as file, (place / "err.txt").open("wb") as errors:
        pid = os.posix_spawn(
            sys.executable,
            argv,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, file.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)],
        )
        watch = GatewayWatch(pid, place / "results")
        while not (ended := os.wait4(pid, os.WNOHANG))[0]:
            watch.look()
            time.sleep(LOOK_S)
    _, status, usage = ended
    if not may_fail and os.waitstatus_to_exitcode(status) not in (0, 5):  # 5: what needs a judge stays ungraded
        raise SystemExit((place / "err.txt").read_text(encoding="utf-8"))
    result = json.loads(out.read_text(encoding="utf-8"))
    [journal] = (place / "results").glob("*/journal.jsonl")
    return Played(
        cpu_s=usage.ru_utime + usage.ru_stime,
        wall_s=time.monotonic() - began,
        result=result,
        folder=journal.parent,
        received=[OWN.sub("…", line) for line in (place / BODIES).read_text(encoding="utf-8").splitlines()],
        samples=watch.samples,
    )


def costs(folder: Path, release: str, trials: int) -> None:
    """Print what each further trial of the sanity task costs."""
    rows = []
    for isolation in COMPARED:
        few, many = (
            play(folder, isolation, release, f"--suite={SANITY}", f"--runs={count}") for count in (FEW, FEW + trials)
        )
        further = (many.cpu_s - few.cpu_s) / trials
        setup = few.cpu_s - FEW * further
        rows.append((isolation.value, f"{setup:.1f}", f"{further:.1f}", f"{(many.wall_s - few.wall_s) / trials:.1f}"))
    title = f"OpenClaw {release}, the sanity task, one slot"
    print_table(title, ("isolation", "set-up CPU s", "CPU s a trial", "wall s a trial"), rows, note=machine())


def parts(folder: Path, release: str, names: list[str], *, suite: str, trials: int, rounds: int) -> None:
    """Print what a gateway's trials cost without each of these parts, and how many requests differ without it."""
    played: dict[str, list[Played]] = {name: [] for name in (WHOLE, *names)}
    for _ in range(rounds):
        for name, runs in played.items():
            options = (f"--suite={suite}", f"--runs={trials}")
            runs.append(play(folder, Isolation.GATEWAY, release, *options, without=name))
    usual = played[WHOLE][0].received
    rows = [
        (
            "as it is" if name == WHOLE else f"without {name}",
            Spread.of([run.setup_s for run in runs]).text(1),
            Spread.of([median(run.agents_s) for run in runs]).text(),
            Spread.of([run.gateway_s for run in runs]).text(),
            " ".join(f"{differing(usual, run.received)}" for run in runs) + f" of {len(usual)}",
        )
        for name, runs in played.items()
    ]
    columns = ("gateway", "its set-up", "`openclaw agent`", "gateway a trial", "requests that differ")
    title = (
        f"OpenClaw {release}, CPU seconds, {trials} × {suite} through a gateway, one slot, medians of {rounds} rounds"
    )
    print_table(title, columns, rows, note=machine())
    for name, runs in played.items():
        pairs = ((one, other) for run in runs for one, other in zip(usual, run.received, strict=False) if one != other)
        for one, other in islice(pairs, 1):
            at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            print(
                f"{name}, the first difference:",
                *(text[max(0, at - AROUND) : at + AROUND] for text in (one, other)),
                sep="\n",
            )


def differing(usual: list[str], received: list[str]) -> int:
    """How many requests are not the usual ones."""
    unequal = sum(one != other for one, other in zip(usual, received, strict=False))
    return unequal + abs(len(usual) - len(received))


def memory(folder: Path, release: str, trials: int) -> None:
    """Print the memory of a gateway as trials go by."""
    samples = play(
        folder, Isolation.GATEWAY, release, f"--suite={SANITY}", f"--runs={trials}", "--concurrency=2"
    ).samples
    step = max(1, trials // ROWS)
    rows = []
    for low in range(0, trials, step):
        taken = [one.rss_bytes / 1024**2 for one in samples if low < one.trials <= low + step]
        if taken:
            rows.append((f"{low + 1} to {min(low + step, trials)}", Spread.of(taken).text(0)))
    title = f"OpenClaw {release}, memory of a gateway over {trials} trials of {SANITY}, two slots"
    print_table(title, ("trials", "MiB"), rows, note=machine())


def shape(transcript: Path) -> list[tuple[str, ...]]:
    """Who spoke, the tools called, and how each answer ended."""
    told = []
    for line in transcript.read_text(encoding="utf-8").split("\n"):
        message = json.loads(line).get("message") if line else None
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        tools = [str(part.get("name")) for part in parts if isinstance(part, dict) and part.get("type") == "toolCall"]
        told.append((str(message.get("role")), *tools, str(message.get("stopReason", ""))))
    return told


def files(workspace: Path) -> dict[str, str]:
    """What stands in a workspace: names and digests."""
    return {
        str(path.relative_to(workspace)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(workspace.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def traits(played: Played) -> dict[str, dict[str, object]]:
    """What is compared of each trial."""
    found: dict[str, dict[str, object]] = {}
    for task in played.result["tasks"]:
        for number, run in enumerate(task["runs"], 1):
            evidence = played.folder / "trials" / task["task_id"] / str(number)
            found[f"{task['task_id']}@{number}"] = {
                "reason": run["reason"],
                "score": (run.get("grade") or {}).get("score"),
                "shape": shape(evidence / "transcript.jsonl"),
                "files": files(Path(run["workspace"])),
            }
    return found


def compare(folder: Path, release: str, suite: str) -> None:
    """Print what a suite costs in each isolation, and where its trials differ."""
    played = {
        isolation: play(folder, isolation, release, f"--suite={suite}", "--concurrency=2", "--timeout-multiplier=3")
        for isolation in COMPARED
    }
    first, second = (traits(one) for one in played.values())
    rows = [
        (isolation.value, f"{one.cpu_s / len(first):.1f}", f"{one.wall_s / 60:.1f}")
        for isolation, one in played.items()
    ]
    title = f"OpenClaw {release}, --suite {suite}, two slots, {len(first)} trials, set-up and grading included"
    print_table(title, ("isolation", "CPU s a trial", "wall minutes"), rows, note=machine())
    different = [
        f"{trial}: {trait}\n  {one[trait]}\n  {second[trial][trait]}"
        for trial, one in first.items()
        for trait in one
        if one[trait] != second.get(trial, {}).get(trait)
    ]
    print(f"{len(first)} trials compared by reason, score, shape and files: {len(different)} differences.")
    for one in different[:SHOWN]:
        print(one[:1500])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="2026.9.6")
    parser.add_argument("--suite", help="core, but the sanity task with --without")
    parser.add_argument(
        "--trials", type=int, default=8, help="further trials whose cost is measured; 0 leaves that out"
    )
    parser.add_argument("--without", default="", help="parts of what a gateway is given, to leave out in turn")
    parser.add_argument("--rounds", type=int, default=3, help="of runs with and without them")
    parser.add_argument("--memory", type=int, default=0, help="trials during which a gateway's memory is watched")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isolation-") as folder:
        place = Path(folder)
        if options.without:
            names, suite = options.without.split(","), options.suite or SANITY
            parts(place, options.release, names, suite=suite, trials=max(options.trials, 2), rounds=options.rounds)
            return
        if options.memory:
            memory(place, options.release, options.memory)
            return
        if options.trials:
            costs(place, options.release, options.trials)
        if options.suite != "none":
            compare(place, options.release, options.suite or "core")


if __name__ == "__main__":
    main()

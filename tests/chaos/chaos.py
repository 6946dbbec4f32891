# ruff: noqa: T201 - it prints a table
"""Kills a run at random moments, resumes it each time, and says what was lost.

`python tests/chaos/chaos.py [--trials 200] [--kills 100] [--seed N]` runs a suite with a fake OpenClaw in peace first;
then again while it is killed, on a disk that tears writes, and on disks that fill up. It ends with 1 if anything was
lost, run twice, left running or otherwise wrong.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from chaos.campaign import Peace, tear, torment
from chaos.full_disk import fill_results, fill_workspaces, why_not
from chaos.ledger import Findings

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL, SMALL_CONCURRENCY = 24, 4  # trials of the scenes beside the main one
DEATHS = 12  # by torn writes
MANY = 20  # sentences that are printed of each kind


def table(findings: Findings) -> list[tuple[str, object]]:
    """The figures that count."""
    hits = ", ".join(f"{count} {name}" for name, count in findings.hits.items() if not name.startswith("at: "))
    moments = ", ".join(f"{count} {name[4:]}" for name, count in findings.hits.items() if name.startswith("at: "))
    return [
        ("kills", f"{findings.kills} ({hits})"),
        ("  measured by", moments),
        ("runners", findings.sessions),
        ("ends and grades that were shown", f"{findings.ends} and {findings.grades}"),
        ("acknowledged results lost", len(findings.lost)),
        ("trials run twice", len(findings.twice)),
        ("processes left", len(findings.left)),
        ("  deaths survived for over a second", f"{findings.slow}, the longest for {findings.slowest_s:.2f} s"),
        ("journal lines cut by a death", findings.torn),
        ("journal errors", len(findings.journal)),
        ("results equal to the undisturbed one", f"{'yes' if not findings.differs else 'NO'} ({findings.runs})"),
        ("other surprises", len(findings.other)),
    ]


def show(title: str, findings: Findings, took_s: float) -> None:
    """Print the figures of a scene, and every sentence that should not be."""
    print(f"\n{title} ({took_s:.0f} s)")
    for name, value in table(findings):
        print(f"  {name:<38} {value}")
    for sentence in findings.bad[:MANY]:
        print(f"  ! {sentence}")
    sys.stdout.flush()


def main() -> int:
    """Play all scenes; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # whoever started this may have had them ignored, and the runners would inherit that
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    folder = Path(tempfile.mkdtemp(prefix="pinchbench-chaos-"))
    print(
        f"seed {options.seed}, in {folder}; again with: --trials {options.trials} --kills {options.kills} "
        f"--seed {options.seed}"
    )
    is_good = play(folder, options)
    if is_good:
        shutil.rmtree(folder)
    else:
        print(f"\nWhat was left is in {folder}.")
    return 0 if is_good else 1


def play(folder: Path, options: argparse.Namespace) -> bool:
    """Play all scenes in this folder; whether nothing was wrong."""
    began = time.monotonic()
    large = Peace(folder / "large", trials=options.trials, concurrency=options.concurrency)
    small = Peace(folder / "small", trials=SMALL, concurrency=SMALL_CONCURRENCY)
    scenes: dict[str, Callable[[random.Random], Findings]] = {
        "Killed": lambda rng: torment(folder / "killed", rng, large, kills=options.kills),
        "Slow and torn writes": lambda rng: tear(folder, rng, small, deaths=DEATHS),
    }
    if why := why_not():
        print(f"full disks are left out: {why}")
    else:
        scenes["A full disk under the results"] = lambda rng: fill_results(folder, rng, small)
        scenes["A full disk under the workspaces"] = lambda rng: fill_workspaces(folder, rng, small)
    everything = Findings()
    for title, scene in scenes.items():
        since = time.monotonic()
        findings = scene(random.Random(f"{options.seed} {title}"))
        show(title, findings, time.monotonic() - since)
        everything.merge(findings)
    show("All", everything, time.monotonic() - began)
    return not everything.bad


if __name__ == "__main__":
    sys.exit(main())

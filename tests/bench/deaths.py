# ruff: noqa: T201 - it prints a table
"""How long anything of an agent lives on when its runner, its guardian or itself is killed with SIGKILL.

`python tests/bench/deaths.py [--rounds 20] [--seed N]` starts agents whose children hide in every way, at each level of
the sandbox, kills one process at a random moment from the agent's start on, and counts who is alive a second later. A
gateway is supervised as an agent is. It ends with 1 if anybody was alive then, but for children of a killed guardian
outside of namespaces.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from hiding import HIDERS, Hidden, Victim
from pinchbench.sandbox.levels import Level, find_support

LATEST_S = 0.4  # of a moment: all children are there after about half of it on a quiet machine
LIMIT_S = 10.0
START_LIMIT_S = 60.0  # an agent starts in less than a second, but far more slowly on a heavily loaded machine
POLL_S = 0.005


def kill(folder: Path, level: Level, victim: Victim, delay_s: float) -> tuple[int, float]:
    """Return how many were alive after a second, and for how many seconds anybody was seen alive, at most 10."""
    hidden = Hidden(folder, level)
    try:
        due = time.monotonic() + START_LIMIT_S
        while (pid := hidden.pid(victim)) is None or hidden.pid(Victim.AGENT) is None:
            if time.monotonic() > due:
                sys.exit(f"The agent at level {level} did not start within {START_LIMIT_S:g} s.")
            time.sleep(POLL_S)
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        killed = time.monotonic()
        last_seen = killed
        alive_after = -1
        while (passed_s := time.monotonic() - killed) < LIMIT_S:
            alive = len(hidden.alive())
            if alive:
                last_seen = time.monotonic()
            if passed_s >= 1:
                alive_after = alive if alive_after < 0 else alive_after
                if not alive:
                    break
            time.sleep(POLL_S)
        return alive_after, last_seen - killed
    finally:
        hidden.close()


def main() -> int:
    """Print a line for each level and victim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}; an agent with {len(HIDERS)} kinds of children; load {os.getloadavg()[0]:.1f}")
    print(f"{'level':<12}{'killed':<20}{'rounds':>7}{'alive after 1 s':>17}{'gone after, ms: p50':>21}{'most':>7}")
    worst = 0
    with tempfile.TemporaryDirectory(prefix="pinchbench-deaths-") as folder:
        for level in Level:
            if find_support().reason(level):
                continue
            for victim in Victim:
                found = [
                    kill(Path(folder, f"{level}-{victim.name}-{number}"), level, victim, rng.uniform(0, LATEST_S))
                    for number in range(options.rounds)
                ]
                alive = sum(one for one, _ in found)
                times = [1000 * gone_s for _, gone_s in found]
                if level is Level.NAMESPACES or victim is not Victim.GUARDIAN:
                    worst = max(worst, alive)
                middle = statistics.median(times)
                print(f"{level:<12}{victim:<20}{len(found):>7}{alive:>17}{middle:>21.0f}{max(times):>7.0f}", flush=True)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())

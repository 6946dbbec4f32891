# ruff: noqa: T201 - it prints a table
"""How often the gate's verdicts on a run and its baseline are right, by simulation.

`python tests/bench/gate.py [--pairs 1000]` draws a baseline of five repetitions, admits its stable tasks as `baseline
save` does, and draws runs of the same tasks: by the same model, and by one that is worse by 0.1 and by 0.2. It prints
in %, by the run's repetitions: how often the same model fails the gate (false alarms), how often the worse ones do
(power), how often the same model is shown to be as good, how often the lower end of the interval is above the true
difference (2.5 at most is promised), the share of tasks in quarantine, and the false alarms if the test took the stable
tasks as given, though some are stable by luck. `--max-spread 1` is a baseline without quarantine. A quarter of an hour
on one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.calibration import SHAPES, UNEVEN, Shape, pairs_of
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.results.gate.rules import GateVerdict
from pinchbench.results.gate.stability import Stability
from pinchbench.results.gate.worse import verdict_of, weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.calibration import Table

TASKS = (6, 12, 40)
RUNS = (1, 3, 5)
BASELINE_RUNS = 5
TRUTH_TRIALS = 400  # of each task, for its true mean score: with six tasks, it is known within 0.01
DEALS = 999


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """In 0-1, how often the gate failed, passed as shown, and had the lower end of its interval above the truth."""

    failed: float
    shown: float
    missed: float
    quarantined: float


def gate_shares(
    shape: Shape,
    *,
    tasks: int,
    runs: int,
    worse: float,
    pairs: int,
    stability: Stability | None,
    baseline_runs: int = BASELINE_RUNS,
    margin: float = DEFAULT_MARGIN,
    takes_as_given: bool = False,
    seed: int = 9,
) -> Shares:
    """Draw pairs of a baseline and a run, and apply the gate to each.

    With `takes_as_given`, the test is not told by which rule the stable tasks were chosen.
    """
    source = np.random.default_rng(seed)
    failed = shown = missed = quarantined = 0
    for _ in range(pairs):
        of_a = shape.ease(source, tasks)[:, None]
        of_b = np.clip(of_a - worse + UNEVEN * source.standard_normal(of_a.shape), 0, 1) if worse else of_a
        a, b = shape.scores(source, of_a, baseline_runs), shape.scores(source, of_b, runs)
        drawn = pairs_of(a, b)
        stable = [stability is None or stability.quarantine(pair.a) is None for pair in drawn]
        quarantined += tasks - sum(stable)
        if takes_as_given:
            chosen = [pair for pair, is_stable in zip(drawn, stable, strict=True) if is_stable]
            found = weigh(chosen, stability=None, margin=margin, deals=DEALS).difference
        else:
            found = weigh(drawn, stability=stability, margin=margin, deals=DEALS).difference
        verdict = verdict_of(found, margin=margin)
        failed += verdict is GateVerdict.FAILED
        shown += verdict is GateVerdict.PASSED
        if found.low is not None:
            truth = 0.0 if not worse else _mean(source, shape, of_b, stable) - _mean(source, shape, of_a, stable)
            missed += found.low > truth + 1e-9
    return Shares(
        failed=failed / pairs, shown=shown / pairs, missed=missed / pairs, quarantined=quarantined / pairs / tasks
    )


def _mean(source: np.random.Generator, shape: Shape, ease: Table, of: Sequence[bool]) -> float:
    return float(shape.scores(source, ease[of], TRUTH_TRIALS).mean())


def main() -> None:
    """Print a row a kind of scores and number of tasks."""
    parser = argparse.ArgumentParser(description="How often the gate is right.")
    parser.add_argument("--pairs", type=int, default=1000, help="simulated pairs for each number")
    parser.add_argument("--margin", type=float, default=DEFAULT_MARGIN)
    parser.add_argument("--max-spread", type=float, default=Stability().max_spread)
    asked = parser.parse_args()
    stability = Stability(max_spread=asked.max_spread)
    heads = (
        "false alarms",
        "power at 0.1",
        "power at 0.2",
        "shown as good",
        "missed, A/A",
        "missed, 0.1",
        "out",
        "alarms, as given",
    )
    print(f"{'scores':<30} {'tasks':>5}  " + "  ".join(f"{head:>17}" for head in heads))
    print(f"{'repetitions':<36}  " + "  ".join(f"{'/'.join(map(str, RUNS)):>17}" for _ in heads))
    for shape in SHAPES:
        for tasks in TASKS:
            same, worse, much, given = (
                [
                    gate_shares(
                        shape, tasks=tasks, runs=runs, worse=by, pairs=asked.pairs, stability=stability,
                        margin=asked.margin, takes_as_given=as_given,
                    )
                    for runs in RUNS
                ]
                for by, as_given in ((0.0, False), (0.1, False), (0.2, False), (0.0, True))
            )  # fmt: skip
            columns = (
                [one.failed for one in same],
                [one.failed for one in worse],
                [one.failed for one in much],
                [one.shown for one in same],
                [one.missed for one in same],
                [one.missed for one in worse],
                [one.quarantined for one in same[:1]],
                [one.failed for one in given],
            )
            cells = (" ".join(f"{100 * share:5.1f}" for share in column) for column in columns)
            print(f"{shape.name:<30} {tasks:>5}  " + "  ".join(f"{cell:>17}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()

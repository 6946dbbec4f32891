# ruff: noqa: T201 - it prints a table
"""What an experiment that stops when it is decided costs and errs, by simulation.

`python tests/bench/sequential.py [--experiments 400]` plays experiments of 43 tasks and at most 6 repetitions whose
true difference is known, over the kinds of scores of `calibration.py`, looking after each block. For each it prints in
%: how often a difference is decided, how often on the wrong side (any side where there is no difference), and how often
the interval at the end holds the true difference; the mean number of blocks; and how many blocks fewer that is than the
fixed design needs that has the same power: a t-test of the first n blocks of the full repetitions. Some minutes on one
core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.calibration import SHAPES
from pinchbench.experiment.sequential import Design, Sequential
from pinchbench.results.compare.sequential_verdict import SequentialVerdict
from pinchbench.results.statistics import student_t

if TYPE_CHECKING:
    from bench.calibration import Shape, Table
    from pinchbench.results.compare.sequential_verdict import SequentialComparison

TASKS, RUNS = 43, 6
WORSE = (0.0, 0.05, 0.1, 0.2)
MOST_POWER = 0.98  # above, the fixed design's number of blocks is told by a handful of the experiments


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """One experiment: how it ended, the true difference of its tasks, and the differences of all its blocks."""

    end: SequentialComparison
    truth: float
    fixed: Table


def play(shape: Shape, *, worse: float, source: np.random.Generator, seed: int) -> Played:
    """Play one experiment of a baseline and a variant that is worse."""
    before, after = shape.draw(source, tasks=TASKS, runs=200, worse=worse)  # the first ones are made
    truth = float((after - before).mean())
    names = tuple(str(number) for number in range(TASKS))
    sequential = Sequential(Design(variants=("base", "other"), tasks=names, runs=RUNS, seed=seed))
    made = 0
    while not sequential.is_over:
        key = sequential.planned[made].key
        made += 1
        place = int(key.task_id), key.repetition - 1
        sequential.settle("base", key, float(before[place]))
        sequential.settle("other", key, float(after[place]))
    all_of_them = (after - before)[:, :RUNS]
    fixed = np.concatenate([source.permutation(all_of_them[:, run]) for run in range(RUNS)])
    return Played(end=sequential.comparisons[0], truth=truth, fixed=fixed)


def fixed_power(differences: Table) -> Table:
    """Return the power of a t-test after 2, 3 … blocks; one row of `differences` an experiment."""
    blocks = np.arange(1, differences.shape[1] + 1)
    means = np.cumsum(differences, axis=1) / blocks
    variances = np.cumsum(differences**2, axis=1) / blocks - means**2
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(np.maximum(variances, 1e-12) / (blocks - 1))
        found = np.abs(means) / errors > np.array([student_t(max(1, int(block) - 1)) for block in blocks])
    power: Table = found.mean(axis=0)
    return power


def main() -> None:
    """Print a row a kind of scores and difference."""
    parser = argparse.ArgumentParser(description="What sequential experiments cost and err.")
    parser.add_argument("--experiments", type=int, default=400, help="for each row")
    asked = parser.parse_args()
    print(f"{'scores':<30} {'true':>5}  decided  wrong   held  blocks  fixed, same power  saved")
    for shape in SHAPES:
        for worse in WORSE:
            source = np.random.default_rng(11)
            played = [play(shape, worse=worse, source=source, seed=seed) for seed in range(asked.experiments)]
            decided = np.array([one.end.verdict is not SequentialVerdict.UNDECIDABLE for one in played])
            wrong = np.array(
                [
                    one.end.verdict in {SequentialVerdict.BETTER} | ({SequentialVerdict.WORSE} if not worse else set())
                    for one in played
                ]
            )
            held = np.array([one.end.low - 0.005 <= one.truth <= one.end.high + 0.005 for one in played])
            blocks = float(np.mean([one.end.blocks for one in played]))
            power = fixed_power(np.array([one.fixed for one in played]))
            enough = np.flatnonzero(power >= min(decided.mean(), MOST_POWER))
            fixed = int(enough[0]) + 1 if worse and len(enough) else None
            saved = f"{fixed:>17}  {100 * (1 - blocks / fixed):4.0f}" if fixed else f"{'':>17}"
            print(
                f"{shape.name:<30} {worse:>5}  {100 * decided.mean():7.1f}  {100 * wrong.mean():5.1f}"
                f"  {100 * held.mean():5.1f}  {blocks:6.1f}  {saved}",
                flush=True,
            )


if __name__ == "__main__":
    main()

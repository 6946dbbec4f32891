# ruff: noqa: T201 - it prints a table
"""What an experiment that stops when it is decided costs and errs, by simulation.

`python tests/bench/sequential.py [--experiments 400]` plays experiments of 43 tasks and at most 6 repetitions whose
true difference is known, over the kinds of scores of `calibration.py`, looking after each block. For each it prints in
%: how often a difference is decided, how often on the wrong side (any side where there is no difference), and how often
the interval at the end holds the true difference; the mean number of blocks; and how many blocks fewer that is than the
fixed design needs that has the same power: a t-test of the first n blocks of the full repetitions, and of as few whole
repetitions. Then the same for variants that differ from task to task, or from trial to trial, but not on average. Some
minutes on one core.
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
from pinchbench.results.compare.verdict import SequentialVerdict
from pinchbench.results.statistics import student_t

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator

    from bench.calibration import Table
    from pinchbench.results.compare.verdict import SequentialComparison

TASKS, RUNS = 43, 6
WORSE = (0.0, 0.05, 0.1, 0.2)
DIFFERENT = {SequentialVerdict.BETTER, SequentialVerdict.WORSE}
NOISE = 0.15  # of a trial
MOST_POWER = 0.98  # above, the fixed design's number of blocks depends on a handful of the experiments


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """One experiment: how it ended, the true difference of its tasks, and the differences of all its blocks."""

    end: SequentialComparison
    truth: float
    fixed: Table


def _fail(tasks: int, source: Generator) -> Table:
    """Some tasks fail, all others gain a little."""
    differences = np.full((TASKS, RUNS), tasks / (TASKS - tasks)) + NOISE * source.standard_normal((TASKS, RUNS))
    differences[:tasks] -= TASKS / (TASKS - tasks)
    return np.clip(differences, -1, 1)


def _rarely(chance: float, source: Generator) -> Table:
    """Any trial may fail, and gains a little otherwise."""
    return np.where(source.random((TASKS, RUNS)) < chance, -1.0, chance / (1 - chance))


def _both_ways(source: Generator) -> Table:
    """0 or 1: half of the tasks are passed more often, the others less often."""
    change = np.where(np.arange(TASKS) % 2, 0.2, -0.2 * (TASKS // 2) / (TASKS - TASKS // 2))[:, None]
    size = (TASKS, RUNS)
    return (source.random(size) < 0.5 + change).astype(float) - (source.random(size) < 0.5)


NOT_ON_AVERAGE: Mapping[str, Callable[[Generator], Table]] = {
    "7 tasks fail, others +0.19": lambda source: _fail(7, source),
    "5% of trials fail, others +0.05": lambda source: _rarely(0.05, source),
    "1/6 of trials fail, others +0.2": lambda source: _rarely(1 / 6, source),
    "0 or 1, tasks +0.2 and -0.2": _both_ways,
}


def play(before: Table, after: Table, *, truth: float, source: Generator, seed: int) -> Played:
    """Play one experiment of a baseline and a variant with these scores, a row a task."""
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
    print(f"{'scores':<30} {'true':>5}  decided  wrong   held  blocks  fixed, same power  saved  of whole repetitions")
    for shape in SHAPES:
        for worse in WORSE:
            source = np.random.default_rng(11)
            played = []
            for seed in range(asked.experiments):
                before, after = shape.draw(source, tasks=TASKS, runs=200, worse=worse)  # the first ones are made
                truth = float((after - before).mean())
                played.append(play(before, after, truth=truth, source=source, seed=seed))
            decided = np.array([one.end.verdict in DIFFERENT for one in played])
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
            saved = ""
            if fixed:
                whole = -(-fixed // TASKS) * TASKS
                saved = f"{fixed:>17}  {100 * (1 - blocks / fixed):4.0f}  {100 * (1 - blocks / whole):4.0f}"
            print(
                f"{shape.name:<30} {worse:>5}  {100 * decided.mean():7.1f}  {100 * wrong.mean():5.1f}"
                f"  {100 * held.mean():5.1f}  {blocks:6.1f}  {saved}",
                flush=True,
            )
    print(f"\n{'no difference on average':<36}  called different")
    for name, draw in NOT_ON_AVERAGE.items():
        source = np.random.default_rng(12)
        called = 0
        for seed in range(asked.experiments):
            differences = draw(source)
            end = play(np.zeros_like(differences), differences, truth=0.0, source=source, seed=seed).end
            called += end.verdict in DIFFERENT
        print(f"{name:<36}  {100 * called / asked.experiments:5.1f}", flush=True)


if __name__ == "__main__":
    main()

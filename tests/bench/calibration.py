# ruff: noqa: T201 - it prints a table
"""How often the verdicts and intervals of `compare` are right, by simulation.

`python tests/bench/calibration.py [--pairs 4000] [--tests 1000]` draws pairs of runs whose true difference is known,
over kinds of scores, numbers of tasks and of repetitions, and prints in %: how often the 95% interval holds the true
difference, where both sides are the same model (A/A) and where B is worse (A/B); how often A/A is called different; and
how often A/B is detected. Two minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from pinchbench.results.compare.comparison import Conclusion, verdict_of
from pinchbench.results.compare.paired_difference import Pair, difference_of, untested_difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    Table = NDArray[float64]
    Kind = Callable[[Generator, Table, int], Table]  # the scores of so many repetitions of tasks of such ease

TASKS = (6, 10, 20, 40)
RUNS = (1, 3, 5)
WORSE = 0.1
UNEVEN = 0.1  # how much tasks differ in what B is worse by
TRUTH_TASKS = 100_000  # tell the truth to 0.002, where the narrowest interval is 0.06 wide


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A kind of scores: how easy tasks are for A (one number a task), and what a trial of such a task scores."""

    name: str
    ease: Callable[[Generator, int], Table]
    scores: Kind

    def draw(self, source: Generator, *, tasks: int, runs: int, worse: float) -> tuple[Table, Table]:
        """Draw the scores of both sides, one row a task."""
        of_a = self.ease(source, tasks)[:, None]
        of_b = of_a
        if worse:
            of_b = np.clip(of_a - worse + UNEVEN * source.standard_normal(of_a.shape), 0, 1)
        return self.scores(source, of_a, runs), self.scores(source, of_b, runs)

    def truth(self, worse: float) -> float:
        """The mean difference over all tasks of the kind."""
        if not worse:
            return 0.0
        a, b = self.draw(np.random.default_rng(1), tasks=TRUTH_TASKS, runs=2, worse=worse)
        return float(b.mean() - a.mean())


def _beta(source: Generator, ease: Table, runs: int) -> Table:
    kept = np.clip(ease, 0.01, 0.99)
    return source.beta(kept * 8, (1 - kept) * 8, (len(ease), runs))


def _passed(source: Generator, ease: Table, runs: int) -> Table:
    return (source.random((len(ease), runs)) < ease).astype(float)


def _quarters(source: Generator, ease: Table, runs: int) -> Table:
    return source.binomial(4, ease, (len(ease), runs)) / 4


def _ceilinged(source: Generator, ease: Table, runs: int) -> Table:
    """Tasks of an ease above 0.4 are always done right; the others score all there is between."""
    between = np.clip(ease / 0.4 + 0.1 * source.standard_normal((len(ease), runs)), 0, 1)
    return np.where(ease > 0.4, 1.0, between)


SHAPES = (
    Shape(name="beta-like around 0.6", ease=lambda source, n: source.beta(2, 1.3, n), scores=_beta),
    Shape(name="quarters, by several criteria", ease=lambda source, n: source.beta(1.5, 0.7, n), scores=_quarters),
    Shape(name="0 or 1, very different tasks", ease=lambda source, n: source.beta(0.4, 0.3, n), scores=_passed),
    Shape(name="0 or 1, mostly 1 (0.94)", ease=lambda source, n: source.beta(3, 0.2, n), scores=_passed),
    Shape(name="0 or 1, tasks alike (0.97)", ease=lambda _, n: np.full(n, 0.97), scores=_passed),
    Shape(name="60% always 1, others between", ease=lambda source, n: source.random(n), scores=_ceilinged),
)


def pairs_of(a: Table, b: Table) -> list[Pair]:
    """Make the tables of two sides, one row a task, into what is compared."""
    return [Pair(a=tuple(one), b=tuple(other)) for one, other in zip(a.tolist(), b.tolist(), strict=True)]


def coverage(shape: Shape, *, tasks: int, runs: int, worse: float, pairs: int, seed: int = 7) -> float:
    """How often, in 0-1, the interval holds the true difference."""
    source, truth = np.random.default_rng(seed), shape.truth(worse)
    held = 0
    for _ in range(pairs):
        found = untested_difference(pairs_of(*shape.draw(source, tasks=tasks, runs=runs, worse=worse)))
        assert found.low is not None
        assert found.high is not None
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / pairs


def told_apart(shape: Shape, *, tasks: int, runs: int, worse: float, pairs: int, seed: int = 8) -> float:
    """How often, in 0-1, the verdict is that one side is better."""
    source = np.random.default_rng(seed)
    told = 0
    for _ in range(pairs):
        found = difference_of(pairs_of(*shape.draw(source, tasks=tasks, runs=runs, worse=worse)), flips=2000)
        told += verdict_of(found, found.p) in (Conclusion.A_BETTER, Conclusion.B_BETTER)
    return told / pairs


def main() -> None:
    """Print a row a kind of scores and number of tasks."""
    parser = argparse.ArgumentParser(description="How often compare is right.")
    parser.add_argument("--pairs", type=int, default=4000, help="simulated pairs for each interval's coverage")
    parser.add_argument("--tests", type=int, default=1000, help="simulated pairs for each share of verdicts")
    asked = parser.parse_args()
    heads = ("held, A/A", "held, A/B", "different, A/A", "told, A/B")
    print(f"{'scores':<30} {'tasks':>5}  " + "  ".join(f"{head:>20}" for head in heads))
    print(f"{'repetitions':<37}" + "  ".join(f"{'/'.join(map(str, RUNS)):>20}" for _ in heads))
    for shape in SHAPES:
        for tasks in TASKS:
            columns = [
                *(
                    [coverage(shape, tasks=tasks, runs=runs, worse=worse, pairs=asked.pairs) for runs in RUNS]
                    for worse in (0.0, WORSE)
                ),
                *(
                    [told_apart(shape, tasks=tasks, runs=runs, worse=worse, pairs=asked.tests) for runs in RUNS]
                    for worse in (0.0, WORSE)
                ),
            ]
            cells = ("  ".join(f"{100 * share:5.1f}" for share in column) for column in columns)
            print(f"{shape.name:<30} {tasks:>5}  " + "  ".join(f"{cell:>20}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()

# ruff: noqa: T201 - it prints tables
"""How good item statistics and short forms are, by simulation.

`python tests/bench/items.py [--suites 100]` plays suites whose tasks differ in difficulty and discrimination. It prints
how often, in %, the 95 % intervals of item statistics hold the true value; and how short forms, and as many tasks
chosen at random, rank new models by their scores: Spearman's correlation with the ranking by all 43 tasks. Some minutes
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

from pinchbench.results.soundness.items import item_statistics
from pinchbench.results.soundness.short_form import short_form

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from pinchbench.results.soundness.items import Value

    Values = NDArray[float64]

TASKS = 43
CATEGORIES = 10
NEW_MODELS = 12
RANDOM_CHOICES = 5  # per suite
OWN_STRENGTHS = 0.6  # the deviation, in that of models' abilities, of how good a model is at one task in particular
WIDTH = 14  # of a column


def scores(source: Generator, ease: Values) -> Values:
    """Draw trials of such ease, a number a trial: every second one passes or fails."""
    kept = np.clip(ease, 0.02, 0.98)
    graded = source.beta(kept * 6, (1 - kept) * 6)
    return np.where(np.arange(len(ease)) % 2, graded, (source.random(len(ease)) < kept).astype(float))


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedSuite:
    """Tasks by difficulty and slope, as in the two-parameter logistic model of item response theory."""

    difficulty: Values
    slope: Values

    @classmethod
    def draw(cls, source: Generator, tasks: int) -> SimulatedSuite:
        """Draw the tasks of a suite."""
        return cls(difficulty=source.normal(-0.3, 1.0, tasks), slope=np.exp(source.normal(-0.2, 0.5, tasks)))

    def play(self, source: Generator, models: int, repetitions: int) -> Values:
        """Draw the scores of new models, by repetition, model and task."""
        own = source.normal(0, 1, (models, 1)) + OWN_STRENGTHS * source.standard_normal((models, len(self.slope)))
        ease = 1 / (1 + np.exp(-self.slope * (own - self.difficulty)))
        return np.array([[scores(source, one) for one in ease] for _ in range(repetitions)])


def by_task(played: Values) -> list[dict[str, tuple[float, ...]]]:
    """Return the scores of each model by task."""
    _, models, tasks = played.shape
    return [{f"t{task:02d}": tuple(played[:, model, task]) for task in range(tasks)} for model in range(models)]


def intervals_held(*, models: int, repetitions: int, suites: int, seed: int = 9) -> tuple[float, ...]:
    """How often, in 0-1, the intervals hold the true discrimination and noise share of a task, and that of the suite.

    Returns the shares of those that have an interval, then how many of the tasks have both.
    """
    source = np.random.default_rng(seed)
    suite = SimulatedSuite.draw(source, 20)
    tasks = len(suite.slope)
    means = suite.play(source, 4000, repetitions).mean(axis=0)
    rest = (means.sum(axis=1, keepdims=True) - means) / (tasks - 1)
    pair = suite.play(source, 4000, 2)
    within = ((pair[0] - pair[1]) ** 2 / 2).mean(axis=0)
    between = np.array([np.cov(pair[0, :, task], pair[1, :, task])[0, 1] for task in range(tasks)])
    held: dict[str, list[bool]] = {"discrimination": [], "noise": [], "suite": []}

    def is_known(name: str, value: Value | None, truth: float) -> bool:
        if value is None or value.low is None or value.high is None:
            return False
        held[name].append(value.low <= truth <= value.high)
        return True

    known = 0
    for _ in range(suites):
        found = item_statistics(by_task(suite.play(source, models, repetitions)))
        for task, item in enumerate(found.items):
            discrimination = float(np.corrcoef(means[:, task], rest[:, task])[0, 1])
            noise = float(within[task] / (within[task] + between[task]))
            known += is_known("discrimination", item.discrimination, discrimination) & is_known(
                "noise", item.noise_share, noise
            )
        is_known("suite", found.noise_share, float(within.sum() / (within.sum() + between.sum())))
    return (*(sum(own) / len(own) if own else float("nan") for own in held.values()), known / (suites * tasks))


def ranks_kept(*, seen: int, size: int, suites: int, seed: int = 3) -> tuple[float, float]:
    """Return the mean rank correlation with the whole suite, of new models: of short forms, and of random choices.

    The short form is chosen by one trial of each task by each of the models `seen`.
    """
    source = np.random.default_rng(seed)
    categories = {f"t{task:02d}": f"c{task % CATEGORIES}" for task in range(TASKS)}
    chosen, at_random = [], []
    for _ in range(suites):
        suite = SimulatedSuite.draw(source, TASKS)
        form = short_form(by_task(suite.play(source, seen, 1)), size=size, categories=categories)
        new = suite.play(source, NEW_MODELS, 1)[0]
        whole = new.mean(axis=1)
        chosen.append(_rank_correlation(new[:, [int(task_id[1:]) for task_id in form.tasks]].mean(axis=1), whole))
        for _ in range(RANDOM_CHOICES):
            places = source.choice(TASKS, size, replace=False)
            at_random.append(_rank_correlation(new[:, places].mean(axis=1), whole))
    return float(np.mean(chosen)), float(np.mean(at_random))


def _rank_correlation(a: Values, b: Values) -> float:
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Values) -> Values:
    """Return the mean rank of each value among all."""
    ranks: Values = (values[:, None] > values).sum(axis=1) + (values[:, None] == values).sum(axis=1) / 2
    return ranks


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How good item statistics and short forms are.")
    parser.add_argument("--suites", type=int, default=100, help="simulated suites for each cell")
    suites = parser.parse_args().suites
    print("item statistics: intervals that hold the true value, in %")
    heads = ("models", "repetitions", "discrimination", "noise share", "of the suite", "known")
    print("  ".join(f"{head:>{WIDTH}}" for head in heads))
    for models in (4, 6, 10, 20):
        for repetitions in (2, 3, 5):
            held = intervals_held(models=models, repetitions=repetitions, suites=suites)
            texts = [str(models), str(repetitions), *(f"{100 * share:.1f}" for share in held)]
            print("  ".join(f"{text:>{WIDTH}}" for text in texts), flush=True)
    print(f"\nshort forms of {TASKS} tasks: rank correlation of {NEW_MODELS} new models with all tasks")
    print("  ".join(f"{head:>{WIDTH}}" for head in ("models seen", "tasks", "short form", "at random")))
    for seen in (4, 6, 10, 20):
        for size in (6, 12, 20):
            chosen, at_random = ranks_kept(seen=seen, size=size, suites=suites)
            texts = [str(seen), str(size), f"{chosen:.3f}", f"{at_random:.3f}"]
            print("  ".join(f"{text:>{WIDTH}}" for text in texts), flush=True)


if __name__ == "__main__":
    main()

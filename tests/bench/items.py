"""How often the 95% intervals of item statistics hold the true value, in suites whose tasks differ, by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinchbench.results.task_statistics import item_statistics

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    Values = NDArray[float64]

OWN_STRENGTHS = 0.6  # the deviation, in that of models' abilities, of how good a model is at one task in particular


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


def intervals_held(*, models: int, repetitions: int, suites: int, seed: int = 9) -> tuple[float, float]:
    """How often, in 0-1, the interval of a task's discrimination holds the true one, and how often there is one."""
    source = np.random.default_rng(seed)
    suite = SimulatedSuite.draw(source, 20)
    tasks = len(suite.slope)
    means = suite.play(source, 4000, repetitions).mean(axis=0)
    rest = (means.sum(axis=1, keepdims=True) - means) / (tasks - 1)
    truth = [float(np.corrcoef(means[:, task], rest[:, task])[0, 1]) for task in range(tasks)]
    held = []
    for _ in range(suites):
        for item, true in zip(item_statistics(by_task(suite.play(source, models, repetitions))), truth, strict=True):
            value = item.discrimination
            if value is not None and value.low is not None and value.high is not None:
                held.append(value.low <= true <= value.high)
    return sum(held) / len(held) if held else float("nan"), len(held) / (suites * tasks)

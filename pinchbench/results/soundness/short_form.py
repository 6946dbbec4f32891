"""Choose few tasks that rank models as all tasks do (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, fsum, sqrt
from typing import TYPE_CHECKING

from pinchbench.errors import SelectionError
from pinchbench.results.statistics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.soundness.subjects import ScoresByTask

FEWEST_SUBJECTS = 4
MOST_PAIRS = 300  # of subjects: a choice takes a millisecond

# Choosing the tasks whose mean had the highest correlation with the full mean among the subjects seen would be no
# better than chance with up to ten of them: among so many subsets some fit any few subjects. So a task is judged by
# two numbers only, its covariance with the full mean and the variance it has of its own; what two tasks share beyond
# that is ignored (the single-index model of Sharpe, 1963, to which Ledoit and Wolf, 2003, shrink a covariance matrix).
# tests/bench/items.py compares it with random choices.


@dataclass(frozen=True, kw_only=True, slots=True)
class ShortForm:
    """The chosen `tasks`, in the order of the choice, and the evidence.

    Attributes:
        subjects: the number of variants whose scores were used.
        of: the number of tasks to choose from: those that every subject has a score of.
        agreement: the share of pairs of subjects, in 0-1, that the short form ranks as all tasks do; each subject's
            tasks are chosen without its own scores. None if all tasks rank no pair.
    """

    tasks: tuple[str, ...]
    subjects: int
    of: int
    agreement: float | None


def short_form(subjects: Sequence[ScoresByTask], *, size: int, categories: Mapping[str, str]) -> ShortForm:
    """Choose `size` tasks, as many of each category as its share of all tasks allows.

    The same scores give the same tasks, whatever the order of subjects and tasks.

    Raises:
        SelectionError: there are too few subjects, or no more tasks than are asked for.
    """
    common = sorted(set.intersection(*(_scored(one) for one in subjects))) if subjects else []
    if len(subjects) < FEWEST_SUBJECTS:
        raise SelectionError(
            f"A short form needs {FEWEST_SUBJECTS} variants (models, or settings of one) with scores on the same tasks;"
            f" there are {len(subjects)}."
        )
    if not 1 <= size < len(common):
        raise SelectionError(
            f"A short form of {size} tasks can't be chosen from {len(common)}, which every variant has a score on."
        )
    kinds = [categories.get(task_id, "") for task_id in common]
    means = sorted(tuple(fsum(one[task_id]) / len(one[task_id]) for task_id in common) for one in subjects)
    places = _quota(kinds, size)
    chosen = _choose(means, kinds, places)
    return ShortForm(
        tasks=tuple(common[place] for place in chosen),
        subjects=len(subjects),
        of=len(common),
        agreement=_agreement(means, kinds, places),
    )


def _scored(subject: ScoresByTask) -> set[str]:
    return {task_id for task_id, scores in subject.items() if scores}


def _quota(categories: Sequence[str], size: int) -> dict[str, int]:
    """Divide `size` among the categories by their shares: the largest remainders get what is left."""
    counts = {name: categories.count(name) for name in sorted(set(categories))}
    places = {name: size * count // len(categories) for name, count in counts.items()}
    remainders = sorted(counts, key=lambda name: (-(size * counts[name] % len(categories)), name))
    for name in remainders[: size - sum(places.values())]:
        places[name] += 1
    return places


def _choose(means: Sequence[Sequence[float]], categories: Sequence[str], places: Mapping[str, int]) -> tuple[int, ...]:
    """Add the task that most increases the correlation of the mean with the full mean, one after the other."""
    shared, own = _single_index(means)
    free = dict(places)
    chosen: list[int] = []
    signal = noise = 0.0
    for _ in range(sum(places.values())):
        best = max(
            (task for task in range(len(shared)) if task not in chosen and free[categories[task]]),
            key=lambda task: (_correlation(signal + shared[task], noise + own[task]), -task),
        )
        chosen.append(best)
        free[categories[best]] -= 1
        signal, noise = signal + shared[best], noise + own[best]
    return tuple(chosen)


def _single_index(means: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Return each task's covariance with the full mean in units of its standard deviation, and the variance beside."""
    full = [fsum(row) / len(row) for row in means]
    middle = fsum(full) / len(full)
    spread = sqrt(fsum((one - middle) ** 2 for one in full) / (len(full) - 1))
    shared, own = [], []
    for scores in zip(*means, strict=True):
        mean = fsum(scores) / len(scores)
        pairs = zip(scores, full, strict=True)
        covariance = fsum((score - mean) * (one - middle) for score, one in pairs) / (len(full) - 1)
        variance = fsum((score - mean) ** 2 for score in scores) / (len(full) - 1)
        shared.append(round(covariance / spread, 12) if spread > ROUNDING else 0.0)
        own.append(round(max(0.0, variance - shared[-1] ** 2), 12))
    return shared, own


def _correlation(signal: float, noise: float) -> float:
    total = sqrt(signal**2 + noise)
    # a task on which nobody differs neither helps nor harms: it comes after those that help
    return signal / total if total > ROUNDING else 0.0


def _agreement(means: Sequence[Sequence[float]], categories: Sequence[str], places: Mapping[str, int]) -> float | None:
    """Return how often two subjects are ranked alike by all tasks and by those chosen without both."""
    agreed: list[float] = []
    for a, b in _pairs(len(means)):
        full = fsum(means[a]) - fsum(means[b])
        if abs(full) < ROUNDING:
            continue
        others = [row for place, row in enumerate(means) if place not in (a, b)]
        chosen = _choose(others, categories, places)
        short = fsum(means[a][task] - means[b][task] for task in chosen)
        agreed.append(0.5 if abs(short) < ROUNDING else float((short > 0) == (full > 0)))
    return fsum(agreed) / len(agreed) if agreed else None


def _pairs(count: int) -> list[tuple[int, int]]:
    """Return the pairs of so many subjects; of very many, every n-th."""
    every = list(combinations(range(count), 2))
    return every[:: ceil(len(every) / MOST_PAIRS)]

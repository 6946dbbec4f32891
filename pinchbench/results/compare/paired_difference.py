"""Estimate the difference of two sets of scores paired by task, and the data needed to detect it (pure)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, comb, fsum, sqrt
from operator import add
from random import Random
from statistics import NormalDist, median
from typing import TYPE_CHECKING

from pinchbench.results.statistics import ROUNDING, SEED, Z, mean_of, student_t, variance_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Side = Sequence[float]  # the scores of one side's trials of a task

ALPHA = 0.05
POWER = 0.8
FEWEST_TASKS = 6  # with five, even differences of the same sign give p = 2/2⁵ = 0.06
EXACT_TASKS = 18  # with a difference: 2¹⁷ combinations of signs take 20 ms, each further task doubles that
FLIPS = 20_000  # for more tasks: estimates a p of 0.05 within 0.003, in some 30 ms for 68 tasks
AT_ONCE = 10  # signs that are drawn together, as one of 2¹⁰ sums
MOST_WAYS = 2000  # to deal the trials of a task to the sides
DRAWN_WAYS = 20_000  # of all tasks together, where a task has more
FEWEST_WAYS = 250  # of a task
NOTICEABLE = 0.02  # a task that varies by less counts only partly as one that varies
ENOUGH_VARY = 8  # tasks, from which on Student's interval is reliable
MOST_TASKS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """The scores of one task's trials, each in 0-1, at least one per side."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def difference(self) -> float:
        """B's mean minus A's, in -1 to 1; 0 if they differ only by rounding."""
        difference = mean_of(self.b) - mean_of(self.a)
        return difference if abs(difference) > ROUNDING else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The mean difference B - A over `tasks` tasks, its 95% interval, and the `p` of a permutation test.

    In -1 to 1, `low <= mean <= high`. None if there are too few tasks: none for the mean, one for the interval, fewer
    than six for the test. `is_exact` is true if all permutations were evaluated, not a sample.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    is_exact: bool = False
    tasks: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RequiredSamples:
    """The data needed to detect a difference of the observed size with a power of 80% at α = 5%.

    Attributes:
        detectable: the smallest difference that the present data would detect with that power; None with too few tasks
            for a test.
        repetitions: how many repetitions of each present task are needed; None if no number suffices, or if the
            variance between repetitions is unknown because no task was repeated.
        tasks: how many tasks are needed with the present number of repetitions.
        at_repetitions: the present number of repetitions, as the harmonic mean over both sides.
        is_scatter_known: whether the variance between repetitions is known on both sides.
    """

    detectable: float | None = None
    repetitions: int | None = None
    tasks: int | None = None
    at_repetitions: float = 1.0
    is_scatter_known: bool = False


def difference_of(pairs: Sequence[Pair], *, flips: int = FLIPS) -> Difference:
    """Compare two sides over the population of tasks: each task has the same weight, however often it was run.

    Tasks are the random units, as in the interval of a single run (`statistics.estimate`): both the interval and the
    test are about all the tasks that these might have been drawn from. The variance between repetitions is part of the
    variance of the tasks' differences, whatever their numbers, so more repetitions narrow the interval only so far.
    Inference about exactly these tasks would give a narrower interval and let a suite of six tasks support conclusions
    that it can't. docs/explanation/methods.md says how often the interval contains the true difference.

    The order of tasks and repetitions makes no difference; swapping the sides gives the mirrored result.
    """
    untested = untested_difference(pairs)
    if untested.tasks < FEWEST_TASKS:
        return untested
    p, is_exact = _test(pairs, _sorted_differences(pairs), flips)
    return replace(untested, p=p, is_exact=is_exact)


def untested_difference(pairs: Sequence[Pair]) -> Difference:
    """Return the mean difference and its interval without a test, which takes far longer."""
    differences = _sorted_differences(pairs)
    if not differences:
        return Difference()
    mean = mean_of(differences)
    if len(differences) == 1:
        return Difference(mean=mean, tasks=1)
    half, (further_down, further_up) = _half_width(differences), _skewed(differences)
    low, high = max(-1.0, mean - half - further_down), min(1.0, mean + half + further_up)
    return Difference(mean=mean, low=low, high=high, tasks=len(differences))


def _sorted_differences(pairs: Sequence[Pair]) -> list[float]:
    return sorted((pair.difference for pair in pairs), key=lambda one: (abs(one), one))


def needed(pairs: Sequence[Pair]) -> RequiredSamples:
    """Estimate the data needed to detect a difference of the observed size.

    The variance of the mean difference is (between + within/n)/T. `between` is the variance of the tasks' true
    differences: that of the observed ones minus the repetitions' part. `within` is the variance of a trial of A plus
    that of a trial of B. n repetitions reduce only the second part.
    """
    if len(pairs) < 2:  # noqa: PLR2004 - one task has no scatter
        return RequiredSamples()
    differences = [pair.difference for pair in pairs]
    mean, tasks = mean_of(differences), len(pairs)
    repetitions = 2 * tasks / fsum(1 / len(side) for pair in pairs for side in (pair.a, pair.b))
    within_a, within_b = pooled_variance([pair.a for pair in pairs]), pooled_variance([pair.b for pair in pairs])
    enough = None
    if within_a is not None and within_b is not None and tasks >= FEWEST_TASKS:
        # a task with one trial gives no variance: it is assumed to be that of the others
        part = fsum(within_a / len(pair.a) + within_b / len(pair.b) for pair in pairs) / tasks
        between = max(0.0, variance_of(differences) - part)
        # the part of the interval that allows for tasks unlike those seen, which repetitions don't reduce
        unseen = most_unseen(differences, tasks) / student_t(tasks - 1)
        allowed = tasks * ((mean / _detectable_errors(tasks)) ** 2 - unseen**2) - between
        enough = max(1, ceil((within_a + within_b) / allowed - ROUNDING)) if allowed > 0 else None
    return RequiredSamples(
        detectable=min(1.0, _detectable(differences, tasks)) if tasks >= FEWEST_TASKS else None,
        repetitions=enough,
        tasks=_tasks_needed(differences) if mean else None,
        at_repetitions=repetitions,
        is_scatter_known=within_a is not None and within_b is not None,
    )


def holm(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjust the p of several comparisons by Holm's method; those without a p are not counted as comparisons."""
    tested = sum(value is not None for value in values)
    return adjusted_in_steps(values, range(tested, 0, -1))


def adjusted_in_steps(values: Sequence[float | None], factors: Sequence[int]) -> tuple[float | None, ...]:
    """Multiply the p of several comparisons, the smallest first, with these factors; none gets below one before it."""
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for (value, place), factor in zip(order, factors, strict=False):
        largest = max(largest, min(1.0, value * factor))
        adjusted[place] = largest
    return tuple(adjusted)


def _half_width(differences: Sequence[float], tasks: int = 0) -> float:
    """Return half the width of the interval: Student's, widened if too few differences vary to estimate their variance.

    With `tasks`, for that many tasks like these.
    """
    tasks = tasks or len(differences)
    square = student_t(tasks - 1) ** 2 * variance_of(differences) / tasks
    return sqrt(square + most_unseen(differences, tasks) ** 2)


def most_unseen(differences: Sequence[float], tasks: int) -> float:
    """Return what an interval of so many differences like these, two or more, must allow for others, unlike these."""
    # either most differences are 0, or all are the same and not 0
    return max(_unseen(differences, tasks, centre) for centre in (0.0, median(differences)))


def _unseen(differences: Sequence[float], tasks: int, centre: float) -> float:
    """Return what to add for future tasks that are unlike these, most of which lie at `centre`."""
    away = [abs(one - centre) for one in differences]
    varying = fsum(min(1.0, one / NOTICEABLE) for one in away) * tasks / len(differences)
    unknown = max(0.0, 1.0 - varying / min(tasks - 1, ENOUGH_VARY))
    # the next one may lie as far away as others do, or, if hardly any does yet, as far as the range allows
    size = max(1.0 / (1.0 + varying), *away)
    # as far as Wilson's interval extends for an event that occurred in none of so many tasks
    return unknown * size * Z * Z / (tasks + Z * Z)


def _skewed(differences: Sequence[float]) -> tuple[float, float]:
    """Return what to add to the lower and to the upper half, since the true mean lies further out towards a long tail.

    This is half of the shift that Johnson's t for skewed values would give, on that side alone: the full shift, which
    also narrows the other side by as much, covers 89-94% with few tasks.
    """
    tasks, mean, variance = len(differences), mean_of(differences), variance_of(differences)
    if variance < ROUNDING**2:
        return 0.0, 0.0
    error, t = sqrt(variance / tasks), student_t(tasks - 1)
    # sample moments: both divided by the number of tasks
    third = fsum((one - mean) ** 3 for one in differences) / tasks
    skewness = third / (variance * (tasks - 1) / tasks) ** 1.5
    shift = error * skewness * (1 + 2 * t * t) / (6 * sqrt(tasks))
    most = t * error / 2  # limits a correction that few tasks estimate badly
    further = min(most, abs(shift)) / 2
    return (further, 0.0) if shift < 0 else (0.0, further)


def _test(pairs: Sequence[Pair], differences: Sequence[float], flips: int) -> tuple[float, bool]:
    """Return the p, and whether all permutations were evaluated.

    If two models are equally good at each task, their scores are exchangeable. With equally many trials per side, the
    difference then is positive as often as negative. With one trial against five it is not: where most trials score 1,
    the side with one trial is seldom worse, but then by far. So trials are also permuted there, and the larger p is
    used: flipped signs account for tasks that differ in which side is better.
    """
    turned = _sign_flip_test(differences, flips)
    if all(len(pair.a) == len(pair.b) for pair in pairs):
        return turned
    return max(turned, (_dealing_test(pairs, flips), False))


def _dealing_test(pairs: Sequence[Pair], deals: int) -> float:
    """Return how often a random assignment of each task's trials to the sides gives a mean at least as far from 0."""
    seen = fsum(pair.difference for pair in pairs)
    # the same draws for both orders of the sides
    sides = [(pair.a, pair.b) if seen > 0 else (pair.b, pair.a) for pair in pairs]
    least = abs(seen) - ROUNDING * len(pairs)
    return dealing_test(sides, _apart, lambda one: abs(one) >= least, deals=deals)


def _apart(a: Side, b: Side) -> float:
    return Pair(a=tuple(a), b=tuple(b)).difference


def dealing_test(
    tasks: Iterable[tuple[Side, Side]],
    apart: Callable[[Side, Side], float],
    is_extreme: Callable[[float], bool],
    *,
    deals: int,
) -> float:
    """Return the p of a permutation test that deals the trials of each task to the sides A and B at random.

    `apart` says how far apart the scores of A and B of a task are, `is_extreme` whether the sum over the tasks is at
    least as extreme as the observed one. The order of tasks and of scores makes no difference.
    """
    source = Random(SEED)  # noqa: S311 - not for secrets
    sums = [0.0] * deals
    counts = Counter((tuple(sorted((*a, *b))), len(b)) for a, b in tasks)
    drawn = max(FEWEST_WAYS, DRAWN_WAYS // max(1, len(counts)))
    for (scores, of_b), alike in sorted(counts.items()):
        ways = [apart(a, b) for a, b in _ways(scores, of_b, source, drawn)]
        for _ in range(alike):
            sums = list(map(add, sums, source.choices(ways, k=deals)))
    return (sum(map(is_extreme, sums)) + 1) / (deals + 1)


def _ways(scores: Side, of_b: int, source: Random, drawn: int) -> Iterator[tuple[Side, Side]]:
    """Yield all ways to deal scores to the sides, or so many drawn ones of too many."""
    places = range(len(scores))
    is_few = comb(len(scores), of_b) <= MOST_WAYS
    chosen = combinations(places, of_b) if is_few else (source.sample(places, of_b) for _ in range(drawn))
    for places_of_b in map(frozenset, chosen):
        a, b = ([scores[place] for place in places if (place in places_of_b) is is_b] for is_b in (False, True))
        yield a, b


def _sign_flip_test(differences: Sequence[float], flips: int) -> tuple[float, bool]:
    """Return how often random signs give a mean at least as far from 0, and whether all combinations were evaluated."""
    sizes = [abs(one) for one in differences if one]  # sorted by size: the same draws for both orders of the sides
    if not sizes:
        return 1.0, True
    seen = abs(fsum(differences)) - ROUNDING * len(sizes)
    if len(sizes) <= EXACT_TASKS:
        # with the first one positive: the other half mirrors these
        sums = [sizes[0] + one for one in _all_sums(sizes[1:])]
        return sum(abs(one) >= seen for one in sums) / len(sums), True
    source = Random(SEED)  # noqa: S311 - not for secrets
    sums = [0.0] * flips
    for start in range(0, len(sizes), AT_ONCE):
        sums = list(map(add, sums, source.choices(_all_sums(sizes[start : start + AT_ONCE]), k=flips)))
    return (sum(abs(one) >= seen for one in sums) + 1) / (flips + 1), False


def _all_sums(sizes: Sequence[float]) -> list[float]:
    """Return the sums for all combinations of signs."""
    sums = [0.0]
    for size in sizes:
        sums = [one + size for one in sums] + [one - size for one in sums]
    return sums


def _detectable_errors(tasks: int) -> float:
    """Return how many standard errors a difference must be for a power of 80%: t for the test plus t for the power."""
    z = NormalDist().inv_cdf(POWER)
    freedom = tasks - 1
    return student_t(freedom) + z + (z**3 + z) / (4 * freedom)


def _detectable(differences: Sequence[float], tasks: int) -> float:
    """Return the smallest mean that so many similar tasks would detect with the present number of repetitions."""
    return _detectable_errors(tasks) * _half_width(differences, tasks) / student_t(tasks - 1)


def _tasks_needed(differences: Sequence[float]) -> int | None:
    """Return the fewest tasks that would detect the difference; None above `MOST_TASKS`."""
    size = abs(mean_of(differences))
    numbers = range(FEWEST_TASKS, MOST_TASKS + 1)
    place = bisect_left(numbers, True, key=lambda tasks: _detectable(differences, tasks) <= size)
    return numbers[place] if place < len(numbers) else None


def pooled_variance(tasks: Sequence[Sequence[float]]) -> float | None:
    """Return the variance of a trial within its task, pooled over the repeated tasks; None if there are none."""
    repeated = [scores for scores in tasks if len(scores) > 1]
    freedom = sum(len(scores) - 1 for scores in repeated)
    return fsum(variance_of(scores) * (len(scores) - 1) for scores in repeated) / freedom if freedom else None

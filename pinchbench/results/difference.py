"""How far two lists of scores lie apart, paired by task, and what it would take to tell (pure)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, fsum, sqrt
from statistics import NormalDist, median
from typing import TYPE_CHECKING

from pinchbench.results.statistics import ROUNDING, SEED, Z, student_t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.05
POWER = 0.8
FEWEST_TASKS = 6  # with five, even differences that all point one way have p = 2/2⁵ = 0.06
EXACT_TASKS = 18  # that differ: 2¹⁷ ways to turn their signs take a few milliseconds, each task more doubles it
FLIPS = 20_000  # for more tasks: a p of 0.05 is told within 0.003
FLIPS_AT_ONCE = 1_000_000  # 8 MB a table, whatever the number of tasks
DRAWS = 10_000_000  # of one test that deals trials out: a second
FEWEST_DEALS = 999  # whatever the number of trials: a p of 0.05 is told within 0.014
NOTICEABLE = 0.02  # a variation below it counts in part only when tasks that vary are counted
ENOUGH_VARY = 8  # tasks, from which on Student's interval can be relied on
MOST_TASKS = 100_000

# COVERAGE: how often the nominal 95 % interval of a difference holds the true one, in %, by simulation (3 000 pairs
# each; the ranges are over 1, 3 and 5 repetitions). A/A: the same model twice; A/B: B is worse by 0.1, on some tasks
# more than on others. tests/bench/calibration.py has the kinds of scores, and measures anew.
#
#   scores                                6 tasks      10 tasks    20 tasks    40 tasks
#   beta-like around 0.6           A/A   95.4-96.8    94.8-95.5   95.1-95.4   94.7-95.3
#                                  A/B   95.4-96.4    94.7-95.6   94.6-95.5   94.7-95.1
#   quarters, by several criteria  A/A   96.9-97.4    95.7-97.1   94.9-95.4   94.8-95.5
#                                  A/B   96.5-97.9    95.4-95.9   94.5-95.7   95.0-95.3
#   0 or 1, very different tasks   A/A   98.2-99.7     97.1-98.7   95.5-97.8   95.0-96.0
#                                  A/B   98.1-99.9     97.7-99.0   95.2-98.2   95.2-95.3
#   0 or 1, mostly 1 (0.94)        A/A   99.8-100     99.0-99.9   98.1-99.7   96.1-98.3
#                                  A/B   98.9-99.9    97.3-99.3   95.3-97.8   95.1-95.7
#   0 or 1, tasks alike (0.97)     A/A   99.9-100     98.6-99.9   97.3-100    95.5-99.8
#                                  A/B   98.7-100     96.6-99.2   95.1-98.8   94.4-95.6
#   60 % always 1, others between  A/A   99.6-99.9    99.0-99.5   96.6-97.0   95.1-95.5
#                                  A/B   96.7-97.2    94.6-94.9   93.7-95.1   94.8-95.6
#
# Student's interval alone covers 63-96 % (A/B, six tasks) and 78-97 % (ten) of the last four kinds. What it misses is a
# rare difference that has not come among few tasks: nothing in scores that are all 1 tells the next task from these. So
# where few tasks vary the interval widens towards Wilson's for a proportion of which nothing has been seen, and it
# reaches further towards a long tail. What stays too wide: with one repetition of six tasks that are passed or failed a
# difference has thirteen values, and where two models hardly ever differ an interval that allows for it holds 0 nearly
# always.
#
# A/A is called different in at most 5.2 % of pairs of any kind (the interval must leave out 0, and the test agree). That
# holds for unequal numbers of repetitions too, thanks to the test: for one against five of 40 tasks alike at 0.97 the
# interval alone leaves out 0 in 13 %, as would the turning of signs.


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """The scores of one task's trials, each in 0-1, at least one a side."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def difference(self) -> float:
        """B's mean less A's, in -1 to 1; 0 where rounding alone tells them apart."""
        difference = fsum(self.b) / len(self.b) - fsum(self.a) / len(self.a)
        return difference if abs(difference) > ROUNDING else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The mean difference B - A over `tasks` tasks, its 95 % interval, and the `p` of a permutation test.

    In -1 to 1, `low <= mean <= high`. None where there is nothing to say it from: no task; for the interval, a single
    one; for the test, fewer than six. `is_exact` tells whether all permutations were tried, not a sample.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    is_exact: bool = False
    tasks: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Needed:
    """What would tell a difference of the size seen with a power of 80 % at α = 5 %.

    `repetitions` of each of the tasks there are; None where no number does, or where their scatter isn't known because
    no task was repeated. `tasks`, with as many repetitions as there are now (`at_repetitions`, the harmonic mean over
    both sides). `detectable` is the smallest difference that the data as they are would tell with that power; None for
    too few tasks for a test.
    """

    detectable: float | None = None
    repetitions: int | None = None
    tasks: int | None = None
    at_repetitions: float = 1.0
    is_scatter_known: bool = False


def difference_of(pairs: Sequence[Pair], *, seed: int = SEED, flips: int = FLIPS) -> Difference:
    """Compare two sides over tasks like these: each task weighs the same, however often it was run.

    Tasks are the random units, as in the interval of a single run (`statistics.estimate`): both the interval and the
    test speak of all the tasks that these might have been drawn from. The scatter of repetitions is part of how much the
    tasks' differences scatter, whatever their numbers, so more repetitions narrow the interval only so far. To speak of
    exactly these tasks would make it narrower and let a suite of six decide what it can't decide.

    The order of tasks and repetitions changes nothing; the sides swapped give the mirrored result.
    """
    differences = sorted((pair.difference for pair in pairs), key=lambda one: (abs(one), one))
    if not differences:
        return Difference()
    mean = _mean(differences)
    if len(differences) == 1:
        return Difference(mean=mean, tasks=1)
    half, (further_down, further_up) = _half_width(differences), _skewed(differences)
    p, is_exact = _test(pairs, differences, seed, flips) if len(differences) >= FEWEST_TASKS else (None, False)
    return Difference(
        mean=mean,
        low=max(-1.0, mean - half - further_down),
        high=min(1.0, mean + half + further_up),
        p=p,
        is_exact=is_exact,
        tasks=len(differences),
    )


def needed(pairs: Sequence[Pair]) -> Needed:
    """Reckon what it would take to tell a difference of the size seen.

    The variance of the mean difference is (between + within/n)/T: `between`, how much the tasks' true differences
    scatter, is left of the variance of those seen once the repetitions' part is taken off; `within` is the variance
    of a trial of A and one of B. n repetitions can only take off the second part.
    """
    if len(pairs) < 2:  # noqa: PLR2004 - one task has no scatter
        return Needed()
    differences = [pair.difference for pair in pairs]
    mean, tasks = _mean(differences), len(pairs)
    repetitions = 2 * tasks / fsum(1 / len(side) for pair in pairs for side in (pair.a, pair.b))
    within_a, within_b = _pooled([pair.a for pair in pairs]), _pooled([pair.b for pair in pairs])
    enough = None
    if within_a is not None and within_b is not None and tasks >= FEWEST_TASKS:
        # a task with one trial says nothing of its scatter: it is taken to be that of the others
        part = fsum(within_a / len(pair.a) + within_b / len(pair.b) for pair in pairs) / tasks
        between = max(0.0, _variance(differences) - part)
        # what is left for chance once room is made for tasks unlike those seen, which repetitions don't show
        unseen = _most_unseen(differences, tasks) / student_t(tasks - 1)
        allowed = tasks * ((mean / _told_errors(tasks)) ** 2 - unseen**2) - between
        enough = max(1, ceil((within_a + within_b) / allowed - ROUNDING)) if allowed > 0 else None
    return Needed(
        detectable=min(1.0, _detectable(differences, tasks)) if tasks >= FEWEST_TASKS else None,
        repetitions=enough,
        tasks=_tasks_needed(differences) if mean else None,
        at_repetitions=repetitions,
        is_scatter_known=within_a is not None and within_b is not None,
    )


def holm(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjust the p of several comparisons by Holm's method; those without a p are no comparisons."""
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (value, place) in enumerate(order):
        largest = max(largest, min(1.0, value * (len(order) - rank)))
        adjusted[place] = largest
    return tuple(adjusted)


def _half_width(differences: Sequence[float], tasks: int = 0) -> float:
    """Half the interval: Student's for the differences, widened where too few of them vary to tell how much they can.

    With `tasks`, for so many that are like these.
    """
    tasks = tasks or len(differences)
    square = student_t(tasks - 1) ** 2 * _variance(differences) / tasks
    return sqrt(square + _most_unseen(differences, tasks) ** 2)


def _most_unseen(differences: Sequence[float], tasks: int) -> float:
    # most are 0, or all are the same without being 0
    return max(_unseen(differences, tasks, centre) for centre in (0.0, median(differences)))


def _unseen(differences: Sequence[float], tasks: int, centre: float) -> float:
    """What to add for tasks to come that are not like these, most of which lie at `centre`."""
    away = [abs(one - centre) for one in differences]
    varying = fsum(min(1.0, one / NOTICEABLE) for one in away) * tasks / len(differences)
    unknown = max(0.0, 1.0 - varying / min(tasks - 1, ENOUGH_VARY))
    # the next one may lie as far away as others do, or, if hardly one does yet, as far as there is
    size = max(1.0 / (1.0 + varying), *away)
    # as far as Wilson's interval reaches for something that did not happen in any of so many tasks
    return unknown * size * Z * Z / (tasks + Z * Z)


def _skewed(differences: Sequence[float]) -> tuple[float, float]:
    """What to add to the lower and to the upper half: the true mean lies further out where a long tail does.

    Half of what Johnson's t for skewed values would shift the interval by, on that side alone: the whole of it, which
    takes off the other side as much, covers 89-94 % of few tasks.
    """
    tasks, mean, variance = len(differences), _mean(differences), _variance(differences)
    if variance < ROUNDING**2:
        return 0.0, 0.0
    error, t = sqrt(variance / tasks), student_t(tasks - 1)
    # of the sample: both moments divided by the number of tasks
    third = fsum((one - mean) ** 3 for one in differences) / tasks
    skewness = third / (variance * (tasks - 1) / tasks) ** 1.5
    shift = error * skewness * (1 + 2 * t * t) / (6 * sqrt(tasks))
    most = t * error / 2  # beyond it the correction of few tasks makes up more than they tell
    further = min(most, abs(shift)) / 2
    return (further, 0.0) if shift < 0 else (0.0, further)


def _test(pairs: Sequence[Pair], differences: Sequence[float], seed: int, flips: int) -> tuple[float, bool]:
    """The p, and whether all permutations were tried.

    Two models that are alike on each task might as well have had each other's scores. Of equally many trials a side the
    difference then has either sign as often. Of one trial against five it has not: where most trials score 1, the side
    with one seldom does worse, but then by far. So trials are dealt out anew there, and the larger p holds: turned signs
    also reckon with the tasks' being unlike in which side is better.
    """
    turned = _sign_flip_test(differences, seed, flips)
    if all(len(pair.a) == len(pair.b) for pair in pairs):
        return turned
    return max(turned, (_dealing_test(pairs, seed, flips), False))


def _dealing_test(pairs: Sequence[Pair], seed: int, flips: int) -> float:
    """How often each task's trials, dealt out to the sides at random, give a mean at least as far from 0."""
    import numpy as np  # noqa: PLC0415 - 0.1 s that only a comparison needs

    seen = fsum(pair.difference for pair in pairs)
    # the same draws for both orders of the sides, and for any order of the tasks
    sides = [(pair.a, pair.b) if seen > 0 else (pair.b, pair.a) for pair in pairs]
    tasks = sorted((tuple(sorted(worse + better)), len(better)) for worse, better in sides)
    source = np.random.default_rng(seed)
    deals = min(flips, max(FEWEST_DEALS, DRAWS // sum(len(set(scores)) for scores, _ in tasks)))
    sums = np.zeros(deals)
    for scores, dealt in tasks:
        values, counts = np.unique(scores, return_counts=True)
        rows = max(1, FLIPS_AT_ONCE // len(values))
        for start in range(0, deals, rows):
            part = sums[start : start + rows]
            of_better = source.multivariate_hypergeometric(counts, dealt, size=len(part)) @ values
            part += of_better / dealt - (fsum(scores) - of_better) / (len(scores) - dealt)
    extreme = int((abs(sums) >= abs(seen) - ROUNDING * len(tasks)).sum())
    return (extreme + 1) / (deals + 1)


def _sign_flip_test(differences: Sequence[float], seed: int, flips: int) -> tuple[float, bool]:
    """How often signs turned at random give a mean at least as far from 0, and whether all ways were tried."""
    sizes = [abs(one) for one in differences if one]  # sorted by size: the same draws for both orders of the sides
    if not sizes:
        return 1.0, True
    seen = abs(fsum(differences)) - ROUNDING * len(sizes)
    if len(sizes) <= EXACT_TASKS:
        sums = _all_sums(sizes)
        return float((abs(sums) >= seen).mean()), True
    extreme = _extreme_flips(sizes, seen, seed, flips)
    return (extreme + 1) / (flips + 1), False


def _all_sums(sizes: Sequence[float]) -> NDArray[float64]:
    """The sums of all sizes with either sign, the first always positive: the other half mirrors these."""
    import numpy as np  # noqa: PLC0415 - 0.1 s that only a comparison needs

    sums = np.array([sizes[0]])
    for size in sizes[1:]:
        sums = np.concatenate((sums + size, sums - size))
    return sums


def _extreme_flips(sizes: Sequence[float], seen: float, seed: int, flips: int) -> int:
    import numpy as np  # noqa: PLC0415 - as above

    source = np.random.default_rng(seed)
    values = np.array(sizes)
    rows = max(1, FLIPS_AT_ONCE // len(sizes))
    extreme = 0
    for start in range(0, flips, rows):
        signs = source.integers(0, 2, size=(min(rows, flips - start), len(sizes)), dtype=np.int8) * 2 - 1
        extreme += int((abs(signs @ values) >= seen).sum())
    return extreme


def _told_errors(tasks: int) -> float:
    """How many standard errors a difference must be for a power of 80 %: t for the test, and t for the power."""
    z = NormalDist().inv_cdf(POWER)
    freedom = tasks - 1
    return student_t(freedom) + z + (z**3 + z) / (4 * freedom)


def _detectable(differences: Sequence[float], tasks: int) -> float:
    """The smallest mean that so many tasks like these would tell, each with as many repetitions as now."""
    return _told_errors(tasks) * _half_width(differences, tasks) / student_t(tasks - 1)


def _tasks_needed(differences: Sequence[float]) -> int | None:
    """The fewest tasks that would tell the difference; None beyond reason."""
    size = abs(_mean(differences))
    numbers = range(FEWEST_TASKS, MOST_TASKS + 1)
    place = bisect_left(numbers, True, key=lambda tasks: _detectable(differences, tasks) <= size)
    return numbers[place] if place < len(numbers) else None


def _pooled(tasks: Sequence[Sequence[float]]) -> float | None:
    """The variance of a trial within its task, over the tasks that were repeated; None if none was."""
    repeated = [scores for scores in tasks if len(scores) > 1]
    freedom = sum(len(scores) - 1 for scores in repeated)
    return fsum(_variance(scores) * (len(scores) - 1) for scores in repeated) / freedom if freedom else None


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1)

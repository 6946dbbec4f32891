"""Compute means, intervals and pass rates of scores, and the shares of events in trials (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, fsum, sqrt
from statistics import NormalDist
from typing import Annotated

import msgspec

from pinchbench.decoding import doc
from pinchbench.defaults import FailureEvent
from pinchbench.results.bootstrap import deviations_of_means, standard_deviation

Scores = Mapping[str, Sequence[float]] | Sequence[Sequence[float]]  # by task, the scores of its repetitions

RESAMPLES = 2000  # estimates the standard error within 1.6%: a seventh of the uncertainty that 40 tasks leave
SEED = 20_250_601  # arbitrary but fixed: the same scores give the same interval
MOST_TRIALS = 10_000  # to resample, which takes 0.3 ms a trial; of more, the error is what resampling comes close to

CONFIDENCE = 0.95
Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
T_OF_FEW = (12.706204736, 4.302652730, 3.182446305, 2.776445105)  # Student's t for 1 to 4 degrees of freedom

ROUNDING = 1e-9  # scores that differ by less are equal: a mean of points may come out as 0.7999999999999999
FIRST_KS = 5
FRACTION = "in 0-1"


class ScoreSummary(msgspec.Struct, frozen=True, kw_only=True, rename={"minimum": "min", "maximum": "max"}):
    """The scores of one task's trials."""

    n: Annotated[int, doc("trials with a score")]
    mean: Annotated[float | None, doc(FRACTION)]
    sd: Annotated[float | None, doc("sample standard deviation (n - 1); null for fewer than two")]
    minimum: Annotated[float | None, doc(FRACTION)]
    maximum: Annotated[float | None, doc(FRACTION)]


def is_passed(score: float, threshold: float) -> bool:
    """Whether a score reaches the threshold; sums that differ from it only by rounding do."""
    return score >= threshold - ROUNDING


def summarise(values: Sequence[float]) -> ScoreSummary:
    """Summarise values. Sums are exactly rounded: the order makes no difference, and equal values have an sd of 0."""
    if not values:
        return ScoreSummary(n=0, mean=None, sd=None, minimum=None, maximum=None)
    mean = mean_of(values)
    sd = sqrt(variance_of(values, mean)) if len(values) > 1 else None
    return ScoreSummary(n=len(values), mean=mean, sd=sd, minimum=min(values), maximum=max(values))


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean of task means, its 95% interval, and the number of `tasks` and `trials` it is based on.

    All in 0-1, `low <= mean <= high`. `mean` is None if there is no score, the interval also if there is only one.
    """

    mean: float | None
    low: float | None
    high: float | None
    tasks: int
    trials: int


def estimate(scores_by_task: Scores, *, resampled: bool = True) -> Estimate:
    """Estimate the mean score over the population of tasks: each task has the same weight, however often it was run.

    The interval is for the mean over all the tasks these might have been drawn from, so more repetitions narrow it only
    so far; for a single task it is for the mean over its repetitions. Tasks without scores are excluded. The order of
    tasks and of repetitions makes no difference. Not `resampled`, the error is the one that resampling comes close to:
    within 2%, at once. Raises ValueError for a score outside 0-1.

    Method: the two-level bootstrap (tasks, then repetitions within each) gives the standard error of the mean; the
    bounds are those of Wilson's interval for as many yes-or-no trials as would have that error (the effective sample
    size of Korn and Graubard), with Student's t since few tasks estimate the error badly. If scores hardly differ, the
    interval widens to that of equal scores, which is Wilson's for that many trials. docs/explanation/methods.md says
    how often it contains the true mean, and why it is not a bootstrap's percentiles.
    """
    tasks = _in_order(scores_by_task)
    trials = sum(map(len, tasks))
    if not tasks:
        return Estimate(mean=None, low=None, high=None, tasks=0, trials=0)
    mean = mean_of([mean_of(task) for task in tasks])
    units = tasks if len(tasks) > 1 else [(score,) for score in tasks[0]]
    if len(units) == 1:
        return Estimate(mean=mean, low=None, high=None, tasks=1, trials=trials)
    error = standard_error(tuple(units), resampled=resampled)
    low, high = _interval(mean, error, len(units))
    return Estimate(mean=mean, low=low, high=high, tasks=len(tasks), trials=trials)


@lru_cache(maxsize=256)  # several means of a result are over the same scores
def standard_error(tasks: tuple[tuple[float, ...], ...], *, resampled: bool = True) -> float:
    """Bootstrap the standard error of the mean of two or more tasks' means: tasks, then repetitions within them.

    Plain resampling would be biased twice: draws from n values have (n - 1)/n of their variance, and the tasks' means
    already vary by their repetitions, so that resampling those too counts this part twice. So the deviations are
    rescaled first (as Rao and Wu do for samples in two stages): those of the task means to the variance without the
    repetitions' part, those within a task by m/(m - 1).
    """
    means = [mean_of(task) for task in tasks]
    mean = mean_of(means)
    within = fsum(variance_of(task, own) / len(task) for task, own in zip(tasks, means, strict=True) if len(task) > 1)
    total, count = variance_of(means, mean), len(tasks)
    if not resampled or sum(map(len, tasks)) > MOST_TRIALS:
        return sqrt(max(total, within / count) / count)
    between = max(0.0, total - within / count)
    pull = sqrt(between / total * count / (count - 1)) if total else 0.0
    repeated = {
        index: [sqrt(len(task) / (len(task) - 1)) * (score - own) for score in task]
        for index, (task, own) in enumerate(zip(tasks, means, strict=True))
        if task[0] != task[-1]  # scores are sorted
    }
    return standard_deviation(deviations_of_means([pull * (own - mean) for own in means], repeated, RESAMPLES))


def student_t(freedom: int) -> float:
    """Return the two-sided 95% point of Student's t, within 0.0003: Fisher's expansion from 5 degrees of freedom on."""
    if freedom <= len(T_OF_FEW):
        return T_OF_FEW[freedom - 1]
    z2 = Z * Z
    terms = (
        (1 + z2) / 4,
        (3 + z2 * (16 + z2 * 5)) / 96,
        (-15 + z2 * (17 + z2 * (19 + z2 * 3))) / 384,
        (-945 + z2 * (-1920 + z2 * (1482 + z2 * (776 + z2 * 79)))) / 92160,
    )
    return Z * (1.0 + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1)))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased probability that at least one of `k` trials passes, given `c` of `n` did; 1 <= k <= n."""
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)  # rounded once: never below pass^k


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the unbiased probability that all of `k` trials pass, given `c` of `n` did; 1 <= k <= n."""
    return comb(c, k) / comb(n, k)


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often trials pass, as a mean over tasks. Null if no task has k trials with a score."""

    pass_at_k: Annotated[float | None, doc("one of k trials passes, in 0-1")]
    pass_hat_k: Annotated[float | None, doc("all of k trials pass, in 0-1")]
    tasks: Annotated[int, doc("tasks with k trials with a score")]


def pass_rates(scores_by_task: Scores, *, threshold: float, ks: Iterable[int]) -> dict[int, PassRate]:
    """Return how often a task is passed in k trials, for each k: a score passes from the threshold on."""
    needed = threshold - ROUNDING
    passed = [(len(task), sum(score >= needed for score in task)) for task in _in_order(scores_by_task)]
    return {k: _pass_rate(passed, k) for k in ks}


def pass_ks(runs: int) -> tuple[int, ...]:
    """Return the useful k for pass rates with `runs` runs a task: 1 to 5, then powers of two, and `runs` itself."""
    return tuple(k for k in range(1, runs + 1) if k <= FIRST_KS or k == runs or k.bit_count() == 1)


def _pass_rate(passed: Sequence[tuple[int, int]], k: int) -> PassRate:
    enough = [(n, c) for n, c in passed if n >= k]
    return PassRate(
        pass_at_k=mean_of([pass_at_k(n, c, k) for n, c in enough]) if enough else None,
        pass_hat_k=mean_of([pass_hat_k(n, c, k) for n, c in enough]) if enough else None,
        tasks=len(enough),
    )


def _in_order(scores_by_task: Scores) -> list[tuple[float, ...]]:
    """Return the tasks that have scores, each sorted and all sorted: a fixed seed then draws the same in any order."""
    tasks = scores_by_task.values() if isinstance(scores_by_task, Mapping) else scores_by_task
    for task in tasks:
        for score in task:
            if not 0.0 <= score <= 1.0:  # also rejects NaN
                raise ValueError(f"a score of {score} is not in 0-1")
    return sorted(tuple(sorted(task)) for task in tasks if len(task))


def mean_of(values: Sequence[float]) -> float:
    """Divide the exact sum; rounding must not move the mean outside the values, as it would for three 0.1."""
    return min(max(fsum(values) / len(values), min(values)), max(values))


def variance_of(values: Sequence[float], mean: float | None = None) -> float:
    """Return the variance of a sample of two values at least; `mean` is theirs, where it is known."""
    centre = mean_of(values) if mean is None else mean
    return fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def _interval(mean: float, error: float, units: int) -> tuple[float, float]:
    """Return the bounds: the outermost true means x that are at most t standard errors away from this mean.

    The error is assumed to shrink towards 0 and 1 as that of a proportion does: `(mean - x)² = share · x · (1 - x)`.
    """
    spread = mean * (1.0 - mean)
    # No scores in 0-1 vary more than those that are 0 or 1, so that is the limit. It must also be assumed if all are
    # equal: six times 1.0 does not prove that the seventh will be, but a bootstrap would claim so.
    share = most = Z**2 / units
    if spread > 0.0:
        # Neither do five times 1.0 and one 0.999: scores that hardly differ give as little information about unseen
        # ones. `least` is the squared error, as a fraction of `spread`, of equal scores and one more that varies as
        # much as scores can. The smaller an error below it, the less weight it has: a last digit never decides between
        # two intervals.
        relative, least = error**2 / spread, 1.0 / (units * (units + 1))
        share = min(most, student_t(units - 1) ** 2 * max(relative, least))
        if relative < least:
            share += (most - share) * (1.0 - sqrt(relative / least))
    half = sqrt(share * spread + share**2 / 4)
    low, high = ((mean + share / 2 + end) / (1.0 + share) for end in (-half, half))
    return max(0.0, min(low, mean)), min(1.0, max(high, mean))


@dataclass(frozen=True, kw_only=True, slots=True)
class EventTotal:
    """How often one kind of event happened, `n` of `of` times in `trials` that had an occasion for it.

    `low` and `high` bound the true share, in 0-1, with 95%.
    """

    n: int
    of: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """`n` of `of`, in 0-1."""
        return self.n / self.of


def failure_sheet(trials: Iterable[Mapping[FailureEvent, tuple[int, int]]]) -> dict[FailureEvent, EventTotal]:
    """Add up the events of trials; an event for which none of them had an occasion is left out."""
    every = list(trials)
    counts = {event: [one[event] for one in every if event in one and one[event][1]] for event in FailureEvent}
    return {event: _total(some) for event, some in counts.items() if some}


def _total(counts: Sequence[tuple[int, int]]) -> EventTotal:
    """Add up one event, with Wilson's interval for as many independent occasions as would have the same error.

    Occasions in one trial are alike: an agent that lies once lies again. So the error is that of a ratio over trials,
    and where all trials agree, which shows no error, only trials are counted as independent.
    """
    n, of, trials = sum(one for one, _ in counts), sum(out_of for _, out_of in counts), len(counts)
    share = n / of
    independent, z = float(trials), Z
    if trials > 1 and 0 < n < of:
        squares = sum((one - share * out_of) ** 2 for one, out_of in counts)
        variance = squares * trials / (trials - 1) / of**2
        if variance:
            independent, z = min(float(of), share * (1 - share) / variance), student_t(trials - 1)
    scale = 1 + z**2 / independent
    middle = (share + z**2 / (2 * independent)) / scale
    half = z * sqrt(share * (1 - share) / independent + z**2 / (4 * independent**2)) / scale
    return EventTotal(
        n=n, of=of, trials=trials, low=min(share, max(0.0, middle - half)), high=max(share, min(1.0, middle + half))
    )

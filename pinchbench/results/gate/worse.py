"""Test whether scores are worse than a baseline's on the same tasks (pure)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from math import fsum, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from pinchbench.defaults import MAX_RUNS
from pinchbench.results.compare.paired_difference import (
    ALPHA,
    FLIPS,
    POWER,
    Difference,
    Pair,
    dealing_test,
    most_unseen,
    pooled_variance,
)
from pinchbench.results.gate.gate_record import GateVerdict
from pinchbench.results.statistics import ROUNDING, Z, mean_of, student_t, variance_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.results.gate.baseline_file import Stability

Z_ONE_SIDED = NormalDist().inv_cdf(1 - ALPHA)
Z_POWER = NormalDist().inv_cdf(POWER)
ENOUGH_FREEDOM = 5  # degrees, from which on the repetitions of a run tell its variance


@dataclass(frozen=True, kw_only=True, slots=True)
class GateEvidence:
    """What the scores say about a run B and its baseline A.

    Attributes:
        difference: the mean of B - A over the stable tasks, each with the same weight; its 95% interval, None if one
            trial leaves the variance unknown; and the p of a one-sided test of B being worse.
        trials: of B, on those tasks.
        repetitions: of each task in B, on average.
        needed: the repetitions of each task in A and B that would decide with a power of 80%, if the true difference is
            the observed one; None if even `MAX_RUNS` would not, or nothing is known about the variance.
    """

    difference: Difference = field(default_factory=Difference)
    trials: int = 0
    repetitions: int = 0
    needed: int | None = None


def verdict_of(difference: Difference, *, margin: float) -> GateVerdict:
    """Decide by the evidence.

    PASSED if the interval excludes a loss of more than `margin`; FAILED if it does not and the test says that B is
    worse. So runs that do not differ fail in at most 5% of cases, whatever the margin, and a real loss that is shown
    to be smaller than the margin does not fail.
    """
    if difference.mean is None:
        return GateVerdict.NOT_APPLICABLE
    if difference.low is not None and difference.low >= -margin - ROUNDING:
        return GateVerdict.PASSED
    if difference.p is not None and difference.p <= ALPHA and difference.mean < 0:
        return GateVerdict.FAILED
    return GateVerdict.CANNOT_TELL


def weigh(pairs: Sequence[Pair], *, stability: Stability | None, margin: float, deals: int = FLIPS) -> GateEvidence:
    """Weigh the evidence of tasks with scores on both sides, A being the baseline; tasks that are not stable as well.

    The tasks are fixed: both runs have the same ones, and the question is whether these came out worse. So only the
    repetitions are random, unlike in `compare`, which is about all tasks like these.

    The test deals the trials of each task to the two sides anew. It is exact whatever the scores and the numbers of
    repetitions. Stable tasks are those with equal scores *in the baseline*: some of them by luck, and the next run of
    the same model scores lower there. So each deal decides anew which tasks are stable, by the same rule; a task that
    is not stable as observed counts only in this way.
    """
    stable = [pair for pair in pairs if stability is None or stability.quarantine(pair.a) is None]
    if not stable:
        return GateEvidence()
    mean = mean_of([pair.difference for pair in stable])
    trials = sum(len(pair.b) for pair in stable)
    p = _dealing_test(pairs, stable, stability, deals)
    evidence = GateEvidence(
        difference=Difference(mean=mean, p=p, tasks=len(stable)),
        trials=trials,
        repetitions=max(1, round(trials / len(stable))),
    )
    noise = _Noise.of(stable)
    if noise is None:
        return evidence
    half = noise.half_width()
    difference = replace(evidence.difference, low=max(-1.0, mean - half), high=min(1.0, mean + half))
    numbers = range(evidence.repetitions + 1, MAX_RUNS + 1)
    place = bisect_left(numbers, True, key=lambda number: noise.tells(mean, margin, repetitions=number))
    return replace(evidence, difference=difference, needed=numbers[place] if place < len(numbers) else None)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Noise:
    """How much the mean difference varies: by the variance of a trial, and by low scores that have not occurred yet.

    `shares` are the means of 1/n over the tasks of A and of B, `apart` the differences of B's trials from A's means.
    """

    tasks: int
    variance: float
    freedom: int
    shares: tuple[float, float]
    apart: Sequence[float]
    fewest: int

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> _Noise | None:
        """Return None if nothing is known about the variance."""
        tasks = len(pairs)
        shares = (fsum(1 / len(pair.a) for pair in pairs) / tasks, fsum(1 / len(pair.b) for pair in pairs) / tasks)
        freedom = sum(len(pair.b) - 1 for pair in pairs)
        if freedom >= ENOUGH_FREEDOM or (freedom and tasks == 1):
            # that of a baseline's stable tasks is too small, as they were chosen for it
            of_a, of_b = pooled_variance([pair.a for pair in pairs]), pooled_variance([pair.b for pair in pairs])
            variance = max(of_a or 0.0, of_b or 0.0)
        elif tasks > 1:
            # the tasks' differences vary by as much, or more if some tasks became better and others worse
            differences = [pair.difference for pair in pairs]
            freedom = tasks - 1
            variance = variance_of(differences) / sum(shares)
        else:
            return None
        apart = [score - mean_of(pair.a) for pair in pairs for score in pair.b]
        fewest = min(sum(len(pair.a) for pair in pairs), len(apart))
        return cls(tasks=tasks, variance=variance, freedom=freedom, shares=shares, apart=apart, fewest=fewest)

    def half_width(self) -> float:
        """Return half the width of the 95% interval."""
        return sqrt((student_t(self.freedom) * self._error(self.shares)) ** 2 + self._unseen(self.fewest) ** 2)

    def tells(self, mean: float, margin: float, *, repetitions: int) -> bool:
        """Whether a verdict can be expected, with a power of 80%, if B has these repetitions and A at least as many."""
        a, b = min(self.shares[0], 1 / repetitions), 1 / repetitions
        error, unseen = self._error((a, b)), self._unseen(round(self.tasks / max(a, b)))
        is_as_good = sqrt((Z * error) ** 2 + unseen**2) + Z_POWER * error <= margin + mean
        return is_as_good or (mean < 0 and (Z_ONE_SIDED + Z_POWER) * error <= -mean)

    def _error(self, shares: tuple[float, float]) -> float:
        return sqrt(self.variance * sum(shares) / self.tasks)

    def _unseen(self, trials: int) -> float:
        return most_unseen(self.apart, max(2, trials))


def _dealing_test(pairs: Sequence[Pair], stable: Sequence[Pair], stability: Stability | None, deals: int) -> float:
    """Return how often a random assignment of each task's trials to the sides makes B as bad as it is, or worse."""

    def apart(a: Sequence[float], b: Sequence[float]) -> float:
        is_stable = stability is None or max(a) - min(a) <= stability.max_spread + ROUNDING
        return mean_of(b) - mean_of(a) if is_stable else 0.0

    seen = fsum(pair.difference for pair in stable) + ROUNDING * len(pairs)
    # tasks with too few trials are never stable
    tasks = [(pair.a, pair.b) for pair in pairs if stability is None or len(pair.a) >= stability.min_trials]
    return dealing_test(tasks, apart, lambda one: one <= seen, deals=deals)

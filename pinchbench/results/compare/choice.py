"""What a model is chosen by: ranks that the data support, and a solved task's price in money and time (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb
from statistics import median, quantiles
from typing import TYPE_CHECKING

from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.model.usage import Usage
from pinchbench.results.compare.comparison import Conclusion, pair_tasks, split_by_suite, unlike_settings, verdict_of
from pinchbench.results.compare.paired_difference import (
    FLIPS,
    Difference,
    Pair,
    RequiredSamples,
    adjusted_in_steps,
    difference_of,
    needed,
)
from pinchbench.results.compare.verdict import UNPAIRED, SequentialComparison, SequentialVerdict
from pinchbench.results.statistics import ROUNDING, Estimate, PassRate, estimate, is_passed, pass_rates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pinchbench.results.compare.samples import LeftOut, Sample


METHOD = (
    "Two models that share a rank can't be distinguished. Every two are compared by a permutation test of their paired"
    " differences, whose p is adjusted for the number of pairs by Shaffer's refinement of Holm's method; the 95%"
    " interval must exclude 0, too. Models that are equal get separate ranks in at most 5 of 100 experiments."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """Side `b` compared with side `a`, by their places.

    `is_decided`: the data show which one is better. `p` is adjusted for the number of pairs; it and `needed` are None
    in an experiment that ended when it was decided.
    """

    a: int
    b: int
    difference: Difference
    is_decided: bool
    p: float | None = None
    needed: RequiredSamples | None = None


def contrasts_of(sides: Sequence[Sequence[tuple[float, ...]]], *, flips: int = FLIPS) -> tuple[Contrast, ...]:
    """Compare every two sides, each given as the scores of the trials of the same tasks."""
    places = list(combinations(range(len(sides)), 2))
    pairs = [[Pair(a=a, b=b) for a, b in zip(sides[one], sides[other], strict=True)] for one, other in places]
    found = [difference_of(pair, flips=flips) for pair in pairs]
    adjusted = adjusted_in_steps([one.p for one in found], _most_equal_pairs(len(sides)))
    return tuple(
        Contrast(
            a=a,
            b=b,
            difference=difference,
            is_decided=verdict_of(difference, p) in (Conclusion.A_BETTER, Conclusion.B_BETTER),
            p=p,
            needed=needed(pair),
        )
        for (a, b), difference, p, pair in zip(places, found, adjusted, pairs, strict=True)
    )


def contrasts_by_intervals(baseline: int, against: Mapping[int, SequentialComparison]) -> tuple[Contrast, ...]:
    """Compare every two sides of an experiment that ended when it was decided, by their comparisons with the baseline.

    Two others are distinguished if their differences to the baseline, whose intervals hold all at once, can't be equal.
    """
    spans = {place: (one.mean or 0.0, one.low, one.high) for place, one in against.items()} | {
        baseline: (0.0, 0.0, 0.0)
    }
    contrasts = []
    for a, b in combinations(sorted(spans), 2):
        (mean_a, low_a, high_a), (mean_b, low_b, high_b) = spans[a], spans[b]
        difference = Difference(mean=mean_b - mean_a, low=low_b - high_a, high=high_b - low_a)
        verdicts = [against[place].verdict for place in (a, b) if place != baseline]
        is_decided = high_b < low_a or high_a < low_b
        if len(verdicts) == 1:
            is_decided = verdicts[0] in (SequentialVerdict.BETTER, SequentialVerdict.WORSE)
        contrasts.append(Contrast(a=a, b=b, difference=difference, is_decided=is_decided))
    return tuple(contrasts)


def _most_equal_pairs(sides: int) -> list[int]:
    """Return how many pairs can be equal at most if 0, 1, 2 … pairs are known to differ.

    If A equals B and B equals C, A equals C as well: the equal pairs are those within groups of equal sides. So the
    first pair of three that differs leaves one equal pair at most, not two (Shaffer 1986, Modified sequentially
    rejective multiple test procedures, Journal of the American Statistical Association 81).
    """
    possible: list[set[int]] = [{0}]
    for number in range(1, sides + 1):
        possible.append({comb(own, 2) + more for own in range(1, number + 1) for more in possible[number - own]})
    pairs = comb(sides, 2)
    return [max(one for one in possible[sides] if one <= pairs - known) for known in range(pairs)]


def ranks_of(sides: int, apart: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return the ranks of each side, from 1 on; sides are numbered from the best to the worst.

    A rank is a largest group in which no two are `apart`, so two sides share a rank exactly if they are not apart; one
    between two groups has the ranks of both (the letters of Piepho 2004, An algorithm for a letter-based representation
    of all-pairwise comparisons, Journal of Computational and Graphical Statistics 13).
    """
    groups = {frozenset(range(sides))}
    for pair in map(frozenset, apart):
        split = {group - {one} for group in groups if pair <= group for one in pair}
        split |= {group for group in groups if not pair <= group}
        groups = {group for group in split if not any(group < other for other in split)}
    ordered = sorted(map(sorted, groups))
    return tuple(tuple(rank for rank, group in enumerate(ordered, 1) if side in group) for side in range(sides))


# Settings that decide how hard the tasks are or how they are graded: scores under different ones rank no models.
SAME_FOR_ALL = re.compile(
    "suite|form|OpenClaw release|timeout multiplier|retries of timeouts|judge|user's model|skills|workspace files"
)
TENTHS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A model on the tasks of the choice.

    Attributes:
        ranks: from 1 on; several if it is between two groups, none where nothing is ranked.
        k: the largest number of trials that all tasks have, and `passed` how often all of k trials of a task pass.
        solved: the trials that pass.
        left_out: the trials without a score, of all `planned` ones, also in tasks that do not count.
        usage: what the agents used in all valid trials, graded or not; `times_s` is the agents' time in each.
    """

    side: Sample
    ranks: tuple[int, ...] = ()
    score: Estimate
    k: int
    passed: PassRate
    solved: int
    usage: Usage
    times_s: tuple[float, ...]
    timed_out: int
    left_out: LeftOut
    planned: int

    @property
    def label(self) -> str:
        """Its name."""
        return self.side.label

    @property
    def cost_per_solved_usd(self) -> float | None:
        """What all its trials cost for each that passes; None if no price is known, or none passes."""
        cost = self.usage.known_cost_usd
        return None if cost is None or not self.solved else cost / self.solved

    @property
    def median_s(self) -> float | None:
        """The agent's time that half of the trials take at most; None without a trial."""
        return median(self.times_s) if self.times_s else None

    @property
    def ninth_decile_s(self) -> float | None:
        """The agent's time that nine of ten trials take at most; None without a trial."""
        if len(self.times_s) < 2:  # noqa: PLR2004 - one is its own decile
            return self.median_s
        return quantiles(self.times_s, n=TENTHS, method="inclusive")[-1]

    @property
    def tokens(self) -> int | None:
        """The tokens of a trial, on average; None if none are known."""
        return round(self.usage.total_tokens / len(self.times_s)) if self.usage.has_tokens else None

    @property
    def cached(self) -> float | None:
        """The part of the prompts' tokens, in 0-1, that came from the provider's cache; None if none are known."""
        prompt = self.usage.prompt_tokens
        return self.usage.cache_read_tokens / prompt if prompt else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Models to choose from.

    Attributes:
        candidates: the best first; in the given order where nothing is ranked.
        contrasts: every two of them, by their places; none where nothing is ranked.
        is_sequential: whether the contrasts are those of an experiment that ended when it was decided.
        margin: the difference of scores that does not matter.
        tasks: the tasks for which all have a score; only these count.
        unpaired: why each other task is left out.
        refused: why nothing is ranked; else empty.
        threshold: the score, in 0-1, from which on a trial passes: that of the first side.
    """

    candidates: tuple[Candidate, ...]
    contrasts: tuple[Contrast, ...] = ()
    is_sequential: bool = False
    margin: float = DEFAULT_MARGIN
    tasks: int = 0
    unpaired: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    threshold: float

    @property
    def best(self) -> tuple[Candidate, ...]:
        """The candidates that none is shown to be better than."""
        beaten = {one.b for one in self.contrasts if one.is_decided}
        return tuple(one for place, one in enumerate(self.candidates) if place not in beaten)

    @property
    def within_margin(self) -> tuple[Candidate, ...]:
        """The candidates whose mean score is within the margin of the highest."""
        first, *_ = (one.score.mean or 0.0 for one in self.candidates)
        least = first - self.margin - ROUNDING
        return tuple(one for one in self.candidates if one.score.mean is not None and one.score.mean >= least)

    def against_first(self, candidate: Candidate) -> Contrast | None:
        """Return the contrast of a candidate with the first; None if it is the first, or nothing is ranked."""
        place = self.candidates.index(candidate)
        return next((one for one in self.contrasts if (one.a, one.b) == (0, place)), None)


def choice_of(
    sides: Sequence[Sample],
    *,
    sequential: Sequence[SequentialComparison] = (),
    margin: float = DEFAULT_MARGIN,
    may_differ: Collection[str] = (),
) -> Choice:
    """Rank the sides, of which there must be one, on the tasks for which all have a score in the same version.

    `sequential` are the comparisons of an experiment that ended when it was decided, with the first side; they take the
    place of the tests. `may_differ` are settings in which the sides may differ, as they are what is chosen.
    """
    first, *others = sides
    unpaired = {
        task_id: UNPAIRED[why].format(a=first.label, b=other.label)
        for other in others
        for task_id, why in pair_tasks(first, other)[1].items()
    }
    common = [task_id for task_id, task in first.tasks.items() if task_id not in unpaired and task.scores]
    refused = _why_not(sides, may_differ)
    if not refused and not common:
        refused = "Nothing is ranked: there is no task for which all have a score in the same version."
    if refused:
        return Choice(candidates=_candidates(sides), margin=margin, refused=refused, threshold=first.threshold)
    candidates = _candidates(sides, common)
    against = {one.variant: one for one in sequential}

    def worth(candidate: Candidate) -> float:
        if not sequential:
            return candidate.score.mean or 0.0
        return (against[candidate.label].mean or 0.0) if candidate.label in against else 0.0

    ordered = sorted(candidates, key=worth, reverse=True)
    if sequential:
        placed = {place: against[one.label] for place, one in enumerate(ordered) if one.label in against}
        contrasts = contrasts_by_intervals(ordered.index(candidates[0]), placed)
    else:
        contrasts = contrasts_of([[one.side.tasks[name].scores for name in common] for one in ordered])
    ranks = ranks_of(len(ordered), [(one.a, one.b) for one in contrasts if one.is_decided])
    return Choice(
        candidates=tuple(replace(one, ranks=own) for one, own in zip(ordered, ranks, strict=True)),
        contrasts=contrasts,
        is_sequential=bool(sequential),
        margin=margin,
        tasks=len(common),
        unpaired=unpaired,
        threshold=first.threshold,
    )


def _why_not(sides: Sequence[Sample], may_differ: Collection[str]) -> str:
    """Return why the scores of the sides rank no models; empty if they do."""
    first, *others = sides
    if not others:
        return "Nothing is ranked: there is only one."
    if len(suites := split_by_suite(sides)) > 1:
        return f"Nothing is ranked: scores of several suites ({', '.join(suites)}) mean different things."
    for other in others:
        for one in unlike_settings(first, other):
            if SAME_FOR_ALL.fullmatch(one.setting) and one.setting not in may_differ:
                return (
                    f"Nothing is ranked: {first.label} and {other.label} differ in {one.setting}"
                    f" ({one.a}; {one.b}), so their scores measure different things. Name runs that are alike in it."
                )
    return ""


def _candidates(sides: Sequence[Sample], common: Collection[str] | None = None) -> tuple[Candidate, ...]:
    """Return what is known of each side on common tasks, with the largest k that all of them have trials for."""
    counting = [
        side if common is None else replace(side, tasks={name: side.tasks[name] for name in common}) for side in sides
    ]
    k = min((len(task.scores) for side in counting for task in side.tasks.values()), default=0)
    return tuple(
        _candidate(side, max(1, k), sides[0].threshold, whole) for side, whole in zip(counting, sides, strict=True)
    )


def _candidate(side: Sample, k: int, threshold: float, whole: Sample) -> Candidate:
    tasks = side.tasks.values()
    scores = [task.scores for task in tasks]
    valid = [outcome for task in tasks for outcome in task.valid]
    return Candidate(
        side=side,
        score=estimate(scores),
        k=k,
        passed=pass_rates(scores, threshold=threshold, ks=(k,))[k],
        solved=sum(is_passed(score, threshold) for task in scores for score in task),
        usage=sum((one.usage for one in valid), Usage()),
        times_s=tuple(one.execution_time_s for one in valid),
        timed_out=sum(one.timed_out for one in valid),
        left_out=whole.left_out,
        planned=sum(len(task.scores) for task in whole.tasks.values()) + whole.left_out.total,
    )

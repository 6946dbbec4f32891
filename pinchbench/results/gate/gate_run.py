"""Apply a gate to a finished run: test whether its scores are worse than a baseline's on the same tasks (pure)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from math import fsum, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench.defaults import MAX_RUNS
from pinchbench.results.compare.comparison import pair_tasks, unlike_settings
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
from pinchbench.results.compare.samples import Sample, side_of
from pinchbench.results.compare.verdict import UNPAIRED, describe_difference, describe_p
from pinchbench.results.gate.gate_record import BaselineVerdict, GateRecord, GateVerdict, RuleVerdict, counted
from pinchbench.results.result_json import JournalEnd
from pinchbench.results.statistics import ROUNDING, Z, mean_of, student_t, variance_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.gate.baseline_file import Stability

Z_ONE_SIDED = NormalDist().inv_cdf(1 - ALPHA)
Z_POWER = NormalDist().inv_cdf(POWER)
PART_OF_IT = "The gate can't be applied: the run is part of the baseline, and a run can't be compared with itself."
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
    difference, repetitions = Difference(mean=mean, p=p, tasks=len(stable)), max(1, round(trials / len(stable)))
    evidence = GateEvidence(difference=difference, trials=trials, repetitions=repetitions)
    noise = _Noise.of(stable)
    if noise is None:
        return evidence
    half = noise.half_width()
    difference = replace(difference, low=max(-1.0, mean - half), high=min(1.0, mean + half))
    numbers = range(repetitions + 1, MAX_RUNS + 1)
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


SEVEREST_FIRST = (GateVerdict.FAILED, GateVerdict.NOT_APPLICABLE, GateVerdict.CANNOT_TELL, GateVerdict.PASSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """When a run fails: with a score below `least_score` (0-1), or if it is worse than the baseline; one is given.

    `margin`, in 0-1, is the loss that does not matter. `name`, `baseline` and `stability` are the baseline's name, its
    scores as they were when the run began, and its rule of stability.
    """

    least_score: float | None
    margin: float
    name: str = ""
    baseline: Sample | None = None
    stability: Stability | None = None

    def judge(self, run: PastRun, *, is_complete: bool) -> GateRecord:
        """Apply the gate to a run, of which some trials may not count (pure)."""
        verdicts = []
        compared = None
        if self.least_score is not None:
            verdicts.append(_judge_score(run.data.score.mean, self.least_score))
        if self.baseline is not None:
            compared, verdict = self._compare(self.baseline, side_of([run]))
            verdicts.append(verdict)
        return GateRecord(
            verdict=min((one.verdict for one in verdicts), key=SEVEREST_FIRST.index),
            is_complete=is_complete,
            rules=tuple(verdicts),
            baseline=compared,
            journal=JournalEnd(records=0, digest="") if run.data.journal is UNSET else run.data.journal,
        )

    def _compare(self, a: Sample, b: Sample) -> tuple[BaselineVerdict, RuleVerdict]:
        margin = self.margin
        paired, unpaired = pair_tasks(a, b)
        pairs = [Pair(a=task.a.scores, b=task.b.scores) for task in paired]
        quarantined = {
            task_id: why.reason
            for task_id, task in a.tasks.items()
            if self.stability is not None and (why := self.stability.quarantine(task.scores)) is not None
        }
        is_itself = not set(a.runs).isdisjoint(b.runs)
        evidence = GateEvidence() if is_itself else weigh(pairs, stability=self.stability, margin=margin)
        difference = evidence.difference
        whys = {name: UNPAIRED[why].format(a="the baseline", b="this run") for name, why in unpaired.items()}
        verdict = verdict_of(difference, margin=margin)
        compared = BaselineVerdict(
            name=self.name,
            model=a.model,
            margin=margin,
            mean=difference.mean,
            low=difference.low,
            high=difference.high,
            p=difference.p,
            tasks=difference.tasks,
            trials=evidence.trials,
            repetitions_needed=evidence.needed,
            quarantined={name: why for name, why in quarantined.items() if name in b.tasks},
            unpaired={name: why for name, why in whys.items() if name not in quarantined},
            warnings=tuple(_warnings(a, b)),
        )
        sentence = PART_OF_IT if is_itself else _sentence(verdict, evidence, margin)
        return compared, RuleVerdict(rule="worse", verdict=verdict, sentence=sentence)


def _judge_score(mean: float | None, least: float) -> RuleVerdict:
    if mean is None:
        verdict, sentence = GateVerdict.NOT_APPLICABLE, "The gate can't be applied: no trial has a score."
    elif mean < least - ROUNDING:
        verdict, sentence = GateVerdict.FAILED, f"The score {_below(mean, least)} is below {least:g}."
    else:
        verdict, sentence = GateVerdict.PASSED, f"The score {mean:.3f} is not below {least:g}."
    return RuleVerdict(rule=f"score<{least:g}", verdict=verdict, sentence=sentence)


def _below(mean: float, least: float) -> str:
    """Format a mean with as many digits as show that it is below."""
    return next(text for digits in range(3, 18) if float(text := f"{mean:.{digits}f}") < least)


def _sentence(verdict: GateVerdict, evidence: GateEvidence, margin: float) -> str:
    found = evidence.difference
    count = f"{counted(found.tasks, 'task')}, {counted(evidence.trials, 'trial')}"
    facts = f"the difference is {describe_difference(found)}, {describe_p(found.p)}, over {count}"
    match verdict:
        case GateVerdict.NOT_APPLICABLE:
            return (
                "The gate can't be applied: no stable task of the baseline has a score on both sides in the same"
                " version. Save a new baseline of this suite."
            )
        case GateVerdict.PASSED:
            return f"Not worse than the baseline by more than {margin:g}: {facts}."
        case GateVerdict.FAILED:
            return f"Worse than the baseline: {facts}."
        case GateVerdict.CANNOT_TELL:
            return f"The data can't tell whether it is worse than the baseline: {facts}. {_what_would_decide(evidence)}"


def _what_would_decide(evidence: GateEvidence) -> str:
    if evidence.difference.low is None:
        return "One trial does not tell how much the next would differ: run it again with --runs."
    if evidence.needed is None:
        return "No practical number of repetitions would decide it; take more tasks, or a larger --margin."
    return (
        f"About {evidence.needed} repetitions of each task, here and in the baseline, would decide it (--runs"
        f" {evidence.needed}; now {evidence.repetitions})."
    )


def _warnings(a: Sample, b: Sample) -> Iterator[str]:
    if a.model != b.model:
        yield f"The baseline is of {a.model}, this run of {b.model}."
    for one in unlike_settings(a, b):
        yield f"Different {one.setting}: the baseline {one.a}, this run {one.b}."
    yield from (f"Baseline: {sentence}" for sentence in a.left_aside)

"""What an experiment found out about each variant, as its page shows it: tested at the end, or decided on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.results.compare.comparison import Conclusion
from pinchbench.results.compare.sequential_verdict import SequentialVerdict, told_e_value
from pinchbench.results.compare.sequential_verdict import sentence as decided
from pinchbench.results.compare.verdict import WORDS, notes, outlook, told_p, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.compare.comparison import Comparison
    from pinchbench.results.compare.paired_test import Difference
    from pinchbench.results.compare.sequential_verdict import SequentialComparison

TESTED_BADGES = {Conclusion.A_BETTER: "bad", Conclusion.B_BETTER: "good"}
DECIDED_BADGES = {SequentialVerdict.WORSE: "bad", SequentialVerdict.BETTER: "good", SequentialVerdict.EQUAL: "good"}


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantVerdict:
    """A variant against the baseline.

    Attributes:
        difference: to the baseline, in -1 to 1, with its interval.
        count: the tasks, or the trials, that both have a score for.
        evidence: the p or the e-value.
        word, badge: the verdict, and the class of its badge.
        sentence: the verdict in words.
        outlook: what would decide it.
    """

    variant: str
    difference: Difference
    count: int
    evidence: str
    word: str
    badge: str
    sentence: str
    outlook: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdicts:
    """The verdicts about all variants that are compared, by their names; what `count` and `evidence` are; and notes."""

    by_variant: Mapping[str, VariantVerdict]
    count_told: str
    evidence_name: str
    evidence_told: str
    notes: tuple[str, ...]


def verdicts_of(
    comparisons: Sequence[Comparison], sequential: Sequence[SequentialComparison], *, baseline: str
) -> Verdicts:
    """Return the verdicts to show. Where an experiment ended when it was decided, the p of the others do not hold."""
    if not sequential:
        return Verdicts(
            by_variant={one.b.label: _tested(one, baseline) for one in comparisons},
            count_told="tasks that both have a score for",
            evidence_name="p, adjusted",
            evidence_told="adjusted for the number of comparisons by Holm's method",
            notes=tuple(notes(comparisons, a=f"{baseline}, the baseline")),
        )
    note = (
        f"This experiment ends when it is decided; a difference is, from an e-value of {sequential[0].decided_at:g} on."
        " E-values and intervals hold whenever it ends, in 95 of 100 experiments for all variants together. The"
        " difference is that over all tasks, however often each was repeated."
    )
    return Verdicts(
        by_variant={one.variant: _decided(one, baseline) for one in sequential},
        count_told="trials that both have a score for",
        evidence_name="e-value",
        evidence_told="the evidence against identical variants",
        notes=(note,),
    )


def _tested(one: Comparison, baseline: str) -> VariantVerdict:
    return VariantVerdict(
        variant=one.b.label,
        difference=one.difference,
        count=one.difference.tasks,
        evidence=told_p(one.p).removeprefix("p = ").removeprefix("p "),
        word=WORDS[one.verdict],
        badge=TESTED_BADGES.get(one.verdict, "warn"),
        sentence=verdict(one, a=baseline, b=one.b.label),
        outlook=tuple(outlook(one)),
    )


def _decided(one: SequentialComparison, baseline: str) -> VariantVerdict:
    return VariantVerdict(
        variant=one.variant,
        difference=one.difference,
        count=one.blocks,
        evidence=told_e_value(one.e_value),
        word=one.verdict.value,
        badge=DECIDED_BADGES.get(one.verdict, "warn"),
        sentence=decided(one, baseline=baseline),
    )

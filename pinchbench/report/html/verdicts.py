"""What the page of an experiment says of comparisons, and its tasks against its variants (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import TYPE_CHECKING

from pinchbench.report.html.safe_text import safe_line
from pinchbench.results.compare.comparison import Comparison, Conclusion
from pinchbench.results.compare.verdict import (
    WORDS,
    SequentialComparison,
    SequentialVerdict,
    describe_e_value,
    notes,
    outlook,
    verdict,
)
from pinchbench.results.compare.verdict import sentence as decided
from pinchbench.results.statistics import ROUNDING, is_passed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.results.compare.paired_difference import Difference
    from pinchbench.results.compare.samples import Sample, TaskTrials

TESTED_BADGES = {Conclusion.A_BETTER: "bad", Conclusion.B_BETTER: "good"}
DECIDED_BADGES = {SequentialVerdict.WORSE: "bad", SequentialVerdict.BETTER: "good", SequentialVerdict.EQUAL: "good"}


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantVerdict:
    """A variant against the baseline: the difference to it, and the verdict as a word with its badge, and a sentence.

    `outlook` says what would decide it.
    """

    difference: Difference
    word: str
    badge: str
    sentence: str
    outlook: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdicts:
    """The verdicts about all variants that are compared, by their names, and notes."""

    by_variant: Mapping[str, VariantVerdict]
    notes: tuple[str, ...]


def verdicts_of(
    comparisons: Sequence[Comparison], sequential: Sequence[SequentialComparison], *, baseline: str
) -> Verdicts:
    """Return the verdicts to show. Where an experiment ended when it was decided, the p of the others do not hold."""
    if not sequential:
        return Verdicts(
            by_variant={verdict_name(one): _tested(one, baseline) for one in comparisons},
            notes=tuple(notes(comparisons, a=f"{baseline}, the baseline")),
        )
    note = (
        f"This experiment ends when it is decided; a difference is, from an e-value of {sequential[0].decided_at:g} on."
        " E-values and intervals hold whenever it ends, in 95 of 100 experiments for all variants together. The"
        " difference is that over all tasks, however often each was repeated."
    )
    return Verdicts(by_variant={one.variant: _decided(one, baseline) for one in sequential}, notes=(note,))


def verdict_name(one: Comparison) -> str:
    """Return what a comparison is called next to others: its variant, with the suite if there are several."""
    return f"{one.b.label}, {one.suite}" if one.suite else one.b.label


def _tested(one: Comparison, baseline: str) -> VariantVerdict:
    return VariantVerdict(
        difference=one.difference,
        word=WORDS[one.verdict],
        badge=TESTED_BADGES.get(one.verdict, "warn"),
        sentence=verdict(one, a=baseline, b=one.b.label),
        outlook=tuple(outlook(one)),
    )


def _decided(one: SequentialComparison, baseline: str) -> VariantVerdict:
    return VariantVerdict(
        difference=one.difference,
        word=one.verdict.value,
        badge=DECIDED_BADGES.get(one.verdict, "warn"),
        sentence=f"{decided(one, baseline=baseline)} Its e-value is {describe_e_value(one.e_value)}.",
    )


DIFFERENT = 0.1  # two mean scores that far apart are different: below that, repetitions of one model differ as much
SHOWN = 0.005  # smaller differences round to 0
SHADES = 5  # of the colour behind a score


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixCell:
    """The trials of one task in one variant.

    `score` is the mean of the `trials` that have a score, in 0-1, None if none has; `left_out` counts the others.
    `difference` is that to the baseline in words, empty if it is 0, unknown, or this is the baseline. `direction` is
    its sign, 0 if it is smaller than `DIFFERENT`.
    """

    score: float | None = None
    trials: int = 0
    left_out: int = 0
    difference: str = ""
    direction: int = 0

    @property
    def shade(self) -> int:
        """The score from 0 to `SHADES`."""
        return 0 if self.score is None else round(self.score * SHADES)


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixRow:
    """A task, with a cell for each variant in their order, the baseline first.

    `spread` is the largest difference between two variants' scores, in 0-1. `is_different`: a variant's score is
    `DIFFERENT` or more from the baseline's, only some pass, or only some have a score.
    """

    task_id: str
    title: str
    category: str
    cells: tuple[MatrixCell, ...]
    spread: float
    is_different: bool


def matrix_rows(sides: Sequence[Sample | None], threshold: float) -> tuple[MatrixRow, ...]:
    """Return a row for each task that any variant has, in their order. A variant without a run has empty cells."""
    tasks = dict.fromkeys(task_id for side in sides if side is not None for task_id in side.tasks)
    return tuple(
        _row(task_id, [None if side is None else side.tasks.get(task_id) for side in sides], threshold)
        for task_id in tasks
    )


def _row(task_id: str, trials: Sequence[TaskTrials | None], threshold: float) -> MatrixRow:
    baseline, *_ = (_mean(one) for one in trials)
    cells = tuple(_cell(one, baseline if place else None) for place, one in enumerate(trials))
    scores = [cell.score for cell in cells if cell.score is not None]
    spread = max(scores, default=0.0) - min(scores, default=0.0)
    has_passed = {is_passed(score, threshold) for score in scores}
    ran = sum(one is not None for one in trials)
    return MatrixRow(
        task_id=task_id,
        title=next((one.title for one in trials if one is not None and one.title), ""),
        category=safe_line(next(one.category for one in trials if one is not None)),
        cells=cells,
        spread=spread,
        is_different=any(cell.direction for cell in cells) or len(has_passed) > 1 or 0 < len(scores) < ran,
    )


def _mean(trials: TaskTrials | None) -> float | None:
    return trials.mean if trials is not None and trials.scores else None


def _cell(trials: TaskTrials | None, baseline: float | None) -> MatrixCell:
    if trials is None:
        return MatrixCell()
    score, left_out = _mean(trials), trials.left_out.total
    difference = 0.0 if baseline is None or score is None else score - baseline
    is_large = abs(difference) >= DIFFERENT - ROUNDING
    return MatrixCell(
        score=score,
        trials=len(trials.scores),
        left_out=left_out,
        difference=f"{difference:+.2f}".replace("-", "−") if abs(difference) >= SHOWN else "",
        direction=int(copysign(is_large, difference)),
    )

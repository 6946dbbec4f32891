"""What a sequential experiment has decided of a variant: values of `experiment.json`, and their words (pure)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from pinchbench.results.compare.paired_test import Difference
from pinchbench.results.compare.verdict import told

MANY, HUGE = 10, 1_000_000  # e-values from which on decimals, and the number itself, tell nothing


class SequentialVerdict(StrEnum):
    """What is decided of a variant against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    UNDECIDABLE = "undecidable"
    BUDGET = "budget reached"
    STOPPED = "stopped"
    OPEN = "open"

    @property
    def is_final(self) -> bool:
        """Whether further trials would not change it."""
        match self:
            case (
                SequentialVerdict.BETTER
                | SequentialVerdict.WORSE
                | SequentialVerdict.EQUAL
                | SequentialVerdict.UNDECIDABLE
            ):
                return True
            case SequentialVerdict.BUDGET | SequentialVerdict.STOPPED | SequentialVerdict.OPEN:
                return False


class SequentialComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A variant against the baseline: the verdict, and what it rests on.

    `mean`, `low` and `high` are differences in -1 to 1 over the tasks of the experiment, positive where the variant is
    better; `low` and `high` hold at any time, for all comparisons together.
    """

    variant: str
    verdict: SequentialVerdict
    blocks: Annotated[int, Meta(ge=0, description="trials with a score of both")]
    mean: Annotated[float | None, Meta(description="null without a block")] = None
    low: float
    high: float
    e_value: Annotated[float, Meta(ge=0, description="the evidence against identical variants")]
    decided_at: Annotated[float, Meta(gt=0, description="the e-value from which on a difference is decided")]

    @property
    def difference(self) -> Difference:
        """The difference with its interval."""
        return Difference(mean=self.mean, low=self.low, high=self.high)


def told_e_value(value: float) -> str:
    """Format an e-value: `0.83`, `57`, `> 1000000`."""
    if value > HUGE:
        return f"> {HUGE}"
    return f"{value:.2g}" if value < MANY else f"{value:.0f}"


def sentence(comparison: SequentialComparison, *, baseline: str) -> str:
    """Say what is decided of a variant."""
    verdict = comparison.verdict
    match verdict:
        case SequentialVerdict.BETTER | SequentialVerdict.WORSE:
            said = f"Decided: {verdict.value} than {baseline}"
        case SequentialVerdict.EQUAL:
            said = f"Decided: equal to {baseline} within the margin"
        case SequentialVerdict.UNDECIDABLE:
            said = f"Undecidable: the trials that are left can hardly tell it from {baseline}"
        case SequentialVerdict.BUDGET:
            said = "Not decided: the budget is used up"
        case SequentialVerdict.STOPPED:
            said = f"Not decided: its run, or that of {baseline}, ended early"
        case SequentialVerdict.OPEN:
            said = "Not decided yet"
    return f"{said}. The difference is {told(comparison.difference)}, after {comparison.blocks} paired trials."

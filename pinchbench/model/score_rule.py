"""How a suite makes one score of a task from the numbers of its check and the verdict of its judge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckTotal(StrEnum):
    """How the numbers that a check returns become its score."""

    CLAMPED_MEAN = "clamped_mean"  # each number is first limited to 0-1
    MEAN = "mean"  # the mean is limited to 0-1, not each number
    OVERALL = "overall_score"  # that number alone; the mean only without it


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRule:
    """The rule by which a suite scores its tasks.

    Attributes:
        text: the rule in words, as the result names it.
        check_total: how the check's numbers become its score.
        judge_gate: the check's score, 0-1, below which a hybrid task's judge counts as 0.
        failed_is_zero: whether a check that raises an exception, or returns no number, means a score of 0 for the whole
            task.
        recomputes_judge: whether a judge's total is computed from its scores where the rubric states their weights.
    """

    text: str
    check_total: CheckTotal = CheckTotal.CLAMPED_MEAN
    judge_gate: float = 0.0
    failed_is_zero: bool = False
    recomputes_judge: bool = True


PINCHBENCH_RULE = ScoreRule(text="the mean of the check's points, each within 0–1, and the judge's total, by weight")

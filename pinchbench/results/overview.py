"""Summarise a run: the results of its categories and tasks, and the trials that failed (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from pinchbench.model.ending import Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.usage import Usage
from pinchbench.results.statistics import ROUNDING, is_passed, mean_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.result_json import Aggregate, TaskEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """The results of a task's trials, a category's, or the whole run's, added up.

    `passed` of the `scored` trials reach the threshold; `ungraded` trials and infrastructure failures are excluded from
    every score. `score` is the mean over a task's trials, or over several tasks; None if none has a score. `time_s` and
    `usage` are the agents', for all trials that have ended.
    """

    name: str
    score: float | None
    trials: int
    scored: int
    passed: int
    ungraded: int
    time_s: float
    usage: Usage

    @property
    def left_out(self) -> int:
        """How many of the trials that have ended are excluded from every score."""
        return self.trials - self.scored


class Kind(IntEnum):
    """The kind of a trial's failure, most important first."""

    ENDED_BADLY = 0  # the agent did not complete
    NOT_PASSED = 1
    UNGRADED = 2
    SILENT = 3  # an infrastructure failure
    NOTED = 4  # passed, with a note
    NO_JUDGE = 5  # completed, but no judge was asked: not a failure


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A trial that failed, with its grade if it has one."""

    kind: Kind
    outcome: Outcome
    grade: Grade | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """A category with its tasks in the plan's order; `name` is None for tasks of none."""

    name: str | None
    row: Row
    tasks: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """The overview of a run."""

    categories: tuple[Category, ...]
    whole: Row


def overview(data: Aggregate) -> Overview:
    """Arrange the tasks of a run by category, in the plan's order."""
    by_category: dict[str | None, list[Row]] = defaultdict(list)
    for task in data.tasks:
        by_category[task.category].append(_row(task, data.passing.threshold))
    return Overview(
        categories=tuple(
            Category(name=name, row=_sum(name or "", rows), tasks=tuple(rows)) for name, rows in by_category.items()
        ),
        whole=_sum("", [row for rows in by_category.values() for row in rows]),
    )


def failures(outcomes: Iterable[Outcome], grades: Mapping[TrialKey, Grade], *, threshold: float) -> tuple[Failure, ...]:
    """Return the trials that failed or have a note: by kind, the lowest scores first, and otherwise by task.

    `outcomes` and `grades` hold the attempt that counts for each trial.
    """
    found = [
        Failure(kind=kind, outcome=one, grade=grades.get(one.key))
        for one in sorted(outcomes, key=lambda one: one.key)
        if (kind := _kind(one, grades.get(one.key), threshold)) is not None
    ]
    return tuple(sorted(found, key=_weight))


def trial_score(outcome: Outcome, grade: Grade | None) -> float | None:
    """Return a trial's score for means, in 0-1; None if it has none or failed for infrastructure reasons."""
    score = grade.score if grade is not None and outcome.reason.is_valid else None
    return score if score is not None and 0.0 <= score <= 1.0 else None


def _row(task: TaskEntry, threshold: float) -> Row:
    return Row(
        name=task.task_id,
        score=task.score,
        trials=len(task.runs),
        scored=task.scores.n,
        passed=sum(one.score is not None and is_passed(one.score, threshold) for one in task.runs),
        ungraded=task.left_out.ungraded,
        time_s=sum(one.execution_time_s for one in task.runs),
        usage=task.usage,
    )


def _sum(name: str, rows: Sequence[Row]) -> Row:
    scores = [row.score for row in rows if row.score is not None]
    return Row(
        name=name,
        score=mean_of(scores) if scores else None,
        usage=sum((row.usage for row in rows), Usage()),
        **{
            name: sum(getattr(row, name) for row in rows)
            for name in ("trials", "scored", "passed", "ungraded", "time_s")
        },
    )


def _kind(outcome: Outcome, grade: Grade | None, threshold: float) -> Kind | None:
    score = trial_score(outcome, grade)
    if not outcome.reason.is_valid:
        return Kind.SILENT
    lacks_judge = grade is not None and grade.ungraded is Ungraded.NO_JUDGE
    if score is None and not lacks_judge:
        return Kind.UNGRADED
    if outcome.reason is not Reason.COMPLETED:
        return Kind.ENDED_BADLY
    if score is None:
        return Kind.NO_JUDGE
    if not is_passed(score, threshold):
        return Kind.NOT_PASSED
    return Kind.NOTED if outcome.note else None


def _weight(failure: Failure) -> tuple[int, float]:
    score = trial_score(failure.outcome, failure.grade)
    return failure.kind, score if failure.kind is Kind.NOT_PASSED and score is not None else 0.0


def lost_points(grade: Grade) -> list[tuple[str, float]]:
    """Return the criteria that were not fully met, the worst first, with their points in 0-1."""
    lost = [(name, points) for name, points in grade.breakdown.items() if points < 1.0 - ROUNDING]
    return sorted(lost, key=lambda one: one[1])

"""Summarise a run: the results of its categories and tasks, and the trials that failed (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.model.usage import Usage
from pinchbench.results.statistics import ROUNDING, is_passed, mean_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """The results of a task's trials, a category's, or the whole run's, added up.

    `passed` of the `scored` trials reach the threshold; `ungraded` and `silent` (infrastructure failures) are excluded
    from every score. `score` is the mean over a task's trials, None if none has a score; that of a category is as in
    the result file. `time_s` and `usage` are the agents', for all trials that have ended.
    """

    name: str
    score: float | None
    trials: int
    scored: int
    passed: int
    ungraded: int
    silent: int
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
    failures: tuple[Failure, ...]


def overview(
    outcomes: Sequence[Outcome],
    grades: Mapping[TrialKey, Grade],
    *,
    category_of: Mapping[str, str | None],
    threshold: float,
) -> Overview:
    """Arrange a run's trials by category and task, as `category_of` maps task ids to categories.

    `outcomes` and `grades` hold the attempt that counts for each trial.
    """
    by_task: dict[str, list[Outcome]] = {task_id: [] for task_id in category_of}
    for outcome in sorted(outcomes, key=lambda one: one.key):
        by_task.setdefault(outcome.key.task_id, []).append(outcome)
    by_category: dict[str | None, list[list[Outcome]]] = defaultdict(list)
    for task_id, of_task in by_task.items():
        if of_task:
            by_category[category_of.get(task_id)].append(of_task)

    def row(name: str, tasks: Sequence[Sequence[Outcome]]) -> Row:
        return _row(name, tasks, grades, threshold)

    categories = tuple(
        Category(name=name, row=row(name or "", own), tasks=tuple(row(task[0].key.task_id, [task]) for task in own))
        for name, own in by_category.items()
    )
    failures = [
        Failure(kind=kind, outcome=one, grade=grades.get(one.key))
        for of_task in by_task.values()
        for one in of_task
        if (kind := _kind(one, grades.get(one.key), threshold)) is not None
    ]
    return Overview(
        categories=categories,
        whole=row("", [task for own in by_category.values() for task in own]),
        # sorting is stable: within a kind they stay in the plan's order, except that the lowest scores come first
        failures=tuple(sorted(failures, key=_weight)),
    )


def trial_score(outcome: Outcome, grade: Grade | None) -> float | None:
    """Return a trial's score for means, in 0-1; None if it has none or failed for infrastructure reasons."""
    score = grade.score if grade is not None and outcome.reason.is_valid else None
    return score if score is not None and 0.0 <= score <= 1.0 else None


def _row(name: str, tasks: Sequence[Sequence[Outcome]], grades: Mapping[TrialKey, Grade], threshold: float) -> Row:
    """Return the row of one task or several: the mean over tasks, and sums of everything else."""
    scored = [[trial_score(one, grades.get(one.key)) for one in task] for task in tasks]
    scores = [own for task in scored if (own := [score for score in task if score is not None])]
    outcomes = [one for task in tasks for one in task]
    silent = sum(not one.reason.is_valid for one in outcomes)
    number = sum(map(len, scores))
    return Row(
        name=name,
        score=mean_of([mean_of(own) for own in scores]) if scores else None,
        trials=len(outcomes),
        scored=number,
        passed=sum(is_passed(score, threshold) for own in scores for score in own),
        ungraded=len(outcomes) - number - silent,
        silent=silent,
        time_s=sum(one.execution_time_s for one in outcomes),
        usage=sum((one.usage for one in outcomes), Usage()),
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

"""The trials of a task that have ended, with their grades, and the entries of the result about them (pure)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, structs

from pinchbench.model.ending import Ending, Reason, Status
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.usage import Usage
from pinchbench.results.overview import trial_score
from pinchbench.results.result_json import GradeEntry, LeftOut, TaskEntry, TrialEntry
from pinchbench.results.statistics import failure_sheet, summarise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pinchbench.defaults import FailureEvent
    from pinchbench.model.trial import TrialKey

NOT_GRADED = "not_graded"  # in addition to the names in `Ungraded`: the trial has not been graded yet
OF_OUTCOME = {one.name: one.default is UNSET for one in structs.fields(TrialEntry) if hasattr(Outcome, one.name)}
"""The keys of an entry that are those of an outcome, and whether a key is missing where there is nothing to say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedTrial:
    """An outcome with its grade, if it has one."""

    outcome: Outcome
    grade: Grade | None
    caused_by_agent: bool = False

    @property
    def score(self) -> float | None:
        """The score that goes into means, in 0-1; None if the trial failed for infrastructure reasons."""
        return trial_score(self.outcome, self.grade)

    @property
    def ungraded(self) -> str | None:
        """Why a valid trial has no score; None for all others."""
        if not self.outcome.reason.is_valid or self.score is not None:
            return None
        if self.grade is None:
            return NOT_GRADED
        return (self.grade.ungraded or Ungraded.GRADER_BUG).value  # no reason, or a score outside 0-1

    @property
    def events(self) -> Mapping[FailureEvent, tuple[int, int]]:
        """What went wrong, as the check counted it; nothing for a trial that is not valid."""
        if not self.outcome.reason.is_valid or self.grade is None or self.grade.check is None:
            return {}
        return self.grade.check.events or {}

    @property
    def automated_alone(self) -> float | None:
        """The automated part of a hybrid grade that has no score because the judge's part is missing."""
        grade = self.grade
        if self.ungraded is None or grade is None or grade.grading_type is not GradingType.HYBRID:
            return None
        return grade.check.score if grade.check is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskTrials:
    """A task's planned trials that have ended, by repetition."""

    task_id: str
    category: str | None
    planned: int
    skipped: int
    trials: tuple[GradedTrial, ...]

    @property
    def scores(self) -> list[float]:
        """The scores of the trials that have one, in 0-1."""
        return [trial.score for trial in self.trials if trial.score is not None]

    @property
    def events(self) -> tuple[Mapping[FailureEvent, tuple[int, int]], ...]:
        """What went wrong in each valid trial whose check counts it."""
        return tuple(found for trial in self.trials if (found := trial.events))

    @property
    def left_out(self) -> LeftOut:
        """How many trials have no score, by the reason."""
        missing = sum(trial.outcome.reason is Reason.PREREQUISITE_MISSING for trial in self.trials)
        untrusted = sum(trial.outcome.reason.ending is Ending.UNTRUSTED for trial in self.trials)
        return LeftOut(
            ungraded=sum(trial.ungraded is not None for trial in self.trials),
            infrastructure=sum(not trial.outcome.reason.is_valid for trial in self.trials) - missing - untrusted,
            untrusted=untrusted,
            prerequisite_missing=missing,
            skipped=self.skipped,
            not_run=self.planned - len(self.trials) - self.skipped,
        )

    @property
    def grading_type(self) -> GradingType | None:
        """The type in the latest grade: a task may have changed before it was regraded."""
        given = [trial.grade for trial in self.trials if trial.grade is not None]
        return max(given, key=lambda grade: (grade.graded_at, grade.key)).grading_type if given else None


def by_task(
    plan: Sequence[TrialKey],
    trials: Iterable[GradedTrial],
    skipped: Collection[TrialKey],
    categories: Mapping[str, str],
) -> list[TaskTrials]:
    """Return the tasks in the order of the plan, each with its trials in the given order."""
    of_task: dict[str, list[GradedTrial]] = {key.task_id: [] for key in plan}
    for trial in trials:
        of_task[trial.outcome.key.task_id].append(trial)
    planned = Counter(key.task_id for key in plan)
    skips = Counter(key.task_id for key in plan if key in skipped)
    return [
        TaskTrials(
            task_id=task_id,
            category=categories.get(task_id),
            planned=planned[task_id],
            skipped=skips[task_id],
            trials=tuple(own),
        )
        for task_id, own in of_task.items()
    ]


def task_entry(task: TaskTrials, *, says_known: bool) -> TaskEntry:
    """Return the entry of a task of which at least one trial has ended.

    `says_known` adds whether the costs are known, which result files of older releases do not say.
    """
    outcomes = [trial.outcome for trial in task.trials]
    first = outcomes[0]
    worst = next((one for one in outcomes if one.status is not Status.SUCCESS), first)
    scores = summarise(task.scores)
    ungraded = Counter(trial.ungraded for trial in task.trials if trial.ungraded is not None)
    usage = sum_usage(one.usage for one in outcomes)
    return TaskEntry(
        task_id=task.task_id,
        status=worst.status,
        timed_out=any(one.timed_out for one in outcomes),
        execution_time=round(fsum(one.execution_time_s for one in outcomes) / len(outcomes), 3),
        transcript_length=first.transcript_length,
        workspace=first.workspace,
        reason=worst.reason,
        category=task.category,
        grading_type=task.grading_type,
        score=scores.mean,
        scores=scores,
        left_out=task.left_out,
        ungraded={name: ungraded[name] for name in (*Ungraded, NOT_GRADED) if ungraded[name]},
        usage=usage,
        cost_known=cost_known_of(usage) if says_known else UNSET,
        events=failure_sheet(task.events) or UNSET,
        runs=tuple(_trial_entry(trial, says_known=says_known) for trial in task.trials),
    )


def _trial_entry(trial: GradedTrial, *, says_known: bool) -> TrialEntry:
    outcome, grade = trial.outcome, trial.grade
    stated: dict[str, Any] = {name: getattr(outcome, name) for name in OF_OUTCOME}
    stated |= {name: UNSET for name, value in stated.items() if OF_OUTCOME[name] and not value}
    graded: dict[str, Any] = (
        {name: getattr(grade, name) for name in GradeEntry.__struct_fields__} if grade is not None else {}
    )
    return TrialEntry(
        repetition=outcome.key.repetition,
        counts=outcome.reason.is_valid,
        possibly_caused_by_agent=trial.caused_by_agent,
        cost_known=cost_known_of(outcome.usage) if says_known else UNSET,
        unwitnessed=outcome.is_unwitnessed or UNSET,
        grade=GradeEntry(**graded) if grade is not None else None,
        **stated,
    )


def cost_known_of(usage: Usage) -> bool | UnsetType:
    """Return False if not all that was used has a price; otherwise nothing is said."""
    return False if usage.known_cost_usd is None else UNSET


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """Return what was used in all."""
    return sum(usages, Usage())


def known_sum(costs: Iterable[float | None]) -> float | None:
    """Return the sum of what is known; None if nothing is."""
    known = [cost for cost in costs if cost is not None]
    return fsum(known) if known else None

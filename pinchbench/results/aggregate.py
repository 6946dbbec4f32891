"""Build the aggregate from outcomes and grades: PinchBench's own keys first, then ours (pure)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from math import fsum
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from pinchbench.defaults import DEFAULT_PASS_THRESHOLD, SuiteFormat
from pinchbench.model import Ending, Grade, GradingType, JudgeGrade, Outcome, Reason, Status, Ungraded, Usage
from pinchbench.results.overview import trial_score
from pinchbench.results.result_json import (
    Aggregate,
    AutomatedOnly,
    CategoryTotals,
    CausedByAgent,
    CausedTrial,
    Counts,
    GradeEntry,
    JournalEnd,
    JudgeTotals,
    LeftOut,
    Limits,
    Parts,
    PassRate,
    PassRates,
    Retries,
    ScoreSummary,
    TaskEntry,
    TotalLeftOut,
    Totals,
    TrialEntry,
)
from pinchbench.results.statistics import estimate, pass_ks, pass_rates, summarise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from msgspec import UnsetType

    from pinchbench.model import TrialKey
    from pinchbench.results.journal.records import RunFinished
    from pinchbench.results.run_state import Session, TrialState

NOT_GRADED = "not_graded"  # in addition to the names in `Ungraded`: the trial has not been graded yet
NOBODY_WAS_ASKED = frozenset({Ungraded.NO_JUDGE, Ungraded.EVIDENCE_LOST})
# The key is the entry's key in its parent, the files' digests belong to the journal, and the others may be missing.
ELSEWHERE = ("key", "files", "wire", "replay", "sandbox", "load")
OF_OUTCOME = tuple(field.name for field in fields(Outcome) if field.name not in ELSEWHERE)
OF_GRADE = tuple(field.name for field in fields(Grade) if field.name not in ELSEWHERE)
NO_LIMITS = Limits()
NO_GRADES: Mapping[TrialKey, Grade] = MappingProxyType({})
NO_CATEGORIES: Mapping[str, str] = MappingProxyType({})
NO_ATTEMPTS: Mapping[TrialKey, TrialState] = MappingProxyType({})
NO_TRIALS: frozenset[TrialKey] = frozenset()
NO_ATTEMPT_GRADES: Mapping[tuple[TrialKey, int], Grade] = MappingProxyType({})


def aggregate(
    *,
    model: str,
    run_id: str,
    timestamp: float,
    plan: Sequence[TrialKey],
    outcomes: Sequence[Outcome],
    not_needed: int = 0,
    suite: str | None = None,
    suite_format: SuiteFormat | None = None,
    score_rule: str = "",
    end: RunFinished | None = None,
    limits: Limits = NO_LIMITS,
    sessions: Sequence[Session] = (),
    changes: Sequence[str] = (),
    run: str = "",
    journal: JournalEnd | UnsetType = UNSET,
    grades: Mapping[TrialKey, Grade] = NO_GRADES,
    graded: Sequence[Grade] = (),
    categories: Mapping[str, str] = NO_CATEGORIES,
    pass_threshold: float = DEFAULT_PASS_THRESHOLD,
    attempts: Mapping[TrialKey, TrialState] = NO_ATTEMPTS,
    attempt_grades: Mapping[tuple[TrialKey, int], Grade] = NO_ATTEMPT_GRADES,
    caused_by_agent: frozenset[TrialKey] = NO_TRIALS,
) -> Aggregate:
    """Build the aggregate of a run.

    `not_needed` trials were planned too, but the experiment of the run was decided without them.

    `plan` determines the order of tasks and categories, regardless of what finished first. `tasks` has one entry per
    task, with the six keys of PinchBench's own runner; for several repetitions it holds the workspace of the first, the
    mean execution time, and the status `success` only if all succeeded. `runs` lists each repetition.

    Every planned trial either has a score, and so contributes to the mean, or is counted in the `left_out` beside that
    mean: `not_run`; `prerequisite_missing`, if it was not started for that reason; `infrastructure`, if it failed for
    infrastructure reasons or was interrupted, whatever its grade; `untrusted`; or `ungraded`. `categories` maps task
    ids to categories.

    `grades` holds the grade that counts for each trial; `graded` holds all grades ever given, if known: `judge` reports
    the cost of all of them, since that money was spent. Its trials, models and prompt versions are those of the grades
    that count. `cost_usd` is null if no call had a price; `calls_without_cost` is the number of calls without one.

    `attempts` holds all attempts at each trial, and `attempt_grades` the grade of each attempt by its number: `retries`
    reports how retrying changed the score, and what the attempts that do not count used.

    `caused_by_agent` are the trials without a score which the agent may have caused. They are among the
    excluded trials; `possibly_caused_by_agent` lists them, with the score if each counted as 0 (null if there are
    none).
    """
    by_task: dict[str, list[_Trial]] = {key.task_id: [] for key in plan}
    for outcome in sorted(outcomes, key=lambda one: one.key):
        by_task[outcome.key.task_id].append(
            _Trial(outcome=outcome, grade=grades.get(outcome.key), caused_by_agent=outcome.key in caused_by_agent)
        )
    planned = Counter(key.task_id for key in plan)
    tasks = [
        _Task(task_id=task_id, category=categories.get(task_id), planned=planned[task_id], trials=tuple(trials))
        for task_id, trials in by_task.items()
    ]
    trials = [trial for task in tasks for trial in task.trials]
    named = dict.fromkeys(task.category for task in tasks if task.category is not None)
    totals = _totals(tasks)
    usage = _usage(trial.outcome.usage for trial in trials)
    foreign = None if suite_format is SuiteFormat.PINCHBENCH else suite_format
    says_known = journal is not UNSET  # result files of older releases keep their bytes
    return Aggregate(
        model=model,
        run_id=run_id,
        timestamp=timestamp,
        tasks=tuple(_task_result(task, says_known=says_known) for task in tasks if task.trials),
        suite=suite,
        suite_format=foreign.value if foreign else UNSET,
        score_rule=score_rule if foreign else UNSET,
        interrupted=end.interrupted if end is not None else None,
        stopped=end.stopped if end is not None else "",
        stop=end.stop if end is not None else None,
        limits=limits,
        sessions=tuple(sessions),
        changes=tuple(changes),
        run=run,
        journal=journal,
        not_needed=not_needed or UNSET,
        counts=counts(plan, outcomes),
        usage=usage,
        cost_known=_cost_known(usage) if says_known else UNSET,
        execution_time=_seconds(trial.outcome.execution_time_s for trial in trials),
        score=totals.score,
        left_out=totals.left_out,
        possibly_caused_by_agent=_caused_by_agent(tasks, attempts),
        categories={name: _category([task for task in tasks if task.category == name], attempts) for name in named},
        passing=_pass(tasks, pass_threshold),
        parts=Parts(automated_only=_automated_only(tasks)),
        retries=_retries(tasks, attempts, attempt_grades),
        judge=_judge([trial.grade for trial in trials if trial.grade is not None], graded),
    )


def counts(plan: Sequence[TrialKey], outcomes: Sequence[Outcome]) -> Counts:
    """Count the trials by how they ended. `left_out` are those that are not valid."""
    reasons = Counter(outcome.reason for outcome in outcomes)
    statuses = Counter(outcome.status for outcome in outcomes)
    return Counts(
        planned=len(plan),
        finished=sum(outcome.reason.is_attempt for outcome in outcomes),
        not_run=len(plan) - len(outcomes),
        success=statuses[Status.SUCCESS],
        timeout=statuses[Status.TIMEOUT],
        error=statuses[Status.ERROR],
        left_out=sum(not outcome.reason.is_valid for outcome in outcomes),
        reasons={reason.value: reasons[reason] for reason in Reason if reasons[reason]},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Trial:
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
    def automated_alone(self) -> float | None:
        """The automated part of a hybrid grade that has no score because the judge's part is missing."""
        grade = self.grade
        if self.ungraded is None or grade is None or grade.grading_type is not GradingType.HYBRID:
            return None
        return grade.check.score if grade.check is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Task:
    """A task's planned trials that have ended, by repetition."""

    task_id: str
    category: str | None
    planned: int
    trials: tuple[_Trial, ...]

    @property
    def scores(self) -> list[float]:
        return [trial.score for trial in self.trials if trial.score is not None]

    @property
    def scores_if_zero(self) -> list[float]:
        """The scores, plus a 0 for each failure that the agent may have caused."""
        return self.scores + [0.0 for trial in self.trials if trial.caused_by_agent]

    @property
    def left_out(self) -> LeftOut:
        missing = sum(trial.outcome.reason is Reason.PREREQUISITE_MISSING for trial in self.trials)
        untrusted = sum(trial.outcome.reason.ending is Ending.UNTRUSTED for trial in self.trials)
        return LeftOut(
            ungraded=sum(trial.ungraded is not None for trial in self.trials),
            infrastructure=sum(not trial.outcome.reason.is_valid for trial in self.trials) - missing - untrusted,
            untrusted=untrusted,
            prerequisite_missing=missing,
            not_run=self.planned - len(self.trials),
        )

    @property
    def grading_type(self) -> GradingType | None:
        """The type in the latest grade: a task may have changed before it was regraded."""
        given = [trial.grade for trial in self.trials if trial.grade is not None]
        return max(given, key=lambda grade: (grade.graded_at, grade.key)).grading_type if given else None


def _task_result(task: _Task, *, says_known: bool) -> TaskEntry:
    outcomes = [trial.outcome for trial in task.trials]
    first = outcomes[0]
    worst = next((one for one in outcomes if one.status is not Status.SUCCESS), first)
    scores = summarise(task.scores)
    ungraded = Counter(trial.ungraded for trial in task.trials if trial.ungraded is not None)
    usage = _usage(one.usage for one in outcomes)
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
        scores=msgspec.convert(scores, ScoreSummary, from_attributes=True),
        left_out=task.left_out,
        ungraded={name: ungraded[name] for name in (*Ungraded, NOT_GRADED) if ungraded[name]},
        usage=usage,
        cost_known=_cost_known(usage) if says_known else UNSET,
        runs=tuple(_trial_result(trial, says_known=says_known) for trial in task.trials),
    )


def _trial_result(trial: _Trial, *, says_known: bool) -> TrialEntry:
    outcome, grade = trial.outcome, trial.grade
    return TrialEntry(
        repetition=outcome.key.repetition,
        status=outcome.status,
        counts=outcome.reason.is_valid,
        possibly_caused_by_agent=trial.caused_by_agent,
        cost_known=_cost_known(outcome.usage) if says_known else UNSET,
        wire=UNSET if outcome.wire is None else outcome.wire,
        replay=UNSET if outcome.replay is None else outcome.replay,
        sandbox=UNSET if outcome.sandbox is None else outcome.sandbox,
        load=UNSET if outcome.load is None else outcome.load,
        grade=None if grade is None else GradeEntry(**{name: getattr(grade, name) for name in OF_GRADE}),
        **{name: getattr(outcome, name) for name in OF_OUTCOME},
    )


def _totals(tasks: Sequence[_Task]) -> Totals:
    """Return the mean over tasks and the counts of the trials it excludes."""
    left_out = [task.left_out for task in tasks]
    return Totals(
        score=estimate([task.scores for task in tasks]),
        left_out=TotalLeftOut(
            ungraded=sum(one.ungraded for one in left_out),
            infrastructure=sum(one.infrastructure for one in left_out),
            untrusted=sum(one.untrusted for one in left_out),
            prerequisite_missing=sum(one.prerequisite_missing for one in left_out),
            not_run=sum(one.not_run for one in left_out),
            tasks_without_score=sum(not task.scores for task in tasks),
        ),
    )


def _category(tasks: Sequence[_Task], attempts: Mapping[TrialKey, TrialState]) -> CategoryTotals:
    totals = _totals(tasks)
    caused = _caused_by_agent(tasks, attempts)
    return CategoryTotals(score=totals.score, left_out=totals.left_out, possibly_caused_by_agent=caused)


def _caused_by_agent(tasks: Sequence[_Task], attempts: Mapping[TrialKey, TrialState]) -> CausedByAgent:
    caused = [trial.outcome.key for task in tasks for trial in task.trials if trial.caused_by_agent]
    means = [fsum(scores) / len(scores) for task in tasks if (scores := task.scores_if_zero)]
    return CausedByAgent(
        trials=tuple(
            CausedTrial(
                task_id=key.task_id,
                repetition=key.repetition,
                reasons=tuple(each.reason.value for each in attempts[key].ended),
            )
            for key in caused
        ),
        score_if_zero=summarise(means).mean if caused else None,
    )


def _pass(tasks: Sequence[_Task], threshold: float) -> PassRates:
    ks = pass_ks(max((task.planned for task in tasks), default=0))
    rates = pass_rates([task.scores for task in tasks], threshold=threshold, ks=ks)
    return PassRates(
        threshold=threshold,
        k={
            str(rate.k): PassRate(pass_at_k=rate.pass_at_k, pass_hat_k=rate.pass_hat_k, tasks=rate.tasks)
            for rate in rates
        },
    )


def _automated_only(tasks: Sequence[_Task]) -> AutomatedOnly:
    """Return what the checks found for hybrid trials that wait for a judge; without a score, no other mean has them."""
    alone = [[trial.automated_alone for trial in task.trials] for task in tasks]
    known = [scores for task in alone if (scores := [score for score in task if score is not None])]
    return AutomatedOnly(
        tasks=len(known),
        trials=sum(map(len, known)),
        mean=summarise([fsum(scores) / len(scores) for scores in known]).mean,
    )


def _retries(
    tasks: Sequence[_Task],
    attempts: Mapping[TrialKey, TrialState],
    grades: Mapping[tuple[TrialKey, int], Grade],
) -> Retries:
    """Compare the score of the first attempts alone with the score of the attempts that count.

    `recovered` are trials whose first attempt was invalid and a later one valid.
    """
    ended = {key: trial.ended for key, trial in attempts.items()}
    others = [one for trial in attempts.values() for one in trial.outcomes if one is not trial.counting]
    first = [
        replace(
            task,
            trials=tuple(
                _Trial(outcome=one, grade=grades.get((one.key, one.attempt)))
                for one in (attempts[trial.outcome.key].first for trial in task.trials if trial.outcome.key in attempts)
            ),
        )
        for task in tasks
    ]
    return Retries(
        trials=sum(len(trial) > 1 for trial in ended.values()),
        attempts=sum(max(0, len(trial) - 1) for trial in ended.values()),
        recovered=sum(
            trial.counting.reason.is_valid and not trial.first.reason.is_valid for trial in attempts.values()
        ),
        first_attempts=_totals(first),
        other_attempts_usage=_usage(one.usage for one in others),
    )


def _judge(grades: Sequence[Grade], graded: Sequence[Grade]) -> JudgeTotals | None:
    """Return what judging cost, apart from what the agents used; None if no judge was asked.

    Whether a price is known is recorded per grade, not per call.
    """
    counting = _judged(grades)
    asked = _judged(sorted(graded, key=lambda grade: (grade.key, grade.graded_at))) or counting
    if not asked:
        return None
    costs = [part.cost_usd for part in asked if part.cost_usd is not None]
    return JudgeTotals(
        models=tuple(sorted({part.model for part in counting if part.model})),
        prompt_versions=tuple(sorted({part.prompt_version for part in counting if part.prompt_version})),
        trials=len(counting),
        calls=sum(part.calls for part in asked),
        cached=sum(part.cached for part in asked),
        usage=_usage(part.usage for part in asked),
        cost_usd=fsum(costs) if costs else None,
        calls_without_cost=sum(part.calls for part in asked if part.cost_usd is None),
        latency_s=_seconds(part.latency_s for part in asked),
    )


def _judged(grades: Iterable[Grade]) -> list[JudgeGrade]:
    """Return the judges' parts of those grades for which a judge was asked."""
    parts = (grade.judge for grade in grades)
    return [part for part in parts if part is not None and part.ungraded not in NOBODY_WAS_ASKED]


def _cost_known(usage: Usage) -> bool | UnsetType:
    return False if usage.known_cost_usd is None else UNSET


def _usage(usages: Iterable[Usage]) -> Usage:
    return sum(usages, Usage())


def _seconds(durations: Iterable[float]) -> float:
    return round(fsum(durations), 3)

"""Build the aggregate from outcomes and grades: PinchBench's own keys first, then ours (pure)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from pinchbench.decoding import convert
from pinchbench.defaults import SuiteFormat
from pinchbench.errors import ResultsError
from pinchbench.model.ending import Reason, Status, Stop
from pinchbench.results import totals
from pinchbench.results.agent_caused import possibly_caused_by_agent
from pinchbench.results.control_state import ControlEntry, control_entry
from pinchbench.results.node_times import node_times
from pinchbench.results.result_json import Aggregate, Counts, JournalEnd, Limits, Parts, Retries
from pinchbench.results.statistics import estimate, failure_sheet
from pinchbench.results.task_trials import GradedTrial, TaskTrials, by_task, cost_known_of, sum_usage, task_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.manifest import RunFacts
    from pinchbench.results.records import RunFinished
    from pinchbench.results.run_state import RunState, TrialState


def aggregate(facts: RunFacts, state: RunState, *, run: str = "", journal: JournalEnd | UnsetType = UNSET) -> Aggregate:
    """Build the aggregate of a run from its facts and the state after all records of its journal.

    `facts` are those that hold now, after every resumption, with the whole plan. `run` is the name of the run's folder,
    `journal` says where its journal ends.

    The plan determines the order of tasks and categories, regardless of what finished first. Every planned trial either
    has a score, and so contributes to the mean, or is counted once in the `left_out` next to that mean, whatever its
    grade. Trials that were planned, but without which the experiment of the run was decided, are only counted in
    `not_needed`.

    `judge` reports the cost of all grades ever given, since that money was spent; its trials, models and prompt
    versions are those of the grades that count. Nothing is computed over tasks of more than one suite, unless an
    earlier release was asked for it.

    Raises ResultsError if the limits or suites in the facts can't be read.
    """
    plan = state.needed(facts.keys)
    planned = set(plan)
    outcomes = [outcome for outcome in state.outcomes if outcome.key in planned]
    grades = state.grades
    attempts = attempted(state)
    caused_by_agent = possibly_caused_by_agent(attempts) & planned
    graded_trials = [
        GradedTrial(outcome=outcome, grade=grades.get(outcome.key), caused_by_agent=outcome.key in caused_by_agent)
        for outcome in sorted(outcomes, key=lambda one: one.key)
    ]
    categories = {task_id: task.category for task_id, task in facts.tasks.items()}
    tasks = by_task(plan, graded_trials, state.skipped, categories)
    trials = [trial for task in tasks for trial in task.trials]
    named = dict.fromkeys(task.category for task in tasks if task.category is not None)
    whole = totals.totals_of(tasks)
    usage = sum_usage(trial.outcome.usage for trial in trials)
    foreign = None if facts.suite_format is SuiteFormat.PINCHBENCH else facts.suite_format
    says_known = journal is not UNSET  # result files of older releases keep their bytes
    suite = facts.config.get("suite")
    end = ending_of(facts, state)
    result = Aggregate(
        model=facts.model,
        run_id=facts.run_id,
        timestamp=state.finished.at if state.finished is not None else facts.created_at,
        tasks=tuple(task_entry(task, says_known=says_known) for task in tasks if task.trials),
        suite=suite if isinstance(suite, str) else None,
        suite_format=foreign.value if foreign else UNSET,
        score_rule=facts.score_rule if foreign else UNSET,
        private=any(task.private is True for task in facts.tasks.values()) or UNSET,
        form=UNSET if facts.form is None else facts.form,
        interrupted=end.interrupted if end is not None else None,
        stopped=end.stopped if end is not None else "",
        stop=end.stop if end is not None else None,
        limits=limits_of(facts),
        sessions=tuple(state.sessions),
        changes=state.changes,
        reused=dict(sorted(Counter(one.reused_from for one in outcomes if one.reused_from).items())) or UNSET,
        run=run,
        journal=journal,
        not_needed=(len(facts.plan) - len(plan)) or UNSET,
        control=_control(tasks, state) or UNSET,
        counts=counts(plan, outcomes),
        usage=usage,
        cost_known=cost_known_of(usage) if says_known else UNSET,
        execution_time=round(fsum(trial.outcome.execution_time_s for trial in trials), 3),
        score=whole.score,
        left_out=whole.left_out,
        possibly_caused_by_agent=totals.caused_by_agent_of(tasks, attempts),
        categories={
            name: totals.category_totals([task for task in tasks if task.category == name], attempts) for name in named
        },
        passing=totals.pass_rates_of(tasks, facts.pass_threshold),
        events=failure_sheet(one for task in tasks for one in task.events) or UNSET,
        parts=Parts(automated_only=totals.automated_only_of(tasks)),
        retries=_retries(tasks, state),
        judge=totals.judge_totals([trial.grade for trial in trials if trial.grade is not None], state.given),
        user=totals.user_totals(one for trial in attempts.values() for one in trial.outcomes) or UNSET,
        nodes=node_times(outcomes, state.hardware) or UNSET,
        probes=totals.probe_totals(state.probes) or UNSET,
        suites=totals.suite_totals(facts, tasks, attempts) or UNSET,
    )
    return result if facts.has_mean else totals.without_means(result)


def attempted(state: RunState) -> dict[TrialKey, TrialState]:
    """Return the trials of which an attempt has ended."""
    return {key: trial for key, trial in state.trials.items() if trial.outcomes}


def ending_of(facts: RunFacts, state: RunState) -> RunFinished | None:
    """Return how its last runner ended a run; None if a signal or limit arrived only when everything was done.

    A first failure ends a run, though it may be that of the last trial.
    """
    end = state.finished
    counts = end is not None and end.stop in (Stop.DECIDED, Stop.FAILURE)
    return end if counts or state.unfinished(facts.keys) else None


def limits_of(facts: RunFacts) -> Limits:
    """Return the limits of a run. Raises ResultsError if they can't be read."""
    try:
        return convert(facts.config, Limits)
    except msgspec.ValidationError as error:
        raise ResultsError(f"The limits in the settings of the run {facts.run_id} can't be read: {error}.") from error


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


def _retries(tasks: Sequence[TaskTrials], state: RunState) -> Retries:
    """Compare the score of the first attempts alone with the score of the attempts that count.

    `recovered` are trials whose first attempt was invalid and a later one valid.
    """
    attempts = attempted(state)
    ended = [trial.ended for trial in attempts.values()]
    counted = {trial.outcome.key: trial.outcome for task in tasks for trial in task.trials}
    others = [one for key, trial in attempts.items() for one in trial.outcomes if one is not counted.get(key)]
    return Retries(
        trials=sum(len(trial) > 1 for trial in ended),
        attempts=sum(max(0, len(trial) - 1) for trial in ended),
        recovered=sum(
            trial.counting.reason.is_valid and not trial.first.reason.is_valid for trial in attempts.values()
        ),
        first_attempts=totals.totals_of(_with_attempts(tasks, state, lambda trial: trial.first)),
        other_attempts_usage=sum_usage(one.usage for one in others),
    )


def _with_attempts(
    tasks: Sequence[TaskTrials], state: RunState, choose: Callable[[TrialState], Outcome | None]
) -> list[TaskTrials]:
    """Return the tasks with other attempts than those that count; trials of which none is chosen are dropped."""
    return [
        replace(
            task,
            trials=tuple(
                GradedTrial(outcome=one, grade=state.attempt_grades.get((one.key, one.attempt)))
                for trial in task.trials
                if (one := choose(state.trials[trial.outcome.key])) is not None
            ),
        )
        for task in tasks
    ]


def _control(tasks: Sequence[TaskTrials], state: RunState) -> ControlEntry | None:
    """Return what the user has asked for, and the scores without retries by hand and with grades by hand."""
    control, without = state.control, None
    if control.requeued:
        without = totals.totals_of(_with_attempts(tasks, state, lambda trial: trial.counting_before)).score
    overridden = [
        (own, trial.score)
        for task in tasks
        for trial in task.trials
        if (own := control.overridden.get((trial.outcome.key, trial.outcome.attempt))) is not None
    ]
    by_hand = {own.key: own.score for own, _ in overridden}
    scores = [
        [score for trial in task.trials if (score := by_hand.get(trial.outcome.key, trial.score)) is not None]
        for task in tasks
    ]
    mean = estimate(scores) if overridden else None
    return control_entry(control, without_requeued=without, overridden=overridden, with_overrides=mean)

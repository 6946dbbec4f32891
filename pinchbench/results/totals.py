"""What the result says about several tasks, suites, simulated users and judges: means and what they exclude (pure)."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from pinchbench.model.grade import Grade, JudgeGrade, Ungraded
from pinchbench.results import result_json
from pinchbench.results.judge_agreement import agreement_of
from pinchbench.results.statistics import Estimate, estimate, failure_sheet, pass_ks, pass_rates, summarise
from pinchbench.results.task_trials import TaskTrials, known_sum, sum_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.manifest import RunFacts
    from pinchbench.results.records import ProbeFacts
    from pinchbench.results.result_json import Aggregate
    from pinchbench.results.run_state import TrialState

NOBODY_WAS_ASKED = frozenset({Ungraded.NO_JUDGE, Ungraded.EVIDENCE_LOST})


def totals_of(tasks: Sequence[TaskTrials]) -> result_json.Totals:
    """Return the mean over tasks and the counts of the trials it excludes."""
    left_out = [task.left_out for task in tasks]
    return result_json.Totals(
        score=estimate([task.scores for task in tasks]),
        left_out=result_json.TotalLeftOut(
            **{name: sum(getattr(one, name) for one in left_out) for name in result_json.LeftOut.__struct_fields__},
            tasks_without_score=sum(not task.scores for task in tasks),
        ),
    )


def category_totals(tasks: Sequence[TaskTrials], attempts: Mapping[TrialKey, TrialState]) -> result_json.CategoryTotals:
    """Return the totals of a category, whose tasks these are."""
    totals = totals_of(tasks)
    caused = caused_by_agent_of(tasks, attempts)
    return result_json.CategoryTotals(score=totals.score, left_out=totals.left_out, possibly_caused_by_agent=caused)


def suite_totals(
    facts: RunFacts, tasks: Sequence[TaskTrials], attempts: Mapping[TrialKey, TrialState]
) -> dict[str, result_json.SuiteTotals]:
    """Return the totals of each suite of a run that has several; else none.

    Raises ResultsError if the suites can't be read.
    """
    found = {}
    for suite in facts.suites:
        members = {task_id for task_id, task in facts.tasks.items() if task.suite == suite.name}
        own = [task for task in tasks if task.task_id in members]
        totals = totals_of(own)
        found[suite.name] = result_json.SuiteTotals(
            score=totals.score,
            left_out=totals.left_out,
            suite_format=suite.format.value,
            score_rule=suite.score_rule,
            possibly_caused_by_agent=caused_by_agent_of(own, attempts),
            passing=pass_rates_of(own, facts.pass_threshold),
            events=failure_sheet(one for task in own for one in task.events) or UNSET,
        )
    return found


def caused_by_agent_of(
    tasks: Sequence[TaskTrials], attempts: Mapping[TrialKey, TrialState]
) -> result_json.CausedByAgent:
    """Return the trials without a score that the agent may have caused, and the mean if each counted as 0."""
    caused = [trial.outcome.key for task in tasks for trial in task.trials if trial.caused_by_agent]
    with_zeros = [task.scores + [0.0 for trial in task.trials if trial.caused_by_agent] for task in tasks]
    means = [fsum(scores) / len(scores) for scores in with_zeros if scores]
    return result_json.CausedByAgent(
        trials=tuple(
            result_json.CausedTrial(
                task_id=key.task_id,
                repetition=key.repetition,
                reasons=tuple(each.reason.value for each in attempts[key].ended),
            )
            for key in caused
        ),
        score_if_zero=summarise(means).mean if caused else None,
    )


def pass_rates_of(tasks: Sequence[TaskTrials], threshold: float) -> result_json.PassRates:
    """Return how often the tasks pass, from a score of `threshold` on, in one and several tries."""
    ks = pass_ks(max((task.planned for task in tasks), default=0))
    rates = pass_rates([task.scores for task in tasks], threshold=threshold, ks=ks)
    return result_json.PassRates(threshold=threshold, k={str(k): rate for k, rate in rates.items()})


def automated_only_of(tasks: Sequence[TaskTrials]) -> result_json.AutomatedOnly:
    """Return what the checks found for hybrid trials that wait for a judge; without a score, no other mean has them."""
    alone = [[trial.automated_alone for trial in task.trials] for task in tasks]
    known = [scores for task in alone if (scores := [score for score in task if score is not None])]
    return result_json.AutomatedOnly(
        tasks=len(known),
        trials=sum(map(len, known)),
        mean=summarise([fsum(scores) / len(scores) for scores in known]).mean,
    )


def user_totals(outcomes: Iterable[Outcome]) -> result_json.UserTotals | None:
    """Return the totals over all attempts, for what was asked was paid; None if none had a simulated user."""
    known = [(one.key, one.user) for one in outcomes if one.user is not None]
    if not known:
        return None
    users = [user for _, user in known]
    return result_json.UserTotals(
        models=tuple(sorted({user.model for user in users if user.model})),
        trials=len({key for key, _ in known}),
        messages=sum(user.messages for user in users),
        calls=sum(user.calls for user in users),
        usage=sum_usage(user.usage for user in users),
        cost_usd=known_sum(user.cost_usd for user in users),
        calls_without_cost=sum(user.calls_without_cost for user in users),
        latency_s=round(fsum(user.latency_s for user in users), 3),
    )


def judge_totals(grades: Sequence[Grade], graded: Sequence[Grade]) -> result_json.JudgeTotals | None:
    """Return what judging cost, apart from what the agents used; None if no judge was asked.

    Whether a price is known is recorded per grade, not per call.
    """
    counting = _judged(grades)
    asked = _judged(sorted(graded, key=lambda grade: (grade.key, grade.graded_at))) or counting
    if not asked:
        return None
    each = [own for part in counting for own in part.each]
    certificates = tuple(sorted({own.certificate or "" for own in each if own.score is not None}))
    return result_json.JudgeTotals(
        models=tuple(sorted({own.model for own in each if own.model})),
        prompt_versions=tuple(sorted({own.prompt_version for own in each if own.prompt_version})),
        trials=len(counting),
        calls=sum(part.calls for part in asked),
        cached=sum(part.cached for part in asked),
        usage=sum_usage(part.usage for part in asked),
        cost_usd=known_sum(part.cost_usd for part in asked),
        calls_without_cost=sum(own.calls for part in asked for own in part.each if own.cost_usd is None),
        latency_s=round(fsum(part.latency_s for part in asked), 3),
        certificates=certificates if any(certificates) else UNSET,
        agreement=agreement_of(counting) or UNSET,
    )


def _judged(grades: Iterable[Grade]) -> list[JudgeGrade]:
    """Return the judges' parts of those grades for which a judge was asked."""
    parts = (grade.judge for grade in grades)
    return [part for part in parts if part is not None and part.ungraded not in NOBODY_WAS_ASKED]


def without_means(data: Aggregate) -> Aggregate:
    """Return a result without each number that is a mean over tasks of more than one suite; counts stay."""
    edit = msgspec.structs.replace
    retries = data.retries
    if retries is not None:
        first = edit(retries.first_attempts, score=_without_mean(retries.first_attempts.score))
        retries = edit(retries, first_attempts=first)
    control = data.control
    if control is not UNSET:
        control = edit(
            control,
            score_without_requeued=control.score_without_requeued and _without_mean(control.score_without_requeued),
            score_with_overrides=control.score_with_overrides and _without_mean(control.score_with_overrides),
        )
    return edit(
        data,
        score=_without_mean(data.score),
        possibly_caused_by_agent=edit(data.possibly_caused_by_agent, score_if_zero=None),
        passing=edit(data.passing, k={}),
        parts=edit(data.parts, automated_only=edit(data.parts.automated_only, mean=None)),
        retries=retries,
        control=control,
    )


def _without_mean(score: Estimate) -> Estimate:
    return replace(score, mean=None, low=None, high=None)


def probe_totals(probes: Sequence[ProbeFacts]) -> result_json.ProbeTotals | None:
    """Sum up the probes of a run; None if there are none."""
    if not probes:
        return None
    return result_json.ProbeTotals(
        sent=len(probes),
        failed=sum(bool(one.error) for one in probes),
        usage=sum_usage(one.usage for one in probes),
        cost_usd=known_sum(one.cost_usd for one in probes),
        without_cost=sum(one.cost_usd is None and not one.error for one in probes),
        probes=tuple(probes),
    )

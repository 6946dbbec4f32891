"""Say what a reader of a run's score must know, and why its trials failed, for the terminal and pages (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from pinchbench.defaults import DEMO_MODELS, TOOL_CALLS_REMEDY
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.usage import Usage
from pinchbench.report.model_calls import breaking_sentence, cost_reasons, model_calls_sentence, model_time_text
from pinchbench.report.sentences import (
    agreement_sentence,
    caused_by_agent_sentence,
    control_sentences,
    decided_sentence,
    kinship_sentences,
    left_out_reasons,
    node_sentences,
    replay_sentences,
    reused_sentence,
    run_warnings,
    unsandboxed_sentence,
    witness_sentences,
)
from pinchbench.report.text import amount, criterion_text, duration, many, plain, score_below, words
from pinchbench.report.what_went_wrong import sheet_sentence
from pinchbench.results.judge_agreement import alpha_interval
from pinchbench.results.overview import Failure, Kind, failures, lost_points, trial_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.result_json import Aggregate, JudgeTotals, Retries, UserTotals
    from pinchbench.results.statistics import PassRate

HOUR_S = 3600.0
MAX_NOTES = 3  # of a grade; the result file has all
MAX_CRITERIA = 3


def remarks(
    totals: Aggregate, outcomes: Sequence[Outcome], grades: Mapping[TrialKey, Grade], files: RunFiles
) -> Iterator[str]:
    """Yield what a reader of the score must know, as `marked_remarks` does."""
    return (sentence for _, sentence in marked_remarks(totals, outcomes, grades, files))


def marked_remarks(
    totals: Aggregate, outcomes: Sequence[Outcome], grades: Mapping[TrialKey, Grade], files: RunFiles
) -> Iterator[tuple[str | None, str]]:
    """Yield what a reader of the score must know, the most important first, with the look of its notice on a page.

    The look is `bad`, `warn` or empty; None for what a page only has among its remarks. `outcomes` and `grades` are of
    the attempts that count for their trials, and `files` those of the run.
    """
    decided, kind = decided_sentence(totals), f" ({totals.stop.value})" if totals.stop is not None else ""
    changes = f"Changed while the run was resumed: {'; '.join(totals.changes)}."
    used, excluded = ", ".join(_used(totals)), left_out_reasons(totals)
    passed = ", ".join(_passed(totals.passing.k))
    measured = totals.model not in DEMO_MODELS
    marked: tuple[tuple[str | None, Iterable[str]], ...] = (
        ("" if decided else "bad", [decided or f"Stopped early{kind}: {totals.stopped}"] if totals.stopped else []),
        (None, [f"Excluded from the score: {excluded}." if excluded else ""]),
        ("warn", _without_tool_calls(outcomes, grades) if measured else ()),
        ("warn", _without_judge(outcomes, grades, files)),
        ("bad", [caused_by_agent_sentence(totals)]),
        ("warn", [unsandboxed_sentence(outcomes), reused_sentence(totals), changes if totals.changes else ""]),
        ("warn", control_sentences(totals)),
        ("warn", witness_sentences(outcomes)),
        (None, replay_sentences(outcomes)),
        ("warn", run_warnings(totals)),
        (None, [f"Used: {used}."] if used else []),
        (None, _partly_known(outcomes)),
        (None, [f"Passed (score of {totals.passing.threshold:g} or more): {passed}."] if passed else []),
        (None, [sheet_sentence(totals.events or {})]),
        (None, _alone(totals)),
        (None, _judged(totals, grades)),
        (None, [] if totals.user is UNSET else [_user_line(totals.user)]),
        (None, [_retries_line(totals.retries)] if totals.retries is not None and totals.retries.trials else []),
        (None, _broken_caches(totals)),
        ("warn", [model_calls_sentence(totals)]),
        (None, [f"Time of the agents, added up: {time}." if (time := model_time_text(totals)) else ""]),
        ("", node_sentences(totals.nodes or {})),
    )
    return ((look, sentence) for look, sentences in marked for sentence in sentences if sentence)


def _without_tool_calls(outcomes: Sequence[Outcome], grades: Mapping[TrialKey, Grade]) -> Iterator[str]:
    """Yield one line if the model answered but never called a tool, and has lost points."""
    answered = [one for one in outcomes if one.reason.is_valid and one.transcript_length]
    has_lost = any((trial_score(one, grades.get(one.key)) or 0.0) < 1.0 for one in answered)
    if has_lost and not any(one.tool_calls for one in answered):
        what = "The trial has" if len(answered) == 1 else f"None of {len(answered)} trials has"
        no = "no " if len(answered) == 1 else "a "
        yield f"{what} {no}tool call. {TOOL_CALLS_REMEDY}"


def _without_judge(outcomes: Sequence[Outcome], grades: Mapping[TrialKey, Grade], files: RunFiles) -> Iterator[str]:
    """Yield one line, however many such trials there are."""
    completed = [grades.get(one.key) for one in outcomes if one.reason is Reason.COMPLETED]
    if lacking := sum(one is not None and one.ungraded is Ungraded.NO_JUDGE for one in completed):
        verb = "is" if lacking == 1 else "are"
        yield (
            f"{many(lacking, 'trial')} {verb} ungraded: no judge was given."
            f" `pinchbench-async regrade {files.argument} --judge MODEL` grades them."
        )


def _broken_caches(totals: Aggregate) -> Iterator[str]:
    found = cost_reasons((trial.usage, trial.wire) for trial in totals.trials if trial.counts)
    if found is not None:
        yield breaking_sentence(found)


def _judged(totals: Aggregate, grades: Mapping[TrialKey, Grade]) -> Iterator[str]:
    if (judge := totals.judge) is None:
        return
    certificates = "; ".join(one or "none for some trials" for one in judge.certificates or ())
    yield (f"{_judge_line(judge)} Certificate: {certificates or 'none; `pinchbench-async judge check` makes one'}.")
    if judge.agreement is not UNSET:
        judged = [one.judge for one in grades.values() if one.judge is not None]
        yield agreement_sentence(judge.agreement, alpha_interval(judged))
    yield from kinship_sentences(totals.model, judge.models, label=totals.model)


def _used(totals: Aggregate) -> Iterator[str]:
    """Yield the use of each limit: all attempts, users and the judge included, but only the last session's time."""
    limits, used, before = totals.limits, totals.usage, _used_before(totals)
    for paid in (totals.user, totals.judge):
        if paid:
            used += structs.replace(paid.usage, cost_usd=paid.cost_usd or 0.0)
    if totals.retries is not None:
        used += totals.retries.other_attempts_usage
    if limits.max_tokens is not None:
        tokens = used.total_tokens - before.total_tokens
        yield f"{amount(tokens)} of {amount(limits.max_tokens)} tokens"
    if limits.max_cost is not None:
        yield f"${used.cost_usd - before.cost_usd:.4f} of ${limits.max_cost:.2f}"
    if limits.max_hours is not None and totals.sessions:
        start, end = totals.sessions[-1]
        again = " since it was resumed" if len(totals.sessions) > 1 else ""
        yield f"{duration(end - start)} of {duration(limits.max_hours * HOUR_S)}{again}"


def _partly_known(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield one line if what some trials used, or what that cost, is known and that of others is not."""
    for what, lacking, known in (
        (
            "tokens",
            [bool(one.wire and one.wire.unreported) for one in outcomes],
            [one.usage.has_tokens for one in outcomes],
        ),
        ("cost", [one.usage.known_cost_usd is None for one in outcomes], [one.usage.cost_usd > 0 for one in outcomes]),
    ):
        if any(lacking) and any(known):
            yield f"The sums of {what} are at least so much: of {many(sum(lacking), 'trial')} not all is known."


def _used_before(totals: Aggregate) -> Usage:
    """Return what reused trials, their users and their judges used in other runs."""
    used = Usage()
    began = totals.sessions[0][0] if totals.sessions else 0.0
    for trial in totals.trials:
        if trial.reused_from is not UNSET:
            used += trial.usage if trial.user is UNSET else trial.usage + trial.user.paid
            if trial.grade is not None and trial.grade.judge is not None and trial.grade.graded_at < began:
                judge = trial.grade.judge
                used += structs.replace(judge.usage, cost_usd=judge.cost_usd or 0.0)
    return used


def _alone(totals: Aggregate) -> Iterator[str]:
    alone = totals.parts.automated_only
    if alone.tasks and alone.mean is not None:
        yield f"Without their judge, the checks of {many(alone.tasks, 'task')} give {alone.mean:.2f}; not in the score."


def _retries_line(retries: Retries) -> str:
    tried = f"{many(retries.trials, 'trial')} retried ({many(retries.attempts, 'further attempt')})"
    verb = "counts" if retries.recovered == 1 else "count"
    counted = f"{retries.recovered} of them {verb} only because of that"
    score = retries.first_attempts.score
    none = "no mean across suites" if score.trials else "no score"
    alone = none if score.mean is None else f"a score of {score.mean:.3f} ({many(score.trials, 'trial')})"
    spent = retries.other_attempts_usage
    cost = "at an unknown cost" if spent.known_cost_usd is None else f"${spent.known_cost_usd:.4f}"
    return (
        f"Retries: {tried}; {counted}. First attempts alone give {alone}. Attempts that do not count used"
        f" {amount(spent.total_tokens)} tokens, {cost}."
    )


def _passed(rates: Mapping[str, PassRate]) -> Iterator[str]:
    for k, rate in rates.items():
        if int(k) > 1 and rate.pass_at_k is not None and rate.pass_hat_k is not None:
            of = many(rate.tasks, "task")
            yield f"{rate.pass_hat_k:.0%} of {of} in all {k} trials, {rate.pass_at_k:.0%} in at least one"


def _judge_line(judge: JudgeTotals) -> str:
    who = f"Judge {', '.join(judge.models)}" if judge.models else "Judging"
    trials = many(judge.trials, "trial")
    if not judge.calls:
        return f"{who}: {trials}, {'all from the cache' if judge.cached else 'no calls'}."
    tokens = amount(judge.usage.total_tokens)
    return (
        f"{who}: {many(judge.calls, 'call')} for {trials}, {judge.cached} from the cache, {tokens} tokens, "
        f"{_judge_cost(judge)}."
    )


def _user_line(user: UserTotals) -> str:
    who = f"Simulated user {', '.join(user.models)}" if user.models else "Simulated user by script"
    said = f"{who}: {many(user.messages, 'message')} in {many(user.trials, 'trial')}"
    if not user.calls:
        return f"{said}, no calls."
    cost = "cost not reported" if user.cost_usd is None else f"${user.cost_usd:.4f}"
    return f"{said}, {many(user.calls, 'call')}, {amount(user.usage.total_tokens)} tokens, {cost}."


def _judge_cost(judge: JudgeTotals) -> str:
    if judge.cost_usd is None:
        return "cost not reported by the endpoint"
    told = f"${judge.cost_usd:.4f}"
    missing = judge.calls_without_cost
    return f"{told}, cost not reported for {missing} of {many(judge.calls, 'call')}" if missing else told


def failures_of(run: PastRun) -> tuple[Failure, ...]:
    """Return the trials that failed or have a note, the most important first."""
    return failures(run.outcomes, run.grades, threshold=run.pass_threshold)


def failed_trials(run: PastRun) -> tuple[Failure, ...]:
    """Return the trials that did not pass, without those that only lack a judge."""
    return tuple(one for one in failures_of(run) if one.kind not in (Kind.NOTED, Kind.NO_JUDGE))


def failure_text(failure: Failure, data: Aggregate) -> str:
    """Say in one line why a trial of this run failed: how it ended, and the criteria that it missed."""
    caused = failure.outcome.key in data.possibly_caused_by_agent.keys
    return "; ".join(_reasons(failure, data.passing.threshold, caused_by_agent=caused))


def _reasons(failure: Failure, threshold: float, *, caused_by_agent: bool) -> Iterator[str]:
    """Yield why a trial failed: a sentence on how it ended, if that is informative, and one on its grade."""
    outcome, grade = failure.outcome, failure.grade
    note = f": {plain(outcome.note, width=400)}" if outcome.note else ""
    score = trial_score(outcome, grade)
    if outcome.reason is Reason.PREREQUISITE_MISSING:
        yield f"{words(outcome.reason)} (not run){note}"
        return
    if failure.kind is Kind.SILENT:
        is_untrusted = outcome.reason.ending is Ending.UNTRUSTED
        ours = "" if outcome.reason is Reason.INTERRUPTED else "infrastructure failure"
        kind = "its evidence can't be trusted" if is_untrusted else ours
        caused = " that the agent may have caused" if caused_by_agent and not is_untrusted else ""
        yield f"{words(outcome.reason)} ({kind}{caused}{'; ' if kind else ''}not in the score){note}"
        return
    if outcome.reason is not Reason.COMPLETED or note:
        scored = "" if score is None or failure.kind is Kind.NOT_PASSED else f", score {score:.2f}"
        yield f"{words(outcome.reason)}{scored}{note}"
    if score is None:
        yield _why_ungraded(grade)
    elif failure.kind is Kind.NOT_PASSED and grade is not None and score is not None:
        why = why_so_low(grade)
        yield f"score {score_below(score, threshold)}{why and f': {why}'}"


def _why_ungraded(grade: Grade | None) -> str:
    if grade is None:
        return "ungraded, its turn did not come; `pinchbench-async regrade` grades it"
    alone = grade.check_alone
    check = f" (its check alone gives {alone:.2f})" if alone is not None else ""
    why = words(grade.ungraded) if grade.ungraded is not None else "its score is not in 0-1"
    notes = [shown for note in grade.notes[:MAX_NOTES] if (shown := plain(note, width=300))]
    return f"ungraded, {why}{check}{': ' if notes else ''}{'; '.join(notes)}"


def why_so_low(grade: Grade) -> str:
    """Return the criteria that cost most, and the first note."""
    lost = [f"{criterion_text(name, width=60)} {points:.2f}" for name, points in lost_points(grade)]
    more = [f"{len(lost) - MAX_CRITERIA} more"] if len(lost) > MAX_CRITERIA else []
    note = next((shown for note in grade.notes if (shown := plain(note, width=160))), "")
    return "; ".join(filter(None, (", ".join([*lost[:MAX_CRITERIA], *more]), note)))

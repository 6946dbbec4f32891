"""Print the table at the end of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import UNSET, structs
from rich.text import Text

from pinchbench.model.ending import Ending, Reason
from pinchbench.report.caused_by_agent import caused_by_agent_told
from pinchbench.report.control import control_told
from pinchbench.report.decided import decided_told
from pinchbench.report.model_calls import model_calls_told, model_time_told
from pinchbench.report.nodes import nodes_told
from pinchbench.report.replayed import replayed_told
from pinchbench.report.suites import scores_told
from pinchbench.report.terminal.columns import Cell, Column, aligned
from pinchbench.report.terminal.lines import check_alone
from pinchbench.report.text import amount, clock, duration, many, plain, price, score_below
from pinchbench.report.unsandboxed import unsandboxed_told
from pinchbench.results.overview import Kind, lost_points, overview, trial_score
from pinchbench.results.paths import RunFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.model.usage import Usage
    from pinchbench.results.overview import Failure, Overview, Row
    from pinchbench.results.result_json import Aggregate, JudgeTotals, PassRate, Retries, UserTotals
    from pinchbench.results.statistics import Estimate

HOUR_S = 3600.0
MIN_ID_WIDTH = 20  # columns
MAX_NOTES = 3  # of a grade, on the terminal; the result file has all
MAX_CRITERIA = 3
MAX_NOTED = 10  # passed trials with a note; failures are never omitted
TRANSCRIPT = "transcript.jsonl"  # in the folder of a trial's evidence


def print_summary(
    console: Console,
    data: Aggregate,
    outcomes: Sequence[Outcome],
    grades: Mapping[TrialKey, Grade],
    *,
    folder: Path,
) -> None:
    """Print a table of the categories and their tasks, then the failures and where to look into them, then the score.

    `data` is the aggregate of the run, which is beside its `folder`.
    """
    threshold = data.passing.threshold
    glance = overview(
        outcomes,
        grades,
        category_of={task.task_id: task.category for task in data.tasks},
        threshold=threshold,
    )
    # every sentence is one line, however long: it may be read in a log
    table = aligned(_columns(glance), list(_rows(glance, data)), width=console.width)
    lines = [
        *table,
        *_legend(glance, folder),
        *_failures(glance, folder, threshold, data.possibly_caused_by_agent.keys),
        *_noted(glance, folder, threshold),
        *_without_judge(glance, folder),
        *map(_sentence, replayed_told(outcomes)),
        *map(_sentence, nodes_told(data.nodes or {})),
        *map(_sentence, filter(None, [unsandboxed_told(outcomes)])),
        *map(_sentence, _soundness(data)),
        *map(_sentence, _headline(data)),
    ]
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def _soundness(data: Aggregate) -> tuple[str, ...]:
    from pinchbench.report.soundness import run_told  # noqa: PLC0415 - loads NumPy, which a run does not wait for

    return run_told(data)


def _sentence(text: str) -> Text:
    return Text(plain(text))


def _columns(glance: Overview) -> tuple[Column, ...]:
    """Return the columns. On a narrow terminal, ids are shortened first, then redundant columns; never the scores."""
    out = [Column(name="excluded", is_right=True)] if glance.whole.left_out else []
    return (
        Column(name="task", least=MIN_ID_WIDTH),
        Column(name="score", is_right=True),
        Column(name="interval", rank=2),
        Column(name="passed", is_right=True),
        *out,
        Column(name="time", is_right=True, rank=1),
        Column(name="tokens", is_right=True, rank=4),
        Column(name="cost", is_right=True, rank=3),
    )


def _rows(glance: Overview, totals: Aggregate) -> Iterator[list[Cell]]:
    has_out = bool(glance.whole.left_out)
    # a single category is the whole run, which has a row already
    named = {one.name for one in glance.categories if one.name is not None and len(glance.categories) > 1}
    for category in glance.categories:
        indent = ""
        if category.name in named and category.name is not None:
            indent = "  "
            score = totals.categories[category.name].score
            yield _row(Cell(text=plain(category.name), style="bold"), category.row, has_out=has_out, of=score)
        for row in category.tasks:
            yield _row(Cell(text=indent + plain(row.name)), row, has_out=has_out)
    all_of_it = Cell(text=f"{glance.whole.trials} of {totals.counts.planned} trials", style="bold")
    whole = glance.whole if totals.score.mean is not None else replace(glance.whole, score=None)
    yield _row(all_of_it, whole, has_out=has_out, of=totals.score)


def _row(name: Cell, row: Row, *, has_out: bool, of: Estimate | None = None) -> list[Cell]:
    """Return the cells of a task, or, with the score `of` all its tasks, of a category or the run."""
    interval = "" if of is None or of.low is None or of.high is None else f"{of.low:.2f}–{of.high:.2f}"
    return [
        name,
        _score_cell(row),
        Cell(text=interval),
        _passed_cell(row),
        *([Cell(text=str(row.left_out or ""), style="yellow")] if has_out else []),
        *map(_plain_cell, (clock(row.time_s), amount(row.usage.total_tokens), price(row.usage.known_cost_usd))),
    ]


def _plain_cell(text: str) -> Cell:
    return Cell(text=text)


def _score_cell(row: Row) -> Cell:
    if row.score is not None:
        return Cell(text=f"{row.score:.2f}", style="bold")
    return Cell(text="ungraded", style="yellow") if row.ungraded else Cell(text="–", style="dim")


def _passed_cell(row: Row) -> Cell:
    if not row.scored:
        return Cell(text="–", style="dim")
    style = "green" if row.passed == row.scored else "yellow" if row.passed else "red"
    return Cell(text=f"{row.passed} of {row.scored}", style=style)


def _legend(glance: Overview, folder: Path) -> Iterator[Text]:
    if glance.hidden:
        yield Text(
            f"{many(glance.hidden, 'task')} with every point in every trial: not shown; {_all_stand_in(folder)}",
            style="dim",
        )
    told = ["excluded: trials that are in no score"] if glance.whole.left_out else []
    if glance.whole.trials > 1:
        told.append("time, tokens and cost: the agents', added up")
    if told:
        yield Text("; ".join(told), style="dim")


def _failures(glance: Overview, folder: Path, threshold: float, caused: frozenset[TrialKey]) -> Iterator[Text]:
    """Yield every trial that failed: why, and where its transcript is."""
    for failure in glance.failures:
        if failure.kind not in (Kind.NOTED, Kind.NO_JUDGE):
            yield _failure(failure, folder, threshold, caused_by_agent=failure.outcome.key in caused)


def _failure(failure: Failure, folder: Path, threshold: float, *, caused_by_agent: bool = False) -> Text:
    reasons = "; ".join(_reasons(failure, threshold, caused_by_agent=caused_by_agent))
    evidence = _evidence(failure.outcome)
    where = f"\n  {plain(str(folder / evidence))}" if evidence else ""
    return Text(f"{plain(str(failure.outcome.key))}: {reasons}{where}")


def _noted(glance: Overview, folder: Path, threshold: float) -> Iterator[Text]:
    noted = [one for one in glance.failures if one.kind is Kind.NOTED]
    yield from (_failure(one, folder, threshold) for one in noted[:MAX_NOTED])
    if (more := len(noted) - MAX_NOTED) > 0:
        yield Text(f"Not shown: {more} more with a note. A{_all_stand_in(folder)[1:]}")


def _without_judge(glance: Overview, folder: Path) -> Iterator[Text]:
    """Yield one line, however many such trials there are."""
    if lacking := sum(one.kind is Kind.NO_JUDGE for one in glance.failures):
        verb = "is" if lacking == 1 else "are"
        run = plain(RunFiles(output_dir=folder.parent, name=folder.name).argument)
        yield Text(
            f"{many(lacking, 'trial')} {verb} ungraded for want of a judge:"
            f" `pinchbench-async regrade {run} --judge MODEL` grades them."
        )


def _all_stand_in(folder: Path) -> str:
    return f"all stand in {plain(f'{folder}.json')}."


def _evidence(outcome: Outcome) -> str:
    """Return the evidence of a trial to look into: its transcript, or its folder if it has none."""
    return f"{outcome.evidence}/{TRANSCRIPT}" if outcome.transcript_length else outcome.evidence


def _reasons(failure: Failure, threshold: float, *, caused_by_agent: bool) -> Iterator[str]:
    """Yield why a trial failed: a sentence on how it ended, if that is informative, and one on its grade."""
    outcome, grade = failure.outcome, failure.grade
    note = f": {plain(outcome.note, width=400)}" if outcome.note else ""
    score = trial_score(outcome, grade)
    if outcome.reason is Reason.PREREQUISITE_MISSING:
        yield f"{outcome.reason.value} (not run){note}"
        return
    if failure.kind is Kind.SILENT:
        is_untrusted = outcome.reason.ending is Ending.UNTRUSTED
        ours = "" if outcome.reason is Reason.INTERRUPTED else "infrastructure failure"
        kind = "its evidence can't be trusted" if is_untrusted else ours
        caused = " that the agent may have caused" if caused_by_agent and not is_untrusted else ""
        yield f"{outcome.reason.value} ({kind}{caused}{'; ' if kind else ''}not in the score){note}"
        return
    if outcome.reason is not Reason.COMPLETED or note:
        scored = "" if score is None or failure.kind is Kind.NOT_PASSED else f", score {score:.2f}"
        yield f"{outcome.reason.value}{scored}{note}"
    if score is None:
        yield _why_ungraded(grade)
    elif failure.kind is Kind.NOT_PASSED and grade is not None and score is not None:
        yield f"score {score_below(score, threshold)}{_why_so_low(grade)}"


def _why_ungraded(grade: Grade | None) -> str:
    if grade is None:
        return "ungraded, its turn did not come; `pinchbench-async regrade` grades it"
    alone = check_alone(grade)
    check = f" (its check alone gives {alone:.2f})" if alone is not None else ""
    why = grade.ungraded.value if grade.ungraded is not None else "its score is not in 0-1"
    notes = [told for note in grade.notes[:MAX_NOTES] if (told := plain(note, width=300))]
    return f"ungraded, {why}{check}{': ' if notes else ''}{'; '.join(notes)}"


def _why_so_low(grade: Grade) -> str:
    """Return the criteria that cost most, and the first note."""
    lost = [f"{plain(name, width=60)} {points:.2f}" for name, points in lost_points(grade)]
    more = [f"{len(lost) - MAX_CRITERIA} more"] if len(lost) > MAX_CRITERIA else []
    criteria = f": {', '.join([*lost[:MAX_CRITERIA], *more])}" if lost else ""
    note = next((f"; {told}" for note in grade.notes if (told := plain(note, width=160))), "")
    return f"{criteria}{note}"


def _headline(totals: Aggregate) -> Iterator[str]:
    if totals.stopped:
        kind = f" ({totals.stop.value})" if totals.stop is not None else ""
        yield decided_told(totals) or f"Stopped early{kind}: {totals.stopped}"
    if totals.changes:
        yield f"Changed while the run was resumed: {'; '.join(totals.changes)}."
    yield from scores_told(totals)
    if len(totals.categories) > 1 and any(one.score.tasks for one in totals.categories.values()):
        yield "By category: " + ", ".join(_category(name, one.score) for name, one in totals.categories.items()) + "."
    if passed := list(_passed(totals.passing.k)):
        yield f"Passed (score of {totals.passing.threshold:g} or more): {', '.join(passed)}."
    yield from _left_out(totals)
    if caused := caused_by_agent_told(totals):
        yield caused
    if totals.retries is not None and totals.retries.trials:
        yield _retries_line(totals.retries)
    yield from control_told(totals)
    yield from _model_calls(totals)
    if totals.judge is not None:
        yield _judge_line(totals.judge)
        yield from _certificate_lines(totals.judge)
    if totals.user is not UNSET:
        yield _user_line(totals.user)
    if used := ", ".join(_used(totals)):
        yield f"Used: {used}."


def _model_calls(totals: Aggregate) -> Iterator[str]:
    if calls := model_calls_told(totals):
        yield calls
    if time := model_time_told(totals):
        yield f"Time of the agents, added up: {time}."


def _used(totals: Aggregate) -> Iterator[str]:
    """Yield the use of each limit: all attempts, users and the judge included, but only the last session's time."""
    limits, used = totals.limits, totals.usage
    if totals.user is not UNSET:
        used += structs.replace(totals.user.usage, cost_usd=totals.user.cost_usd or 0.0)
    if totals.retries is not None:
        used += totals.retries.other_attempts_usage
    judge = totals.judge
    if limits.max_tokens is not None:
        tokens = used.total_tokens + (judge.usage.total_tokens if judge is not None else 0)
        yield f"{amount(tokens)} of {amount(limits.max_tokens)} tokens"
    if limits.max_cost is not None:
        cost = used.cost_usd + (judge.cost_usd or 0.0 if judge is not None else 0.0)
        yield f"${cost:.4f} of ${limits.max_cost:.2f}"
    if limits.max_hours is not None and totals.sessions:
        start, end = totals.sessions[-1]
        again = " since it was resumed" if len(totals.sessions) > 1 else ""
        yield f"{duration(end - start)} of {duration(limits.max_hours * HOUR_S)}{again}"


def _left_out(totals: Aggregate) -> Iterator[str]:
    """Yield what the score excludes."""
    left = totals.left_out
    if left.total:
        missing = f" {left.prerequisite_missing} for want of a prerequisite," if left.prerequisite_missing else ""
        untrusted = f" {left.untrusted} whose evidence can't be trusted," if left.untrusted else ""
        skipped = f" {left.skipped} skipped by the user," if left.skipped else ""
        yield (
            f"Excluded from the score: {left.ungraded} ungraded, {left.infrastructure} that failed for "
            f"infrastructure reasons,{untrusted}"
            f"{missing}{skipped} {left.not_run} not run; tasks without any score: {left.tasks_without_score}."
        )
    alone = totals.parts.automated_only
    if alone.tasks and alone.mean is not None:
        yield f"Without their judge, the checks of {many(alone.tasks, 'task')} give {alone.mean:.2f}; not in the score."


def _retries_line(retries: Retries) -> str:
    tried = f"{many(retries.trials, 'trial')} retried ({many(retries.attempts, 'further attempt')})"
    verb = "counts" if retries.recovered == 1 else "count"
    counted = f"{retries.recovered} of them {verb} now and would not have without"
    score = retries.first_attempts.score
    none = "no mean across suites" if score.trials else "no score"
    alone = none if score.mean is None else f"a score of {score.mean:.3f} ({many(score.trials, 'trial')})"
    spent = retries.other_attempts_usage
    return (
        f"Retries: {tried}; {counted}. First attempts alone give {alone}. Attempts that do not count used"
        f" {amount(spent.total_tokens)} tokens, {_cost_words(spent)}."
    )


def _cost_words(usage: Usage) -> str:
    cost = usage.known_cost_usd
    return "at an unknown cost" if cost is None else f"${cost:.4f}"


def _passed(rates: Mapping[str, PassRate]) -> Iterator[str]:
    for k, rate in rates.items():
        if rate.pass_at_k is None or rate.pass_hat_k is None:
            continue
        every = f", pass^{k} {rate.pass_hat_k:.0%}" if int(k) > 1 else ""
        yield f"pass@{k} {rate.pass_at_k:.0%}{every} ({many(rate.tasks, 'task')})"


def _category(name: str, score: Estimate) -> str:
    return f"{name} –" if score.mean is None else f"{name} {score.mean:.2f} ({score.tasks})"


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


def _certificate_lines(judge: JudgeTotals) -> Iterator[str]:
    for told in judge.certificates or ("",):
        yield (
            f"The judge's certificate is {told}."
            if told
            else "The judge has no certificate: `pinchbench-async judge check` makes one."
        )


def _judge_cost(judge: JudgeTotals) -> str:
    if judge.cost_usd is None:
        return "cost not reported by the endpoint"
    told = f"${judge.cost_usd:.4f}"
    missing = judge.calls_without_cost
    return f"{told}, cost not reported for {missing} of {many(judge.calls, 'call')}" if missing else told

"""The table at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from pinchbench.model import Outcome, Stop, Usage
from pinchbench.report.live import STYLES, check_alone
from pinchbench.report.text import amount, duration, many, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from pinchbench.model import Grade, TrialKey

WIDE = 80  # columns; in a narrower terminal requests, tokens and cost are left to the result
MIN_ID_WIDTH = 12
GAP = 2  # columns between two of the table's
MAX_NOTES = 3  # of a grade, in the terminal; all are in the result


class _Score(msgspec.Struct, frozen=True):
    mean: float | None
    low: float | None
    high: float | None
    tasks: int
    trials: int


class _LeftOut(msgspec.Struct, frozen=True):
    ungraded: int
    infrastructure: int
    not_run: int
    tasks_without_score: int = 0


class _Category(msgspec.Struct, frozen=True):
    score: _Score
    left_out: _LeftOut


class _PassRate(msgspec.Struct, frozen=True):
    pass_at_k: float | None
    pass_hat_k: float | None
    tasks: int


class _Pass(msgspec.Struct, frozen=True):
    threshold: float
    k: dict[str, _PassRate]


class _AutomatedOnly(msgspec.Struct, frozen=True):
    tasks: int
    mean: float | None


class _Parts(msgspec.Struct, frozen=True):
    automated_only: _AutomatedOnly


class _Judge(msgspec.Struct, frozen=True):
    models: list[str]
    trials: int
    calls: int
    cached: int
    usage: Usage
    cost_usd: float | None
    calls_without_cost: int


class _FirstAttempts(msgspec.Struct, frozen=True):
    score: _Score


class _Retries(msgspec.Struct, frozen=True):
    trials: int
    attempts: int
    recovered: int
    first_attempts: _FirstAttempts
    other_attempts_usage: Usage


class _Totals(msgspec.Struct, frozen=True, rename={"passed": "pass"}):
    """What the summary needs of an aggregate."""

    counts: dict[str, object]
    score: _Score
    left_out: _LeftOut
    categories: dict[str, _Category]
    passed: _Pass
    parts: _Parts
    judge: _Judge | None
    retries: _Retries | None = None
    stopped: str = ""
    stop: Stop | None = None
    changes: tuple[str, ...] = ()


def print_summary(
    console: Console,
    data: Mapping[str, object],
    outcomes: Sequence[Outcome],
    grades: Mapping[TrialKey, Grade],
    *,
    folder: Path,
) -> None:
    """One row a trial in the plan's order, then the totals, then where to look into what went wrong.

    `data` is the aggregate of the run.
    """
    totals = msgspec.convert(data, _Totals)
    in_order = sorted(outcomes, key=lambda outcome: outcome.key)
    table = Table(box=None, header_style="bold", pad_edge=False)
    columns = [("status", "left"), ("reason", "left"), ("score", "right"), ("time", "right")]
    if console.width >= WIDE:
        columns += [("requests", "right"), ("tokens", "right"), ("cost", "right")]
    rows = [_row(one, grades.get(one.key)) for one in in_order]
    total = sum((one.usage for one in outcomes), Usage())
    rows.append([Text(text) for text in ("", "", "", "", *_spent(total))])
    widths = [max(cell_len(name), *(row[place].cell_len for row in rows)) for place, (name, _) in enumerate(columns)]
    # a narrow terminal or a long id takes from the ids, never from the numbers
    room = max(MIN_ID_WIDTH, console.width - sum(widths) - GAP * len(widths))
    table.add_column("task", no_wrap=True, overflow="ellipsis", max_width=room)
    for (name, side), width in zip(columns, widths, strict=True):
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=True, min_width=width)
    for one, row in zip(in_order, rows, strict=False):
        table.add_row(Text(plain(str(one.key))), *row[: len(columns)])
    table.add_section()
    table.add_row(f"{len(outcomes)} of {totals.counts['planned']} trials", *rows[-1][: len(columns)])
    console.print(table)
    for line in _problems(in_order, grades, folder):
        console.print(line, soft_wrap=True)
    for sentence in _headline(totals):
        console.print(Text(plain(sentence)), soft_wrap=True, highlight=False)


def _row(outcome: Outcome, grade: Grade | None) -> list[Text]:
    """The cells of a trial, but for its name."""
    status = Text(outcome.status.value, style=STYLES[outcome.status])
    texts = (duration(outcome.execution_time_s), *_spent(outcome.usage))
    return [status, Text(outcome.reason.value), _score_cell(grade), *map(Text, texts)]


def _spent(usage: Usage) -> tuple[str, str, str]:
    return str(usage.requests), amount(usage.total_tokens), f"${usage.cost_usd:.4f}"


def _score_cell(grade: Grade | None) -> Text:
    if grade is None:
        return Text("–", style="dim")
    if grade.score is None:
        return Text("ungraded", style="yellow")
    return Text(f"{grade.score:.2f}", style="bold")


def _problems(outcomes: Sequence[Outcome], grades: Mapping[TrialKey, Grade], folder: Path) -> Iterator[Text]:
    for one in outcomes:
        name, where = plain(str(one.key)), f"\n  {plain(str(folder / one.evidence))}"
        if one.note or not one.reason.counts:
            counted = "" if one.reason.counts else " (says nothing about the model; counted for nobody)"
            note = f": {plain(one.note, width=400)}" if one.note else ""
            yield Text(f"{name}: {one.reason.value}{counted}{note}{where}")
        grade = grades.get(one.key)
        if one.reason.counts and grade is None:
            yield Text(f"{name}: ungraded, its turn did not come; `pinchbench-async regrade` grades it{where}")
        elif one.reason.counts and grade is not None and grade.ungraded is not None:
            alone = check_alone(grade)
            check = f" (its check alone gives {alone:.2f})" if alone is not None else ""
            notes = "; ".join(plain(note, width=300) for note in grade.notes[:MAX_NOTES])
            yield Text(f"{name}: ungraded, {grade.ungraded.value}{check}: {notes}{where}")


def _headline(totals: _Totals) -> Iterator[str]:
    if totals.stopped:
        kind = f" ({totals.stop.value})" if totals.stop is not None else ""
        yield f"Stopped early{kind}: {totals.stopped}"
    if totals.changes:
        yield f"Changed while the run was resumed: {'; '.join(totals.changes)}."
    score = totals.score
    if score.mean is None:
        yield "No score: no trial has one."
    else:
        yield f"Score {_with_interval(score)}, the mean of {many(score.tasks, 'task')} ({many(score.trials, 'trial')})."
    if len(totals.categories) > 1 and any(one.score.tasks for one in totals.categories.values()):
        yield "By category: " + ", ".join(_category(name, one.score) for name, one in totals.categories.items()) + "."
    if passed := list(_passed(totals.passed.k)):
        yield f"Passed (score of {totals.passed.threshold:g} or more): {', '.join(passed)}."
    left = totals.left_out
    if left.ungraded or left.infrastructure or left.not_run:
        yield (
            f"Left out of the score: {left.ungraded} ungraded, {left.infrastructure} that say nothing about the model,"
            f" {left.not_run} not run; tasks without any score: {left.tasks_without_score}."
        )
    alone = totals.parts.automated_only
    if alone.tasks and alone.mean is not None:
        yield f"Without their judge, the checks of {many(alone.tasks, 'task')} give {alone.mean:.2f}; not in the score."
    if totals.retries is not None and totals.retries.trials:
        yield _retries_line(totals.retries)
    if totals.judge is not None:
        yield _judge_line(totals.judge)


def _retries_line(retries: _Retries) -> str:
    tried = f"{many(retries.trials, 'trial')} tried again ({many(retries.attempts, 'further attempt')})"
    counted = f"{retries.recovered} of them count now and would not have without"
    score = retries.first_attempts.score
    alone = "no score" if score.mean is None else f"a score of {score.mean:.3f} ({many(score.trials, 'trial')})"
    spent = retries.other_attempts_usage
    return (
        f"Retries: {tried}; {counted}. First attempts alone give {alone}. Attempts that do not count used"
        f" {amount(spent.total_tokens)} tokens, ${spent.cost_usd:.4f}."
    )


def _passed(rates: Mapping[str, _PassRate]) -> Iterator[str]:
    for k, rate in rates.items():
        if rate.pass_at_k is None or rate.pass_hat_k is None:
            continue
        every = f", pass^{k} {rate.pass_hat_k:.0%}" if int(k) > 1 else ""
        yield f"pass@{k} {rate.pass_at_k:.0%}{every} ({many(rate.tasks, 'task')})"


def _with_interval(score: _Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.mean:.3f} (too little data for an interval)"
    return f"{score.mean:.3f} (95 % interval {score.low:.3f} to {score.high:.3f})"


def _category(name: str, score: _Score) -> str:
    return f"{name} –" if score.mean is None else f"{name} {score.mean:.2f} ({score.tasks})"


def _judge_line(judge: _Judge) -> str:
    who = f"Judge {', '.join(judge.models)}" if judge.models else "Judging"
    trials = many(judge.trials, "trial")
    if not judge.calls:
        return f"{who}: {trials}, {'all from the cache' if judge.cached else 'no calls'}."
    tokens = amount(judge.usage.total_tokens)
    return f"{who}: {many(judge.calls, 'call')} for {trials}, {judge.cached} from the cache, {tokens} tokens, {_judge_cost(judge)}."


def _judge_cost(judge: _Judge) -> str:
    if judge.cost_usd is None:
        return "cost not told by the endpoint"
    told = f"${judge.cost_usd:.4f}"
    missing = judge.calls_without_cost
    return f"{told}, cost not told for {missing} of {many(judge.calls, 'call')}" if missing else told

"""The table at the end of a run, and the plan before one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.table import Table
from rich.text import Text

from pinchbench.model import Outcome, Usage
from pinchbench.report.live import STYLES, check_alone
from pinchbench.report.text import amount, duration, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from pinchbench.model import Grade, Trial, TrialKey

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


class _Totals(msgspec.Struct, frozen=True, rename={"passed": "pass"}):
    """What the summary needs of an aggregate."""

    counts: dict[str, object]
    score: _Score
    left_out: _LeftOut
    categories: dict[str, _Category]
    passed: _Pass
    parts: _Parts
    judge: _Judge | None


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
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("task", "status", "reason"):
        table.add_column(name, no_wrap=True)
    for name in ("score", "time", "requests", "tokens", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in sorted(outcomes, key=lambda outcome: outcome.key):
        table.add_row(
            Text(plain(str(one.key))),
            Text(one.status.value, style=STYLES[one.status]),
            one.reason.value,
            _score_cell(grades.get(one.key)),
            *_numbers(one.usage, one),
        )
    total = sum((one.usage for one in outcomes), Usage())
    table.add_section()
    table.add_row(f"{len(outcomes)} of {totals.counts['planned']} trials", "", "", "", *_numbers(total, None))
    console.print(table)
    for line in _problems(outcomes, grades, folder):
        console.print(line, soft_wrap=True)
    for sentence in _headline(totals):
        console.print(Text(plain(sentence)), soft_wrap=True, highlight=False)


def _score_cell(grade: Grade | None) -> Text:
    if grade is None:
        return Text("–", style="dim")
    if grade.score is None:
        return Text("ungraded", style="yellow")
    return Text(f"{grade.score:.2f}", style="bold")


def _problems(outcomes: Sequence[Outcome], grades: Mapping[TrialKey, Grade], folder: Path) -> Iterator[Text]:
    for one in outcomes:
        where = f"\n  {plain(str(folder / one.evidence))}"
        if one.note or not one.reason.counts:
            counted = "" if one.reason.counts else " (says nothing about the model; counted for nobody)"
            yield Text(f"{plain(str(one.key))}: {one.reason.value}{counted} {plain(one.note, width=400)}{where}")
        grade = grades.get(one.key)
        if one.reason.counts and grade is not None and grade.ungraded is not None:
            alone = check_alone(grade)
            check = f" (its check alone gives {alone:.2f})" if alone is not None else ""
            notes = "; ".join(plain(note, width=300) for note in grade.notes[:MAX_NOTES])
            yield Text(f"{plain(str(one.key))}: ungraded, {grade.ungraded.value}{check} {notes}{where}")


def _headline(totals: _Totals) -> Iterator[str]:
    score = totals.score
    if score.mean is None:
        yield "No score: no trial has one."
    else:
        yield f"Score {_with_interval(score)}, the mean of {_many(score.tasks, 'task')} ({_many(score.trials, 'trial')})."
    if len(totals.categories) > 1:
        known = {name: one.score for name, one in totals.categories.items() if one.score.mean is not None}
        yield "By category: " + ", ".join(f"{name} {one.mean:.2f} ({one.tasks})" for name, one in known.items()) + "."
    passed = [
        f"pass@{k} {rate.pass_at_k:.0%}" + (f", pass^{k} {rate.pass_hat_k:.0%}" if int(k) > 1 else "")
        for k, rate in totals.passed.k.items()
        if rate.pass_at_k is not None and rate.pass_hat_k is not None
    ]
    if passed:
        yield f"Passed (score of {totals.passed.threshold:g} or more): {', '.join(passed)}."
    left = totals.left_out
    if left.ungraded or left.infrastructure or left.not_run:
        yield (
            f"Left out of the score: {left.ungraded} ungraded, {left.infrastructure} that say nothing about the model,"
            f" {left.not_run} not run; tasks without any score: {left.tasks_without_score}."
        )
    alone = totals.parts.automated_only
    if alone.tasks and alone.mean is not None:
        yield f"Without their judge, the checks of {_many(alone.tasks, 'task')} give {alone.mean:.2f}; not in the score."
    if totals.judge is not None and totals.judge.trials:
        yield _judge_line(totals.judge)


def _with_interval(score: _Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.mean:.3f} (too little data for an interval)"
    return f"{score.mean:.3f} (95 % interval {score.low:.3f} to {score.high:.3f})"


def _judge_line(judge: _Judge) -> str:
    cost = f"${judge.cost_usd:.4f}" if judge.cost_usd is not None else "cost not told by the endpoint"
    return (
        f"Judge {', '.join(judge.models)}: {_many(judge.calls, 'call')} for {_many(judge.trials, 'trial')}, {judge.cached} from the cache,"
        f" {amount(judge.usage.total_tokens)} tokens, {cost}."
    )


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _numbers(usage: Usage, outcome: Outcome | None) -> tuple[str, str, str, str]:
    time = duration(outcome.execution_time_s) if outcome is not None else ""
    return time, str(usage.requests), amount(usage.total_tokens), f"${usage.cost_usd:.4f}"


def print_plan(console: Console, trials: Sequence[Trial], *, concurrency: int, worst_case_s: float) -> None:
    """What would be run, in order, and how long it can take at most."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("trial", "category", "grading", "files", "turns", "limit"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("files", "turns", "limit") else "left")
    for trial in trials:
        task = trial.task
        table.add_row(
            Text(plain(str(trial.key))),
            Text(plain(task.category)),
            task.grading_type.value,
            str(len(task.workspace_files)),
            str(len(task.turns)),
            duration(trial.timeout_s),
        )
    console.print(table)
    console.print(
        f"{len(trials)} trials on {min(concurrency, len(trials))} slots; the agents take at most"
        f" {duration(worst_case_s)} (all limits used up). Nothing was started."
    )

"""Print lists: a plan, the runs of a folder."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.text import Text

from pinchbench.report.terminal.line_format import Cell, Column, aligned, print_table
from pinchbench.report.text import date_text, duration, many, mean_text, plain, price, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    from rich.console import Console

    from pinchbench.model.task import Task
    from pinchbench.model.trial import Trial
    from pinchbench.results.run_list import RunEntry

PLAN_COLUMNS = (
    Column("trial", least=12),
    Column("category"),
    Column("grading"),
    *(Column(name, is_right=True) for name in ("files", "turns", "limit", "expected")),
)


def print_plan(
    console: Console,
    trials: Sequence[Trial],
    *,
    concurrency: int,
    worst_case_s: float,
    expected_s: Mapping[str, float] = MappingProxyType({}),
    expected_run_s: float | None = None,
    expected_usd: float | None = None,
    user_messages: int = 0,
    judging: str = "",
) -> None:
    """Print what would be run, in starting order, and how long it can take at most.

    `expected_s` is the expected time by task id, and `expected_run_s` that of the whole run, based on earlier runs, as
    is what the agents' model calls cost, `expected_usd`. `user_messages` are those that simulated users can write,
    `judging` is a sentence on what judges will use.
    """
    columns = PLAN_COLUMNS if expected_s else PLAN_COLUMNS[:-1]
    rows = [_plan_row(trial, expected_s)[: len(columns)] for trial in trials]
    print_table(console, columns, rows)
    likely = "" if expected_run_s is None else f", and about {duration(expected_run_s)} going by earlier runs"
    likely += "" if expected_usd is None else f", at about ${expected_usd:.2f} without a judge"
    judging = f" {judging}" if judging else ""
    users = ""
    if user_messages:
        users = f" Simulated users write at most {many(user_messages, 'message')}; their time and cost come on top."
    console.print(
        f"{many(len(trials), 'trial')} on {many(min(concurrency, len(trials)), 'slot')}; the agents take at most"
        f" {duration(worst_case_s)} (all limits used up){likely}.{users}{judging} Nothing was started."
    )


def _plan_row(trial: Trial, expected_s: Mapping[str, float]) -> tuple[str, ...]:
    task = trial.task
    return (
        plain(str(trial.key)),
        plain(task.category),
        task.grading_type.value,
        str(len(task.workspace_files)),
        _turns(task),
        duration(trial.timeout_s),
        duration(expected_s[task.task_id]) if task.task_id in expected_s else "",
    )


def _turns(task: Task) -> str:
    """Return how many turns a trial has; a simulated user may end the conversation earlier."""
    stated = len(task.turns)
    return str(stated) if task.simulated_user is None else f"{stated} to {stated + task.simulated_user.most_messages}"


MAX_MODEL = 40  # columns
MAX_SUITE = 24
MIN_NAME = 12
STYLES = {"complete": "green", "unfinished": "yellow", "interrupted": "yellow", "running": "cyan"}
# a narrow terminal omits the columns with the highest rank first
HISTORY_COLUMNS = (
    Column("run"),
    Column("model", least=MIN_NAME),
    Column("date", rank=5),  # the run's id contains it too, in UTC
    Column("suite", least=MIN_NAME, rank=8),
    Column("score", is_right=True),
    Column("interval", rank=3),
    Column("trials", is_right=True, rank=1),
    Column("passed", is_right=True, rank=4),
    Column("excluded", is_right=True, rank=2),
    Column("cost", is_right=True, rank=2),
    Column("time", is_right=True, rank=6),
    Column("openclaw", rank=7),
    Column("state"),
)


def print_history(console: Console, runs: Sequence[RunEntry], *, timezone: tzinfo | None = None) -> None:
    """Print one line per run, in the given order; for one that can't be read, the reason.

    `timezone` is that of the dates; None means the machine's own.
    """
    head, *lines = aligned(
        HISTORY_COLUMNS, [_run_cells(run, timezone) for run in runs if not run.problem], width=console.width
    )
    known = iter(lines)
    shown = [head, *(_unreadable(run) if run.problem else next(known) for run in runs), *known]
    # all lines as one text: printing each separately takes rich far longer
    console.print(Text("\n").join(shown), soft_wrap=True, no_wrap=True)


def _unreadable(run: RunEntry) -> Text:
    return Text.assemble(f"{plain(run.run)}  ", ("can't be read", "red"), f": {plain(run.problem)}")


def _run_cells(run: RunEntry, timezone: tzinfo | None) -> tuple[Cell, ...]:
    score = run.score
    return (
        plain(run.run_id),
        shorten(plain(run.model), MAX_MODEL, end=MAX_MODEL // 2),
        date_text(run.created_at, timezone),
        plain(run.suite, width=MAX_SUITE),
        _scores(run),
        "" if score.low is None or score.high is None else f"{score.low:.2f}–{score.high:.2f}",
        str(score.trials) if score.trials == run.planned else f"{score.trials}/{run.planned}",
        str(run.passed),
        str(run.excluded or ""),
        price(run.cost_usd),
        duration(run.duration_s),
        plain(run.openclaw),
        (run.state.value, STYLES[run.state.value]),
    )


def _scores(run: RunEntry) -> str:
    """Return the run's mean, or without one those of its suites, in their order."""
    means = run.suites.values() if run.score.mean is None and run.suites else [run.score.mean]
    return " / ".join(map(mean_text, means))


def history_legend(runs: Sequence[RunEntry]) -> str:
    """Explain differing columns of trials and the problems of runs; empty if there is nothing to explain."""
    lines = [f"{plain(run.run_id)}: {remark}." for run in runs for remark in _history_remarks(run)]
    if any(run.excluded for run in runs):
        lines.insert(
            0,
            "trials: those in the score, of those planned; "
            "excluded: those without a score, with an infrastructure failure or with untrusted evidence.",
        )
    return "\n".join(lines)


def _history_remarks(run: RunEntry) -> Iterator[str]:
    if run.suites:
        yield ", ".join(f"{plain(name)} {mean_text(mean)}" for name, mean in run.suites.items())
    if run.caused_by_agent and run.score_if_zero is not None:
        caused = f"{many(run.caused_by_agent, 'trial')} without a score that the agent may have caused"
        yield f"{caused}; counted as 0, the score would be {run.score_if_zero:.3f}"
    if run.reused:
        yield f"{many(run.reused, 'trial')} reused from earlier runs"
    if run.is_altered:
        yield f"not what the runner wrote; `pinchbench-async verify {plain(run.run)}` names the differences"


def no_runs(folder: str, *, model: str) -> str:
    """Return the message for an empty list."""
    if model:
        return f"{plain(folder)} holds no run of a model {plain(model)!r}."
    return f"{plain(folder)} holds no runs. Name another folder with --output-dir."

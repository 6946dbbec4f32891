"""The table at the end of a run, and the plan before one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from pinchbench.model import Outcome, Usage
from pinchbench.report.live import STYLES
from pinchbench.report.text import amount, duration, plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from pinchbench.model import Trial


def print_summary(console: Console, outcomes: Sequence[Outcome], *, planned: int, folder: Path) -> None:
    """One row a trial in the plan's order, then the totals, then where to look into what went wrong."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("task", "status", "reason"):
        table.add_column(name, no_wrap=True)
    for name in ("time", "requests", "tokens", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in sorted(outcomes, key=lambda outcome: outcome.key):
        table.add_row(
            Text(plain(str(one.key))),
            Text(one.status.value, style=STYLES[one.status]),
            one.reason.value,
            *_numbers(one.usage, one),
        )
    total = sum((one.usage for one in outcomes), Usage())
    table.add_section()
    table.add_row(f"{len(outcomes)} of {planned} trials", "", "", *_numbers(total, None))
    console.print(table)
    for one in outcomes:
        if one.note or not one.reason.counts:
            counted = "" if one.reason.counts else " (says nothing about the model; counted for nobody)"
            console.print(
                Text(
                    f"{plain(str(one.key))}: {one.reason.value}{counted} {plain(one.note, width=400)}\n"
                    f"  {plain(str(folder / one.evidence))}"
                ),
                soft_wrap=True,
            )


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

"""Print what would be run, without running it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pinchbench.report.text import duration, many, plain, price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from pinchbench.model.task import Task
    from pinchbench.model.trial import Trial

GAP = "  "
MIN_KEY_WIDTH = 12  # columns of a trial's name, on a terminal too narrow for all of it


def print_plan(
    console: Console,
    trials: Sequence[Trial],
    *,
    concurrency: int,
    worst_case_s: float,
    expected_s: Mapping[str, float] = MappingProxyType({}),
    expected_run_s: float | None = None,
    probes: str = "",
    user_messages: int = 0,
) -> None:
    """Print what would be run, in starting order, and how long it can take at most.

    `expected_s` is the expected time by task id, and `expected_run_s` that of the whole run, based on earlier runs.
    `probes` are the words of `probes_told`, empty for none. `user_messages` are those that simulated users can write.
    """
    head, *rows = _lines(trials, expected_s, width=console.width)
    # all rows as one text: a rich table takes longer than reading the suite
    table = Text.assemble((head, "bold"), *(f"\n{row}" for row in rows))
    console.print(table, no_wrap=True, overflow="ellipsis")
    likely = "" if expected_run_s is None else f", and about {duration(expected_run_s)} going by earlier runs"
    beside = f" Beside them {probes}." if probes else ""
    if user_messages:
        beside += f" Simulated users write at most {many(user_messages, 'message')}; their time and cost come on top."
    console.print(
        f"{many(len(trials), 'trial')} on {many(min(concurrency, len(trials)), 'slot')}; the agents take at most"
        f" {duration(worst_case_s)} (all limits used up){likely}.{beside} Nothing was started."
    )


def probes_told(count: int, *, took_s: float | None, cost_usd: float | None) -> str:
    """Return how many probes are expected, and the time and the cost of all, which are in no other figure."""
    took = "time unknown" if took_s is None else f"about {duration(took_s)}"
    cost = "cost unknown" if cost_usd is None else f"about {price(cost_usd)}"
    return f"{many(count, 'probe')} ({took}, {cost})"


def _lines(trials: Sequence[Trial], expected_s: Mapping[str, float], *, width: int) -> list[str]:
    """Return the header and a line per trial; names are truncated if the terminal is too narrow for all columns."""
    names = ["trial", "category", "grading"]
    numbers = ["files", "turns", "limit", *(["expected"] if expected_s else [])]
    rows = [[*names, *numbers], *(_row(trial, expected_s) for trial in trials)]
    widths = [max(cell_len(row[place]) for row in rows) for place in range(len(rows[0]))]
    others = sum(widths[1:]) + len(GAP) * len(widths[1:])
    if widths[0] > (room := max(MIN_KEY_WIDTH, width - others)):
        widths[0] = room
        for row in rows:
            if cell_len(row[0]) > room:
                row[0] = set_cell_size(row[0], room - 1) + "…"
    lines = []
    for row in rows:
        cells = [set_cell_size(cell, columns) for cell, columns in zip(row, widths, strict=True)]
        cells[len(names) :] = [cell.rjust(columns) for cell, columns in zip(row, widths, strict=True)][len(names) :]
        lines.append(GAP.join(cells).rstrip())
    return lines


def _row(trial: Trial, expected_s: Mapping[str, float]) -> list[str]:
    task = trial.task
    expected = [duration(expected_s[task.task_id]) if task.task_id in expected_s else ""] if expected_s else []
    return [
        plain(str(trial.key)),
        plain(task.category),
        task.grading_type.value,
        str(len(task.workspace_files)),
        _turns(task),
        duration(trial.timeout_s),
        *expected,
    ]


def _turns(task: Task) -> str:
    """Return how many turns a trial has; a simulated user may end the conversation earlier."""
    stated = len(task.turns)
    return str(stated) if task.simulated_user is None else f"{stated} to {stated + task.simulated_user.most_messages}"

"""What `tasks tiers` does."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from pinchbench.authoring.tiers import tier_sizes
from pinchbench.cli.actions.suite import select
from pinchbench.cli.actions.tasks_check_forms import with_solutions
from pinchbench.cli.output import print_result
from pinchbench.report.terminal.columns import Cell, Column, aligned
from pinchbench.report.terminal.console import report_console

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pinchbench.authoring.tiers import Spread, TierSize
    from pinchbench.defaults import SuiteFormat

NONE = "–"
# a narrow terminal omits the columns with the highest rank first
COLUMNS = (
    Column(name="tier"),
    Column(name="tasks", is_right=True),
    Column(name="sessions", is_right=True, rank=4),
    Column(name="turns", is_right=True, rank=3),
    Column(name="model calls", is_right=True),
    Column(name="tokens written", is_right=True, rank=1),
    Column(name="limit (min)", is_right=True),
    Column(name="person (min)", is_right=True, rank=2),
)
LEGEND = (
    "Medians of the tasks, with the least and the most. Model calls and the tokens that are written in them, estimated"
    " at four characters a token, are those of the tasks' solutions. A person's minutes are estimates."
)


def show_tiers(
    *, tasks_dir: Path | None, suite_format: SuiteFormat | None, form: int | None, suite: str, as_json: bool
) -> None:
    """Show how much work the tasks of each tier are. Raises SuiteError, listing all solutions that are invalid."""
    loaded, chosen = select(tasks_dir, suite, suite_format, form=form)
    sizes = tier_sizes(loaded.suite, with_solutions(loaded.suite, chosen))
    if as_json:
        print_result(json.dumps([msgspec.to_builtins(one) for one in sizes]))
        return
    text = io.StringIO()
    console = report_console(text, is_terminal=sys.stdout is not None and sys.stdout.isatty())
    console.print(Text("\n").join(_table(sizes, width=console.width)), soft_wrap=True, no_wrap=True)
    console.print()
    console.print(Text(LEGEND, style="dim"), soft_wrap=not console.is_terminal, highlight=False)
    print_result(text.getvalue().rstrip("\n"))


def _table(sizes: Sequence[TierSize], *, width: int) -> list[Text]:
    return aligned(COLUMNS, [[Cell(text=text) for text in _cells(one)] for one in sizes], width=width)


def _cells(size: TierSize) -> Iterator[str]:
    yield from (size.name, str(size.tasks), _spread(size.sessions), _spread(size.turns))
    yield from (_spread(size.model_calls), _spread(size.written_tokens))
    yield from (_spread(size.limit_s, unit=60), _spread(size.human_minutes))


def _spread(spread: Spread | None, *, unit: float = 1) -> str:
    """Return the median, with the least and the most where they differ."""
    if spread is None:
        return NONE
    numbers = (spread.median, spread.least, spread.most)
    middle, least, most = (f"{one / unit:.3g}" if one < 100 * unit else f"{one / unit:.0f}" for one in numbers)
    return middle if least == most else f"{middle} ({least}–{most})"

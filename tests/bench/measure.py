"""Figures of a benchmark: contenders in turn, medians, ratios, one table."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import psutil
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """What several rounds of the same gave, all in one unit."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """`values` are those of the rounds, at least one."""
        return cls(median=median(values), low=min(values), high=max(values))

    def text(self, digits: int = 2) -> str:
        """The median, and what it lies between."""
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"


def interleave(rounds: int, contenders: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Call every contender once a round, in turn, so that what slows the machine for a while slows them all.

    One uncounted round goes first. Each contender returns its own figure.
    """
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, contender in contenders.items():
            figure = contender()
            if number:
                figures[name].append(figure)
    return figures


def ratio(figures: Sequence[float], yardstick: Sequence[float]) -> Spread:
    """How often the yardstick goes into the figures, round by round."""
    return Spread.of([one / other for one, other in zip(figures, yardstick, strict=True)])


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "") -> None:
    """Print figures as a table on stdout; the first column is text, the others are aligned to the right."""
    table = Table(title=title, title_justify="left", caption=note or None, caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(table)


def machine() -> str:
    """What the figures were measured on, for a table's note."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory_gib = psutil.virtual_memory().total / 1024**3
    load = os.getloadavg()[0]
    return (
        f"{cores} cores, {memory_gib:.0f} GiB, {platform.system()}, Python {platform.python_version()},"
        f" load {load:.1f} at the end"
    )

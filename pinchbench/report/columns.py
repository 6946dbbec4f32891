"""Rows of text set in columns: what a terminal is too narrow for is cut or left out, the numbers never (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = "  "


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column: `least` is the number of columns of the terminal that it can be cut to, None for not at all.

    Where the terminal is too narrow, columns are left out whole, those with the highest `rank` first; one of rank 0 stays.
    """

    name: str
    is_right: bool = False
    least: int | None = None
    rank: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A text in one line, without control characters, and rich's name for how it looks."""

    text: str = ""
    style: str = ""


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, width: int) -> list[Text]:
    """The head, and then a line a row, no wider than `width` wherever that can be."""
    texts = [[column.name for column in columns], *([cell.text for cell in row] for row in rows)]
    widths = [max(cell_len(row[place]) for row in texts) for place in range(len(columns))]
    shown = list(range(len(columns)))
    for leaver in sorted((place for place in shown if columns[place].rank), key=lambda place: -columns[place].rank):
        if _too_wide(columns, widths, shown, width=width, cut=True) <= 0:
            break
        shown.remove(leaver)
    for place in shown:
        least = columns[place].least
        if least is not None:
            over = max(0, _too_wide(columns, widths, shown, width=width, cut=False))
            widths[place] = max(min(least, widths[place]), widths[place] - over)
    head = [Cell(text=column.name, style="bold") for column in columns]
    return [_line(columns, widths, shown, row) for row in (head, *rows)]


def _too_wide(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int], *, width: int, cut: bool) -> int:
    """By how much these columns are too wide, with those `cut` that can be."""
    taken = [
        min(widths[place], least) if cut and (least := columns[place].least) is not None else widths[place]
        for place in shown
    ]
    return sum(taken) + len(GAP) * (len(shown) - 1) - width


def _line(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int], row: Sequence[Cell]) -> Text:
    parts: list[str | tuple[str, str]] = []
    for place in shown:
        cell, room = row[place], widths[place]
        text = cell.text
        if cell_len(text) > room:
            text = set_cell_size(text, room - 1) + "…"
        space = " " * (room - cell_len(text))
        before, after = (space, "") if columns[place].is_right else ("", space)
        parts += [GAP if parts else "", before, (text, cell.style) if cell.style else text, after]
    line = Text.assemble(*parts)
    line.rstrip()
    return line

"""Format lines about trials, and align rows in columns; on a narrow terminal, never at the cost of a number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pinchbench.model.ending import Status
from pinchbench.report.text import amount, duration, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome

STYLES = {Status.SUCCESS: "green", Status.TIMEOUT: "yellow", Status.ERROR: "red"}
LABEL = 17  # columns of the label
MAX_NOTE = 160  # characters


def labelled(label: str, text: str, *, style: str = "") -> Text:
    """Return a line that starts with a label."""
    return Text.assemble((f"{plain(label):>{LABEL}}", style), f"  {plain(text)}")


def outcome_text(outcome: Outcome, *, retried: bool = False) -> Text:
    """Return one line about an attempt that has ended."""
    again = f", attempt {outcome.attempt}" if outcome.attempt > 1 else ""
    spent = f"{duration(outcome.execution_time_s)}, {amount(outcome.usage.total_tokens)} tokens"
    text = labelled(outcome.reason.value, f"{outcome.key}{again}  {spent}", style=STYLES[outcome.status])
    if retried:
        text.append(", to be retried")
    if outcome.note:
        text.append(f"  {plain(outcome.note, width=MAX_NOTE)}", style="dim")
    return text


def grade_text(grade: Grade) -> Text:
    """Return one line about a graded trial."""
    if grade.score is not None:
        return labelled("graded", f"{grade.key}  {grade.score:.2f}", style="bold")
    text = labelled(
        "ungraded", f"{grade.key}  {grade.ungraded.value if grade.ungraded is not None else ''}", style="yellow"
    )
    if (check := grade.check_alone) is not None:
        text.append(f", its check alone gives {check:.2f}")
    elif grade.notes:
        text.append(f"  {plain(grade.notes[0], width=MAX_NOTE)}", style="dim")
    return text


GAP = "  "


# a single-line text without control characters, perhaps with the name of its rich style
Cell: TypeAlias = "str | tuple[str, str]"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `least` is the width in terminal columns that it can be truncated to, None if it can't be truncated.

    If the terminal is too narrow, whole columns are omitted, those with the highest `rank` first; rank 0 is always
    kept.
    """

    name: str
    _: KW_ONLY
    is_right: bool = False
    least: int | None = None
    rank: int = 0


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, width: int) -> list[Text]:
    """Return the header and one line per row, no wider than `width` if possible.

    If columns were omitted, a last line names them.
    """
    texts = [[column.name for column in columns], *(list(map(_text_of, row)) for row in rows)]
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
    head = [(column.name, "bold") for column in columns]
    omitted = [column.name for place, column in enumerate(columns) if column.name and place not in shown]
    note = [Text(f"no room for: {', '.join(omitted)}", style="dim")] if omitted else []
    return [*(_line(columns, widths, shown, row) for row in (head, *rows)), *note]


def _too_wide(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int], *, width: int, cut: bool) -> int:
    """Return by how much these columns are too wide, after truncating if `cut`."""
    taken = [
        min(widths[place], least) if cut and (least := columns[place].least) is not None else widths[place]
        for place in shown
    ]
    return sum(taken) + len(GAP) * (len(shown) - 1) - width


def _text_of(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _line(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int], row: Sequence[Cell]) -> Text:
    parts: list[str | tuple[str, str]] = []
    for place in shown:
        room, text = widths[place], _text_of(row[place])
        if cell_len(text) > room:
            text = set_cell_size(text, room - 1) + "…"
        space = " " * (room - cell_len(text))
        before, after = (space, "") if columns[place].is_right else ("", space)
        style = "" if isinstance(row[place], str) else row[place][1]
        parts += [GAP if parts else "", before, (text, style) if style else text, after]
    line = Text.assemble(*parts)
    line.rstrip()
    return line


def print_table(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Print rows below their head, as one text: a table of rich's takes far longer."""
    console.print(Text("\n").join(aligned(columns, rows, width=console.width)), soft_wrap=True, no_wrap=True)

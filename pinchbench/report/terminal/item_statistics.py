"""Print the item statistics of a suite: a line for each task."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from pinchbench.report.terminal.columns import Cell, Column, aligned
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from pinchbench.results.soundness.items import Item, ItemStatistics, Value

MIN_NAME = 14  # columns
NONE = "–"
# a narrow terminal omits the columns with the highest rank first
COLUMNS = (
    Column(name="task", least=MIN_NAME),
    Column(name="category", least=MIN_NAME, rank=3),
    Column(name="mean (95 %)"),
    Column(name="discrimination"),
    Column(name="noise share"),
    Column(name="variants", is_right=True, rank=2),
    Column(name="trials", is_right=True, rank=1),
)


def print_item_statistics(console: Console, statistics: ItemStatistics, categories: Mapping[str, str]) -> None:
    """Print a line for each task with its intervals, then what could not be estimated and why."""
    rows = [_row(item, categories.get(item.task_id, "")) for item in statistics.items]
    console.print(Text("\n").join(aligned(COLUMNS, rows, width=console.width)), soft_wrap=True, no_wrap=True)
    console.print()
    for sentence in _sentences(statistics):
        console.print(Text(sentence, style="dim"), soft_wrap=not console.is_terminal, highlight=False)


def _row(item: Item, category: str) -> list[Cell]:
    texts = (
        plain(item.task_id),
        plain(category),
        _interval(item.mean),
        _interval(item.discrimination, between=" to "),  # a dash could be a minus sign
        _interval(item.noise_share),
        str(item.subjects),
        str(item.trials),
    )
    return [Cell(text=text) for text in texts]


def _sentences(statistics: ItemStatistics) -> Iterator[str]:
    trials = sum(item.trials for item in statistics.items)
    yield f"From {many(trials, 'trial')} of {many(statistics.subjects, 'variant')}."
    if statistics.noise_share is not None:
        yield f"Noise share of the suite: {_interval(statistics.noise_share)}."
    for reason, count in Counter(reason for item in statistics.items for reason in item.unknown).items():
        yield f"{many(count, 'task')}: {reason}"


def _interval(value: Value | None, *, between: str = "–") -> str:
    if value is None:
        return NONE
    if value.low is None or value.high is None:
        return _number(value.value)
    return f"{_number(value.value)} ({_number(value.low)}{between}{_number(value.high)})"


def _number(value: float) -> str:
    text = f"{value:.2f}"
    return text.replace("-", "" if float(text) == 0 else "−")

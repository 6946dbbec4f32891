"""Print the table at the end of a run."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.text import Text

from pinchbench.defaults import DEMO_MODELS
from pinchbench.model.ending import Reason
from pinchbench.report.remarks import failure_text, remarks
from pinchbench.report.sentences import score_sentences
from pinchbench.report.terminal.line_format import Cell, Column, aligned
from pinchbench.report.text import amount, clock, fold, many, plain, price
from pinchbench.results.overview import Failure, Kind, Overview, Row, failures, overview
from pinchbench.results.paths import RunFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.result_json import Aggregate
    from pinchbench.results.statistics import Estimate

MIN_ID_WIDTH = 20  # columns
MOST_ROWS = 24  # with the path of the result, which follows, they fit on a terminal of 25 rows
LEAST_FAILURES = 4  # rows that the table leaves to them
MOST_REMARKS = 7  # rows that sentences may take from the table


def print_summary(
    console: Console,
    data: Aggregate,
    outcomes: Sequence[Outcome],
    grades: Mapping[TrialKey, Grade],
    *,
    folder: Path,
    titles: Mapping[str, str] = MappingProxyType({}),
    follow_up: Sequence[str] = (),
) -> None:
    """Print a table of the categories, with their tasks if there is room, then what failed, and the score last.

    `data` is the aggregate of the run, which is next to its `folder`; `titles` are those of tasks, by their ids;
    `follow_up` is printed just before the score.
    On a terminal of 60 columns or more, all of it takes 24 rows, unless the run has many suites.
    """
    glance = overview(data)

    def rows(lines: Sequence[Text]) -> int:
        # in a log every sentence is one line, however long
        return sum(len(fold(line.plain, console.width)[0]) for line in lines) if console.is_terminal else len(lines)

    last = [*map(_sentence, follow_up), *(Text(plain(text), style="bold") for text in score_sentences(data))]
    failed = [
        _failure_line(one, data, titles.get(one.outcome.key.task_id, ""), console.width)
        for one in failures(outcomes, grades, threshold=data.passing.threshold)
        if one.kind is not Kind.NO_JUDGE
    ]
    for line in failed:
        line.truncate(console.width, overflow="ellipsis")
    left = MOST_ROWS - rows(last) - min(LEAST_FAILURES, len(failed))
    files = RunFiles(output_dir=folder.parent, name=folder.name)
    said = _fitting(list(map(_sentence, remarks(data, outcomes, grades, files))), MOST_REMARKS, rows)
    left -= rows(said)
    tables = (list(_table(glance, data, console.width, detail)) for detail in Detail)
    table = next((one for one in tables if rows(one) <= left), [])
    left += min(LEAST_FAILURES, len(failed)) - rows(table)
    if len(failed) > left:
        shown = max(0, left - 1)
        failed = [*failed[:shown], Text(f"and {len(failed) - shown} more, which the report names")]
    for line in (*table, *failed, *said, *last):
        console.print(line, soft_wrap=True, highlight=False)


def _fitting(lines: Sequence[Text], most: int, rows: Callable[[Sequence[Text]], int]) -> list[Text]:
    """Return the lines if they fit into `most` rows, else the first of them and how many the report has."""
    if rows(lines) <= most:
        return list(lines)
    shown = next(count for count in reversed(range(len(lines))) if rows(lines[:count]) < most)
    return [*lines[:shown], Text(f"and {many(len(lines) - shown, 'more remark')} in the report")]


def _failure_line(failure: Failure, data: Aggregate, title: str, width: int) -> Text:
    """Return a failure's line, by the task's title; its id follows where all of it fits."""
    key, why = failure.outcome.key, failure_text(failure, data)
    if not title:
        return _sentence(f"{key}: {why}")
    line = _sentence(f"{title} ({key}): {why}")
    again = f", trial {key.repetition}" if key.repetition > 1 else ""
    return line if line.cell_len <= width else _sentence(f"{title}{again}: {why}")


def _sentence(text: str) -> Text:
    return Text(plain(text))


class Detail(Enum):
    """How much of a run the table has a row for; the first for which there is room is chosen."""

    TASKS = 0
    CATEGORIES = 1
    WHOLE = 2


def _table(glance: Overview, data: Aggregate, width: int, detail: Detail) -> Iterator[Text]:
    yield from aligned(_columns(glance), list(_rows(glance, data, detail)), width=width)
    made_up = "; those of a scripted model are made up" if data.model in DEMO_MODELS else ""
    if glance.whole.trials > 1 or made_up:
        yield Text(f"time, tokens and cost are the agents', added up{made_up}", style="dim")


def _columns(glance: Overview) -> tuple[Column, ...]:
    """Return the columns. On a narrow terminal, ids are shortened first, then redundant columns; never the scores."""
    out = [Column("excluded", is_right=True)] if glance.whole.left_out else []
    return (
        Column("task", least=MIN_ID_WIDTH),
        Column("score", is_right=True),
        Column("interval", rank=3),
        Column("passed", is_right=True),
        *out,
        Column("time", is_right=True, rank=2),
        Column("tokens", is_right=True, rank=4),
        Column("cost", is_right=True, rank=1),
    )


def _rows(glance: Overview, totals: Aggregate, detail: Detail) -> Iterator[list[Cell]]:
    has_out = bool(glance.whole.left_out)
    # a single category is the whole run, which has a row already
    has_categories = len(glance.categories) > 1
    for category in glance.categories if detail is not Detail.WHOLE else ():
        if len(category.tasks) == 1 and detail is Detail.TASKS:  # its row would say the same
            yield _row(plain(category.tasks[0].name), category.tasks[0], has_out=has_out)
            continue
        if category.name is not None and has_categories:
            score = totals.categories[category.name].score
            yield _row((plain(category.name), "bold"), category.row, has_out=has_out, of=score)
        elif detail is Detail.CATEGORIES and has_categories:
            yield _row(("no category", "bold"), category.row, has_out=has_out)
        indent = "  " if category.name is not None and has_categories else ""
        for row in category.tasks if detail is Detail.TASKS else ():
            yield _row(indent + plain(row.name), row, has_out=has_out)
    ended = glance.whole.trials - totals.counts.reasons.get(Reason.INTERRUPTED, 0)  # stopped ones are run again
    all_of_it = (f"{ended} of {many(totals.counts.planned, 'trial')}", "bold")
    # the score itself is the last sentence
    yield _row(all_of_it, replace(glance.whole, score=None), has_out=has_out, is_whole=True)


def _row(name: Cell, row: Row, *, has_out: bool, of: Estimate | None = None, is_whole: bool = False) -> list[Cell]:
    """Return the cells of a task, or, with the score `of` all its tasks, of a category, or of the whole run."""
    interval = "" if of is None or of.low is None or of.high is None else f"{of.low:.2f}–{of.high:.2f}"
    return [
        name,
        "" if is_whole else _score_cell(row),
        interval,
        _passed_cell(row),
        *([(str(row.left_out or ""), "yellow")] if has_out else []),
        clock(row.time_s),
        amount(row.usage.total_tokens),
        price(row.usage.known_cost_usd),
    ]


def _score_cell(row: Row) -> Cell:
    if row.score is not None:
        return f"{row.score:.2f}", "bold"
    return ("ungraded", "yellow") if row.ungraded else ("–", "dim")


def _passed_cell(row: Row) -> Cell:
    if not row.scored:
        return "–", "dim"
    style = "green" if row.passed == row.scored else "yellow" if row.passed else "red"
    return f"{row.passed} of {row.scored}", style

"""What `export --columns` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.cli.output import print_result
from pinchbench.report.export.rows import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinchbench.report.export.rows import Column


def print_columns() -> None:
    """Print the columns of csv, parquet and jsonl as a Markdown table."""
    for line in _column_lines(COLUMNS):
        print_result(line)


def _column_lines(columns: Iterable[Column]) -> Iterator[str]:
    yield "| column | type | meaning |"
    yield "| --- | --- | --- |"
    for column in columns:
        yield f"| `{column.name}` | {column.kind} | {column.meaning} |"

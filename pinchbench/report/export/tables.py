"""Export tables with one row per trial: CSV, JSON lines and Parquet."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from pinchbench.errors import ConfigError
from pinchbench.report.export.trial_rows import COLUMNS, Kind, Value, trial_rows, written
from pinchbench.results.paths import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.results.finished_run import PastRun

ROWS_A_GROUP = 10_000  # of Parquet, in memory at once
# What a spreadsheet interprets as a formula at the start of a cell, or after a semicolon, where a cell may start if the
# separator is a semicolon. Some languages use the full-width signs instead of the ASCII ones.
_FORMULA = re.compile("(^|;[ \xa0]*)(?=[=+\\-@＝＋－＠])")


def csv_lines(run: PastRun) -> Iterator[str]:
    """Yield the table as CSV by RFC 4180: a header, CRLF, quotes where needed; a missing value is empty.

    Text that a spreadsheet could interpret as a formula is prefixed with an apostrophe: a note is written by a model or
    a provider, and must not run on the computer that opens the file. The other formats keep every text unchanged.
    """
    writer = csv.writer(_Lines())
    yield writer.writerow([column.name for column in COLUMNS])
    for row in trial_rows(run):
        yield writer.writerow([_cell(row[column.name]) for column in COLUMNS])


class _Lines:
    """A file that a writer's lines come back from."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Value) -> str:
    match value:
        case bool():
            text = "true" if value else "false"
        case datetime():
            text = written(value)
        case str():
            text = harmless(value)
        case list():
            text = harmless("; ".join(value))
        case dict():
            text = harmless(json.dumps(value, ensure_ascii=False)) if value else ""
        case _:
            text = "" if value is None else repr(value)
    return text


def harmless(text: str) -> str:
    """Return text that no spreadsheet interprets as a formula."""
    return _FORMULA.sub(r"\1'", text)


def jsonl_lines(run: PastRun) -> Iterator[str]:
    """Yield the table as one JSON object per line, with every column; a missing value is null."""
    for row in trial_rows(run):
        told = {name: written(value) if isinstance(value, datetime) else value for name, value in row.items()}
        yield json.dumps(told, ensure_ascii=False) + "\n"


def write_parquet(run: PastRun, path: Path) -> None:
    """Write the table with typed columns, with their meanings in the schema. Blocks.

    Raises ConfigError if the required library is not installed, and ResultsError if the file can't be written.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        from pyarrow import parquet  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise ConfigError(
            "The format parquet needs a library that is not installed: pip install 'pinchbench-async[parquet]'."
        ) from error
    types = {
        Kind.TEXT: pa.string(),
        Kind.WHOLE: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.FLAG: pa.bool_(),
        Kind.TIME: pa.timestamp("us", tz="UTC"),
        Kind.TEXTS: pa.list_(pa.string()),
        Kind.POINTS: pa.map_(pa.string(), pa.float64()),
    }
    schema = pa.schema([pa.field(one.name, types[one.kind], metadata={"meaning": one.meaning}) for one in COLUMNS])
    rows = trial_rows(run)
    with whole_file(path) as file, parquet.ParquetWriter(file, schema) as writer:
        while group := list(islice(rows, ROWS_A_GROUP)):
            columns = {column.name: [_arrow_value(row[column.name]) for row in group] for column in COLUMNS}
            writer.write_table(pa.table(columns, schema=schema))


def _arrow_value(value: Value) -> Any:  # noqa: ANN401 - the library's own type
    return list(value.items()) if isinstance(value, dict) else value

"""`export`: write a run in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.options import CONTEXT, FOLDER, option
from pinchbench.cli.output import print_result, warn_of_altered
from pinchbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinchbench.report.export.rows import Column
    from pinchbench.results.finished_run import PastRun

# by format, the name of a file or folder derived from its run's name
TEXT_FORMATS = ("csv", "jsonl", "junit", "github", "perfetto")
FILE_FORMATS = {"parquet": ".parquet", "inspect": ".eval", "atif": ".atif"}
FORMATS = ("csv", "parquet", "jsonl", "junit", "github", "perfetto", "inspect", "atif")
PIECE_BYTES = 64 * 1024  # per write
STDOUT = Path("-")


def _print_columns(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from pinchbench.report.export.rows import COLUMNS  # noqa: PLC0415 - `--help` must not wait for it

    for line in _column_lines(COLUMNS):
        print_result(line)
    context.exit()


def _column_lines(columns: Iterable[Column]) -> Iterator[str]:
    yield "| column | type | meaning |"
    yield "| --- | --- | --- |"
    for column in columns:
        yield f"| `{column.name}` | {column.kind} | {column.meaning} |"


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN", shell_complete=complete_run)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="Which format; see above.")
@click.option("-o", "--output", metavar="PATH", type=click.Path(path_type=Path),
              help="The file (for atif: the folder) to write, and - for stdout.  [default: stdout; for parquet, inspect"
              " and atif beside the results file of the run]")  # fmt: skip
@click.option("--columns", is_flag=True, is_eager=True, expose_value=False, callback=_print_columns,
              help="Print the columns of csv, parquet and jsonl as a Markdown table, and exit.")  # fmt: skip
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
def export(*, run: str, form: str, output: Path | None, output_dir: Path) -> None:
    """Write a run in the format of another tool.

    RUN is a run's id, its folder, or its results file; it may be unfinished, or still go on. Text goes to stdout unless
    --output names a file; of a file that was written, the path is printed.

    \b
    csv, parquet, jsonl  a table with one row a trial, for spreadsheets, pandas, DuckDB (its columns: --columns)
    junit                test results for CI: a suite a category, a test a trial
    github               a summary in Markdown for a GitHub job
    perfetto             a trace of the slots, graders and costs, for ui.perfetto.dev
    inspect              a log that `inspect view` opens
    atif                 a folder of agent trajectories, one a trial

    \b
    pinchbench-async export 20260102-030405-9f3a --format csv > trials.csv
    pinchbench-async export 20260102-030405-9f3a --format junit -o junit.xml
    pinchbench-async export 20260102-030405-9f3a --format github >> "$GITHUB_STEP_SUMMARY"
    """  # noqa: D301 - click's mark for a block that keeps its lines
    from pinchbench.config import absolute_path  # noqa: PLC0415 - `--help` must not wait for what reads a run
    from pinchbench.results.finished_run import read_run  # noqa: PLC0415 - as above
    from pinchbench.results.paths import find_run  # noqa: PLC0415 - as above

    if form in FILE_FORMATS and output == STDOUT:
        raise ConfigError(f"The format {form} can't go to stdout; name a path with --output.")
    if output is not None and output != STDOUT:
        output = absolute_path(output, option="--output")
    past = read_run(find_run(run, absolute_path(output_dir, option="--output-dir")))
    warn_of_altered([past], evidence=True)
    if form in FILE_FORMATS:
        path = output or past.files.output_dir / f"{past.files.name}{FILE_FORMATS[form]}"
        _write(past, form, path)
        print_result(path)
    elif output is None or output == STDOUT:
        for piece in _pieces(_text(past, form)):
            print_result(piece.removesuffix(b"\n"))  # which `print_result` appends
    else:
        from pinchbench.report.export.whole_file import whole_file  # noqa: PLC0415 - as above

        with whole_file(output) as file:
            for line in _text(past, form):
                file.write(line.encode("utf-8", "replace"))
        print_result(output)


def _text(run: PastRun, form: str) -> Iterator[str]:
    """Yield a run in a text format, in pieces that consist of whole lines."""
    # each branch imports only what its format needs
    match form:
        case "csv":
            from pinchbench.report.export.tables import csv_lines  # noqa: PLC0415 - as above

            return csv_lines(run)
        case "jsonl":
            from pinchbench.report.export.tables import jsonl_lines  # noqa: PLC0415 - as above

            return jsonl_lines(run)
        case "junit":
            from pinchbench.report.export.junit import junit_lines  # noqa: PLC0415 - as above

            return junit_lines(run)
        case "github":
            from pinchbench.report.export.github import github_lines  # noqa: PLC0415 - as above

            return github_lines(run)
        case _:
            from pinchbench.report.export.perfetto import perfetto_lines  # noqa: PLC0415 - as above

            return perfetto_lines(run)


def _write(run: PastRun, form: str, path: Path) -> None:
    """Write a run in a file format."""
    match form:
        case "parquet":
            from pinchbench.report.export.tables import write_parquet  # noqa: PLC0415 - as above

            write_parquet(run, path)
        case "inspect":
            from pinchbench.report.export.inspect import write_inspect  # noqa: PLC0415 - as above

            write_inspect(run, path)
        case _:
            from pinchbench.report.export.atif import write_atif  # noqa: PLC0415 - as above

            write_atif(run, path)


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Join lines into pieces large enough for one write."""
    piece = bytearray()
    for line in lines:
        piece += line.encode("utf-8", "replace")
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)

"""`export`: write a run in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import action, performs
from pinchbench.cli.options import CONTEXT, FOLDER, option

FORMATS = ("csv", "parquet", "jsonl", "junit", "github", "perfetto", "inspect", "atif", "rl")


def _print_columns(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    action("export_columns.print_columns")()
    context.exit()


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
@performs("export.export_run")
def export(**_options: Any) -> None:  # noqa: ANN401
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
    rl                   training data: conversations, token ids, logprobs and the reward, one line a trial

    \b
    pinchbench-async export 20260102-030405-9f3a --format csv > trials.csv
    pinchbench-async export 20260102-030405-9f3a --format junit -o junit.xml
    pinchbench-async export 20260102-030405-9f3a --format github >> "$GITHUB_STEP_SUMMARY"
    """  # noqa: D301 - click's mark for a block that keeps its lines

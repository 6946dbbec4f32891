"""`report`: write one run, several, or an experiment as a self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, option


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help=f"Where to write the page (default: {defaults.REPORT_FILE} in the run's folder; needed for "
                   f"several runs).")  # fmt: skip
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where each RUN is looked for.")  # fmt: skip
@performs("report.write_page")
def report(**_options: Any) -> None:  # noqa: ANN401
    """Write a run, several, or an experiment as one HTML page, and print its path.

    RUN is a run's id, its folder, or its results file, or the folder of an experiment. The page holds everything,
    transcripts included, and asks no network: it can be sent to others, opened from a disk, and printed. That of an
    experiment holds the conversations of tasks on which variants differ, and links to the pages of its runs, which are
    written too.

    \b
    pinchbench-async report 20260102-030405-9f3a
    pinchbench-async report 20260102-030405-9f3a 20260103-101500-1b2c --output both.html
    """  # noqa: D301 - click keeps the lines after a \b as they are

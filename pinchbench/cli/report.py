"""`report`: write one run or several as a self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.options import CONTEXT, FOLDER, option
from pinchbench.cli.output import print_result, warn_of_altered
from pinchbench.errors import ConfigError


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help=f"Where to write the page (default: {defaults.REPORT_FILE} in the run's folder; needed for several runs).")  # fmt: skip
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where each RUN is looked for.")  # fmt: skip
def report(*, runs: tuple[str, ...], output: Path | None, output_dir: Path) -> None:
    """Write a run, or several, as one HTML page, and print its path.

    RUN is a run's id, its folder, or its results file. The page holds everything, transcripts included, and asks no
    network: it can be sent to others, opened from a disk, and printed.

    \b
    pinchbench-async report 20260102-030405-9f3a
    pinchbench-async report 20260102-030405-9f3a 20260103-101500-1b2c --output both.html
    """  # noqa: D301 - click keeps the lines after a \b as they are
    from pinchbench.config import absolute_path  # noqa: PLC0415 - `--help` must not wait for all that a page needs
    from pinchbench.report.html.page import write_report  # noqa: PLC0415 - as above
    from pinchbench.results.finished_run import read_run  # noqa: PLC0415 - as above
    from pinchbench.results.paths import find_run  # noqa: PLC0415 - as above

    folder = absolute_path(output_dir, option="--output-dir")
    found = list(dict.fromkeys(find_run(run, folder) for run in runs))
    if output is None:
        if len(found) > 1:
            raise ConfigError("A page of several runs belongs to none of their folders: say where with --output FILE.")
        path = found[0].folder / defaults.REPORT_FILE
    else:
        path = absolute_path(output, option="--output")
    past = [read_run(files) for files in found]
    warn_of_altered(past, evidence=True)
    write_report(past, path)
    print_result(path)

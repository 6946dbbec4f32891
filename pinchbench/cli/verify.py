"""`verify`: check that the files of runs are as the runner wrote them."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, option


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where each RUN is looked for; without any, all its runs are checked.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print one array with an object a run.")
@performs("verify.verify_runs")
def verify(**_options: Any) -> None:  # noqa: ANN401
    """Check that the files of runs are what the runner wrote.

    RUN is a run's id, its folder, or its results file; without any, all runs of the output folder are checked. The
    journal's records, run.json, what each trial and each grading has left, and the result file are compared with the
    digests that were taken when they were written. Runs of older releases have none: they are called unverified.

    The exit code is 0 when nothing differs, 10 when something does, and 6 when a run can't be read.

    \b
    pinchbench-async verify
    pinchbench-async verify 20260102-030405-9f3a
    pinchbench-async verify --json | jq '.[] | select(.state == "altered")'

    \b
    The keys of --json:
    run          the name of the run's folder
    state        verified, unverified, altered, unreadable
    records      how many records of the journal have a digest
    files        how many files were compared with a digest
    differences  what is not as it was written
    unverified   what has no digest
    problem      why the run can't be read; it has no other keys than run and state then
    """  # noqa: D301 - click keeps the lines after a \b as they are

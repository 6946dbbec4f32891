"""`upload`: submit a run to the public leaderboard, also at the end of a run."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, WITH_NOTES, option


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN", shell_complete=complete_run)
@click.option("--dry-run", is_flag=True, help="Print exactly what would be sent; send nothing.")
@click.option("--upload-partial", is_flag=True, help="Send a run that is not complete, or not of the bundled "
                                                     "tasks alone,"
              " marked so.")  # fmt: skip
@WITH_NOTES
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print the leaderboard's answer as JSON instead of its address.")
@performs("upload.upload_run")
def upload(**_options: Any) -> None:  # noqa: ANN401
    """Send a run to the public leaderboard.

    RUN is a run's id, its folder, or its results file. Only a complete, graded run of the whole bundled suite goes
    there. Numbers are sent, with the names of the model, of releases, and of the bundled tasks and their criteria;
    text that a judge or a check wrote only with --with-notes. --dry-run shows all that is sent. Sending a run again
    makes no second entry.

    \b
    pinchbench-async upload 20260102-030405-9f3a --dry-run
    pinchbench-async upload results/anthropic-claude-sonnet-4_20260102-030405-9f3a.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are

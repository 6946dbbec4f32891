"""`watch`: show a run of another process from its journal."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, option


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=complete_run)
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
@performs("watch.watch_run")
def watch(**_options: Any) -> None:  # noqa: ANN401
    """Watch a run that goes on in another terminal, from its journal.

    RUN is a run's id, its folder, or its results file; without it, the newest run. Shows what `run` itself shows, but
    for what the agents are doing just now, which no journal tells. Ends with the run, with its summary and exit code 0,
    also when its runner has died. Ctrl-C ends the watching alone, never the run, with exit code 130.

    \b
    pinchbench-async watch
    ssh -t bench pinchbench-async watch 20260102-030405-9f3a --output-dir /data/results
    """  # noqa: D301 - \b is click's mark for lines that stay as they are

"""`baseline`: save what later runs are compared with, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, option


@click.group(context_settings=CONTEXT)
def baseline() -> None:
    """Save what later runs are compared with, and show it.

    \b
    pinchbench-async --model MODEL --runs 5
    pinchbench-async baseline save RUN -o baseline.json
    pinchbench-async --model MODEL --baseline baseline.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@baseline.command("save", context_settings=CONTEXT)
@click.argument("names", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE",
              help="Where it goes.")  # fmt: skip
@click.option("--min-trials", type=click.IntRange(2), default=defaults.DEFAULT_MIN_TRIALS, show_default=True,
              help="Trials with a score that a task needs, in all runs together.")  # fmt: skip
@click.option("--max-spread", type=click.FloatRange(0, 1), default=defaults.DEFAULT_MAX_SPREAD, show_default=True,
              help="How far apart a task's highest and lowest score may be.")  # fmt: skip
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where runs are looked for.")  # fmt: skip
@performs("baseline.save_baseline")
def baseline_save(**_options: Any) -> None:  # noqa: ANN401
    """Write a file for `--baseline`: scores, digests of tasks and settings, without transcripts and paths.

    The runs must have been made alike; their trials are pooled. Tasks with too few trials, or whose scores vary too
    much, are kept in quarantine with this evidence: later runs are not compared on them.

    \b
    pinchbench-async baseline save 20260102-030405-9f3a -o baseline.json
    """  # noqa: D301 - as above


@baseline.command("show", context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@performs("baseline.show_baseline")
def baseline_show(**_options: Any) -> None:  # noqa: ANN401
    """Show what a baseline was made from, and which of its tasks are in quarantine.

    \b
    pinchbench-async baseline show baseline.json
    """  # noqa: D301 - as above

"""`wire`: print what went between an agent and its model."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, option


@click.group(context_settings=CONTEXT)
def wire() -> None:
    """Look at the recorded requests to a model and its replies.

    \b
    pinchbench-async wire show 20260102-030405-9f3a task_05_outage_brief
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@wire.command("show", context_settings=CONTEXT)
@click.argument("run", metavar="RUN", shell_complete=complete_run)
@click.argument("trial", metavar="TRIAL")
@click.argument("number", metavar="[N]", required=False, type=click.IntRange(min=1))
@click.option("--attempt", type=click.IntRange(min=1), help="Which attempt at the trial (default: the last one).")
@click.option("--json", "as_json", is_flag=True, help="Print an object an exchange, whole and one a line.")
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
@performs("wire.show")
def wire_show(**_options: Any) -> None:  # noqa: ANN401
    """Print the exchanges of a trial: one a line, or exchange N as a whole.

    RUN is a run's id, its folder, or its results file. TRIAL is a task's id, with `@2` for its second repetition.
    Exchanges are numbered in the order in which they began; those that OpenClaw retried are there as well.

    \b
    pinchbench-async wire show 20260102-030405-9f3a task_05_outage_brief
    pinchbench-async wire show 20260102-030405-9f3a task_05_outage_brief 3
    pinchbench-async wire show 20260102-030405-9f3a task_05_outage_brief@2 --json | jq .status
    """  # noqa: D301 - as above

"""`regrade`: grade a run again from the evidence it kept."""

from __future__ import annotations

from typing import Any

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_openclaw, complete_run, complete_tasks
from pinchbench.cli.deferred import performs
from pinchbench.cli.options import CONTEXT, FOLDER, NO_REPORT, gate_options, judge_options, option
from pinchbench.cli.sections import GATE, JUDGE, SectionedCommand

SECTIONS = {
    "What is graded": ("--suite", "--only-ungraded", "--tasks-dir"),
    "Judging": JUDGE,
    "Gate": GATE,
    "OpenClaw and places": ("--openclaw", "--output-dir", "--run-root"),
}


@click.command(cls=SectionedCommand, sections=SECTIONS, context_settings=CONTEXT)
@click.argument("run", metavar="RUN", shell_complete=complete_run)
@judge_options
@option(
    "--suite",
    default="all",
    show_default=True,
    shell_complete=complete_tasks,
    help="Which tasks of the run, as for `run`.",
)
@option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the one that was run).")
@option("--only-ungraded", is_flag=True, help="Leave the trials alone that have a score.")
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
@option("--run-root", type=FOLDER, default=defaults.DEFAULT_RUN_ROOT, show_default=True,
        help="Where checks run.")  # fmt: skip
@option(
    "--openclaw",
    metavar="PATH|VERSION",
    shell_complete=complete_openclaw,
    help="Which OpenClaw, for a judge that is an OpenClaw agent.",
)
@gate_options
@NO_REPORT
@option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
@performs("regrade.regrade_run")
def regrade(**_options: Any) -> None:  # noqa: ANN401
    """Grade a run again from what it has kept, without running an agent.

    RUN is a run's id, its folder, or its results file. Every grade is kept; the latest one with a score counts. Without
    --judge, the judge that graded the run last is asked again.

    \b
    pinchbench-async regrade 20260102-030405-9f3a --judge openai/gpt-5.5 --judge-votes 3
    pinchbench-async regrade results/demo-oracle_20260102-030405-9f3a.json --only-ungraded
    """  # noqa: D301 - as above

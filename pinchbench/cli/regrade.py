"""`regrade`: the grades of a run once more, from what it has kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from pinchbench import limits
from pinchbench.cli.options import CONTEXT, FOLDER, judge_options, option, take_judge


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@judge_options
@option("--suite", default="all", show_default=True, help="Which tasks of the run, as for `run`.")
@option("--tasks-dir", type=FOLDER, help="The suite's folder (default: the one that was run).")
@option("--only-ungraded", is_flag=True, help="Leave the trials alone that have a score.")
@option("--output-dir", type=FOLDER, default=limits.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where RUN is looked for.")  # fmt: skip
@option("--run-root", type=FOLDER, default=limits.DEFAULT_RUN_ROOT, show_default=True,
        help="Where checks run.")  # fmt: skip
@option("--openclaw", metavar="PATH|VERSION", help="Which OpenClaw, for a judge that is an OpenClaw agent.")
@option("--json", "as_json", is_flag=True, help="Print the whole result as JSON instead of its path.")
def regrade(*, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Grade a run again from what it has kept, without running an agent.

    RUN is a run's id, its folder, or its results file. Every grade is kept; the latest one with a score counts. Without
    --judge, the judge that graded the run last is asked again.

    \b
    pinchbench-async regrade 20260102-030405-9f3a --judge openai/gpt-5 --judge-votes 3
    pinchbench-async regrade results/demo-oracle_20260102-030405-9f3a.json --only-ungraded
    """  # noqa: D301 - as above
    from pinchbench.cli.watch import leave, watch  # noqa: PLC0415 - `--help` must not wait for all that a run needs
    from pinchbench.config import RegradeConfig  # noqa: PLC0415 - as above
    from pinchbench.runner.regrade import regrade as grade_again  # noqa: PLC0415 - as above

    judge = take_judge(options)
    config = RegradeConfig(**options, judge=judge)
    leave(watch(partial(grade_again, config)), as_json=as_json)

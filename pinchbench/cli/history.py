"""`history`: list the runs of an output folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import msgspec

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, option
from pinchbench.cli.output import drawn, print_result, say
from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    from pathlib import Path


@click.command(context_settings=CONTEXT)
# no environment variable: PINCHBENCH_MODEL selects what to run, not what to list
@click.option("--model", metavar="TEXT", default="",
              help="Only the runs of this model, or, where there is none of that name, of models whose name holds"
              " the text.")  # fmt: skip
@OUTPUT_DIR
@option("--json", "as_json", is_flag=True, help="Print one array with an object a run.")
def history(*, model: str, output_dir: Path, as_json: bool) -> None:
    """List the runs of an output folder, the newest first.

    \b
    pinchbench-async history
    pinchbench-async history --model gpt-5 --output-dir /data/runs
    pinchbench-async history --json | jq '.[] | select(.state == "complete") | [.model, .score.mean]'

    A run is complete, unfinished, interrupted (by a signal), or running; `resume` continues unfinished and
    interrupted ones. One that can't be read is a line that says why. Dates are local.

    \b
    The keys of --json:
    run_id, run       the id, and the name of the run's folder
    state             complete, unfinished, interrupted, running, unreadable
    model, suite      as they were asked for
    created_at        when it began, in seconds since the epoch
    score             mean, low and high (95% interval) in 0-1, or null; tasks and trials it rests on
    suites            the mean of each suite by name, if the run has several, else empty
    planned           trials, each of which is in the score or in left_out
    passed            trials with a score of pass_threshold or more
    pass_threshold    in 0-1
    left_out          ungraded, infrastructure, untrusted, prerequisite_missing, skipped, not_run
    caused_by_agent   how many trials have no score, which the agent may have caused
    pending           trials in left_out that a running run is still to run or grade
    score_if_zero     the mean of score with these as 0; null where there are none
    tokens, cost_usd  of the agents; the cost is null where a price is not known
    judge_cost_usd    null where no price is known
    agents_s          the agents' times, added up
    duration_s        how long the run was at work, without pauses of ten minutes and more
    openclaw          its release
    stopped           why the run ended itself early
    is_altered        whether its files are not as they were written; `verify` names the differences
    reused            how many of its trials count from earlier runs
    is_private        whether its tasks are made of your own conversations
    problem           why the run can't be read: all but run_id, run and state says nothing then
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.report.terminal.listings import history_legend, no_runs, print_history
    from pinchbench.results.paths import no_folder
    from pinchbench.results.run_list import past_runs

    if not output_dir.is_dir():
        raise ResultsError(no_folder(output_dir))
    runs = past_runs(output_dir, model=model)
    if as_json:
        print_result(json.dumps(msgspec.to_builtins(runs)))
        return
    if not runs:
        say(no_runs(str(output_dir), model=model))
        return
    print_result(drawn(lambda console: print_history(console, runs)))
    if legend := history_legend(runs):
        say(legend)

"""`history` and `verify`: list the runs of an output folder, and check their files."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, option
from pinchbench.cli.output import drawn, print_result, say
from pinchbench.config.settings import absolute_path
from pinchbench.errors import AlteredRunError, ResultsError
from pinchbench.report.text import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.verification import Verified


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


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@OUTPUT_DIR
@option("--json", "as_json", is_flag=True, help="Print one array with an object a run.")
def verify(*, runs: tuple[str, ...], output_dir: Path, as_json: bool) -> None:
    """Check that the files of runs are what the runner wrote.

    RUN is a run's id, its folder, its results file, or a bundle that `publish` has written; without any, all runs of
    the output folder are checked. The
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
    unwitnessed  how many trials were made without the wire: an agent can edit what OpenClaw stored of them
    bundle       the SHA-256 of the bundle; empty for a folder
    taken_out    how many places of a bundle's files were overwritten before it was published
    problem      why the run can't be read; it has no other keys than run and state then
    """  # noqa: D301 - click keeps the lines after a \b as they are
    from pinchbench.publish.bundle.bundle_file import check_bundle, is_bundle
    from pinchbench.results.paths import find_run, no_folder, runs_of
    from pinchbench.results.verification import State, check_run

    folder = absolute_path(output_dir, option="--output-dir")
    if not runs and not folder.is_dir():
        raise ResultsError(no_folder(folder))
    checked = []
    named = (Path(run) if is_bundle(Path(run)) else find_run(run, folder) for run in runs)
    for one in dict.fromkeys(named) if runs else runs_of(folder):
        checked.append(check_bundle(one) if isinstance(one, Path) else check_run(one))
        if not as_json:
            print_result("\n".join(verified_lines(checked[-1])))
    if as_json:
        print_result(json.dumps([verified_record(one) for one in checked], indent=2))
    for state, error in ((State.ALTERED, AlteredRunError), (State.UNREADABLE, ResultsError)):
        if number := sum(one.state is state for one in checked):
            raise error(f"{number} of {len(checked)} {'run is' if number == 1 else 'runs are'} {state.value}.")


def verified_lines(one: Verified) -> Iterator[str]:
    """Yield a line for the run, and one for each difference or missing digest."""
    from pinchbench.results.verification import State

    yield f"{one.state.value:<10}  {one.run}"
    match one.state:
        case State.VERIFIED:
            yield f"  {many(one.records, 'record')} and {many(one.files, 'file')} are as they were written"
        case State.UNREADABLE:
            yield f"  {one.problem}"
        case State.ALTERED | State.UNVERIFIED:
            yield from (f"  {sentence}" for sentence in (*one.differences, *one.unverified))
    if one.bundle:
        taken_out = f"{many(one.taken_out, 'place')} overwritten before it was published" if one.taken_out else "whole"
        yield f"  {taken_out}; SHA-256 of the bundle: {one.bundle}"
    if one.unwitnessed:
        yield f"  unwitnessed: OpenClaw's store alone says what the agents of {many(one.unwitnessed, 'trial')} did"


def verified_record(one: Verified) -> dict[str, object]:
    """Return the object for `--json`."""
    from pinchbench.results.verification import State

    if one.state is State.UNREADABLE:
        return {"run": one.run, "state": one.state.value, "problem": one.problem}
    values = asdict(one)
    del values["problem"]
    return {"run": values.pop("run"), "state": one.state.value, **values}

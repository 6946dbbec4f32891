"""`verify`: check that the files of runs are as the runner wrote them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, option
from pinchbench.cli.output import print_result
from pinchbench.config.settings import absolute_path
from pinchbench.errors import AlteredRunError, ResultsError
from pinchbench.report.text import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.verification import Verified


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
    from pinchbench.publish.bundle.bundle_file import is_bundle
    from pinchbench.publish.bundle.check_bundle import check_bundle
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

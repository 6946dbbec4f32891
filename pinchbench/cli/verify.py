"""`verify`: check that the files of runs are as the runner wrote them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from pinchbench import defaults
from pinchbench.cli.completing import complete_run
from pinchbench.cli.options import CONTEXT, FOLDER, option
from pinchbench.cli.output import print_result
from pinchbench.errors import AlteredRunError, ResultsError

if TYPE_CHECKING:
    from pathlib import Path


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@option("--output-dir", type=FOLDER, default=defaults.DEFAULT_OUTPUT_DIR, show_default=True,
        help="Where each RUN is looked for; without any, all its runs are checked.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print one array with an object a run.")
def verify(*, runs: tuple[str, ...], output_dir: Path, as_json: bool) -> None:
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
    from pinchbench.config import absolute_path  # noqa: PLC0415 - `--help` must not wait for all that reads a run
    from pinchbench.report.verified import lines, row  # noqa: PLC0415 - as above
    from pinchbench.results.paths import find_run, no_folder, runs_of  # noqa: PLC0415 - as above
    from pinchbench.results.verify import State, check_run  # noqa: PLC0415 - as above

    folder = absolute_path(output_dir, option="--output-dir")
    if not runs and not folder.is_dir():
        raise ResultsError(no_folder(folder))
    checked = []
    for files in dict.fromkeys(find_run(run, folder) for run in runs) if runs else runs_of(folder):
        checked.append(check_run(files))
        if not as_json:
            print_result("\n".join(lines(checked[-1])))
    if as_json:
        print_result(json.dumps([row(one) for one in checked], indent=2))
    for state, error in ((State.ALTERED, AlteredRunError), (State.UNREADABLE, ResultsError)):
        if number := sum(one.state is state for one in checked):
            raise error(f"{number} of {len(checked)} {'run is' if number == 1 else 'runs are'} {state.value}.")

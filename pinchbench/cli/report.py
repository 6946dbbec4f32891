"""`report`: write one run, several, or an experiment as a self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinchbench import defaults
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR
from pinchbench.cli.output import print_result, warn_of_altered
from pinchbench.config.settings import absolute_path
from pinchbench.errors import ConfigError, ResultsError

if TYPE_CHECKING:
    from pinchbench.experiment.experiment_record import ExperimentFiles
    from pinchbench.results.paths import RunFiles


@click.command(context_settings=CONTEXT)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help=f"Where to write the page (default: {defaults.REPORT_FILE} in the run's folder; needed for "
                   f"several runs).")  # fmt: skip
@OUTPUT_DIR
def report(*, runs: tuple[str, ...], output: Path | None, output_dir: Path) -> None:
    """Write a run, several, or an experiment as one HTML page, and print its path.

    RUN is a run's id, its folder, or its results file; a model, which stands for its complete runs as in `compare`; or
    the folder of an experiment. The page holds everything, transcripts included, and needs no network: it can be sent
    to others, opened from a disk, and printed. That of an experiment holds the conversations of tasks on which variants
    differ, and links to the pages of its runs, which are written too.

    \b
    pinchbench-async report 20260102-030405-9f3a
    pinchbench-async report 20260102-030405-9f3a 20260103-101500-1b2c --output both.html
    """  # noqa: D301 - click keeps the lines after a \b as they are
    from pinchbench.experiment.experiment_record import find_experiment
    from pinchbench.report.html.report_page import write_report
    from pinchbench.results.finished_run import read_run

    folder = absolute_path(output_dir, option="--output-dir")
    if len(runs) == 1 and (experiment := find_experiment(runs[0], folder)) is not None:
        _write_experiment(experiment, output)
        return
    found = list(dict.fromkeys(files for run in runs for files in _runs_of(run, folder)))
    if output is None:
        if len(found) > 1:
            raise ConfigError("A page of several runs belongs to none of their folders: say where with --output FILE.")
        path = found[0].folder / defaults.REPORT_FILE
    else:
        path = absolute_path(output, option="--output")
    past = [read_run(files) for files in found]
    warn_of_altered(past, evidence=True)
    write_report(past, path)
    print_result(path)


def _runs_of(name: str, output_dir: Path) -> list[RunFiles]:
    """Find a run, or the runs that a comparison takes of a model. Raises ResultsError."""
    from pinchbench.results.compare.samples import find_side
    from pinchbench.results.paths import find_run

    try:
        return [find_run(name, output_dir)]
    except ResultsError:
        return [find_run(str(folder), output_dir) for folder in find_side(name, output_dir)[1]]


def _write_experiment(files: ExperimentFiles, output: Path | None) -> None:
    """Write an experiment's page, and first those of its runs, to which it leads."""
    from pinchbench.experiment.experiment_page import read_experiment_runs, write_experiment
    from pinchbench.report.html.report_page import write_report

    experiment = read_experiment_runs(files)
    past = [one.run for one in experiment.variants if one.run is not None]
    warn_of_altered(past, evidence=True)
    for run in past:
        write_report([run], run.files.folder / defaults.REPORT_FILE)
    path = files.page if output is None else absolute_path(output, option="--output")
    write_experiment(experiment, path)
    print_result(path)

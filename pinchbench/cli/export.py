"""`export` and `report`: write a run in the format of another tool, or as a self-contained HTML page."""

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
    from collections.abc import Callable, Iterable, Iterator

    from pinchbench.experiment.experiment_record import ExperimentFiles
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.paths import RunFiles

TEXT_FORMATS = ("csv", "jsonl", "junit", "github", "rl", "wire")
FILE_SUFFIXES = {"parquet": ".parquet", "inspect": ".eval", "atif": ".atif"}  # of a name that is derived from the run's
PIECE_BYTES = 64 * 1024  # per write
STDOUT = Path("-")


@click.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN")
@click.option(
    "--format",
    "form",
    type=click.Choice([*TEXT_FORMATS, *FILE_SUFFIXES]),
    required=True,
    help="Which format; see above.",
)
@click.option("-o", "--output", metavar="PATH", type=click.Path(path_type=Path),
              help="The file (for atif: the folder) to write, and - for stdout.  [default: stdout; for parquet, inspect"
              " and atif next to the run's results file]")  # fmt: skip
@OUTPUT_DIR
def export(*, run: str, form: str, output: Path | None, output_dir: Path) -> None:
    """Write a run in the format of another tool.

    RUN is a run's id, its folder, or its results file; it may be unfinished, or still running. Text goes to stdout
    unless --output names a file; of a file that was written, the path is printed.

    \b
    csv, parquet, jsonl  a table with one row per trial, for spreadsheets, pandas, DuckDB
    junit                test results for CI: a suite per category, a test per trial
    github               a summary in Markdown for a GitHub job
    inspect              a log that `inspect view` opens
    atif                 a folder of agent trajectories, one per trial
    rl                   training data: conversations, token ids, logprobs and the reward, one line per trial
    wire                 the recorded requests to the model and its replies, one line each

    \b
    pinchbench-async export 20260102-030405-9f3a --format csv > trials.csv
    pinchbench-async export 20260102-030405-9f3a --format junit -o junit.xml
    pinchbench-async export 20260102-030405-9f3a --format github >> "$GITHUB_STEP_SUMMARY"
    """  # noqa: D301 - click's mark for a block that keeps its lines
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.paths import find_run, whole_file

    if form in FILE_SUFFIXES and output == STDOUT:
        raise ConfigError(f"The format {form} can't go to stdout; name a path with --output.")
    if output is not None and output != STDOUT:
        output = absolute_path(output, option="--output")
    past = read_run(find_run(run, absolute_path(output_dir, option="--output-dir")))
    warn_of_altered([past], evidence=True)
    if form in FILE_SUFFIXES:
        path = output or past.files.output_dir / f"{past.files.name}{FILE_SUFFIXES[form]}"
        _file_writer(form)(past, path)
        print_result(path)
    elif output is None or output == STDOUT:
        for piece in _pieces(_text_lines(form)(past)):
            print_result(piece.removesuffix(b"\n"))  # which `print_result` appends
    else:
        with whole_file(output) as file:
            for line in _text_lines(form)(past):
                file.write(line.encode("utf-8", "replace"))
        print_result(output)


def _text_lines(form: str) -> Callable[[PastRun], Iterator[str]]:
    from pinchbench.report.export.github import github_lines
    from pinchbench.report.export.junit import junit_lines
    from pinchbench.report.export.rl import rl_lines, wire_lines
    from pinchbench.report.export.tables import csv_lines, jsonl_lines

    return {
        "csv": csv_lines,
        "jsonl": jsonl_lines,
        "junit": junit_lines,
        "github": github_lines,
        "rl": rl_lines,
        "wire": wire_lines,
    }[form]


def _file_writer(form: str) -> Callable[[PastRun, Path], None]:
    """Return what writes a file, or a folder, of a format. Raises ConfigError if its library is not installed."""
    from pinchbench.report.export.atif import write_atif
    from pinchbench.report.export.tables import write_parquet

    if form != "inspect":
        return {"parquet": write_parquet, "atif": write_atif}[form]
    try:
        from pinchbench.report.export.inspect_log import write_inspect
    except ImportError as error:
        raise ConfigError(
            "The format inspect needs a library that is not installed: pip install 'pinchbench-async[inspect]'."
        ) from error
    return write_inspect


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Join lines into pieces large enough for one write."""
    piece = bytearray()
    for line in lines:
        piece += line.encode("utf-8", "replace")
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


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

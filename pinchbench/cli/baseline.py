"""`baseline`: save a baseline for later runs."""

from __future__ import annotations

from pathlib import Path

import click

from pinchbench import defaults
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, Integer, Number
from pinchbench.cli.output import print_result, say
from pinchbench.config.settings import absolute_path
from pinchbench.errors import AlteredRunError
from pinchbench.report.text import many


@click.command(context_settings=CONTEXT)
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", required=True,
              help="The file to write.")  # fmt: skip
@click.option("--min-trials", type=Integer(2), default=defaults.DEFAULT_MIN_TRIALS, show_default=True,
              help="Trials with a score that a task needs, in all runs together.")  # fmt: skip
@click.option("--max-spread", type=Number(0, 1), default=defaults.DEFAULT_MAX_SPREAD, show_default=True,
              help="How far apart a task's highest and lowest score may be.")  # fmt: skip
@OUTPUT_DIR
def baseline(*, names: tuple[str, ...], output: Path, output_dir: Path, min_trials: int, max_spread: float) -> None:
    """Save a baseline for later runs.

    The file, for `--baseline`, has scores, digests of tasks and settings, but no transcripts or paths. The runs must
    have the same settings; their trials are pooled. Tasks with too few trials, or whose scores vary too much, are in
    quarantine, and listed: later runs are not compared on them.

    \b
    pinchbench-async --model MODEL --runs 5
    pinchbench-async baseline RUN -o baseline.json
    pinchbench-async --model MODEL --baseline baseline.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.gate.baseline_file import Stability, baseline_of
    from pinchbench.results.paths import find_run, write_json
    from pinchbench.results.verification import changed_evidence

    where = absolute_path(output_dir, option="--output-dir")
    path = absolute_path(output, option="--output")
    runs = [read_run(find_run(name, where)) for name in names]
    for run in runs:
        if found := [*run.differences, *changed_evidence(run.files, run.journal)]:
            raise AlteredRunError.of(found, run=run.files.folder)
    made = baseline_of(runs, Stability(min_trials=min_trials, max_spread=max_spread))
    write_json(path, made)
    quarantined = made.quarantined
    say(f"{many(len(made.tasks) - len(quarantined), 'task')} to compare with, {len(quarantined)} in quarantine")
    for task_id, why in quarantined.items():
        say(f"  {task_id}: {why.reason}")
    print_result(path)

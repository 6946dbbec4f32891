"""`baseline`: save what later runs are compared with, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from pinchbench import defaults
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, Integer, Number
from pinchbench.cli.output import print_result, say
from pinchbench.config.settings import absolute_path
from pinchbench.errors import AlteredRunError, ConfigError
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.gate.baseline_file import Baseline, Stability


@click.command(context_settings=CONTEXT)
@click.argument("names", metavar="RUN...|FILE", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Where the baseline of these runs goes; without it, a baseline's FILE is shown.")  # fmt: skip
@click.option("--min-trials", type=Integer(2), default=defaults.DEFAULT_MIN_TRIALS, show_default=True,
              help="Trials with a score that a task needs, in all runs together.")  # fmt: skip
@click.option("--max-spread", type=Number(0, 1), default=defaults.DEFAULT_MAX_SPREAD, show_default=True,
              help="How far apart a task's highest and lowest score may be.")  # fmt: skip
@OUTPUT_DIR
def baseline(
    *, names: tuple[str, ...], output: Path | None, output_dir: Path, min_trials: int, max_spread: float
) -> None:
    """Save what later runs are compared with, or show it.

    With --output, a file for `--baseline` is written: scores, digests of tasks and settings, without transcripts and
    paths. The runs must have been made alike; their trials are pooled. Tasks with too few trials, or whose scores vary
    too much, are kept in quarantine with this evidence: later runs are not compared on them. Without --output, what a
    file was made from is printed, and which of its tasks are in quarantine.

    \b
    pinchbench-async --model MODEL --runs 5
    pinchbench-async baseline RUN -o baseline.json
    pinchbench-async --model MODEL --baseline baseline.json
    pinchbench-async baseline baseline.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from pinchbench.results.gate.baseline_file import Stability

    if output is not None:
        _save(names, output, output_dir, Stability(min_trials=min_trials, max_spread=max_spread))
    elif len(names) == 1 and names[0].endswith(".json") and Path(names[0]).is_file():
        _show(Path(names[0]))
    else:
        raise ConfigError("Say with --output FILE where the baseline goes, or name a baseline's file to see it.")


def _save(names: tuple[str, ...], output: Path, output_dir: Path, stability: Stability) -> None:
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.gate.baseline_file import baseline_of
    from pinchbench.results.paths import find_run, whole_file
    from pinchbench.results.verification import changed_evidence

    where = absolute_path(output_dir, option="--output-dir")
    path = absolute_path(output, option="--output")
    runs = [read_run(find_run(name, where)) for name in names]
    for run in runs:
        if found := [*run.differences, *changed_evidence(run.files, run.journal)]:
            raise AlteredRunError.of(found, run=run.files.folder)
    baseline = baseline_of(runs, stability)
    with whole_file(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(baseline), indent=2) + b"\n")
    say("\n".join(_quarantine(baseline)))
    print_result(path)


def _show(file: Path) -> None:
    from pinchbench.results.gate.baseline_file import read_baseline

    baseline = read_baseline(absolute_path(file, option="FILE"))
    lines = [
        f"model: {baseline.model}",
        *(f"{name}: {value}" for name, value in baseline.settings.items()),
        f"runs: {', '.join(baseline.runs)}",
        f"suite digest: {baseline.suite_digest}",
        *_quarantine(baseline),
    ]
    print_result("\n".join(plain(line) for line in lines))


def _quarantine(baseline: Baseline) -> Iterator[str]:
    quarantined = baseline.quarantined
    stable = len(baseline.tasks) - len(quarantined)
    yield f"{many(stable, 'task')} to compare with, {len(quarantined)} in quarantine"
    yield from (f"  {task_id}: {why.reason}" for task_id, why in quarantined.items())

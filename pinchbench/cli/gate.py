"""The gate of a run: prepare it, apply it, and save the baseline that it compares with (`baseline`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinchbench import defaults
from pinchbench.cli.lazy import CONTEXT
from pinchbench.cli.options import OUTPUT_DIR, Integer, Number
from pinchbench.cli.output import print_result, say
from pinchbench.config.settings import SETTINGS, absolute_path
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.errors import AlteredRunError
from pinchbench.report.text import many, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.results.finished_run import Result
    from pinchbench.results.gate.gate_record import GateVerdict
    from pinchbench.results.gate.gate_run import Gate


def apply_gate(gate: Gate, result: Result, report: Callable[[str], None]) -> GateVerdict:
    """Apply a gate to a run, keep its verdict in the run's folder and report it. Blocks. Raises ResultsError."""
    from pinchbench.results.finished_run import read_run
    from pinchbench.results.gate.gate_record import gate_lines, write_gate
    from pinchbench.results.paths import RunFiles

    files = RunFiles(output_dir=result.path.parent, name=result.folder.name)
    record = gate.judge(read_run(files), is_complete=result.complete)
    write_gate(files, record)
    for line in gate_lines(record):
        report(plain(line))
    return record.verdict


def take_gate(options: dict[str, Any], output_dir: Path) -> Gate | None:
    """Remove the gate's options from those of a command, and read the baseline; None if no gate was asked for. Blocks.

    Raises ConfigError if an option can't be used, and ResultsError if the baseline can't be read: before a run begins.
    """
    baseline, fail_under, margin = (options.pop(name) for name in ("baseline", "fail_under", "margin"))
    SETTINGS["fail-under"].check(fail_under)
    SETTINGS["margin"].check(margin)
    if baseline is None and fail_under is None:
        return None
    from pinchbench.results.gate.baseline_file import find_baseline
    from pinchbench.results.gate.gate_run import Gate

    gate = Gate(least_score=fail_under, margin=DEFAULT_MARGIN if margin is None else margin)
    if baseline is None:
        return gate
    side, stability = find_baseline(baseline, absolute_path(output_dir, option="--output-dir"))
    return replace(gate, name=baseline, baseline=side, stability=stability)


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

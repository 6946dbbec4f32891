"""What `experiment` does."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio import create_task_group

from pinchbench.cli.actions.after_run import write_run_page
from pinchbench.cli.actions.experiment_page import read_experiment_runs, write_experiment
from pinchbench.cli.actions.running import INCOMPLETE, STOPPED, resume_hint
from pinchbench.cli.deferred import action
from pinchbench.cli.output import print_result, say
from pinchbench.errors import ConfigError
from pinchbench.experiment.record import read_record
from pinchbench.experiment.run import resume_experiment, run_experiment
from pinchbench.experiment.spec import UntilDecided, of_models, read_experiment
from pinchbench.model import Stop
from pinchbench.report.soundness import soundness_told
from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer
from pinchbench.report.terminal.experiment import ExperimentView, print_experiment
from pinchbench.report.terminal.live import can_draw
from pinchbench.results.compare.json import record
from pinchbench.results.statistics import SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from pinchbench.config import RunConfig
    from pinchbench.experiment.record import ExperimentFiles
    from pinchbench.experiment.run import ExperimentResult
    from pinchbench.experiment.spec import Experiment


def run_file(*, file: Path, until: str | None, margin: float | None, dry_run: bool, as_json: bool) -> None:
    """Run the experiment of a file, or show what would be run; the options replace what the file says."""
    experiment = read_experiment(file)
    if until is not None:
        experiment = replace(experiment, until=experiment.until or UntilDecided())
    if margin is not None:
        if experiment.until is None:
            raise ConfigError("--margin is for experiments that end when they are decided: add --until decided.")
        experiment = replace(experiment, until=UntilDecided(margin=margin))
    _run(experiment, dry_run=dry_run, as_json=as_json)


def run_models(
    models: tuple[str, ...],
    config: RunConfig,
    *,
    until: str | None,
    margin: float,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run models side by side with the same options, or show what would be run."""
    end = None if until is None else UntilDecided(margin=margin)
    _run(of_models(models, config, until=end), dry_run=dry_run, as_json=as_json)


def _run(experiment: Experiment, *, dry_run: bool, as_json: bool) -> None:
    if dry_run:
        action("experiment_plan.show_plan")(experiment, as_json=as_json)
        return
    names = [one.name for one in experiment.variants]
    carry_out(partial(run_experiment, experiment), names, as_json=as_json)


def go_on(files: ExperimentFiles, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """Go on with an experiment that was ended early."""
    names = [one.name for one in read_record(files).variants]
    carry_out(partial(resume_experiment, files, **options), names, as_json=as_json)


def carry_out(
    work: Callable[..., Coroutine[Any, Any, ExperimentResult]], names: Sequence[str], *, as_json: bool
) -> None:
    """Do the work of an experiment with a live view on stderr, compare its variants, and exit with its code."""
    with stderr_writer() as writer:
        console = report_console(writer)
        view = ExperimentView(console, names, draws=can_draw(console, os.environ), is_full=writer.is_full)

        async def show() -> ExperimentResult:
            async with create_task_group() as group:
                group.start_soon(view.draw)
                result = await work(observe=view.observe, tell=view.say, decided=view.decided, handle_signals=True)
                group.cancel_scope.cancel()
            return result

        result = anyio.run(show)
        # everything is done and saved: an impatient Ctrl-C must not suppress the message on how to continue
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        writer.be_patient(END_LIMIT_S)
        experiment = read_experiment_runs(result.files)
        comparisons = experiment.comparisons
        sequential = result.record.sequential
        weighed = sequential.comparisons if sequential is not None else ()
        sentences = soundness_told(experiment.soundness)
        print_experiment(console, experiment.sides, comparisons, result.failed, sequential=weighed, soundness=sentences)
        for variant in experiment.variants:
            if variant.run is not None:
                write_run_page(variant.run.files, view.say)
        write_experiment(experiment, result.files.page)
        if any(one.unfinished for one in result.results.values()) or result.failed:
            limits = [one.stopped for one in result.results.values() if one.stop is Stop.BUDGET]
            say(resume_hint("Trials are left", str(result.files.folder), next(iter(limits), "")))
    data = {
        "experiment": result.files.name,
        "comparison": record(comparisons, seed=SEED) if comparisons else None,
        "sequential": msgspec.to_builtins(sequential),
    }
    print_result(json.dumps(data, allow_nan=False) if as_json else result.files.folder, stands_in=result.files.folder)
    _leave(result)


def _leave(result: ExperimentResult) -> None:
    if result.interrupted is not None:
        sys.exit(128 + signal.Signals[result.interrupted])
    for one in result.results.values():
        if one.stop is not None and (code := STOPPED[one.stop]):
            sys.exit(code)
    if result.failed or not all(one.complete for one in result.results.values()):
        sys.exit(INCOMPLETE)

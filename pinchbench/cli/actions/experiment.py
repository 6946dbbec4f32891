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
from pinchbench.cli.actions.gate_options import take_gate
from pinchbench.cli.actions.running import GATES, INCOMPLETE, STOPPED, resume_hint
from pinchbench.cli.deferred import action
from pinchbench.cli.output import print_result, say
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
    from collections.abc import Callable, Collection, Coroutine, Sequence
    from pathlib import Path

    from pinchbench.config import RunConfig
    from pinchbench.experiment.record import ExperimentFiles
    from pinchbench.experiment.run import ExperimentResult
    from pinchbench.experiment.spec import Experiment
    from pinchbench.results.gate.gate import Gate
    from pinchbench.results.gate.rules import GateVerdict


def run_file(
    *,
    file: Path,
    until: str | None,
    margin: float | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run the experiment of a file, or show what would be run; the options replace what the file says."""
    experiment = read_experiment(file)
    experiment = replace(experiment, until=_until(experiment.until, until, margin))
    gate = take_gate({**options, "margin": margin}, experiment.variants[0].config.output_dir)
    _run(experiment, dry_run=dry_run, as_json=as_json, gate=gate)


def _until(stated: UntilDecided | None, until: str | None, margin: float | None) -> UntilDecided | None:
    """Return when an experiment ends, by its file and the options, which replace what the file says."""
    if stated is None and until is None:
        return None
    if margin is not None:
        return UntilDecided(margin=margin)
    return stated or UntilDecided()


def run_models(
    models: tuple[str, ...],
    config: RunConfig,
    *,
    until: str | None,
    margin: float | None,
    dry_run: bool,
    as_json: bool,
    gate: Gate | None,
) -> None:
    """Run models side by side with the same options, or show what would be run."""
    _run(of_models(models, config, until=_until(None, until, margin)), dry_run=dry_run, as_json=as_json, gate=gate)


def _run(experiment: Experiment, *, dry_run: bool, as_json: bool, gate: Gate | None) -> None:
    if dry_run:
        action("experiment_plan.show_plan")(experiment, as_json=as_json)
        return
    names = [one.name for one in experiment.variants]
    carry_out(partial(run_experiment, experiment), names, as_json=as_json, gate=gate)


def go_on(
    files: ExperimentFiles,
    *,
    as_json: bool,
    gate: Gate | None = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Go on with an experiment that was ended early."""
    names = [one.name for one in read_record(files).variants]
    carry_out(partial(resume_experiment, files, **options), names, as_json=as_json, gate=gate)


def carry_out(
    work: Callable[..., Coroutine[Any, Any, ExperimentResult]],
    names: Sequence[str],
    *,
    as_json: bool,
    gate: Gate | None = None,
) -> None:
    """Do the work of an experiment with a live view on stderr, compare its variants, and exit with its code.

    `gate` is applied to the run of each variant.
    """
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
        verdicts, told = _apply_gate(gate, result)
        experiment = read_experiment_runs(result.files)
        comparisons = experiment.comparisons
        sequential = result.record.sequential
        weighed = sequential.comparisons if sequential is not None else ()
        sentences = soundness_told(experiment.soundness)
        print_experiment(console, experiment.sides, comparisons, result.failed, sequential=weighed, soundness=sentences)
        for line in told:
            say(line)
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
    _leave(result, verdicts)


def _apply_gate(gate: Gate | None, result: ExperimentResult) -> tuple[set[GateVerdict], list[str]]:
    """Apply a gate to the run of each variant, unless a signal has ended them; return its verdicts, and what to say."""
    verdicts: set[GateVerdict] = set()
    told: list[str] = []
    if gate is not None and result.interrupted is None:
        for name, one in result.results.items():
            lines: list[str] = []
            verdicts.add(action("gate.apply_gate")(gate, one, lines.append))
            told += [f"{name}: {line}" for line in lines]
    return verdicts, told


def _leave(result: ExperimentResult, verdicts: Collection[GateVerdict]) -> None:
    if result.interrupted is not None:
        sys.exit(128 + signal.Signals[result.interrupted])
    for one in result.results.values():
        if one.stop is not None and (code := STOPPED[one.stop]):
            sys.exit(code)
    if result.failed or not all(one.complete for one in result.results.values()):
        sys.exit(INCOMPLETE)
    for verdict, code in GATES.items():
        if verdict in verdicts:
            sys.exit(code)

"""What `experiment` does."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio import create_task_group

from pinchbench.cli.actions.after_run import write_run_page
from pinchbench.cli.actions.cluster import several_on_cluster, take_cluster
from pinchbench.cli.actions.gate_options import take_gate
from pinchbench.cli.actions.listeners import NO_LISTENERS, take_listeners
from pinchbench.cli.actions.running import GATES, INCOMPLETE, STOPPED, resume_hint
from pinchbench.cli.deferred import action
from pinchbench.cli.output import print_result, say
from pinchbench.experiment.page import read_experiment_runs, write_experiment
from pinchbench.experiment.record import read_record
from pinchbench.experiment.run import resume_experiment, run_experiment
from pinchbench.experiment.spec import UntilDecided, of_models, read_experiment
from pinchbench.model.ending import Stop
from pinchbench.notify.message import experiment_finished
from pinchbench.report.soundness import soundness_told
from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer
from pinchbench.report.terminal.experiment import ExperimentView, print_experiment
from pinchbench.report.terminal.live import can_draw
from pinchbench.results.compare.json import record
from pinchbench.results.statistics import SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence
    from pathlib import Path

    from pinchbench.cli.actions.cluster import ChosenCluster
    from pinchbench.cli.actions.listeners import Listeners, Told
    from pinchbench.config.run import RunConfig
    from pinchbench.experiment.record import ExperimentFiles
    from pinchbench.experiment.run import ExperimentResult
    from pinchbench.experiment.spec import Experiment
    from pinchbench.results.gate.gate import Gate
    from pinchbench.results.gate.rules import GateVerdict
    from pinchbench.runner.observer import Observer


def run_file(
    *,
    file: Path,
    until: str | None,
    margin: float | None,
    dry_run: bool,
    as_json: bool,
    notify: tuple[str, ...],
    otlp: str | None,
    cluster: str | None,
    relay: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run the experiment of a file, or show what would be run; the options replace what the file says."""
    chosen = take_cluster(cluster, relay=relay)
    experiment = read_experiment(file)
    experiment = replace(experiment, until=_until(experiment.until, until, margin))
    gate = take_gate({**options, "margin": margin}, experiment.variants[0].config.output_dir)
    listeners = take_listeners(notify, otlp)
    _run(experiment, dry_run=dry_run, as_json=as_json, gate=gate, listeners=listeners, cluster=chosen)


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
    told: Told,
    cluster: ChosenCluster | None,
) -> None:
    """Run models side by side with the same options, or show what would be run."""
    experiment = of_models(models, config, until=_until(None, until, margin))
    _run(experiment, dry_run=dry_run, as_json=as_json, gate=gate, listeners=take_listeners(*told), cluster=cluster)


def _run(
    experiment: Experiment,
    *,
    dry_run: bool,
    as_json: bool,
    gate: Gate | None,
    listeners: Listeners,
    cluster: ChosenCluster | None,
) -> None:
    if dry_run:
        action("experiment_plan.show_plan")(experiment, as_json=as_json)
        return
    names = [one.name for one in experiment.variants]
    work = several_on_cluster(partial(run_experiment, experiment), cluster, runs=len(names))
    carry_out(work, names, as_json=as_json, gate=gate, listeners=listeners)


def go_on(
    files: ExperimentFiles,
    *,
    as_json: bool,
    gate: Gate | None = None,
    listeners: Listeners = NO_LISTENERS,
    cluster: ChosenCluster | None = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Go on with an experiment that was ended early."""
    names = [one.name for one in read_record(files).variants]
    work = several_on_cluster(partial(resume_experiment, files, **options), cluster, runs=len(names))
    carry_out(work, names, as_json=as_json, gate=gate, listeners=listeners)


def carry_out(
    work: Callable[..., Coroutine[Any, Any, ExperimentResult]],
    names: Sequence[str],
    *,
    as_json: bool,
    gate: Gate | None = None,
    listeners: Listeners = NO_LISTENERS,
) -> None:
    """Do the work of an experiment with a live view on stderr, compare its variants, and exit with its code.

    `gate` is applied to the run of each variant; `listeners` hear of all of them.
    """
    with listeners.telling_errors("An experiment"), stderr_writer() as writer:
        console = report_console(writer)
        view = ExperimentView(console, names, draws=can_draw(console, os.environ), is_full=writer.is_full)

        def observe(name: str) -> Observer:
            return listeners.beside(view.observe(name), name)

        async def show() -> ExperimentResult:
            async with listeners.listening(tell=view.say, ring=console.bell), create_task_group() as group:
                group.start_soon(view.draw)
                result = await work(observe=observe, tell=view.say, decided=view.decided, handle_signals=True)
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
        for line in _ended_early(result):
            say(line)
        if any(one.unfinished for one in result.results.values()) or result.failed:
            limits = [one.stopped for one in result.results.values() if one.stop is Stop.BUDGET]
            say(resume_hint("Trials are left", str(result.files.folder), next(iter(limits), "")))
    data = {
        "experiment": result.files.name,
        "comparison": record(comparisons, seed=SEED) if comparisons else None,
        "sequential": msgspec.to_builtins(sequential),
    }
    print_result(json.dumps(data, allow_nan=False) if as_json else result.files.folder, stands_in=result.files.folder)
    code = _exit_code(result, verdicts)
    listeners.tell_end(experiment_finished(result.files.name, result.results, exit_code=code, now=time.time()))
    if code:
        sys.exit(code)


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


def _ended_early(result: ExperimentResult) -> list[str]:
    """Return why runs have ended themselves before they were decided, each reason once with its variants."""
    variants: dict[str, list[str]] = {}
    for name, one in result.results.items():
        if one.stop is not None and STOPPED[one.stop]:
            variants.setdefault(one.stopped, []).append(name)
    return [f"{', '.join(names)}: {why}" for why, names in variants.items()]


def _exit_code(result: ExperimentResult, verdicts: Collection[GateVerdict]) -> int:
    if result.interrupted is not None:
        return 128 + signal.Signals[result.interrupted]
    for one in result.results.values():
        if one.stop is not None and (code := STOPPED[one.stop]):
            return code
    if result.failed or not all(one.complete for one in result.results.values()):
        return INCOMPLETE
    return next((code for verdict, code in GATES.items() if verdict in verdicts), 0)

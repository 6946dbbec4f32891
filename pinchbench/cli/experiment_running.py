"""Run, resume or preview an experiment, with a live view, and exit with the code of the result."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio import create_task_group

from pinchbench.cli.gate import apply_gate
from pinchbench.cli.output import print_result, say
from pinchbench.cli.run_plan import judging_sentence
from pinchbench.cli.running import STOPPED, Work, exit_code, heard_by, on_cluster, resume_hint, traced, write_run_page
from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.experiment.experiment_page import read_experiment_runs, write_experiment
from pinchbench.experiment.experiment_record import ExperimentFiles, read_record
from pinchbench.experiment.run_experiment import ExperimentResult, prepare_all, resume_experiment, run_experiment
from pinchbench.experiment.sequential import in_order
from pinchbench.model.ending import Stop
from pinchbench.report.terminal.console import END_LIMIT_S, report_console, stderr_writer
from pinchbench.report.terminal.experiment_table import ExperimentView, print_experiment
from pinchbench.report.terminal.live import can_draw
from pinchbench.report.text import duration, many, price
from pinchbench.results.compare.comparison_json import record
from pinchbench.runner.plan.past_runs import JudgingForecast, judging_forecast
from pinchbench.runner.plan.reuse import reuse_sentences
from pinchbench.runner.plan.trial_plan import makespan_s
from pinchbench.runner.setup.set_up import planned_reuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.experiment.experiment_spec import Experiment, Variant
    from pinchbench.results.gate.gate_record import GateVerdict
    from pinchbench.results.gate.gate_run import Gate
    from pinchbench.runner.plan.prepare import Prepared
    from pinchbench.runner.run_context import Observer


@dataclass(frozen=True, kw_only=True, slots=True)
class _PlannedVariant:
    """A variant's trials in the order of the experiment: limits, expected times and costs; None where unknown."""

    variant: Variant
    limits_s: tuple[float, ...]
    expected_s: tuple[float, ...] | None
    cost_usd: float | None
    judging: JudgingForecast | None

    @classmethod
    def of(cls, variant: Variant, prepared: Prepared, *, seed: int) -> _PlannedVariant:
        """Return what is known of a variant by its plan and earlier runs."""
        trials = [one.trial for one in in_order(prepared.attempts, seed=seed)]
        took, costs = prepared.expected_s, prepared.expected_usd
        return cls(
            variant=variant,
            limits_s=tuple(one.timeout_s for one in trials),
            expected_s=tuple(took[one.key.task_id] for one in trials) if took else None,
            cost_usd=math.fsum(costs[one.key.task_id] for one in trials) if costs else None,
            judging=judging_forecast(prepared.config, prepared.attempts),
        )

    @property
    def line(self) -> str:
        """A line for the user."""
        differs = (
            ", ".join(f"{name} {value}" for name, value in self.variant.differs.items())
            or "the settings of all variants"
        )
        took = "time unknown" if self.expected_s is None else f"about {duration(math.fsum(self.expected_s))} of a slot"
        cost = "cost unknown" if self.cost_usd is None else f"about {price(self.cost_usd)}"
        return f"{self.variant.name}: {many(len(self.limits_s), 'trial')}, {differs}; {took}, {cost}"


def show_plan(experiment: Experiment, *, as_json: bool) -> None:
    """Print the variants, how long the experiment will take, and what it will cost, going by earlier runs. Blocks."""
    experiment, prepared = prepare_all(experiment)
    prepared = {name: planned_reuse(one) for name, one in prepared.items()}
    for name, one in prepared.items():
        for sentence in reuse_sentences(one):
            say(f"{name}: {sentence}")
    plans = [_PlannedVariant.of(one, prepared[one.name], seed=experiment.seed) for one in experiment.variants]
    slots = experiment.variants[0].config.concurrency
    most_s = makespan_s(_in_rounds([one.limits_s for one in plans]), slots=slots)
    took = [one.expected_s for one in plans if one.expected_s is not None]
    costs = [one.cost_usd for one in plans if one.cost_usd is not None]
    expected_s = makespan_s(_in_rounds(took), slots=slots) if len(took) == len(plans) else None
    cost_usd = math.fsum(costs) if len(costs) == len(plans) else None
    if as_json:
        print_result(
            json.dumps(
                {
                    "name": experiment.name,
                    "variants": [
                        {
                            "variant": one.variant.name,
                            "trials": len(one.limits_s),
                            "differs": dict(one.variant.differs),
                            "expected_cost_usd": one.cost_usd,
                            **({"judging": asdict(one.judging)} if one.judging is not None else {}),
                        }
                        for one in plans
                    ],
                    "expected_s": expected_s,
                    "worst_case_s": most_s,
                    "expected_cost_usd": cost_usd,
                }
            )
        )
        return
    size = f"{many(sum(len(one.limits_s) for one in plans), 'trial')} on {many(slots, 'slot')}"
    likely = "unknown time" if expected_s is None else f"about {duration(expected_s)}"
    cost = _cost(plans, budget_usd=experiment.budget.max_cost)
    attempts = [attempt for one in prepared.values() for attempt in one.attempts]
    judging = judging_forecast(next(iter(prepared.values())).config, attempts)
    judges = "" if judging is None else f" {judging_sentence(judging)}"
    early = "" if experiment.margin is None else " It ends earlier where it is decided."
    total = f"{size}: {likely}, at most {duration(most_s)}; {cost}.{judges}{early} Nothing was started."
    print_result("\n".join([*(one.line for one in plans), total]))


def _in_rounds(of_variants: Sequence[tuple[float, ...]]) -> list[float]:
    """Return the durations in the order in which they start: one of each variant in turn."""
    return [one for one in chain.from_iterable(zip_longest(*of_variants)) if one is not None]


def _cost(plans: Sequence[_PlannedVariant], *, budget_usd: float | None) -> str:
    """Return what is known of the cost, as a part of a sentence."""
    unknown = [one.variant.name for one in plans if one.cost_usd is None]
    if len(unknown) == len(plans):
        return "the cost is unknown, since there is no earlier run to go by"
    total_usd = math.fsum(one.cost_usd for one in plans if one.cost_usd is not None)
    judge = ", without the judge" if plans[0].judging is not None else ""
    beyond = "" if budget_usd is None or total_usd <= budget_usd else f", more than the budget of {price(budget_usd)}"
    without = f" without {', '.join(unknown)}, whose cost is unknown" if unknown else ""
    return f"about {price(total_usd)}{without}{judge}{beyond}"


def decisive_margin(stated: float | None, until: str | None, margin: float | None) -> float | None:
    """Return the margin of an experiment that ends when it is decided: options replace what its file says."""
    if stated is None and until is None:
        return None
    if margin is not None:
        return margin
    return DEFAULT_MARGIN if stated is None else stated


def run(
    experiment: Experiment, *, dry_run: bool, as_json: bool, gate: Gate | None, otlp: str | None, cluster: str | None
) -> None:
    """Run an experiment, or show what would be run."""
    if dry_run:
        show_plan(experiment, as_json=as_json)
        return
    names = [one.name for one in experiment.variants]
    carry_out(partial(run_experiment, experiment), names, as_json=as_json, gate=gate, otlp=otlp, cluster=cluster)


def go_on(
    files: ExperimentFiles,
    *,
    as_json: bool,
    gate: Gate | None = None,
    otlp: str | None = None,
    cluster: str | None = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Resume an unfinished experiment."""
    names = [one.name for one in read_record(files).variants]
    work = partial(resume_experiment, files, **options)
    carry_out(work, names, as_json=as_json, gate=gate, otlp=otlp, cluster=cluster)


def carry_out(
    work: Work[ExperimentResult],
    names: Sequence[str],
    *,
    as_json: bool,
    gate: Gate | None = None,
    otlp: str | None = None,
    cluster: str | None = None,
) -> None:
    """Do the work of an experiment with a live view on stderr, compare its variants, and exit with its code.

    `gate` is applied to the run of each variant; `otlp` and `cluster` are as for `traced` and `on_cluster`.
    """
    work = on_cluster(work, cluster, runs=len(names))
    with traced(otlp) as exporter:
        with stderr_writer() as writer:
            console = report_console(writer)
            view = ExperimentView(console, names, draws=can_draw(console, os.environ), is_full=writer.is_full)

            def observe(name: str) -> Observer:
                return heard_by(exporter, view.observe(name), name, warn=view.say)

            async def show() -> ExperimentResult:
                async with create_task_group() as group:
                    group.start_soon(view.draw)
                    result = await work(observe=observe, tell=view.say, decided=view.decided, handle_signals=True)
                    group.cancel_scope.cancel()
                return result

            result = anyio.run(show)
            # everything is done and saved: an impatient Ctrl-C must not suppress the message on how to continue
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            writer.be_patient(END_LIMIT_S)
            verdicts, gate_lines = _apply_gate(gate, result)
            experiment = read_experiment_runs(result.files)
            comparisons = experiment.comparisons
            sequential = result.record.sequential
            print_experiment(
                console,
                experiment.choice() if experiment.sides else None,
                {name: one.sentence for name, one in experiment.verdicts.by_variant.items()},
                result.failed,
                soundness=experiment.disturbances,
            )
            for line in gate_lines:
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
            "comparison": record(comparisons) if comparisons else None,
            "sequential": msgspec.to_builtins(sequential),
        }
        print_result(
            json.dumps(data, allow_nan=False) if as_json else result.files.folder, stands_in=result.files.folder
        )
        every = list(result.results.values())
        code = exit_code(every, verdicts, interrupted=result.interrupted, is_whole=not result.failed)
        if exporter is not None:
            exporter.end({name: run.data.score.mean for name, run in result.results.items()}, code)
    if code:
        sys.exit(code)


def _apply_gate(gate: Gate | None, result: ExperimentResult) -> tuple[set[GateVerdict], list[str]]:
    """Apply a gate to the run of each variant, unless a signal has ended them; return its verdicts, and what to say."""
    verdicts: set[GateVerdict] = set()
    said: list[str] = []
    if gate is not None and result.interrupted is None:
        for name, one in result.results.items():
            lines: list[str] = []
            verdicts.add(apply_gate(gate, one, lines.append))
            said += [f"{name}: {line}" for line in lines]
    return verdicts, said


def _ended_early(result: ExperimentResult) -> list[str]:
    """Return why runs have ended themselves before they were decided, each reason once with its variants."""
    variants: dict[str, list[str]] = {}
    for name, one in result.results.items():
        if one.stop is not None and STOPPED[one.stop]:
            variants.setdefault(one.stopped, []).append(name)
    return [f"{', '.join(names)}: {why}" for why, names in variants.items()]

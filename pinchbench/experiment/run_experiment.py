"""One experiment, or the rest of one: its variants' runs side by side, in slots that they share."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import msgspec
from anyio import create_task_group, current_time, to_thread

from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.errors import ConfigError, PinchBenchError, ResultsError, RunInterruptedError
from pinchbench.experiment.experiment_record import (
    ExperimentFiles,
    RecordedExperiment,
    RecordedSequential,
    RecordedVariant,
    read_record,
    write_record,
)
from pinchbench.experiment.repetition_blocks import BlockCoordinator
from pinchbench.experiment.sequential import in_order
from pinchbench.files.folders import folder_error, make_private, refuse_planted
from pinchbench.model.ending import Stop
from pinchbench.openclaw.command import model_slug
from pinchbench.results.journal.journal import read_journal
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.plan.prepare import Prepared, prepare
from pinchbench.runner.plan.stored_run import stored_config
from pinchbench.runner.plan.trial_plan import new_run_id
from pinchbench.runner.run_benchmark import run_prepared
from pinchbench.runner.scheduling.budget import Budget, SharedBudget
from pinchbench.runner.scheduling.meter import NO_LIMITS, BudgetLimits
from pinchbench.runner.setup.set_up import plain_config
from pinchbench.runner.sharing import Rotation, Share, SharedSlots
from pinchbench.runner.signals import Interrupt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from signal import Signals

    from pinchbench.experiment.experiment_spec import Experiment
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.compare.verdict import SequentialComparison
    from pinchbench.results.finished_run import Result
    from pinchbench.runner.run_context import Observer
    from pinchbench.runner.trial.slot import SlotPool

# The limits of a budget, which have the names of options of `resume`.
LIMITS = tuple(limit.name for limit in fields(BudgetLimits))
DECIDED = "The experiment is decided: no further trial is needed."
FIRST = (
    "no new trials; the running agents of all variants are ended properly, and what has finished is graded. The next"
    " Ctrl-C kills them and ends the grading."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExperimentResult:
    """What an experiment came to: the result of each variant's run, or why it has none, by the variant's name."""

    files: ExperimentFiles
    record: RecordedExperiment
    results: Mapping[str, Result] = field(repr=False)
    failed: Mapping[str, str] = field(default_factory=dict)
    interrupted: str | None = None


class Listening(TypedDict, total=False):
    """How the start of an experiment, or of the rest of one, is attended.

    `observe` returns the observer of the run of the variant with this name; `tell` gets sentences for the user about
    the experiment as a whole, and `decided` the comparisons, whenever they may have changed, of one that ends when it
    is decided. `handle_signals` is as for `run_benchmark`. `pools` returns the other machines for the slots of one run,
    which those of the others share.
    """

    observe: Callable[[str], Observer]
    tell: Callable[[str], None]
    decided: Callable[[Sequence[SequentialComparison]], None]
    handle_signals: bool
    pools: Callable[[], SlotPool]


async def run_experiment(experiment: Experiment, **listening: Unpack[Listening]) -> ExperimentResult:
    """Run an experiment to its result.

    Each variant is a run of its own, which `resume`, `regrade`, `report`, `export` and `verify` take; the experiment's
    folder links them. A variant whose run fails does not stop the others. Raises PinchBenchError if the suite or the
    output folder can't be used, or no variant could begin.
    """
    experiment, prepared = await to_thread.run_sync(prepare_all, experiment)
    files, record = _record(experiment, [one.key for one in prepared[experiment.variants[0].name].trials])
    await to_thread.run_sync(_create, files, record)
    begin = {name: partial(run_prepared, one) for name, one in prepared.items()}
    coordinator = None if record.design is None else BlockCoordinator(record.design, {})
    return await _Variants(files=files, record=record, begin=begin, coordinator=coordinator, **listening).run()


async def resume_experiment(
    files: ExperimentFiles,
    *,
    settings: Mapping[str, object] = MappingProxyType({}),
    accept_changes: bool = False,
    **listening: Unpack[Listening],
) -> ExperimentResult:
    """Go on with an experiment, whatever has ended it: with the rest of each run, and with runs that did not begin.

    `settings` and `accept_changes` are those of `ResumeConfig`, for each run, but limits replace those of the
    experiment's budget, if it has one. Errors are those of `run_experiment`.
    """
    record = await to_thread.run_sync(read_record, files)
    if "concurrency" in settings:
        record = msgspec.structs.replace(record, concurrency=int(str(settings["concurrency"])))
    if record.budget != NO_LIMITS:
        budget, settings = resumed_budget(record.budget, settings)
        record = msgspec.structs.replace(record, budget=budget)
    coordinator = await to_thread.run_sync(_coordinator, files, record)
    begin: dict[str, Callable[..., Awaitable[Result]]] = {}
    for variant in record.variants:
        run = files.run(variant)
        if await to_thread.run_sync(run.provenance.exists):
            config = ResumeConfig(run=str(run.folder), accept_changes=accept_changes, settings=settings)
            begin[variant.name] = partial(resume, config)
        elif coordinator is None or not coordinator.sequential.is_over:
            again = await to_thread.run_sync(partial(stored_config, variant.config, settings, run))
            begin[variant.name] = partial(run_prepared, await to_thread.run_sync(prepare, again))
    await to_thread.run_sync(partial(write_record, files, record))
    return await _Variants(files=files, record=record, begin=begin, coordinator=coordinator, **listening).run()


def resumed_budget(budget: BudgetLimits, settings: Mapping[str, object]) -> tuple[BudgetLimits, dict[str, object]]:
    """Return the budget of an experiment that is resumed with these settings, and the settings of its runs (pure).

    Hours are those of one session.
    """
    given = {name: settings[name] for name in LIMITS if name in settings}
    return (
        replace(budget, **cast("Any", {"max_hours": None, **given})),
        {name: value for name, value in settings.items() if name not in LIMITS},
    )


def _coordinator(files: ExperimentFiles, record: RecordedExperiment) -> BlockCoordinator | None:
    """Read from the journals what is decided so far; None if every trial is made. Blocks. Raises ResultsError."""
    if record.design is None:
        return None
    journals = {variant.name: files.run(variant).journal for variant in record.variants}
    states = {name: read_journal(journal).state for name, journal in journals.items() if journal.exists()}
    return BlockCoordinator(record.design, states)


def prepare_all(experiment: Experiment) -> tuple[Experiment, dict[str, Prepared]]:
    """Read the suite for each variant, and return the experiment with the tasks of a short form named. Blocks.

    Raises what `prepare` raises.
    """
    baseline, *others = experiment.variants
    first = prepare(baseline.config)
    found = first.config  # names the tasks and the folder
    if first.suite.parts:
        raise ConfigError(
            "An experiment compares by one score, and several suites have one each. Make an experiment for each suite."
        )
    if experiment.margin is not None and found.runs is None:
        # each of its repetitions estimates the mean over all tasks, and so has them all
        first = prepare(replace(found, runs=_repetitions([trial.key for trial in first.trials])))
        found = first.config
    shared = partial(
        replace, suite=found.suite, tasks_dir=found.tasks_dir, suite_format=found.suite_format, runs=found.runs
    )
    prepared = {baseline.name: first, **{one.name: prepare(shared(one.config)) for one in others}}
    variants = tuple(replace(one, config=prepared[one.name].config) for one in experiment.variants)
    return replace(experiment, variants=variants), prepared


def _record(experiment: Experiment, plan: Sequence[TrialKey]) -> tuple[ExperimentFiles, RecordedExperiment]:
    now = datetime.now(UTC)
    tokens = set[str]()
    while len(tokens) <= len(experiment.variants):  # ids of one second that differ
        tokens.add(secrets.token_hex(2))
    own, *others = (new_run_id(now, token) for token in sorted(tokens))
    config = experiment.variants[0].config
    record = RecordedExperiment(
        name=experiment.name,
        experiment_id=own,
        created_at=time.time(),
        seed=experiment.seed,
        concurrency=config.concurrency,
        budget=experiment.budget,
        variants=tuple(
            RecordedVariant(
                name=one.name,
                run=f"{model_slug(one.config.model)}_{run_id}",
                config=plain_config(one.config),
                differs=dict(one.differs),
            )
            for one, run_id in zip(experiment.variants, others, strict=True)
        ),
        sequential=None
        if experiment.margin is None
        else RecordedSequential(
            tasks=tuple(dict.fromkeys(key.task_id for key in plan)), runs=_repetitions(plan), margin=experiment.margin
        ),
    )
    return ExperimentFiles(output_dir=config.output_dir, name=f"{experiment.name}_{own}"), record


def _repetitions(plan: Sequence[TrialKey]) -> int:
    """Return how many repetitions the task has that is repeated most."""
    return max((key.repetition for key in plan), default=1)


def _create(files: ExperimentFiles, record: RecordedExperiment) -> None:
    """Create the experiment's folder. Blocks. Raises ResultsError."""
    try:
        refuse_planted(files.output_dir, option="--output-dir")
        files.output_dir.mkdir(parents=True, exist_ok=True)
        make_private(files.folder)
    except OSError as error:
        raise folder_error(files.folder, error, option="--output-dir") from error
    write_record(files, record)


def _count_spent(files: ExperimentFiles, record: RecordedExperiment, budget: SharedBudget, now: float) -> None:
    """Count what the runs have used in earlier sessions, those included that have nothing left. Blocks."""
    for variant in record.variants:
        journal = files.run(variant).journal
        if journal.exists():
            state = read_journal(journal).state
            own = Budget(NO_LIMITS, began=now, earlier=state.paid_attempts, judged=state.paid_grades)
            budget.spent(variant.name, own)


@dataclass(kw_only=True)
class _Variants:
    """The runs of an experiment while they run; `begin` holds what makes each, or the rest of it, by variant."""

    files: ExperimentFiles
    record: RecordedExperiment
    begin: Mapping[str, Callable[..., Awaitable[Result]]]
    coordinator: BlockCoordinator | None
    observe: Callable[[str], Observer | None] = lambda _: None
    tell: Callable[[str], None] = lambda _: None
    decided: Callable[[Sequence[SequentialComparison]], None] = lambda _: None
    handle_signals: bool = False
    pools: Callable[[], SlotPool | None] = lambda: None

    def __post_init__(self) -> None:
        record = self.record
        self._slots = SharedSlots(
            Rotation(self.begin, slots=record.concurrency, seed=record.seed),
            SharedBudget(record.budget, began=current_time()) if record.budget != NO_LIMITS else None,
        )
        self._interrupts = {name: Interrupt() for name in self.begin}
        self._interrupt = Interrupt(first=FIRST)
        self._results: dict[str, Result] = {}
        self._failed: dict[str, str] = {}

    async def run(self) -> ExperimentResult:
        """Run all of them to their results."""
        files, record, coordinator = self.files, self.record, self.coordinator
        if coordinator is not None:
            coordinator.changed = self._changed
            self.decided(coordinator.comparisons)
            if coordinator.sequential.is_over:
                self.tell(DECIDED)
        self._interrupt.last_words = f"`pinchbench-async resume {files.folder}` goes on with the rest."
        if self._slots.budget is not None:
            await to_thread.run_sync(_count_spent, files, record, self._slots.budget, current_time())
        async with create_task_group() as root:
            if self.handle_signals:
                root.start_soon(self._interrupt.listen, self.tell, self._forward)
            async with create_task_group() as group:
                for variant in record.variants:
                    if variant.name in self.begin:
                        group.start_soon(self._run, variant)
            self._interrupt.close()
        if record.sequential is not None and coordinator is not None:
            told = msgspec.structs.replace(record.sequential, comparisons=coordinator.comparisons)
            record = msgspec.structs.replace(record, sequential=told)
        await to_thread.run_sync(partial(write_record, files, record, self._failed))
        if not self._results and self._interrupt.signal is not None:
            raise RunInterruptedError(self._interrupt.signal)
        if not self._results:
            reasons = " ".join(f"{name}: {why}" for name, why in self._failed.items())
            raise ResultsError(f"No variant could be run. {reasons}")
        return ExperimentResult(
            files=files,
            record=record,
            results=self._results,
            failed=self._failed,
            interrupted=self._interrupt.signal_name,
        )

    def _changed(self, comparisons: Sequence[SequentialComparison]) -> None:
        """Pass the comparisons on whenever they may have changed, and let the runs look at what they may start then."""
        self.decided(comparisons)
        self._slots.admitted()

    def _forward(self, number: Signals) -> None:
        """Pass a signal on to the runs; each one acts on it as if it were alone."""
        for interrupt in self._interrupts.values():
            interrupt.take(number, lambda _: None)

    async def _run(self, variant: RecordedVariant) -> None:
        name = variant.name
        share = Share(
            run=name,
            run_id=variant.run.rpartition("_")[2],
            slots=self._slots,
            interrupt=self._interrupts[name],
            arrange=partial(in_order, seed=self.record.seed),
            coordinator=None if self.coordinator is None else self.coordinator.of(name),
        )
        observer = self.observe(name)
        try:
            self._results[name] = await self.begin[name](observer=observer, share=share, pool=self.pools())
        except* RunInterruptedError:
            pass  # before its first trial: said once, for all
        except* PinchBenchError as errors:
            self._failed[name] = " ".join(dict.fromkeys(map(str, _leaves(errors))))
        finally:
            self._slots.leave(name)
            if self.coordinator is not None and self._interrupt.signal is None:
                stop = self._results[name].stop if name in self._results else None
                self.coordinator.leave(name, by_budget=stop is Stop.BUDGET)


def _leaves(group: BaseExceptionGroup[PinchBenchError]) -> Sequence[PinchBenchError]:
    found: list[PinchBenchError] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found

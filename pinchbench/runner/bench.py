"""The nursery tree: one benchmark run from its config to its result."""

from __future__ import annotations

import math
import secrets
import shutil
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

import anyio
from anyio import (
    BrokenResourceError,
    CancelScope,
    ClosedResourceError,
    WouldBlock,
    create_memory_object_stream,
    create_task_group,
    move_on_after,
    to_thread,
)

from pinchbench.config import ORACLE
from pinchbench.errors import RunInterruptedError
from pinchbench.model import Event, Notice, RunBegan, Trial, TrialEnded
from pinchbench.openclaw.command import model_slug
from pinchbench.openclaw.probe import find_openclaw, node_version, release_warning
from pinchbench.results.aggregate import aggregate
from pinchbench.results.journal import JournalWriter, read_journal, write_records
from pinchbench.results.records import Record, RunFinished, RunStarted, TrialFinished
from pinchbench.results.store import RunFiles, create_run, write_json
from pinchbench.runner.interrupt import Interrupt
from pinchbench.runner.plan import new_run_id, plan_trials
from pinchbench.runner.pool import Pool
from pinchbench.runner.provenance import provenance, versions
from pinchbench.runner.slots import CLEAN_UP_LIMIT_S, HOMES, make_homes
from pinchbench.suite.load import bundled_tasks_dir, load_suite
from pinchbench.suite.select import select_tasks
from pinchbench.suite.solution import load_solution
from pinchbench.workspace import private_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.model import Outcome, Suite
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.home import Home

Observer: TypeAlias = "Callable[[MemoryObjectReceiveStream[Event]], Awaitable[None]]"

EVENTS_HELD = 10_000  # for an observer that is slower than the run; what comes beyond is not shown
OBSERVER_LIMIT_S = 2.0  # to show what is left when the run is over


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A run before anything has been started: what would be run, and in which order."""

    config: RunConfig
    suite: Suite
    trials: tuple[Trial, ...]
    skipped: tuple[str, ...] = ()

    @property
    def slots(self) -> int:
        """How many slots there is work for."""
        return min(self.config.concurrency, len(self.trials))


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a run came to.

    `path` is the aggregate, `folder` holds the journal, run.json and each trial's evidence. `data` is what stands in
    the aggregate. `interrupted` names the signal that ended the run early.
    """

    run_id: str
    path: Path
    folder: Path
    data: Mapping[str, object]
    outcomes: tuple[Outcome, ...]
    planned: int
    interrupted: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every planned trial ended, and in a way that says something about the model."""
        return len(self.outcomes) == self.planned and all(one.reason.counts for one in self.outcomes)


def prepare(config: RunConfig) -> Prepared:
    """Read the suite and plan the trials. Blocks; starts nothing and writes nothing.

    Raises SuiteError and SelectionError.
    """
    loaded = load_suite(config.tasks_dir or bundled_tasks_dir(), skip_broken=config.skip_broken)
    tasks = select_tasks(loaded.suite, config.suite)
    trials = plan_trials(tasks, runs=config.runs, timeout_multiplier=config.timeout_multiplier)
    return Prepared(config=config, suite=loaded.suite, trials=trials, skipped=tuple(map(str, loaded.problems)))


async def run_benchmark(config: RunConfig, *, observer: Observer | None = None, handle_signals: bool = False) -> Result:
    """Run a benchmark to its result.

    Every trial that was started gets an outcome, which is on the disk before `observer` hears of it; the observer gets a
    stream of events, may be slow and may fail without harm. With `handle_signals`, SIGINT, SIGTERM and SIGHUP end
    the run properly (main thread only); `Result.interrupted` names the signal then.

    Raises PinchBenchError (SuiteError, SelectionError, OpenClawError, ResultsError, RunInterruptedError when a signal came
    before the first trial), possibly inside an ExceptionGroup. Cancelling it ends every process it started, writes the
    outcomes of the running trials as `interrupted`, and then raises. Needs anyio's asyncio backend: transcripts are
    followed with aiofiles, which knows no other.
    """
    prepared = await to_thread.run_sync(prepare, config)
    return await _Bench(prepared, observer).run(handle_signals=handle_signals)


class _Bench:
    """One run. Its methods are the branches of the nursery tree."""

    def __init__(self, prepared: Prepared, observer: Observer | None) -> None:
        self._prepared = prepared
        self._config = prepared.config
        self._observer = observer
        self._run_id = new_run_id(datetime.now(UTC), secrets.token_hex(2))
        self._interrupt = Interrupt()
        self._events, self._watched = create_memory_object_stream[Event](EVENTS_HELD)

    async def run(self, *, handle_signals: bool) -> Result:
        """The root group: signals, the observer, and the run itself."""
        signals, watching = CancelScope(), CancelScope()
        async with create_task_group() as root:
            if handle_signals:
                root.start_soon(self._listen, signals)
            root.start_soon(self._observe, watching)
            try:
                result = await self._run()
            finally:
                signals.cancel()
                self._events.close()
                watching.deadline = anyio.current_time() + OBSERVER_LIMIT_S
        return result

    def _emit(self, event: Event) -> None:
        # an observer that is slow or gone loses events; the journal has what matters
        with suppress(WouldBlock, BrokenResourceError, ClosedResourceError):
            self._events.send_nowait(event)

    def _tell(self, sentence: str) -> None:
        self._emit(Notice(text=sentence))

    async def _listen(self, scope: CancelScope) -> None:
        with scope:
            await self._interrupt.listen(self._tell)

    async def _observe(self, scope: CancelScope) -> None:
        with self._watched, scope:
            if self._observer is not None:
                # a terminal that went away must not end the run
                with suppress(Exception):
                    await self._observer(self._watched)

    async def _run(self) -> Result:
        root = await to_thread.run_sync(private_folder, self._config.run_root)
        self._config = replace(self._config, run_root=root)
        run_folder = await to_thread.run_sync(private_folder, root / self._run_id)
        try:
            async with AsyncExitStack() as stack:
                scripted = await self._scripted(stack)
                with self._interrupt.setup:
                    openclaw, node, homes = await self._set_up(run_folder, scripted)
                if self._interrupt.signal is not None:
                    raise RunInterruptedError(self._interrupt.signal)
                files = await to_thread.run_sync(self._create_files, openclaw, node, homes)
                await self._trials(files, openclaw, homes, scripted)
            return await to_thread.run_sync(self._finish, files)
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(_clean_up, run_folder)

    async def _scripted(self, stack: AsyncExitStack) -> ScriptedModel | None:
        if not self._config.is_demo:
            return None
        from pinchbench.demo.server import scripted_model  # noqa: PLC0415 - a web server, for demo models only

        return await stack.enter_async_context(scripted_model())

    async def _set_up(self, run_folder: Path, scripted: ScriptedModel | None) -> tuple[OpenClaw, str, tuple[Home, ...]]:
        for problem in self._prepared.skipped:
            self._tell(f"Left out: {problem}")
        openclaw = await find_openclaw(self._config.openclaw)
        if warning := release_warning(openclaw.version):
            self._tell(warning)
        self._tell(f"Setting up OpenClaw {openclaw.version} for {self._prepared.slots} slots.")
        node = await node_version(openclaw)
        homes = await make_homes(self._config, openclaw, run_folder, slots=self._prepared.slots, scripted=scripted)
        return openclaw, node, homes

    def _create_files(self, openclaw: OpenClaw, node: str, homes: Sequence[Home]) -> RunFiles:
        files = create_run(self._config.output_dir, f"{model_slug(self._config.model)}_{self._run_id}")
        facts = provenance(
            config=self._config,
            suite=self._prepared.suite,
            trials=self._prepared.trials,
            run_id=self._run_id,
            created_at=time.time(),
            releases=versions(openclaw, node),
            agents=[home.agent_id for home in homes],
            skipped=self._prepared.skipped,
        )
        write_json(files.provenance, facts)
        return files

    async def _trials(
        self, files: RunFiles, openclaw: OpenClaw, homes: Sequence[Home], scripted: ScriptedModel | None
    ) -> None:
        """The writer, and the agents beside it. The writer outlives every cancel: it ends when all senders have closed."""
        pool = Pool(
            config=self._config,
            openclaw=openclaw,
            run_id=self._run_id,
            files=files,
            interrupt=self._interrupt,
            emit=self._emit,
            scripted=scripted,
            scripts=self._scripts(),
        )
        trials = self._prepared.trials
        self._emit(
            RunBegan(
                run_id=self._run_id, model=self._config.model, trials=len(trials), slots=len(homes), folder=files.folder
            )
        )
        # Without bound, so that handing over an outcome never waits; the plan bounds it.
        sender, receiver = create_memory_object_stream[Record](math.inf)
        with JournalWriter(files.journal) as journal:
            async with create_task_group() as group:
                group.start_soon(self._write, receiver, journal)
                with sender:
                    began = RunStarted(
                        run_id=self._run_id, model=self._config.model, at=time.time(), trials=len(trials)
                    )
                    sender.send_nowait(began)
                    await _agents(pool, homes, trials, sender)
                    signal = self._interrupt.signal
                    sender.send_nowait(RunFinished(at=time.time(), interrupted=signal.name if signal else None))

    async def _write(self, receiver: MemoryObjectReceiveStream[Record], journal: JournalWriter) -> None:
        with CancelScope(shield=True):
            await write_records(receiver, journal, self._written)

    def _written(self, record: Record) -> None:
        if isinstance(record, TrialFinished):
            self._emit(TrialEnded(outcome=record.outcome))

    def _scripts(self) -> Mapping[str, tuple[ScriptedTurn, ...]]:
        """What the scripted model plays for each task; empty for other models."""
        if not self._config.is_demo:
            return {}
        from pinchbench.demo.script import plan_turns  # noqa: PLC0415 - for demo models only

        tasks = {trial.key.task_id: trial.task for trial in self._prepared.trials}
        solve = self._config.model == ORACLE
        root = self._prepared.suite.root
        return {
            task_id: plan_turns(load_solution(root, task_id) if solve else None, task)
            for task_id, task in tasks.items()
        }

    def _finish(self, files: RunFiles) -> Result:
        """Derive the aggregate from the journal, and from nothing else."""
        journal = read_journal(files.journal)
        last = journal.records[-1]
        assert isinstance(last, RunFinished)  # noqa: S101 - the writer drained
        plan = [trial.key for trial in self._prepared.trials]
        data = aggregate(
            model=self._config.model,
            run_id=self._run_id,
            timestamp=last.at,
            plan=plan,
            outcomes=journal.outcomes,
            facts={"suite": self._config.suite, "interrupted": last.interrupted, "run": files.name},
        )
        write_json(files.aggregate, data)
        return Result(
            run_id=self._run_id,
            path=files.aggregate,
            folder=files.folder,
            data=data,
            outcomes=journal.outcomes,
            planned=len(plan),
            interrupted=last.interrupted,
        )


async def _agents(
    pool: Pool, homes: Sequence[Home], trials: Sequence[Trial], records: MemoryObjectSendStream[Record]
) -> None:
    """One worker a home over one stream of trials, filled and closed up front."""
    sender, receiver = create_memory_object_stream[Trial](len(trials))
    with sender:
        for trial in trials:
            sender.send_nowait(trial)
    async with create_task_group() as workers:
        with receiver:
            for slot, home in enumerate(homes, 1):
                workers.start_soon(pool.work, slot, home, receiver.clone(), records.clone())


def _clean_up(run_folder: Path) -> None:
    """Delete the homes, which hold copies of the user's credentials; workspaces stay."""
    shutil.rmtree(run_folder / HOMES, ignore_errors=True)
    with suppress(OSError):
        run_folder.rmdir()  # only when nothing else is in it: the run never began

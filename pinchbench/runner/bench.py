"""The nursery tree: one benchmark run from its config to its result."""

from __future__ import annotations

import secrets
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from anyio import create_memory_object_stream, create_task_group, move_on_after, to_thread

from pinchbench.config import ORACLE
from pinchbench.errors import RunInterruptedError
from pinchbench.folders import private_folder, remove_folder
from pinchbench.grading.grader import GradeJob, Grader
from pinchbench.model import GradingType, RunBegan, Trial
from pinchbench.openclaw.command import is_long, model_slug
from pinchbench.openclaw.probe import ask_message_file, find_openclaw, node_version, release_warning
from pinchbench.results.journal import JournalWriter
from pinchbench.results.records import RunFinished, RunStarted
from pinchbench.results.store import RunFiles, create_run, write_json
from pinchbench.runner.audience import Audience, Observer
from pinchbench.runner.finish import Result, derive_result
from pinchbench.runner.graders import run_graders, worker_count
from pinchbench.runner.handover import recording
from pinchbench.runner.interrupt import Interrupt
from pinchbench.runner.judging import open_judge
from pinchbench.runner.plan import new_run_id, plan_trials
from pinchbench.runner.pool import Pool
from pinchbench.runner.provenance import provenance, timezone_name, versions
from pinchbench.runner.slots import CLEAN_UP_LIMIT_S, HOMES, SCRATCH, make_homes, own_homes, remove_homes, sweep_homes
from pinchbench.suite.load import bundled_tasks_dir, load_suite
from pinchbench.suite.select import select_tasks
from pinchbench.suite.solution import load_solution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from pinchbench.config import RunConfig
    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.demo.server import ScriptedModel
    from pinchbench.grading.judge import Judge
    from pinchbench.model import Suite
    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.openclaw.home import Home
    from pinchbench.results.records import Record


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

    @property
    def unjudged(self) -> str:
        """A sentence on the tasks that will lack their judge; empty when none does."""
        tasks = {trial.key.task_id: trial.task.grading_type for trial in self.trials}
        lacking = sum(kind is not GradingType.AUTOMATED for kind in tasks.values())
        if self.config.judge is not None or not lacking:
            return ""
        return f"{lacking} of {len(tasks)} tasks need a judge, and stay ungraded without: name one with --judge."


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

    Every trial that was started gets an outcome, and a grade where it says something about the model; both are on the
    disk before `observer` hears of them. The observer gets a stream of events, may be slow and may fail without harm. With `handle_signals`, SIGINT, SIGTERM and SIGHUP end
    the run properly (main thread only); `Result.interrupted` names the signal then.

    Raises PinchBenchError (SuiteError, SelectionError, OpenClawError, ResultsError, RunInterruptedError when a signal came
    before the first trial), possibly inside an ExceptionGroup. Cancelling it ends every process it started, writes the
    outcomes of the running trials as `interrupted`, leaves what was not graded without a grade, and then raises. Needs anyio's asyncio backend: transcripts are
    followed with aiofiles, which knows no other.
    """
    prepared = await to_thread.run_sync(prepare, config)
    scripts = await to_thread.run_sync(_scripts, prepared)
    return await _Bench(prepared, scripts, observer).run(handle_signals=handle_signals)


class _Bench:
    """One run. Its methods are the branches of the nursery tree."""

    def __init__(
        self, prepared: Prepared, scripts: Mapping[str, tuple[ScriptedTurn, ...]], observer: Observer | None
    ) -> None:
        self._prepared = prepared
        self._scripts = scripts
        self._config = prepared.config
        self._run_id = new_run_id(datetime.now(UTC), secrets.token_hex(2))
        self._interrupt = Interrupt()
        self._audience = Audience(observer, self._interrupt)

    async def run(self, *, handle_signals: bool) -> Result:
        """The root group: signals, the observer, and the run itself."""
        return await self._audience.attend(self._run, handle_signals=handle_signals)

    async def _run(self) -> Result:
        root = await to_thread.run_sync(private_folder, self._config.run_root)
        self._config = replace(self._config, run_root=root)
        run_folder = await to_thread.run_sync(private_folder, root / self._run_id)
        name = f"{model_slug(self._config.model)}_{self._run_id}"
        files = RunFiles(output_dir=self._config.output_dir, name=name)
        began = False
        try:
            await to_thread.run_sync(create_run, files.output_dir, name)
            await to_thread.run_sync(sweep_homes, root)
            await to_thread.run_sync(own_homes, run_folder)
            async with AsyncExitStack() as stack:
                scripted = await self._scripted(stack)
                judge: Judge | None = None
                with self._interrupt.setup:
                    openclaw, node, homes = await self._set_up(run_folder, scripted)
                    judge = await stack.enter_async_context(
                        open_judge(
                            self._config.judge, openclaw=openclaw, folder=run_folder / HOMES, run_id=self._run_id
                        )
                    )
                if self._interrupt.signal is not None:
                    raise RunInterruptedError(self._interrupt.signal)
                await to_thread.run_sync(self._write_provenance, files, openclaw, node, homes)
                began = True
                scratch = await to_thread.run_sync(private_folder, run_folder / HOMES / SCRATCH)
                grader = Grader(judge=judge, scratch=scratch)
                await self._trials(files, openclaw, homes, scripted, grader)
            result = await to_thread.run_sync(derive_result, files)
        finally:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(remove_homes, run_folder, abandon_on_cancel=True)
                if not began:
                    await to_thread.run_sync(_delete_run, run_folder, files, abandon_on_cancel=True)
        for problem in result.problems:
            self._audience.tell(problem)
        return result

    async def _scripted(self, stack: AsyncExitStack) -> ScriptedModel | None:
        if not self._config.is_demo:
            return None
        from pinchbench.demo.server import scripted_model  # noqa: PLC0415 - a web server, for demo models only

        return await stack.enter_async_context(scripted_model())

    async def _set_up(self, run_folder: Path, scripted: ScriptedModel | None) -> tuple[OpenClaw, str, tuple[Home, ...]]:
        for problem in self._prepared.skipped:
            self._audience.tell(f"Left out: {problem}")
        if unjudged := self._prepared.unjudged:
            self._audience.tell(unjudged)
        openclaw = await find_openclaw(self._config.openclaw)
        if warning := release_warning(openclaw.version):
            self._audience.tell(warning)
        self._audience.tell(f"Setting up OpenClaw {openclaw.version} for {self._prepared.slots} slots.")
        node = await node_version(openclaw)
        if any(is_long(turn.prompt) for trial in self._prepared.trials for turn in trial.task.turns):
            openclaw = await ask_message_file(openclaw)
        homes = await make_homes(self._config, openclaw, run_folder, slots=self._prepared.slots, scripted=scripted)
        return openclaw, node, homes

    def _write_provenance(self, files: RunFiles, openclaw: OpenClaw, node: str, homes: Sequence[Home]) -> None:
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

    async def _trials(
        self,
        files: RunFiles,
        openclaw: OpenClaw,
        homes: Sequence[Home],
        scripted: ScriptedModel | None,
        grader: Grader,
    ) -> None:
        """The writer, and the pipeline beside it: agents, then graders. A stop ends it from the front."""
        pool = Pool(
            config=self._config,
            openclaw=openclaw,
            run_id=self._run_id,
            files=files,
            interrupt=self._interrupt,
            emit=self._audience.emit,
            scripted=scripted,
            scripts=self._scripts,
            timezone=timezone_name(),
        )
        trials = self._prepared.trials
        self._audience.emit(
            RunBegan(
                run_id=self._run_id, model=self._config.model, trials=len(trials), slots=len(homes), folder=files.folder
            )
        )
        with JournalWriter(files.journal) as journal:
            async with recording(journal, self._audience.emit) as records:
                began = RunStarted(run_id=self._run_id, model=self._config.model, at=time.time(), trials=len(trials))
                records.send_nowait(began)
                # with room for every trial, so that agents never wait for graders
                jobs, graded = create_memory_object_stream[GradeJob](len(trials))
                async with create_task_group() as pipeline:
                    pipeline.start_soon(self._grade, grader, graded, records.clone())
                    with jobs:
                        await _agents(pool, homes, trials, jobs, records)
                    if self._interrupt.halted:
                        self._audience.tell(self._interrupt.halted)
                how = RunFinished(
                    at=time.time(), interrupted=self._interrupt.signal_name, stopped=self._interrupt.halted
                )
                records.send_nowait(how)

    async def _grade(
        self, grader: Grader, jobs: MemoryObjectReceiveStream[GradeJob], records: MemoryObjectSendStream[Record]
    ) -> None:
        workers = worker_count(self._config.judge)
        await run_graders(
            grader, jobs, records, workers=workers, stop=self._interrupt.stop, hurry=self._interrupt.hurry
        )


async def _agents(
    pool: Pool,
    homes: Sequence[Home],
    trials: Sequence[Trial],
    jobs: MemoryObjectSendStream[GradeJob],
    records: MemoryObjectSendStream[Record],
) -> None:
    """One worker a home over one stream of trials, filled and closed up front."""
    sender, receiver = create_memory_object_stream[Trial](len(trials))
    with sender:
        for trial in trials:
            sender.send_nowait(trial)
    async with create_task_group() as workers:
        with receiver:
            for slot, home in enumerate(homes, 1):
                workers.start_soon(pool.work, slot, home, receiver.clone(), jobs.clone(), records.clone())


def _scripts(prepared: Prepared) -> Mapping[str, tuple[ScriptedTurn, ...]]:
    """What the scripted model plays for each task; empty for other models. Blocks."""
    if not prepared.config.is_demo:
        return {}
    from pinchbench.demo.script import plan_turns  # noqa: PLC0415 - for demo models only

    tasks = {trial.key.task_id: trial.task for trial in prepared.trials}
    solve = prepared.config.model == ORACLE
    root = prepared.suite.root
    return {
        task_id: plan_turns(load_solution(root, task_id) if solve else None, task) for task_id, task in tasks.items()
    }


def _delete_run(run_folder: Path, files: RunFiles) -> None:
    """Delete what a run has made that never began; folders that hold something else stay."""
    remove_folder(files.folder)
    for folder in (run_folder, files.output_dir):
        with suppress(OSError):
            folder.rmdir()

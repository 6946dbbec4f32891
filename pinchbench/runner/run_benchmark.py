"""One benchmark run, or the rest of one, to its result: the whole tree of its tasks."""

from __future__ import annotations

from contextlib import AsyncExitStack, closing, nullcontext
from typing import TYPE_CHECKING

from anyio import create_task_group, to_thread

from pinchbench.errors import RunInterruptedError
from pinchbench.results.finished_run import Result, derive_result
from pinchbench.runner.assembly import RunParts, run_began
from pinchbench.runner.plan.prepare import Prepared, Resumption, prepare
from pinchbench.runner.run_context import Observer, make_context
from pinchbench.runner.run_folders import open_run_folders
from pinchbench.runner.setup.open_wire import open_access
from pinchbench.runner.setup.set_up import require_capacity, set_up
from pinchbench.runner.setup.this_machine import read_machine_for
from pinchbench.runner.signals import LEAVING
from pinchbench.runner.stream_ends import limit_grading

if TYPE_CHECKING:
    from pinchbench.config.run_config import RunConfig
    from pinchbench.runner.sharing import Share
    from pinchbench.runner.trial.slot import SlotPool


async def run_benchmark(
    config: RunConfig, *, observer: Observer | None = None, handle_signals: bool = False, pool: SlotPool | None = None
) -> Result:
    """Run a benchmark to its result.

    Every attempt that was started gets an outcome, and every valid one a grade; both are on disk before `observer`
    receives them as events. A slow or failing observer does not affect the run. With `handle_signals`, SIGINT, SIGTERM
    and SIGHUP end the run in an orderly way (main thread only), and `Result.interrupted` names the signal.
    With `pool`, trials run on other machines, and are graded here.
    `Result.stop` says whether the run stopped by itself before its plan was complete. `resume` continues it.

    Raises PinchBenchError (SuiteError, SelectionError, OpenClawError, ResultsError, or RunInterruptedError if a signal
    arrived before the first trial), possibly inside an ExceptionGroup. A cancellation ends every process that the run
    started, records the running trials as `interrupted`, leaves ungraded attempts without a grade, and then
    propagates. Requires anyio's asyncio backend, because transcripts are followed with aiofiles.
    """
    prepared = await to_thread.run_sync(prepare, config)
    return await run_prepared(prepared, observer=observer, handle_signals=handle_signals, pool=pool)


async def run_prepared(
    prepared: Prepared,
    resumption: Resumption | None = None,
    *,
    observer: Observer | None = None,
    handle_signals: bool = False,
    share: Share | None = None,
    pool: SlotPool | None = None,
) -> Result:
    """Run a plan, or the rest of the plan of the run that `resumption` describes; see `run_benchmark`.

    With `share`, trials start when it is the run's turn in slots that it shares with other runs. With `pool`, slots are
    on other machines.

    Every task group of a run is here, the longest-lived outermost. They end as follows: `root` when the observer has
    received the last event, `nodes` when the slots on other machines are closed, `writer` when every sender of records
    has closed, `clock` when nothing is left to be limited or asked for, `workers` when there are no more attempts, and
    `graders` when the workers have ended and everything they queued is graded.
    """
    if pool is None:
        await to_thread.run_sync(require_capacity, prepared.config.concurrency)
    facts = resumption.facts if resumption is not None else prepared.replayed
    machine = await to_thread.run_sync(read_machine_for, prepared.config, facts)
    run = make_context(prepared, resumption, observer, share)
    has_budget = share is not None and share.slots.budget is not None
    async with create_task_group() as root:
        if handle_signals:
            root.start_soon(run.interrupt.listen, run.observer.tell)
        root.start_soon(run.observer.attend)
        with closing(run.observer), closing(run.interrupt):
            journal = resumption.journal if resumption is not None else None
            async with open_run_folders(run.files, prepared.config.run_root, run.run_id, journal) as folders:
                async with (
                    create_task_group() as nodes,
                    nullcontext() if pool else open_access(run, machine, has_budget=has_budget) as access,
                    AsyncExitStack() as stack,
                ):
                    with run.interrupt.setup:
                        async with nullcontext() if share is None else share.slots.set_up:
                            ready = await set_up(
                                run, folders, machine, access=access, nodes=nodes, stack=stack, pool=pool
                            )
                    if run.interrupt.signal is not None:
                        raise RunInterruptedError(run.interrupt.signal)
                    run = ready.run
                    folders.has_begun = True
                    run.interrupt.last_words = (
                        f"{LEAVING} `pinchbench-async resume {run.run_id}` goes on with the rest."
                    )
                    run.observer.emit(run_began(ready))
                    parts = RunParts(ready, folders)
                    async with create_task_group() as writer:
                        writer.start_soon(parts.write)
                        with parts.records:  # open until the last record is sent
                            parts.record_start()
                            async with create_task_group() as clock:
                                clock.start_soon(parts.control.end_at_deadline)
                                clock.start_soon(parts.control.end_on_stop)
                                clock.start_soon(parts.commands.serve)
                                async with create_task_group() as workers:
                                    with parts.jobs:
                                        parts.queue_ungraded()
                                        for worker in parts.workers:
                                            workers.start_soon(worker.run, parts.jobs.clone(), parts.records.clone())
                                        if pool is not None:
                                            joining = pool, workers, parts.jobs.clone(), parts.records.clone()
                                            workers.start_soon(parts.add_workers, *joining)
                                    async with create_task_group() as graders:
                                        grading = graders.cancel_scope  # ends before the clock does: harmless
                                        clock.start_soon(limit_grading, run.interrupt, grading)
                                        with parts.to_grade:
                                            for _ in range(parts.grader_count):
                                                clones = parts.to_grade.clone(), parts.records.clone()
                                                graders.start_soon(parts.grade, *clones)
                                clock.cancel_scope.cancel()
                            parts.record_end()
                result = await to_thread.run_sync(derive_result, run.files)
            for problem in result.problems:
                run.observer.tell(problem)
    return result

"""Grading a run again from what it has kept, without running an agent."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from anyio import create_memory_object_stream, move_on_after, to_thread

from pinchbench.config import JudgeConfig
from pinchbench.errors import ConfigError, RunInterruptedError
from pinchbench.grading.grader import GradeJob, Grader
from pinchbench.openclaw.probe import ask_message_file, find_openclaw
from pinchbench.results.facts import read_facts
from pinchbench.results.journal import JournalWriter, read_journal
from pinchbench.results.records import RegradeStarted
from pinchbench.results.store import find_run
from pinchbench.runner.audience import Audience
from pinchbench.runner.finish import Result, derive_result
from pinchbench.runner.graders import run_graders, worker_count
from pinchbench.runner.handover import recording
from pinchbench.runner.interrupt import Interrupt
from pinchbench.runner.judging import open_judge
from pinchbench.runner.pool import grade_job
from pinchbench.runner.slots import CLEAN_UP_LIMIT_S, HOMES, SCRATCH, own_homes, sweep_homes
from pinchbench.suite.load import load_suite
from pinchbench.suite.select import select_tasks
from pinchbench.workspace import private_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.config import RegradeConfig
    from pinchbench.grading.judge import Judge
    from pinchbench.results.facts import RunFacts
    from pinchbench.results.journal import Journal
    from pinchbench.results.store import RunFiles
    from pinchbench.runner.audience import Observer

STOPPING = "no further trial is graded; those under way are finished. Once more ends them."
HURRYING = "Ending the grading; what is there is being saved. Once more leaves at once."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Regrading:
    """A run and what of it is to be graded; `remarks` are sentences for the user."""

    run_id: str
    files: RunFiles
    jobs: tuple[GradeJob, ...]
    judge: JudgeConfig | None
    remarks: tuple[str, ...]


async def regrade(config: RegradeConfig, *, observer: Observer | None = None, handle_signals: bool = False) -> Result:
    """Grade the trials of a run again, with the tasks and checks as they are now.

    Every grade is a new record in the journal, on the disk before `observer` hears of it; the aggregate is then written
    anew. `Result.interrupted` names the signal that ended the grading early.

    Raises ResultsError (no such run, or another process writes it), SuiteError, SelectionError, ConfigError and, for
    an `openclaw:` judge, OpenClawError. A cancellation ends the checks that run and leaves the grades there are.
    """
    plan = await to_thread.run_sync(_prepare, config)
    interrupt = Interrupt(STOPPING, HURRYING)
    audience = Audience(observer, interrupt)
    return await audience.attend(partial(_run, config, plan, interrupt, audience), handle_signals=handle_signals)


async def _run(config: RegradeConfig, plan: _Regrading, interrupt: Interrupt, audience: Audience) -> Result:
    for remark in plan.remarks:
        audience.tell(remark)
    root = await to_thread.run_sync(private_folder, config.run_root)
    await to_thread.run_sync(sweep_homes, root)
    folder = Path(await to_thread.run_sync(partial(tempfile.mkdtemp, prefix="regrade-", dir=root)))
    try:
        await to_thread.run_sync(own_homes, folder)
        scratch = await to_thread.run_sync(private_folder, folder / HOMES / SCRATCH)
        async with AsyncExitStack() as stack:
            journal = stack.enter_context(JournalWriter(plan.files.journal, go_on=True))
            judge: Judge | None = None
            with interrupt.setup:
                openclaw = None
                if plan.judge is not None and plan.judge.is_openclaw:
                    openclaw = await ask_message_file(await find_openclaw(config.openclaw))
                place = folder / HOMES
                judge = await stack.enter_async_context(
                    open_judge(plan.judge, openclaw=openclaw, folder=place, run_id=plan.run_id)
                )
            if interrupt.signal is not None:
                raise RunInterruptedError(interrupt.signal, f"{interrupt.signal.name} came; nothing was graded.")
            grader = Grader(judge=judge, scratch=scratch)
            await _grade(plan, grader, journal, interrupt, audience)
        result = await to_thread.run_sync(derive_result, plan.files)
    finally:
        with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
            await to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True), abandon_on_cancel=True)
    for problem in result.problems:
        audience.tell(problem)
    return replace(result, interrupted=interrupt.signal_name)


async def _grade(
    plan: _Regrading, grader: Grader, journal: JournalWriter, interrupt: Interrupt, audience: Audience
) -> None:
    sender, jobs = create_memory_object_stream[GradeJob](max(1, len(plan.jobs)))
    with sender:
        for job in plan.jobs:
            sender.send_nowait(job)
    asked = asdict(plan.judge) if plan.judge is not None else None
    async with recording(journal, audience.emit) as records:
        records.send_nowait(RegradeStarted(at=time.time(), trials=len(plan.jobs), judge=asked))
        await run_graders(
            grader,
            jobs,
            records.clone(),
            workers=worker_count(plan.judge),
            hurry=interrupt.hurry,
            stop=interrupt.stop,
        )


def _prepare(config: RegradeConfig) -> _Regrading:
    files = find_run(config.run, config.output_dir)
    facts = read_facts(files.provenance)
    journal = read_journal(files.journal)
    root = config.tasks_dir or Path(str(facts.suite["folder"]))
    # broken files of tasks that were not run are nobody's business here
    suite = load_suite(root, skip_broken=True).suite
    tasks = {task.task_id: task for task in select_tasks(suite, config.suite) if task.task_id in facts.tasks}
    if not tasks:
        raise ConfigError(f"--suite {config.suite} names no task of the run {files.name}.")
    graded = {key for key, grade in journal.grades.items() if grade.score is not None} if config.only_ungraded else ()
    latest = {outcome.key: outcome for outcome in journal.outcomes}
    jobs = tuple(
        grade_job(facts.run_id, files, tasks[key.task_id], outcome)
        for key in facts.keys
        if key.task_id in tasks and (outcome := latest.get(key)) and outcome.reason.counts and key not in graded
    )
    changed = [task_id for task_id, task in tasks.items() if task.digest != facts.tasks[task_id].digest]
    missing = sorted(facts.tasks.keys() - {task.task_id for task in suite.tasks})
    return _Regrading(
        run_id=facts.run_id,
        files=files,
        jobs=jobs,
        judge=config.judge or _last_judge(journal, facts),
        remarks=(*_remarks(changed, missing), f"{files.name}: {len(jobs)} trials are graded again."),
    )


def _last_judge(journal: Journal, facts: RunFacts) -> JudgeConfig | None:
    asked = [record.judge for record in journal.records if isinstance(record, RegradeStarted) and record.judge]
    last = asked[-1] if asked else facts.config.get("judge")
    return msgspec.convert(last, JudgeConfig) if isinstance(last, dict) else None


def _remarks(changed: Sequence[str], missing: Sequence[str]) -> Sequence[str]:
    remarks = []
    if changed:
        remarks.append(f"Changed since the run, and graded as they are now: {', '.join(changed)}.")
    if missing:
        remarks.append(f"No longer in the suite, and left as they were: {', '.join(missing)}.")
    return remarks

"""Grading a run again from what it has kept, without running an agent."""

from __future__ import annotations

import math
import os
import time
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anyio import create_memory_object_stream, create_task_group, to_thread

from pinchbench.config.asked_models import JudgeConfig, plain_judge
from pinchbench.decoding import convert
from pinchbench.defaults import DEMO_MODELS
from pinchbench.errors import AlteredRunError, ConfigError, RunInterruptedError, SuiteError
from pinchbench.events import RegradeBegan
from pinchbench.grading.checks import GradeJob
from pinchbench.grading.grader import Grader
from pinchbench.model.task import GradingType
from pinchbench.openclaw.homes.credentials import UserState, read_user_state
from pinchbench.openclaw.homes.user_state import secrets_of
from pinchbench.results.finished_run import Result, derive_result
from pinchbench.results.journal.journal import Journal, JournalWriter, read_journal
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.results.paths import RunFiles, find_run
from pinchbench.results.records import GradeGiven, Record, RegradeStarted, RunResumed
from pinchbench.results.run_state import as_resumed
from pinchbench.results.verification import refuse_altered
from pinchbench.runner.plan.check_additions import files_digest, with_workspace_files
from pinchbench.runner.plan.stored_run import load_suite_again
from pinchbench.runner.run_context import Observer, Redactor, RunObserver
from pinchbench.runner.run_folders import CHECKS, HOMES, open_work_folder
from pinchbench.runner.setup.judging import open_judges
from pinchbench.runner.setup.sandboxing import check_sandbox
from pinchbench.runner.signals import GRADING_LIMIT_S, Interrupt
from pinchbench.runner.stream_ends import grade_trials, limit_grading, worker_count, write
from pinchbench.runner.worker import grade_job
from pinchbench.suite.select import select_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.config.rerun_configs import RegradeConfig
    from pinchbench.grading.check_sandbox import CheckSandbox
    from pinchbench.grading.judge.votes import Judge
    from pinchbench.model.grade import Grade
    from pinchbench.model.trial import TrialKey

STOPPING = (
    f"no further trial is graded; those under way are finished, within {GRADING_LIMIT_S:.0f} s."
    " The next Ctrl-C ends them."
)
HURRYING = "Ending the grading; what is there is being saved. The next Ctrl-C exits immediately."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Regrading:
    """A run and what of it is to be graded."""

    run_id: str
    jobs: tuple[GradeJob, ...]
    judge: JudgeConfig | None
    secrets: tuple[str, ...]
    remarks: tuple[str, ...]  # sentences for the user
    sandbox: CheckSandbox | None
    earlier: Mapping[tuple[TrialKey, int], Grade]  # the grades of all attempts so far


async def regrade(config: RegradeConfig, *, observer: Observer | None = None, handle_signals: bool = False) -> Result:
    """Grade the trials of a run again, with the tasks and checks as they are now.

    Every grade is a new record in the journal, on the disk before `observer` hears of it; the aggregate is then written
    anew. Where a task is unchanged, a trial that had a score keeps it when it can't be graded now.
    `Result.interrupted` names the signal that ended the grading early.

    Raises ResultsError (no such run, or another process writes it), AlteredRunError, SuiteError, SelectionError,
    ConfigError and, for
    an `openclaw:` judge, OpenClawError. A cancellation ends the checks that run and leaves the grades there are.
    """
    files = await to_thread.run_sync(find_run, config.run, config.output_dir)
    interrupt, redactor = Interrupt(STOPPING, HURRYING), Redactor()
    run_observer = RunObserver(observer, redactor)
    async with create_task_group() as root:
        if handle_signals:
            root.start_soon(interrupt.listen, run_observer.tell)
        root.start_soon(run_observer.attend)
        with closing(run_observer), closing(interrupt):
            async with open_work_folder(config.run_root, prefix="regrade-") as folder, AsyncExitStack() as stack:
                # the lock comes first: what is read from here on stays as it is
                opening = partial(JournalWriter, files.journal, go_on=True)
                journal = stack.enter_context(await to_thread.run_sync(opening))
                plan = await to_thread.run_sync(_prepare, config, files)
                redactor.learn(plan.secrets)
                for remark in plan.remarks:
                    run_observer.tell(remark)
                judges: tuple[Judge, ...] = ()
                with interrupt.setup:
                    opened = open_judges(
                        plan.judge, folder=folder / HOMES, run_id=plan.run_id, openclaw=config.openclaw
                    )
                    judges = await stack.enter_async_context(opened)
                if interrupt.signal is not None:
                    raise RunInterruptedError(interrupt.signal, f"{interrupt.signal.name} came; nothing was graded.")
                run_observer.emit(RegradeBegan(run=files.name, trials=len(plan.jobs)))
                scratch = folder.parent / CHECKS
                grader = Grader(judges=judges, scratch=scratch, secrets=plan.secrets, sandbox=plan.sandbox)
                given = await _grade(
                    plan, grader, journal, interrupt=interrupt, run_observer=run_observer, redactor=redactor
                )
            result = await to_thread.run_sync(derive_result, files)
            if config.must_agree:
                run_observer.tell(_agreement(given, plan.earlier, files))
            for problem in (*result.problems, *_kept(given, result)):
                run_observer.tell(problem)
    # why the run ended is no news: this is about its grading
    return replace(result, interrupted=interrupt.signal_name, stopped="", stop=None)


async def _grade(
    plan: _Regrading,
    grader: Grader,
    journal: JournalWriter,
    *,
    interrupt: Interrupt,
    run_observer: RunObserver,
    redactor: Redactor,
) -> list[Grade]:
    """Grade all there is to grade; return the new grades, which are in the journal by then."""
    jobs, to_grade = create_memory_object_stream[GradeJob](math.inf)
    records, to_write = create_memory_object_stream[Record](math.inf)
    asked = plain_judge(plan.judge) if plan.judge is not None else None
    given: list[Grade] = []
    async with create_task_group() as writer:
        writer.start_soon(partial(write, to_write, journal, redactor=redactor, emit=run_observer.emit))
        with records, jobs, to_grade:
            records.send_nowait(RegradeStarted(at=time.time(), trials=len(plan.jobs), judge=asked))
            for job in plan.jobs:
                jobs.send_nowait(job)
            async with create_task_group() as clock:
                async with create_task_group() as graders:
                    grading = graders.cancel_scope  # may be left before the clock is: to cancel it then does nothing
                    clock.start_soon(limit_grading, interrupt, grading)
                    for _ in range(worker_count(plan.judge)):
                        work = partial(grade_trials, begin_no_more=interrupt.stop)
                        graders.start_soon(work, grader, to_grade.clone(), records.clone(), given.append)
                    jobs.close()
                clock.cancel_scope.cancel()
    return given


def _kept(given: Sequence[Grade], result: Result) -> Iterator[str]:
    """Say which trials could not be graded now and keep the score they had."""
    for grade in given:
        before = result.grades[grade.key]
        if (
            before.attempt == grade.attempt
            and grade.score is None
            and grade.ungraded is not None
            and before.score is not None
        ):
            yield f"{grade.key}: {grade.ungraded.value}; its earlier score of {before.score:.2f} stays."


def _agreement(given: Sequence[Grade], earlier: Mapping[tuple[TrialKey, int], Grade], files: RunFiles) -> str:
    """Say that automated grades are those before. Raises AlteredRunError, naming the trials, if they are not."""
    other = []
    compared = 0
    for grade in given:
        before = earlier.get((grade.key, grade.attempt))
        if grade.grading_type is not GradingType.AUTOMATED or before is None or before.score is None:
            continue
        compared += 1
        if (grade.score, grade.breakdown) != (before.score, before.breakdown):
            now = f"{grade.score}" if grade.ungraded is None else grade.ungraded.value
            other.append(f"{grade.key}: {before.score}, and now {now}")
    if other:
        raise AlteredRunError(
            f"{len(other)} of {compared} automated grades in {files.folder} are not reached again: {'; '.join(other)}. "
            "Its tasks or evidence were changed, or the checks need something else of this machine."
        )
    return f"All {compared} automated grades were reached again, point by point."


def _prepare(config: RegradeConfig, files: RunFiles) -> _Regrading:
    first = read_facts(files.provenance)  # before what is altered: a damaged one is named with its place
    refuse_altered(files)
    journal = read_journal(files.journal)
    facts = as_resumed(first, journal.state.resumed)
    loaded = load_suite_again(facts, files, named=config.tasks_dir, suite_format=facts.suite_format)
    # what the run was asked to run is part of its suite, listed or not
    run = tuple(task for task in loaded.suite.unlisted if task.task_id in facts.tasks)
    suite = replace(loaded.suite, tasks=(*loaded.suite.tasks, *run))
    chosen = [task for task in select_tasks(suite, config.suite) if task.task_id in facts.tasks]
    files_added = _workspace_files(facts)
    tasks = {task.task_id: task for task in with_workspace_files(chosen, files_added)}
    if not tasks:
        raise ConfigError(f"--suite {config.suite} names no task of the run {files.name}.")
    missing = facts.tasks.keys() - suite.by_id.keys()
    # a task that was to be mended and is not; broken files of others are nobody's business here
    if broken := [problem for problem in loaded.problems if {problem.path.stem, problem.path.parent.name} & missing]:
        raise SuiteError("\n".join(map(str, broken)))
    scored = {which for which, grade in journal.state.attempt_grades.items() if grade.score is not None}
    trials = journal.state.trials
    jobs = tuple(
        grade_job(facts.run_id, files, tasks[key.task_id], outcome, timezone=facts.timezone)
        for key in facts.keys
        if key.task_id in tasks and key in trials
        for outcome in trials[key].outcomes
        if outcome.reason.is_valid and not (config.only_ungraded and (key, outcome.attempt) in scored)
    )
    if config.must_agree and config.judge is None:
        jobs = tuple(job for job in jobs if job.task.grading_type is GradingType.AUTOMATED)
    changed = [task_id for task_id, task in tasks.items() if task.digest != facts.tasks[task_id].digest]
    if files_added and files_digest(files_added) != facts.additions.get("workspace_files"):
        changed.append("the files of --workspace-files")
    needs_judge = any(job.task.grading_type is not GradingType.AUTOMATED for job in jobs)
    judge = (config.judge or _last_judge(journal, first)) if needs_judge else None
    named, allowed = facts.config.get("api_key_env"), facts.config.get("sandbox_allow")
    return _Regrading(
        run_id=facts.run_id,
        jobs=jobs,
        judge=judge,
        secrets=secrets_of(
            UserState() if facts.config.get("model") in DEMO_MODELS else read_user_state(os.environ),
            named if isinstance(named, str) else None,
            *(judge.key_names if judge is not None else ()),
        ),
        remarks=tuple(_remarks(changed, sorted(missing))),
        sandbox=check_sandbox(map(str, allowed if isinstance(allowed, list) else ())),
        earlier=dict(journal.state.attempt_grades),
    )


def _workspace_files(facts: RunFacts) -> Mapping[str, str]:
    given = facts.config.get("workspace_files")
    return given if isinstance(given, dict) else {}


def _last_judge(journal: Journal, facts: RunFacts) -> JudgeConfig | None:
    """The judge that gave a score last; where none did, the one that was asked last."""
    asked = facts.config.get("judge")
    proven: object = None
    for record in journal.records:
        if isinstance(record, RegradeStarted):
            asked = record.judge or asked
        elif isinstance(record, RunResumed):
            asked = record.config.get("judge")
        elif isinstance(record, GradeGiven) and record.grade.judge is not None and record.grade.judge.score is not None:
            proven = asked
    last = proven or asked
    try:
        return convert(last, JudgeConfig) if isinstance(last, dict) else None
    except ConfigError as error:
        raise ConfigError(f"The judge of this run can't be asked again; name one with --judge. {error}") from error


def _remarks(changed: Sequence[str], missing: Sequence[str]) -> Iterator[str]:
    if changed:
        yield f"Changed since the run, and graded as they are now: {', '.join(changed)}."
    if missing:
        yield f"No longer in the suite, and left as they were: {', '.join(missing)}."

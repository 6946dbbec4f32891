"""Resume an unfinished run: make and grade what its journal does not have."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from anyio import create_task_group, to_thread

from pinchbench.errors import ResultsError
from pinchbench.model.trial import Attempt
from pinchbench.results.finished_run import Result, derive_result
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.manifest import read_facts
from pinchbench.results.paths import RunFiles, find_run, runs_of
from pinchbench.results.run_state import RunState
from pinchbench.results.verification import refuse_altered
from pinchbench.runner.plan import stored_run
from pinchbench.runner.plan.check_additions import addition_digests, check_additions, with_workspace_files
from pinchbench.runner.plan.prepare import Prepared, Resumption, plan
from pinchbench.runner.plan.trial_plan import trial_of
from pinchbench.runner.run_benchmark import run_prepared
from pinchbench.runner.run_context import Observer, Redactor, RunObserver
from pinchbench.runner.setup.set_up import plain_config, task_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.config.rerun_configs import ResumeConfig
    from pinchbench.runner.sharing import Share
    from pinchbench.runner.trial.slot import SlotPool


FOR_A_SESSION: Mapping[str, object] = MappingProxyType({"max_hours": None, "verbose": False})
NOTHING_LEFT = "Nothing is left to run or to grade."


async def resume(
    config: ResumeConfig,
    *,
    observer: Observer | None = None,
    handle_signals: bool = False,
    share: Share | None = None,
    pool: SlotPool | None = None,
) -> Result:
    """Go on with a run, whatever has ended it, to its result; for `share` and `pool` see `run_prepared`.

    Trials that have ended in a way that says something about the model are never run again; what an earlier attempt
    has left in the workspace of another is kept aside. Trials that ended but were not graded are graded. Where nothing
    is left to do, the result is written anew and returned.

    Raises ResultsError (no such run, or another process works on it), AlteredRunError, ChangedError when tasks,
    settings or releases
    are others now and that is not accepted, and what `run_benchmark` raises; a cancellation does the same as there.
    """
    files = await to_thread.run_sync(_find, config)
    # the lock comes first: what is read from here on stays as it is
    writer = partial(JournalWriter, files.journal, go_on=True)
    with await to_thread.run_sync(writer) as journal:
        coordinator = share.coordinator if share is not None else None
        is_needed = coordinator is not None and not coordinator.is_closed
        prepared, resumption = await to_thread.run_sync(partial(_prepare, config, files, journal, is_needed=is_needed))
        if not (prepared.attempts or prepared.ungraded or prepared.unmet):
            run_observer = RunObserver(observer, Redactor())
            async with create_task_group() as root:
                root.start_soon(run_observer.attend)
                with closing(run_observer):
                    run_observer.tell(NOTHING_LEFT)
                    result = await to_thread.run_sync(derive_result, files)
            return result
        return await run_prepared(
            prepared, resumption, observer=observer, handle_signals=handle_signals, share=share, pool=pool
        )


def _find(config: ResumeConfig) -> RunFiles:
    if config.run is not None:
        return find_run(config.run, config.output_dir)
    for files in runs_of(config.output_dir):
        try:
            left = _state(files).left(read_facts(files.provenance).keys)
        except ResultsError as error:
            raise ResultsError(f"{error} To resume an earlier run, name it.") from error
        if left.keys or left.ungraded:
            return files
    raise ResultsError(f"{config.output_dir} has no unfinished run; name one that is elsewhere.")


def _state(files: RunFiles) -> RunState:
    """How far a run has come; its runner may have died before there was a journal."""
    return read_journal(files.journal).state if files.journal.exists() else RunState()


def _prepare(
    config: ResumeConfig, files: RunFiles, writer: JournalWriter, *, is_needed: bool = False
) -> tuple[Prepared, Resumption]:
    """Read what is left of a run; `is_needed`: further trials are, even if its experiment was decided before."""
    state = _state(files)
    if is_needed:
        state.finished = None
    facts = state.facts_now(read_facts(files.provenance))
    run = stored_run.stored_config(facts.config, {**FOR_A_SESSION, **config.settings}, files)
    named = run.tasks_dir if "tasks_dir" in config.settings else None
    loaded = stored_run.load_suite_again(facts, files, named=named, suite_format=run.suite_format)
    check_additions(run)
    listed = [task for task_id, task in loaded.suite.by_id.items() if task_id in facts.tasks]
    tasks = {task.task_id: task for task in with_workspace_files(listed, run.workspace_files)}
    now = {task_id: task_facts(task, run, loaded.suite) for task_id, task in tasks.items()}
    known_gone = state.gone - tasks.keys()
    before = {task_id: task for task_id, task in facts.tasks.items() if task_id not in known_gone}
    changes = (
        *stored_run.setting_changes(facts.config, plain_config(run)),
        *stored_run.addition_changes(facts.additions, addition_digests(run)),
        *stored_run.task_changes(before, now),
    )
    stored_run.require(changes, accepted=config.accept_changes, run=files.name)
    changed = {task_id: task for task_id, task in now.items() if task.digest != facts.tasks[task_id].digest}
    left = state.left(facts.keys)
    refuse_altered(files, {(outcome.key, outcome.attempt) for outcome in left.ungraded})
    trials = {
        key: trial_of(key, tasks[key.task_id], timeout_multiplier=run.timeout_multiplier)
        for key in state.needed(facts.keys)
        if key.task_id in tasks
    }
    again = {*left.keys, *(key for key in trials if key.task_id in changed)}
    attempts = [Attempt(trial=trial, number=state.next_attempt(key)) for key, trial in trials.items() if key in again]
    prepared = replace(
        plan(run, loaded.suite, tuple(trials.values()), attempts, past=files.output_dir),
        ungraded=tuple(
            (trials[outcome.key], outcome)
            for outcome in left.ungraded
            if outcome.key in trials and outcome.key.task_id not in changed
        ),
        done=len(trials) - len(again & trials.keys()),
        tally=state.tally((key for key in trials if key not in again), threshold=run.pass_threshold),
        state=state,
    )
    resumption = Resumption(
        facts=facts,
        files=files,
        journal=writer,
        tasks=changed,
        gone=tuple(sorted(facts.tasks.keys() - tasks.keys())),
        changes=changes,
        accepts=config.accept_changes,
    )
    return prepared, resumption

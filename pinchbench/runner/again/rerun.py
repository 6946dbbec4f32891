"""Run an earlier run again: resume what is left of it, or replay it with recorded replies instead of a model."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from anyio import create_task_group, to_thread

from pinchbench.defaults import Isolation
from pinchbench.errors import ResultsError, SelectionError
from pinchbench.model.trial import Attempt, Trial, TrialKey
from pinchbench.results.finished_run import Result, derive_result
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.results.paths import RunFiles, find_run, runs_of
from pinchbench.results.run_state import RunState, as_resumed
from pinchbench.results.verification import refuse_altered
from pinchbench.runner.plan import stored_run
from pinchbench.runner.plan.check_additions import addition_digests, check_additions, with_workspace_files
from pinchbench.runner.plan.prepare import Prepared, Resumption, plan
from pinchbench.runner.plan.trial_plan import trial_of
from pinchbench.runner.run_benchmark import run_prepared
from pinchbench.runner.run_context import Observer, Redactor, RunObserver
from pinchbench.runner.setup.set_up import plain_config, task_facts
from pinchbench.suite.select import select_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinchbench.config.rerun_configs import ReplayConfig, ResumeConfig
    from pinchbench.config.run_config import RunConfig
    from pinchbench.model.task import Suite, Task
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
    settings or releases are others now and that is not accepted, and what `run_benchmark` raises; a cancellation does
    the same as there.
    """
    files = await to_thread.run_sync(_find, config)
    # the lock comes first: what is read from here on stays as it is
    writer = partial(JournalWriter, files.journal, go_on=True)
    with await to_thread.run_sync(writer) as journal:
        coordinator = share.coordinator if share is not None else None
        is_needed = coordinator is not None and not coordinator.is_closed
        prepared, resumption = await to_thread.run_sync(
            partial(_prepare_rest, config, files, journal, is_needed=is_needed)
        )
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


def _tasks_now(
    settings: Mapping[str, object], run: RunConfig, facts: RunFacts, files: RunFiles, selection: str | None = None
) -> tuple[Suite, dict[str, Task]]:
    """Return the suite of a run, and the selected ones of the tasks that the run had, as they are now."""
    named = run.tasks_dir if "tasks_dir" in settings else None
    suite = stored_run.load_suite_again(facts, files, named=named, suite_format=run.suite_format).suite
    check_additions(run)
    asked = select_tasks(suite, selection) if selection else suite.by_id.values()
    tasks = with_workspace_files((task for task in asked if task.task_id in facts.tasks), run.workspace_files)
    return suite, {task.task_id: task for task in tasks}


def _prepare_rest(
    config: ResumeConfig, files: RunFiles, writer: JournalWriter, *, is_needed: bool = False
) -> tuple[Prepared, Resumption]:
    """Read what is left of a run; `is_needed`: further trials are, even if its experiment was decided before."""
    state = _state(files)
    if is_needed:
        state.finished = None
    facts = state.facts_now(read_facts(files.provenance))
    run = stored_run.stored_config(facts.config, {**FOR_A_SESSION, **config.settings}, files)
    suite, tasks = _tasks_now(config.settings, run, facts, files)
    now = {task_id: task_facts(task, run, suite) for task_id, task in tasks.items()}
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
        plan(run, suite, tuple(trials.values()), attempts, past=files.output_dir),
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


REPLAYS = "replays"  # the folder next to a run that its replays go to: a replay measures no model
MAX_NAMED = 5


async def replay(
    config: ReplayConfig,
    *,
    observer: Observer | None = None,
    handle_signals: bool = False,
    pool: SlotPool | None = None,
) -> Result:
    """Run the trials of a run again while the wire answers with the recorded replies, to a result of its own.

    For `pool` see `run_prepared`.

    Raises ResultsError (no such run, or nothing was recorded), AlteredRunError, ConfigError, SelectionError, and what
    `run_benchmark` raises; a cancellation does the same as there.
    """
    prepared = await to_thread.run_sync(_prepare_replay, config)
    return await run_prepared(prepared, observer=observer, handle_signals=handle_signals, pool=pool)


def _prepare_replay(config: ReplayConfig) -> Prepared:
    files = find_run(config.run, config.output_dir)
    state = _state(files)
    facts = as_resumed(read_facts(files.provenance), state.resumed)
    run = _replay_config(config, facts, files)
    recordings = stored_run.recordings_of(str(files.folder))
    if not recordings:
        raise ResultsError(
            f"The requests of {files.name} were not recorded, so it can't be replayed. Runs with the wire record them."
        )
    refuse_altered(files, {(key, state.trials[key].counting.attempt) for key in recordings})
    suite, chosen = _tasks_now(config.settings, run, facts, files, config.suite)
    planned = [key for key in facts.keys if key.task_id in chosen]
    trials = tuple(
        trial_of(key, chosen[key.task_id], timeout_multiplier=run.timeout_multiplier)
        for key in planned
        if key in recordings
    )
    if not trials:
        raise SelectionError(f"--suite {config.suite} selects no recorded trial of {files.name}.")
    return replace(
        plan(run, suite, trials, [Attempt(trial=trial) for trial in trials], past=None),
        note=_replay_note(run, trials, facts, missing=[key for key in planned if key not in recordings]),
        replayed=facts,
    )


def _replay_config(config: ReplayConfig, facts: RunFacts, files: RunFiles) -> RunConfig:
    settings: dict[str, object] = {
        "suite": config.suite or facts.config.get("suite"),
        "output_dir": files.output_dir / REPLAYS,
        "judge": None,
        "upload": False,
        "preflight": False,
        "fail_fast": False,
        "max_cost": None,
        "max_tokens": None,
        "max_hours": None,
        "api_key_env": None,
        "accept_unknown_model": True,
        "isolation": Isolation.PRIVATE,
        "wire": True,
        "verbose": False,
        "replay": replace(config.replay, folder=str(files.folder)),
    }
    if not config.replay.asks_model:
        settings["user"] = None  # what was recorded is all that a user says
    return stored_run.stored_config(facts.config, {**settings, **config.settings}, files)


def _replay_note(config: RunConfig, trials: Iterable[Trial], facts: RunFacts, *, missing: list[TrialKey]) -> str:
    changed = [
        *sorted({one.key.task_id for one in trials if facts.tasks[one.key.task_id].digest != one.task.digest}),
        *stored_run.addition_changes(facts.additions, addition_digests(config)),
    ]
    asks = config.replay is not None and config.replay.asks_model
    parts = [
        f"Replies recorded by {facts.run_id} are served; {'then a model is asked' if asks else 'no model is asked'}.",
        f"Not replayed, as no requests were recorded: {_listed([str(key) for key in missing])}." if missing else "",
        f"Changed since: {_listed(changed)}." if changed else "",
    ]
    return " ".join(filter(None, parts))


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")

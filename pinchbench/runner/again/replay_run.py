"""Playing a run again: the same tasks, and recorded replies instead of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.defaults import Isolation
from pinchbench.errors import ResultsError, SelectionError
from pinchbench.model.trial import Attempt, Trial, TrialKey
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.results.paths import RunFiles, find_run
from pinchbench.results.run_state import RunState, as_resumed
from pinchbench.results.verification import refuse_altered
from pinchbench.runner.plan.check_additions import addition_digests, check_additions, with_workspace_files
from pinchbench.runner.plan.prepare import Prepared, plan
from pinchbench.runner.plan.stored_run import addition_changes, load_suite_again, recordings_of, stored_config
from pinchbench.runner.plan.trial_plan import trial_of
from pinchbench.runner.run_benchmark import run_prepared
from pinchbench.suite.select import select_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.config.rerun_configs import ReplayConfig
    from pinchbench.config.run_config import RunConfig
    from pinchbench.results.finished_run import Result
    from pinchbench.runner.run_context import Observer
    from pinchbench.runner.trial.slot import SlotPool

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
    prepared = await to_thread.run_sync(_prepare, config)
    return await run_prepared(prepared, observer=observer, handle_signals=handle_signals, pool=pool)


def _prepare(config: ReplayConfig) -> Prepared:
    files = find_run(config.run, config.output_dir)
    state = read_journal(files.journal).state if files.journal.exists() else RunState()
    facts = as_resumed(read_facts(files.provenance), state.resumed)
    run = _config(config, facts, files)
    recordings = recordings_of(str(files.folder))
    if not recordings:
        raise ResultsError(
            f"The requests of {files.name} were not recorded, so it can't be replayed. Runs with the wire record them."
        )
    refuse_altered(files, {(key, state.trials[key].counting.attempt) for key in recordings})
    named = run.tasks_dir if "tasks_dir" in config.settings else None
    suite = load_suite_again(facts, files, named=named, suite_format=run.suite_format).suite
    check_additions(run)
    selected = select_tasks(suite, config.suite) if config.suite else suite.by_id.values()
    chosen = {
        task.task_id: task
        for task in with_workspace_files(
            (task for task in selected if task.task_id in facts.tasks), run.workspace_files
        )
    }
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
        note=_note(run, trials, facts, missing=[key for key in planned if key not in recordings]),
        replayed=facts,
    )


def _config(config: ReplayConfig, facts: RunFacts, files: RunFiles) -> RunConfig:
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
    return stored_config(facts.config, {**settings, **config.settings}, files)


def _note(config: RunConfig, trials: Iterable[Trial], facts: RunFacts, *, missing: list[TrialKey]) -> str:
    changed = [
        *sorted({one.key.task_id for one in trials if facts.tasks[one.key.task_id].digest != one.task.digest}),
        *addition_changes(facts.additions, addition_digests(config)),
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

"""Scripts of one task, each played in a trial of OpenClaw by the built-in model, and graded as a trial is."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import ORACLE
from pinchbench.errors import expected_error
from pinchbench.model.task import Suite
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.runner.plan.prepare import Prepared, split_unmet
from pinchbench.runner.plan.trial_plan import trial_of
from pinchbench.runner.run_benchmark import run_prepared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Task
    from pinchbench.suite.solution import Solution

MAX_TOGETHER = 2  # trials: a gateway takes about 1 GB of memory and a CPU


async def play_in_openclaw(
    task: Task,
    scripts: Sequence[Solution],
    *,
    folder: Path,
    judge: JudgeConfig | None = None,
    openclaw: str | None = None,
) -> tuple[str, list[tuple[Outcome, Grade | None]]]:
    """Play scripts as solutions of a task; return what the task lacks on this machine, or how each trial came out.

    Everything is written to `folder`, which the caller removes; the outcomes' `evidence` is absolute. Raises
    OpenClawError if OpenClaw is missing, and other PinchBenchErrors if trials can't run. A cancellation ends all that
    runs.
    """
    played = {f"{task.task_id}-{number}": script for number, script in enumerate(scripts, 1)}
    tasks = tuple(replace(task, task_id=name) for name in played)
    root = folder if task.path is None else task.path.parent
    config = RunConfig(
        model=ORACLE,
        tasks_dir=root,
        output_dir=folder / "results",
        run_root=folder / "run",
        judge=judge,
        openclaw=openclaw,
        concurrency=min(len(tasks), MAX_TOGETHER, os.cpu_count() or 1),
        fail_fast=False,
        preflight=False,
    )
    trials = tuple(
        trial_of(TrialKey(task_id=one.task_id, repetition=1), one, timeout_multiplier=config.timeout_multiplier)
        for one in tasks
    )
    attempts, unmet = await to_thread.run_sync(split_unmet, config, [Attempt(trial=trial) for trial in trials])
    if unmet:
        return unmet[0][1], []
    plan = Prepared(
        config=config, suite=Suite(root=root, tasks=tasks), trials=trials, attempts=tuple(attempts), played=played
    )
    try:
        result = await run_prepared(plan)
    except ExceptionGroup as errors:
        if (expected := expected_error(errors)) is None:
            raise
        raise expected from errors
    outcomes = {one.key.task_id: replace(one, evidence=str(result.folder / one.evidence)) for one in result.outcomes}
    return "", [(outcomes[name], result.grades.get(outcomes[name].key)) for name in played]

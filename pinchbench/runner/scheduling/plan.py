"""Tasks into trials, their order, and how long they can take at most (pure)."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from pinchbench.model.trial import Trial, TrialKey
from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from pinchbench.model.task import Task


def plan_trials(tasks: Sequence[Task], *, runs: int | None, timeout_multiplier: float) -> tuple[Trial, ...]:
    """Every task once, then every task again, `runs` times, the sanity task first: the order of the result.

    Without `runs`, each task is repeated as often as it states. In which order they are started is for `start_order`.
    """
    tasks = sorted(tasks, key=lambda task: task.task_id not in SANITY_TASKS)  # stable: the others stay in order
    often = {task.task_id: task.runs if runs is None else runs for task in tasks}
    return tuple(
        trial_of(TrialKey(task_id=task.task_id, repetition=repetition), task, timeout_multiplier=timeout_multiplier)
        for repetition in range(1, max(often.values(), default=0) + 1)
        for task in tasks
        if repetition <= often[task.task_id]
    )


def trial_of(key: TrialKey, task: Task, *, timeout_multiplier: float) -> Trial:
    """Return the trial of a task with this key."""
    return Trial(key=key, task=task, timeout_s=task.timeout_s * timeout_multiplier)


def worst_case_s(trials: Sequence[Trial], *, concurrency: int) -> float:
    """How long the agents run, in seconds, when every trial uses its whole limit and slots take them in order."""
    return makespan_s([trial.timeout_s for trial in trials], slots=concurrency)


def makespan_s(durations_s: Iterable[float], *, slots: int) -> float:
    """How long it takes, in seconds, until all of them are over when slots take them in order."""
    busy_until = [0.0] * slots
    for duration_s in durations_s:
        heapq.heappush(busy_until, heapq.heappop(busy_until) + duration_s)
    return max(busy_until, default=0.0)


def new_run_id(now: datetime, token: str) -> str:
    """A run's id: sortable by time, unique by its token, such as `20260102-030405-9f3a`."""
    return f"{now:%Y%m%d-%H%M%S}-{token}"

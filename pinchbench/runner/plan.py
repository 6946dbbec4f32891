"""Tasks into trials, their order, and how long they can take at most (pure)."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from pinchbench.model import Trial, TrialKey
from pinchbench.runner.diagnose import SANITY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pinchbench.model import Task


def plan_trials(tasks: Sequence[Task], *, runs: int, timeout_multiplier: float) -> tuple[Trial, ...]:
    """Every task once, then every task again, `runs` times: an early stop leaves whole repetitions.

    The sanity task comes first: what keeps it from running keeps them all.
    """
    tasks = sorted(tasks, key=lambda task: task.task_id != SANITY)  # stable: the others stay in order
    return tuple(
        Trial(
            key=TrialKey(task_id=task.task_id, repetition=repetition),
            task=task,
            timeout_s=task.timeout_s * timeout_multiplier,
        )
        for repetition in range(1, runs + 1)
        for task in tasks
    )


def worst_case_s(trials: Sequence[Trial], *, concurrency: int) -> float:
    """How long the agents run, in seconds, when every trial uses its whole limit and slots take them in order."""
    slots = [0.0] * concurrency
    for trial in trials:
        heapq.heappush(slots, heapq.heappop(slots) + trial.timeout_s)
    return max(slots)


def new_run_id(now: datetime, token: str) -> str:
    """A run's id: sortable by time, unique by its token, such as `20260102-030405-9f3a`."""
    return f"{now:%Y%m%d-%H%M%S}-{token}"

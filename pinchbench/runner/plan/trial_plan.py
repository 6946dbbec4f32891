"""Tasks into trials: the order in which they start, and how long they can take and are expected to cost (pure)."""

from __future__ import annotations

import heapq
import math
from statistics import median_high
from typing import TYPE_CHECKING

from pinchbench.model.trial import Attempt, Trial, TrialKey
from pinchbench.runner.scheduling.diagnosis import SANITY_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from pinchbench.model.task import Task
    from pinchbench.runner.plan.past_runs import PastTrial


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


def makespan_s(durations_s: Iterable[float], *, slots: int) -> float:
    """How long it takes, in seconds, until all of them are over when slots take them in order."""
    busy_until = [0.0] * slots
    for duration_s in durations_s:
        heapq.heappush(busy_until, heapq.heappop(busy_until) + duration_s)
    return max(busy_until, default=0.0)


def new_run_id(now: datetime, token: str) -> str:
    """A run's id: sortable by time, unique by its token, such as `20260102-030405-9f3a`."""
    return f"{now:%Y%m%d-%H%M%S}-{token}"


def expected_durations(trials: Iterable[Trial], past: Sequence[PastTrial]) -> dict[str, float]:
    """How long a trial of each task will take, in seconds, by task id; empty where nothing is known of any.

    That is the median of what the task took with this model, else with other models, else its limit. The task as it is
    now goes before earlier states of it. Never more than its limit, and in whole seconds: less is chance.
    """
    tasks = {trial.key.task_id: trial for trial in trials}
    others, own = ([one for one in past if one.same_model is same] for same in (False, True))
    known = _newest_state(tasks, others) | _newest_state(tasks, own)
    if not known:
        return {}
    # of two the larger: what takes longer than expected costs more than what takes less
    medians = {task_id: median_high(one.took_s for one in those) for task_id, those in known.items()}
    return {
        task_id: float(round(min(medians.get(task_id, trial.timeout_s), trial.timeout_s)))
        for task_id, trial in tasks.items()
    }


def expected_costs(trials: Iterable[Trial], past: Iterable[PastTrial]) -> dict[str, float]:
    """What a trial of each task will cost, in USD, without its judge, by task id; empty where no cost is known.

    That is the mean of what the task cost with this model, for the sum over trials is what counts; else the mean over
    the known tasks. What other models cost says nothing.
    """
    tasks = {trial.key.task_id: trial for trial in trials}
    own = [one for one in past if one.same_model and one.cost_usd is not None]
    known = {
        task_id: math.fsum(one.cost_usd or 0.0 for one in those) / len(those)
        for task_id, those in _newest_state(tasks, own).items()
    }
    usual = math.fsum(known.values()) / len(known) if known else 0.0
    return {task_id: known.get(task_id, usual) for task_id in tasks} if known else {}


def _newest_state(trials: Mapping[str, Trial], past: Iterable[PastTrial]) -> dict[str, list[PastTrial]]:
    """The past trials of each task: those with the task as it is now, else all."""
    same: dict[str, list[PastTrial]] = {}
    earlier: dict[str, list[PastTrial]] = {}
    for one in past:
        if one.task_id in trials:
            is_same = one.digest == trials[one.task_id].task.digest
            (same if is_same else earlier).setdefault(one.task_id, []).append(one)
    return earlier | same


# How many times the longest trial of a repetition has to fit into what it and those after it leave to each slot: with
# less, the last repetition of a task that takes long sticks out at the end (simulated: tests/bench/start_order.py).
ROOM = 1.5


def start_order(
    attempts: Sequence[Attempt], *, expected_s: Mapping[str, float], slots: int, first: Sequence[str] = ()
) -> tuple[Attempt, ...]:
    """The attempts in the order in which they are to be started.

    The sanity task and then the tasks `first` come first, once each. The others follow, longest expected first:
    repetition after repetition, so that an early stop leaves whole ones, or all together where one takes so long
    that its last repetition would be the end of the run. `expected_s` is by task id; a task without is expected to take
    its limit. What is expected to take equally long stays in the given order.
    """
    places = {task_id: place for place, task_id in enumerate(dict.fromkeys((*SANITY_TASKS, *first)))}
    length_s = {attempt.key: expected_s.get(attempt.key.task_id, attempt.trial.timeout_s) for attempt in attempts}
    whole_repetitions = _end_even(length_s, slots=slots)

    def place(attempt: Attempt) -> tuple[int, int, float]:
        key = attempt.key
        is_first = key.repetition == 1 and key.task_id in places
        return (
            places[key.task_id] if is_first else len(places),
            key.repetition if whole_repetitions else 0,
            -length_s[key],
        )

    return tuple(sorted(attempts, key=place))


def _end_even(length_s: Mapping[TrialKey, float], *, slots: int) -> bool:
    """Whether the slots end at about the same time although each repetition begins with its longest trial."""
    if slots <= 1:
        return True
    lengths_s: dict[int, list[float]] = {}
    for key, expected in length_s.items():
        lengths_s.setdefault(key.repetition, []).append(expected)
    left_s = 0.0
    for repetition in sorted(lengths_s, reverse=True):
        left_s += sum(lengths_s[repetition])
        if ROOM * max(lengths_s[repetition]) > left_s / slots:
            return False
    return True

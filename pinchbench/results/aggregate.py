"""Outcomes into the aggregate: the seed's keys first, then ours (pure)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from pinchbench.model import Outcome, Reason, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.model import TrialKey


def aggregate(
    *,
    model: str,
    run_id: str,
    timestamp: float,
    plan: Sequence[TrialKey],
    outcomes: Sequence[Outcome],
    facts: Mapping[str, object],
) -> dict[str, object]:
    """Build the aggregate of a run.

    `plan` gives the order of the tasks, whatever finished first; `facts` are added as they are (suite, versions).
    `tasks` has one entry a task, with the seed's six keys; of several repetitions it holds the first one's
    workspace, the mean execution time, and the status `success` only when all succeeded. `runs` lists each.
    """
    by_task: dict[str, list[Outcome]] = {key.task_id: [] for key in plan}
    for outcome in sorted(outcomes, key=lambda one: one.key):
        by_task[outcome.key.task_id].append(outcome)
    done = [task for task in by_task.values() if task]
    total = sum((outcome.usage for outcome in outcomes), Usage())
    return {
        "model": model,
        "run_id": run_id,
        "timestamp": timestamp,
        "tasks": [_task(task) for task in done],
        **facts,
        "counts": counts(plan, outcomes),
        "usage": msgspec.to_builtins(total),
        "execution_time": round(sum(outcome.execution_time_s for outcome in outcomes), 3),
    }


def counts(plan: Sequence[TrialKey], outcomes: Sequence[Outcome]) -> dict[str, object]:
    """How many trials came to what. `left_out` are those that say nothing about the model."""
    reasons = Counter(outcome.reason for outcome in outcomes)
    statuses = Counter(outcome.status for outcome in outcomes)
    return {
        "planned": len(plan),
        "finished": len(outcomes) - reasons[Reason.INTERRUPTED],
        "not_run": len(plan) - len(outcomes),
        **{status.value: statuses[status] for status in Status},
        "left_out": sum(not outcome.reason.counts for outcome in outcomes),
        "reasons": {reason.value: reasons[reason] for reason in Reason if reasons[reason]},
    }


def _task(outcomes: Sequence[Outcome]) -> dict[str, object]:
    first = outcomes[0]
    worst = next((one for one in outcomes if one.status is not Status.SUCCESS), first)
    return {
        "task_id": first.key.task_id,
        "status": worst.status.value,
        "timed_out": any(one.timed_out for one in outcomes),
        "execution_time": round(sum(one.execution_time_s for one in outcomes) / len(outcomes), 3),
        "transcript_length": first.transcript_length,
        "workspace": first.workspace,
        "reason": worst.reason.value,
        "usage": msgspec.to_builtins(sum((one.usage for one in outcomes), Usage())),
        "runs": [_run(one) for one in outcomes],
    }


def _run(outcome: Outcome) -> dict[str, object]:
    built = msgspec.to_builtins(outcome)
    assert isinstance(built, dict)  # noqa: S101 - an Outcome is an object in JSON
    key = built.pop("key")
    return {"repetition": key["repetition"], "status": outcome.status.value, "counts": outcome.reason.counts, **built}

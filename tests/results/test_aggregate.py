"""The aggregate is a function of the outcomes, not of their order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.model import Outcome, Reason, TrialKey, Usage
from pinchbench.results.aggregate import aggregate, counts

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAN = [TrialKey(task_id=task, repetition=number) for number in (1, 2) for task in ("task_b", "task_a")]


def outcome(
    key: TrialKey, reason: Reason = Reason.COMPLETED, *, took_s: float = 1.0, timed_out: bool = False
) -> Outcome:
    return Outcome(
        key=key,
        reason=reason,
        digest="d",
        timed_out=timed_out,
        execution_time_s=took_s,
        transcript_length=4 + key.repetition,
        workspace=f"/w/{key}",
        usage=Usage(requests=1, input_tokens=10, cost_usd=0.5),
    )


def build(outcomes: Sequence[Outcome], plan: Sequence[TrialKey] = PLAN) -> dict[str, object]:
    return aggregate(model="m", run_id="r", timestamp=1.5, plan=plan, outcomes=outcomes, facts={"suite": "all"})


def tasks(data: dict[str, object]) -> list[dict[str, object]]:
    found = data["tasks"]
    assert isinstance(found, list)
    return found


@given(st.permutations([outcome(key, took_s=0.1 * number) for number, key in enumerate(PLAN)]))
def test_the_order_in_which_trials_ended_changes_nothing(outcomes: list[Outcome]) -> None:
    expected = build([outcome(key, took_s=0.1 * number) for number, key in enumerate(PLAN)])
    assert build(outcomes) == expected
    assert [task["task_id"] for task in tasks(expected)] == ["task_b", "task_a"]


def test_a_task_has_the_seeds_keys_first_and_then_ours() -> None:
    [task] = tasks(build([outcome(PLAN[0])], PLAN[:1]))
    assert list(task)[:6] == ["task_id", "status", "timed_out", "execution_time", "transcript_length", "workspace"]
    assert list(task.values())[:6] == ["task_b", "success", False, 1.0, 5, "/w/task_b"]


def test_of_several_runs_the_mean_time_the_first_workspace_and_the_worst_status_are_told() -> None:
    outcomes = [outcome(PLAN[0]), outcome(PLAN[2], Reason.TIMED_OUT, took_s=4.0, timed_out=True)]
    [task] = tasks(build(outcomes, [PLAN[0], PLAN[2]]))
    assert (task["status"], task["reason"], task["timed_out"]) == ("timeout", "timed_out", True)
    assert (task["execution_time"], task["workspace"], task["transcript_length"]) == (2.5, "/w/task_b", 5)
    runs = task["runs"]
    assert isinstance(runs, list)
    assert [(run["repetition"], run["status"], run["workspace"]) for run in runs] == [
        (1, "success", "/w/task_b"),
        (2, "timeout", "/w/task_b@2"),
    ]
    assert "key" not in runs[0]
    assert task["usage"] == {**msgspec.to_builtins(Usage()), "requests": 2, "input_tokens": 20, "cost_usd": 1.0}


def test_counts_say_what_was_planned_run_and_left_out() -> None:
    outcomes = [outcome(PLAN[0]), outcome(PLAN[1], Reason.PROVIDER_ERROR), outcome(PLAN[2], Reason.INTERRUPTED)]
    assert counts(PLAN, outcomes) == {
        "planned": 4,
        "finished": 2,
        "not_run": 1,
        "success": 1,
        "timeout": 0,
        "error": 2,
        "left_out": 2,
        "reasons": {"completed": 1, "provider_error": 1, "interrupted": 1},
    }


def test_a_task_without_an_outcome_is_not_listed_and_an_empty_run_is_valid() -> None:
    data = build([outcome(PLAN[0])])
    assert [task["task_id"] for task in tasks(data)] == ["task_b"]
    empty = build([])
    assert tasks(empty) == []
    assert empty["execution_time"] == 0
    json.dumps(empty)


def test_every_reason_is_counted_once() -> None:
    plan = [TrialKey(task_id=reason.value, repetition=1) for reason in Reason]
    told = counts(plan, [outcome(key, reason) for key, reason in zip(plan, Reason, strict=True)])
    assert told["reasons"] == {reason.value: 1 for reason in Reason}
    assert told["left_out"] == sum(not reason.counts for reason in Reason)

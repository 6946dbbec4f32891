"""Scores and costs, weighted by how often the user asks for what a task stands for."""

from pathlib import Path

import pytest

from leaderboard_runs import past_run
from made_tasks import made_task
from past_runs import Made, PlannedRun
from pinchbench.authoring.history.monthly import monthly_work
from pinchbench.model.task import Task

DIGESTS = {"task_a": "a" * 64, "task_b": "b" * 64, "task_c": "c" * 64}


def task(task_id: str, share: float, monthly: float, cost_usd: float) -> Task:
    frontmatter = {"share": share, "monthly": monthly, "cost_usd": cost_usd}
    return made_task(task_id=task_id, frontmatter=frontmatter, digest=DIGESTS[task_id])


TASKS = (task("task_a", 0.6, 30, 0.1), task("task_b", 0.2, 10, 0.2), task("task_c", 0.2, 10, 0.3))


def test_a_frequent_request_counts_more_and_costs_more(tmp_path: Path) -> None:
    trials = {"task_a": (Made(score=1.0), Made(score=1.0)), "task_b": (Made(score=0.2),), "task_c": (Made(score=None),)}
    run = past_run(tmp_path, PlannedRun(trials=trials, digests=DIGESTS))
    cost = {key: next(one.usage.cost_usd for one in run.outcomes if one.key.task_id == key) for key in DIGESTS}

    found = monthly_work(run, TASKS)

    assert found.score == pytest.approx((0.6 * 1.0 + 0.2 * 0.2) / 0.8)
    assert found.cost_usd == pytest.approx(30 * cost["task_a"] + 10 * cost["task_b"])
    assert found.before_usd == pytest.approx(30 * 0.1 + 10 * 0.2)
    assert (found.failed, found.unscored) == (("task_b",), ("task_c",))
    assert str(found).startswith("mock/m1: 0.80 of your work, at $")
    assert str(found).endswith("Failed: task_b. Without a score: task_c.")


def test_a_task_that_has_changed_and_a_run_of_other_tasks_have_no_score(tmp_path: Path) -> None:
    run = past_run(tmp_path, PlannedRun(trials={"task_a": (Made(score=1.0),)}, digests={"task_a": "f" * 64}))

    found = monthly_work(run, TASKS)

    assert (found.score, found.unscored) == (None, ("task_a", "task_b", "task_c"))
    assert str(found) == "mock/m1: no score of these tasks."

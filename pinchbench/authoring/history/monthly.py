"""What a run says about a user's own work: its score weighted by requests, and its cost in a month (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.model.task import Task
    from pinchbench.results.finished_run import PastRun


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthlyWork:
    """How a run's model would do a user's work of 30 days.

    `score` is in 0-1, the mean over tasks weighted by the requests that each stands for; None without a scored task.
    `cost_usd` is that of its agents for as many requests, `before_usd` what they cost at the time; tasks without a
    score are in neither. `failed` are the ids of tasks below the run's threshold, `unscored` those without a score.
    """

    model: str
    score: float | None
    cost_usd: float
    before_usd: float
    failed: tuple[str, ...]
    unscored: tuple[str, ...]

    def __str__(self) -> str:
        """Return one sentence, and what failed."""
        if self.score is None:
            return f"{self.model}: no score of these tasks."
        share = f" ({self.cost_usd / self.before_usd:.0%} of ${self.before_usd:.2f} before)" if self.before_usd else ""
        text = f"{self.model}: {self.score:.2f} of your work, at ${self.cost_usd:.2f} a month{share}."
        text += f" Failed: {', '.join(self.failed)}." if self.failed else " It failed none."
        return text + (f" Without a score: {', '.join(self.unscored)}." if self.unscored else "")


def monthly_work(run: PastRun, tasks: Sequence[Task]) -> MonthlyWork:
    """Weigh the scores and costs of a run by how often the user asks for each task, unless it has changed."""
    weights, scores, cost, before, failed, unscored = [], [], [], [], [], []
    for task in tasks:
        facts = run.facts.tasks.get(task.task_id)
        outcomes = [one for one in run.outcomes if one.key.task_id == task.task_id]
        scored = [(score, one) for one in outcomes if (score := run.score(one.key)) is not None]
        if facts is None or facts.digest != task.digest or not scored:
            unscored.append(task.task_id)
            continue
        mean = fsum(score for score, _ in scored) / len(scored)
        monthly = _number(task, "monthly")
        weights.append(_number(task, "share"))
        scores.append(mean)
        cost.append(monthly * fsum(one.usage.cost_usd for _, one in scored) / len(scored))
        before.append(monthly * _number(task, "cost_usd"))
        failed += [task.task_id] if mean < run.pass_threshold else []
    total = fsum(weights)
    return MonthlyWork(
        model=run.model,
        score=fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / total if total else None,
        cost_usd=fsum(cost),
        before_usd=fsum(before),
        failed=tuple(failed),
        unscored=tuple(unscored),
    )


def _number(task: Task, key: str) -> float:
    value = task.frontmatter.get(key)
    return float(value) if isinstance(value, int | float) else 0.0

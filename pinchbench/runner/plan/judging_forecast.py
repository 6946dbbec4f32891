"""What judging a plan will use, going by the newest grades of the same judges in an output folder."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.model.task import GradingType
from pinchbench.runner.plan.past_durations import MAX_RUNS, newest_records, run_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.grade import Grade
    from pinchbench.runner.plan.prepare import Prepared

GRADE = b'{"type":"grade"'  # how a grade's line begins


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingForecast:
    """What the judges will use; sums over the judges that earlier runs tell about, None where they tell about none."""

    trials: int
    tokens: int | None
    cost_usd: float | None
    unknown: tuple[str, ...]  # the judges without tokens
    unpriced: tuple[str, ...]  # those without a price


@dataclass(frozen=True, kw_only=True, slots=True)
class PastVote:
    """What a vote of a judge on a trial of a task used, repeated questions included; the cost is None if unknown."""

    model: str
    task_id: str
    tokens: float
    cost_usd: float | None


def judging_forecast(*plans: Prepared) -> JudgingForecast | None:
    """Return what judging plans with the same judges will use; None without a judge or a task that needs one.

    Blocks, but not for long.
    """
    config = plans[0].config
    attempts = [attempt for plan in plans for attempt in plan.attempts]
    judged = [one.key.task_id for one in attempts if one.trial.task.grading_type is not GradingType.AUTOMATED]
    if config.judge is None or not judged:
        return None
    votes = {one.model: one.votes for one in config.judge.each}
    prices = {one.model: one.prices for one in config.judge.each if one.prices is not None}
    return forecast(judged, votes, past_votes(config.output_dir, prices))


def forecast(task_ids: Sequence[str], votes: dict[str, int], past: Sequence[PastVote]) -> JudgingForecast:
    """Return what judges will use on trials of these tasks, each judge with so many votes on each (pure).

    That is the mean of the judge's votes on the task, else the mean over the tasks that it has judged. A trial's judge
    may not be asked at all, where its check fails first or the reply is in the cache: then it is less.
    """
    own = {one: [vote for vote in past if vote.model == one] for one in votes}
    tokens = {one: _sum(task_ids, [(vote.task_id, vote.tokens) for vote in given]) for one, given in own.items()}
    costs = {one: _sum(task_ids, [(vote.task_id, vote.cost_usd) for vote in given]) for one, given in own.items()}
    known = [found * votes[one] for one, found in tokens.items() if found is not None]
    priced = [found * votes[one] for one, found in costs.items() if found is not None]
    return JudgingForecast(
        trials=len(task_ids),
        tokens=round(math.fsum(known)) if known else None,
        cost_usd=math.fsum(priced) if priced else None,
        unknown=tuple(one for one, found in tokens.items() if found is None),
        unpriced=tuple(one for one, found in costs.items() if found is None),
    )


def _sum(task_ids: Sequence[str], values: Sequence[tuple[str, float | None]]) -> float | None:
    by_task: dict[str, list[float]] = defaultdict(list)
    for task_id, value in values:
        if value is not None:
            by_task[task_id].append(value)
    means = {task_id: math.fsum(own) / len(own) for task_id, own in by_task.items()}
    usual = math.fsum(means.values()) / len(means) if means else None
    return None if usual is None else math.fsum(means.get(task_id, usual) for task_id in task_ids)


def past_votes(
    output_dir: Path, prices: Mapping[str, tuple[float, float]] = MappingProxyType({})
) -> tuple[PastVote, ...]:
    """Return what votes used in the newest runs, whatever model was judged. Blocks; what can't be read is skipped.

    `prices`, by judge, are those of votes that were given when none was known.
    """
    from pinchbench.results.records import GradeGiven  # noqa: PLC0415 - as in `newest_records`

    journals = (output_dir / name / "journal.jsonl" for name in run_names(output_dir)[:MAX_RUNS])
    return tuple(
        vote
        for _, record in newest_records(journals, GRADE)
        if isinstance(record, GradeGiven)
        for vote in _votes(record.grade, prices)
    )


def _votes(grade: Grade, prices: Mapping[str, tuple[float, float]]) -> Iterator[PastVote]:
    for one in grade.judge.each if grade.judge is not None else ():
        if one.calls and one.votes and not one.cached:
            tokens, cost_usd = one.usage.total_tokens / len(one.votes), one.cost_usd
            if cost_usd is None and one.model in prices:
                cost_usd = one.usage.cost_at(prices[one.model])
            cost_usd = None if cost_usd is None else cost_usd / len(one.votes)
            yield PastVote(model=one.model, task_id=grade.key.task_id, tokens=tokens, cost_usd=cost_usd)

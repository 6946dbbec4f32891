"""How much work the tasks of each tier are: calls and tokens of their solutions, limits, a person's time (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from pinchbench.demo.completion import count_tokens
from pinchbench.model.task import Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinchbench.model.task import Suite, Task
    from pinchbench.suite.solution import Solution

CORE = "core"
ALL = "all"


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """The least, the median and the largest of some numbers, and their sum."""

    least: float
    median: float
    most: float
    total: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TierSize:
    """The tasks of a tier, or those of the core, and how much work they are. A spread is None if no task states it.

    `model_calls` counts, for each task with a solution, the calls of a model that works as the solution does: one for
    each tool call, and one for the answer of each turn. `written_tokens` estimates what it writes in these calls: four
    characters are a token. `limit_s` is in seconds, `human_minutes` in minutes as the tasks state them.
    """

    name: str
    tasks: int
    sessions: Spread
    turns: Spread
    model_calls: Spread | None
    written_tokens: Spread | None
    limit_s: Spread
    human_minutes: Spread | None


def tier_sizes(suite: Suite, solved: Sequence[tuple[Task, Solution | None]]) -> tuple[TierSize, ...]:
    """Return the sizes of the core and of each tier without it, if they have tasks; and of all, if several have."""
    core = set(suite.core)
    groups: tuple[tuple[str, Callable[[Task], bool]], ...] = (
        (CORE, lambda task: task.task_id in core),
        *((tier.value, lambda task, tier=tier: task.tier is tier and task.task_id not in core) for tier in Tier),
    )
    members = ((name, [one for one in solved if belongs(one[0])]) for name, belongs in groups)
    sizes = tuple(_size(name, group) for name, group in members if group)
    return (*sizes, _size(ALL, solved)) if len(sizes) > 1 else sizes


def _size(name: str, group: Sequence[tuple[Task, Solution | None]]) -> TierSize:
    tasks = [task for task, _ in group]
    solutions = [solution for _, solution in group if solution is not None]
    minutes = [task.frontmatter.get("human_minutes") for task in tasks]
    return TierSize(
        name=name,
        tasks=len(group),
        sessions=_spread_of([1 + sum(turn.new_session for turn in task.turns[1:]) for task in tasks]),
        turns=_spread_of([len(task.turns) for task in tasks]),
        model_calls=_spread([sum(len(turn.steps) + 1 for turn in one.turns) for one in solutions]),
        written_tokens=_spread([sum(_written(one)) for one in solutions]),
        limit_s=_spread_of([task.timeout_s for task in tasks]),
        human_minutes=_spread([one for one in minutes if isinstance(one, int | float)]),
    )


def _written(solution: Solution) -> Iterator[int]:
    for turn in solution.turns:
        yield count_tokens(turn.answer)
        yield from (count_tokens([step.tool, dict(step.args)]) for step in turn.steps)


def _spread(numbers: Sequence[float]) -> Spread | None:
    return _spread_of(numbers) if numbers else None


def _spread_of(numbers: Sequence[float]) -> Spread:
    return Spread(least=min(numbers), median=median(numbers), most=max(numbers), total=sum(numbers))

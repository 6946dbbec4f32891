"""Whether another trial is paid for: what is spent, on its way and to come, of one run or several together (pure)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pinchbench.runner.scheduling.meter import RESOURCES, BudgetLimits, Meter, Resource, Typical, time_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.model.usage import Usage


SHORTEST_S = 1.0  # that a trial is expected to take: what is rounded to nothing still costs something
TIMER_SLACK_S = 0.01  # an event loop may wake up a moment early, and what slept until the deadline asks only then
HOUR_S = 3600
UNPRICED = (
    "--max-cost can't be kept: OpenClaw knows no price for this model. Use --max-tokens, or name the model's "
    "endpoint with"
    " --base-url and its prices with --price-in and --price-out."
)

UNREPORTED = (
    "--max-cost and --max-tokens can't be kept: the model's server does not report what its replies used."
    " Use --max-hours."
)


class _Limited(ABC):
    """What is used, next to its limits. Times are monotonic seconds.

    Sentences name the option and the figures; an empty one says that there is room. Without `limits` all are empty.
    `deadline` is when this session has used its hours; `math.inf` without a limit.
    """

    whose = ""  # follows a limit in sentences
    taker = "the run"  # whose time passes

    def __init__(self, limits: BudgetLimits, began: float) -> None:
        self.limits = limits
        self._began = began
        self._limit_s = math.inf if limits.max_hours is None else limits.max_hours * HOUR_S
        self.deadline = began + self._limit_s
        self._announced: set[str] = set()  # the options of limits

    @abstractmethod
    def used(self, resource: Resource) -> float:
        """Return what is used so far."""

    def nearly_used(self) -> tuple[str, ...]:
        """Say, once for each limit, that most of it is used."""
        sentences = {
            resource.option: sentence
            for resource in RESOURCES
            if resource.option not in self._announced
            and (sentence := resource.nearly_reached(self.limits, self.used(resource), whose=self.whose))
        }
        self._announced.update(sentences)
        return tuple(sentences.values())

    def expired(self, now: float) -> str:
        """Say whether the hours are over."""
        if now < self.deadline - TIMER_SLACK_S:
            return ""
        limit, passed = time_text(self._limit_s), time_text(now - self._began)
        return f"--max-hours {limit}{self.whose} is reached: {self.taker} has taken {passed}."

    def _no_time(self, now: float, usual_s: float) -> str:
        """Say why a trial that usually takes so long is too late; empty if it is not."""
        if now + usual_s <= self.deadline:
            return ""
        limit, passed = time_text(self._limit_s), time_text(now - self._began)
        another = f"another trial would take about {time_text(usual_s)}"
        return f"--max-hours {limit}{self.whose}: {passed} have passed, and {another}."

    def _reached(self) -> str:
        reached = (resource.reached(self.limits, self.used(resource), whose=self.whose) for resource in RESOURCES)
        return next(filter(None, reached), "")


class Budget(_Limited):
    """What a run has used and may still use."""

    def __init__(
        self,
        limits: BudgetLimits,
        *,
        began: float,
        expected_s: Mapping[str, float] = MappingProxyType({}),
        earlier: Iterable[Outcome] = (),
        judged: Iterable[Grade] = (),
    ) -> None:
        """`expected_s` is the expected duration of a trial in seconds by task id; other tasks get the mean of these.

        Only how they compare counts. `earlier` and `judged` are the attempts and grades of a resumed run so far: what
        they used is spent.

        Only this session's hours count, from `began` on.
        """
        super().__init__(limits, began)
        self._expected_s = {task_id: max(SHORTEST_S, each_s) for task_id, each_s in expected_s.items()}
        self._mean_s = math.fsum(self._expected_s.values()) / len(self._expected_s) if self._expected_s else SHORTEST_S
        self._meters = {resource: Meter(resource) for resource in RESOURCES}
        self._busy_s = Typical()  # how long the attempts took that ended by themselves
        for outcome in earlier:
            self._add(outcome)
        for grade in judged:
            for meter in self._meters.values():
                meter.judged(grade.judge)

    def set_limits(self, **limits: Any) -> str:  # noqa: ANN401 - as the fields of BudgetLimits
        """Replace limits by their names; a sentence if a new one is reached."""
        self.limits = replace(self.limits, **limits)
        self._announced -= {f"--{name.replace('_', '-')}" for name in limits}
        return self._reached()

    def uses(self, key: TrialKey, usage: Usage) -> str:
        """Take what the running attempt at a trial has used so far in all; a sentence once a limit is reached."""
        for meter in self._meters.values():
            meter.uses(key, usage, self._expected(key.task_id))
        return self._reached() or self._unpriced(usage)

    def ended(self, outcome: Outcome) -> str:
        """Take the end of an attempt, whose usage replaces what was reported live; a sentence once a limit is reached.

        What was reported live stays where the outcome knows of no model call, as when its transcript was lost.
        """
        self._add(outcome, outcome.key)
        return self._reached() or self._unpriced(outcome.usage) or self._unreported(outcome)

    def _unpriced(self, usage: Usage) -> str:
        """Say that a limit in dollars can't be kept, as soon as a model has answered whose price is not known."""
        if self.limits.max_cost is None or not usage.has_tokens or usage.known_cost_usd is not None:
            return ""
        return UNPRICED

    def _unreported(self, outcome: Outcome) -> str:
        """Say that no limit of use can be kept, if a trial with replies has ended and none has reported any use."""
        is_limited = self.limits.max_cost is not None or self.limits.max_tokens is not None
        is_silent = outcome.reason.is_valid and outcome.paid.requests > 0 and not outcome.paid.has_tokens
        return UNREPORTED if is_limited and is_silent and not any(one.used for one in self._meters.values()) else ""

    def _add(self, outcome: Outcome, key: TrialKey | None = None) -> None:
        """Take the end of an attempt; `key` is None for those of earlier sessions, which were not reported live."""
        expected_s = self._expected(outcome.key.task_id)
        for meter in self._meters.values():
            meter.ended(outcome, key, expected_s)
        if outcome.reason.is_attempt:
            self._busy_s.add(outcome.setup_s + outcome.execution_time_s, expected_s)

    def judged(self, grade: Grade) -> str:
        """Take what grading a trial has used; a sentence once a limit is reached."""
        for meter in self._meters.values():
            meter.judged(grade.judge)
        return self._reached()

    def may_start(self, now: float, key: TrialKey, *, running: Collection[TrialKey]) -> str:
        """Say why no attempt at a trial is started while those at `running` run; empty when it may be.

        It may when what is spent, what the running ones will come to and what this one will come to stay within
        the limits, going by those that have ended and by how much longer or shorter it is expected to take.
        """
        if reached := self._reached() or self.expired(now):
            return reached
        for resource in RESOURCES:
            if resource.limit(self.limits) is None:
                continue  # what is coming takes as long to sum up as trials are running
            coming, another = self.coming(resource, running), self.another(resource, key.task_id)
            if why := resource.no_room(self.limits, used=self.used(resource), coming=coming, another=another):
                return why
        return self._no_time(now, self.usual_s(key.task_id))

    def _expected(self, task_id: str) -> float:
        return self._expected_s.get(task_id, self._mean_s)

    def used(self, resource: Resource) -> float:
        """Return what the run has used so far."""
        return self._meters[resource].used

    def coming(self, resource: Resource, running: Collection[TrialKey]) -> float:
        """Return what the running attempts at these trials, and their judge, will use beyond that."""
        return self._meters[resource].coming({key: self._expected(key.task_id) for key in running})

    def another(self, resource: Resource, task_id: str) -> float:
        """Return what one more attempt at a trial of a task, and its judge, will use."""
        return self._meters[resource].another(self._expected(task_id))

    def usual_s(self, task_id: str) -> float:
        """Return how long an attempt at a trial of a task will take, in seconds; 0 before any has ended."""
        return self._busy_s.of(self._expected(task_id))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Member:
    budget: Budget
    running: Collection[TrialKey]


class SharedBudget(_Limited):
    """What runs use together, and may still use.

    A trial of any run starts only if there is room for one of each that still has trials: the dearest is not left
    behind while cheaper ones go on, so that all runs end at about the same trial.
    """

    whose = " of the experiment"
    taker = "it"

    def __init__(self, limits: BudgetLimits, *, began: float) -> None:
        """Only the hours of this session count, from `began` on."""
        super().__init__(limits, began)
        self._members: dict[str, _Member] = {}
        self._active: set[str] = set()
        self._over = ""

    @property
    def is_running(self) -> bool:
        """Whether a trial of any run is running."""
        return any(one.running for one in self._members.values())

    def spent(self, run: str, budget: Budget) -> None:
        """Take what a run has used in earlier sessions, as its own budget counts it; it may join later."""
        self._members.setdefault(run, _Member(budget=budget, running=()))

    def join(self, run: str, budget: Budget, running: Collection[TrialKey]) -> None:
        """Let a run take part, which counts with its own budget from now on; `running` always holds what it runs."""
        self._members[run] = _Member(budget=budget, running=running)
        self._active.add(run)

    def left(self, run: str) -> None:
        """Take note that a run starts nothing more; what it has used counts on."""
        self._active.discard(run)

    def over(self, now: float, usage: Usage | None = None) -> str:
        """Say that all runs have to end, which is then so for good; `usage` is what a model has just been seen to use.

        Empty while they may go on.
        """
        if not self._over and usage is not None and self.limits.max_cost is not None:
            self._over = UNPRICED if usage.has_tokens and usage.known_cost_usd is None else ""
        self._over = self._over or self._reached() or self.expired(now)
        return self._over

    def may_start(self, now: float, task_id: str) -> str:
        """Say why no trial of a task is started now; empty if it may be.

        Where nothing runs that could change it, the runs are over.
        """
        if over := self.over(now):
            return over
        no_room = (self._no_room(resource, task_id) for resource in RESOURCES)
        usual_s = max((self._members[run].budget.usual_s(task_id) for run in self._active), default=0.0)
        why = next(filter(None, no_room), "") or self._no_time(now, usual_s)
        if why and not self.is_running:
            self._over = why
        return why

    def _no_room(self, resource: Resource, task_id: str) -> str:
        coming = math.fsum(one.budget.coming(resource, one.running) for one in self._members.values())
        another = max((self._members[run].budget.another(resource, task_id) for run in self._active), default=0.0)
        return resource.no_room(self.limits, used=self.used(resource), coming=coming, another=another, whose=self.whose)

    def used(self, resource: Resource) -> float:
        """Return what all runs have used so far."""
        return math.fsum(one.budget.used(resource) for one in self._members.values())

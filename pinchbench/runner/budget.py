"""Whether another trial is paid for: what is spent, what is on its way, and what it will come to (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinchbench.model import Grade, JudgeGrade, Outcome, TrialKey, Usage
    from pinchbench.results.standing import GradeMark, JudgeMark, OutcomeMark, UsageMark

OUTLOOK_ATTEMPTS = 3  # that must have ended before the whole run is forecast: one or two may be far from the usual
ROUNDING = 1e-9  # of a limit: ten trials of $0.10 cost $1.00, whatever the sum of the floating-point numbers says
TIMER_SLACK_S = 0.01  # an event loop may wake up a moment early, and whoever slept until the deadline asks only then
MINUTE_S = 60
HOUR_S = 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a run may use, its judge included; None for no limit. All are above 0."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None


class Budget:
    """What a run has used and may still use. Times are monotonic seconds.

    Sentences name the option and the figures; an empty one says that there is room. Without limits all are empty.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        began: float,
        earlier: Iterable[Outcome | OutcomeMark] = (),
        judged: Iterable[Grade | GradeMark] = (),
    ) -> None:
        """`earlier` and `judged` are the attempts and grades of a resumed run so far: what they used is spent.

        Only this session's hours count, from `began` on.
        """
        self._meters: list[_Meter] = []
        if limits.max_cost_usd is not None:
            self._meters.append(_Meter(_COST, limits.max_cost_usd))
        if limits.max_tokens is not None:
            self._meters.append(_Meter(_TOKENS, limits.max_tokens))
        self._limit_s = math.inf if limits.max_hours is None else limits.max_hours * HOUR_S
        self._began = began
        self._ended = 0  # attempts that ended by themselves
        self._busy_s = 0.0  # how long they took in all
        self._called = 0  # those of them that made a model call
        self._most_running = 1  # attempts at once, as far as `may_start` was told
        self._is_outlook_told = False
        for outcome in earlier:
            self._add(outcome)
        for grade in judged:
            for meter in self._meters:
                meter.judged(grade.judge)

    @property
    def deadline(self) -> float:
        """When this session has used its hours; `math.inf` without a limit."""
        return self._began + self._limit_s

    def uses(self, key: TrialKey, usage: Usage) -> str:
        """Take what the running attempt at a trial has used so far in all; a sentence once a limit is reached."""
        for meter in self._meters:
            meter.uses(key, usage)
        return self._reached()

    def ended(self, outcome: Outcome) -> str:
        """Take the end of an attempt, whose usage replaces what was reported live; a sentence once a limit is reached.

        What was reported live stays where the outcome knows of no model call, as when its transcript was lost.
        """
        self._add(outcome, outcome.key)
        return self._reached()

    def _add(self, outcome: Outcome | OutcomeMark, key: TrialKey | None = None) -> None:
        """Take the end of an attempt; `key` is None for those of earlier sessions, of which nothing was reported live."""
        for meter in self._meters:
            meter.ended(outcome, key)
        if outcome.reason is not Reason.INTERRUPTED:
            self._ended += 1
            self._busy_s += outcome.setup_s + outcome.execution_time_s
            self._called += outcome.usage.requests > 0

    def judged(self, grade: Grade) -> str:
        """Take what grading a trial has used; a sentence once a limit is reached."""
        for meter in self._meters:
            meter.judged(grade.judge)
        return self._reached()

    def expired(self, now: float) -> str:
        """Say whether the hours are over."""
        if now < self.deadline - TIMER_SLACK_S:
            return ""
        return f"--max-hours {_time(self._limit_s)} is reached: the run has taken {_time(now - self._began)}."

    def may_start(self, now: float, *, running: int) -> str:
        """Say why no other attempt is started while `running` run; empty when one may be.

        It is when what is spent, what the running ones will come to and what another one will come to stay within
        the limits, each trial being taken for the mean of those that have ended.
        """
        if reached := self._reached() or self.expired(now):
            return reached
        for meter in self._meters:
            if why := meter.no_room(running):
                return why
        usual_s = self._busy_s / self._ended if self._ended else 0.0
        if now + usual_s > self.deadline:
            return (
                f"--max-hours {_time(self._limit_s)}: {_time(now - self._began)} have passed, and another trial would"
                f" take about {_time(usual_s)}."
            )
        self._most_running = max(self._most_running, running + 1)
        return ""

    def outlook(self, now: float, left: int) -> str:
        """Say, once, that the whole run will not stay within its limits; `left` attempts are still to be started."""
        if self._is_outlook_told or self._called < OUTLOOK_ATTEMPTS:
            return ""
        passed = [why for meter in self._meters if (why := meter.outlook(left))]
        whole_s = now - self._began + left * self._busy_s / self._ended / self._most_running
        if whole_s > self._limit_s:
            passed.append(
                f"At this rate the whole run would take about {_time(whole_s)}; --max-hours is {_time(self._limit_s)}."
            )
        self._is_outlook_told = bool(passed)
        return " ".join(passed)

    def _reached(self) -> str:
        return next((why for meter in self._meters if (why := meter.reached())), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    """What can be used up: how it is read and how it is said. `spent` and `whole` are parts of sentences."""

    option: str
    of: Callable[[Usage | UsageMark], float]
    of_judge: Callable[[JudgeGrade | JudgeMark], float]
    show: Callable[[float], str]
    spent: str
    whole: str


class _Meter:
    """One thing that is used up, and its limit."""

    def __init__(self, kind: _Kind, limit: float) -> None:
        self._kind = kind
        self._limit = limit
        self._spent = 0.0
        self._live: dict[TrialKey, float] = {}
        self._most_live = 0.0  # of one attempt: the best guess before any has ended
        self._typical = 0.0  # of all that ended by themselves and made a model call
        self._typical_count = 0
        self._judged = 0.0
        self._judged_count = 0
        self._to_judge = 0

    @property
    def _used(self) -> float:
        return self._spent + math.fsum(self._live.values())

    @property
    def _usual(self) -> float:
        """What an attempt comes to, without its judge."""
        return self._typical / self._typical_count if self._typical_count else self._most_live

    @property
    def _usual_judge(self) -> float:
        """What judging comes to, on the average of all grades, be they a judge's or not."""
        return self._judged / self._judged_count if self._judged_count else 0.0

    def uses(self, key: TrialKey, usage: Usage) -> None:
        self._live[key] = self._kind.of(usage)
        self._most_live = max(self._most_live, self._live[key])

    def ended(self, outcome: Outcome | OutcomeMark, key: TrialKey | None) -> None:
        live = self._live.pop(key, 0.0) if key is not None else 0.0
        is_known = outcome.usage.requests > 0
        used = self._kind.of(outcome.usage) if is_known else live
        self._spent += used
        self._to_judge += outcome.reason.counts
        if is_known and outcome.reason is not Reason.INTERRUPTED:
            self._typical += used
            self._typical_count += 1

    def judged(self, judge: JudgeGrade | JudgeMark | None) -> None:
        used = self._kind.of_judge(judge) if judge is not None else 0.0
        self._spent += used
        self._judged += used
        self._judged_count += 1
        self._to_judge = max(0, self._to_judge - 1)  # what an earlier session left is judged as well

    def reached(self) -> str:
        if self._used < self._limit:
            return ""
        return f"{self._kind.option} {self._kind.show(self._limit)} is reached: {self._is_spent()}."

    def no_room(self, running: int) -> str:
        """Say why there is no room for one more beside `running`: those not heard of yet have all before them."""
        rest = math.fsum(max(0.0, self._usual - used) for used in self._live.values())
        unheard = max(0, running - len(self._live))
        coming = rest + unheard * self._usual + (running + self._to_judge) * self._usual_judge
        another = self._usual + self._usual_judge
        if self._used + coming + another <= self._limit * (1 + ROUNDING):
            return ""
        show = self._kind.show
        on_its_way = f" what is on its way will take about {show(coming)} more," if coming > 0 else ""
        return (
            f"{self._kind.option} {show(self._limit)}: {self._is_spent()},{on_its_way} and another trial would take"
            f" about {show(another)}."
        )

    def outlook(self, left: int) -> str:
        running = math.fsum(max(self._usual, used) for used in self._live.values())
        to_judge = len(self._live) + self._to_judge + left
        whole = self._spent + running + left * self._usual + to_judge * self._usual_judge
        if whole <= self._limit * (1 + ROUNDING):
            return ""
        told = self._kind.whole.format(self._kind.show(whole))
        return f"At this rate the whole run would {told}; {self._kind.option} is {self._kind.show(self._limit)}."

    def _is_spent(self) -> str:
        return self._kind.spent.format(self._kind.show(self._used))


def _tokens(usage: Usage | UsageMark) -> float:
    # Not every provider sums up
    parts = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return usage.total_tokens or parts


def _judge_cost(judge: JudgeGrade | JudgeMark) -> float:
    return judge.usage.cost_usd if judge.cost_usd is None else judge.cost_usd


def _dollars(amount: float) -> str:
    """Cents, and up to four digits for what is less than some of them."""
    digits = 2 if amount >= 0.1 else 3 if amount >= 0.01 else 4  # noqa: PLR2004 - two digits that say something
    whole, _, rest = f"{amount:,.{digits}f}".partition(".")
    return f"${whole}.{rest[:2]}{rest[2:].rstrip('0')}"


def _time(seconds: float) -> str:
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / MINUTE_S), 60)
    parts = (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")
    return " ".join(filter(None, parts))


_COST = _Kind(
    option="--max-cost",
    of=lambda usage: usage.cost_usd,
    of_judge=_judge_cost,
    show=_dollars,
    spent="{} is spent",
    whole="cost about {}",
)
_TOKENS = _Kind(
    option="--max-tokens",
    of=_tokens,
    of_judge=lambda judge: _tokens(judge.usage),
    show="{:,.0f}".format,
    spent="{} tokens are used",
    whole="use about {} tokens",
)

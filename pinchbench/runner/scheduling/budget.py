"""Whether another trial is paid for: what is spent, what is on its way, and what it will come to (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.model import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from pinchbench.model import Grade, JudgeGrade, Outcome, TrialKey, Usage

OUTLOOK_ATTEMPTS = 3  # that must have ended before the whole run is forecast: one or two may be far from the usual
SHORTEST_S = 1.0  # that a trial is expected to take: what is rounded to nothing still costs something
ROUNDING = 1e-9  # of a limit: ten trials of $0.10 cost $1.00, whatever the sum of the floating-point numbers says
TIMER_SLACK_S = 0.01  # an event loop may wake up a moment early, and whoever slept until the deadline asks only then
MINUTE_S = 60
HOUR_S = 3600
UNPRICED = (
    "--max-cost can't be kept: OpenClaw knows no price for this model. Use --max-tokens, or name the model's "
    "endpoint with"
    " --base-url and its prices with --price-in and --price-out."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a run may use, its judge included; None for no limit. All are above 0."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None


@dataclass(kw_only=True, slots=True)
class _Typical:
    """What attempts come to: what `count` of them used in all, and how long they were expected to take in all."""

    used: float = 0.0
    expected_s: float = 0.0
    count: int = 0

    def add(self, used: float, expected_s: float) -> None:
        # in place: a resumed run may bring 100 000
        self.used += used
        self.expected_s += expected_s
        self.count += 1

    def of_all(self, expected_s: float) -> float:
        """What attempts come to that are expected to take so long in all."""
        return self.used / self.expected_s * expected_s if self.count else 0.0

    def of(self, expected_s: float) -> float:
        """What one attempt comes to.

        As long as few have ended, no more than the mean of them: what a short trial costs is mostly its beginning, and
        says little about a long one.
        """
        share = self.of_all(expected_s)
        return share if self.count >= OUTLOOK_ATTEMPTS or not self.count else min(share, self.used / self.count)


class Budget:
    """What a run has used and may still use. Times are monotonic seconds.

    Sentences name the option and the figures; an empty one says that there is room. Without limits all are empty.
    """

    def __init__(
        self,
        limits: Limits,
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
        self._expected_s = {task_id: max(SHORTEST_S, each_s) for task_id, each_s in expected_s.items()}
        self._mean_s = math.fsum(self._expected_s.values()) / len(self._expected_s) if self._expected_s else SHORTEST_S
        self._meters: list[_Meter] = []
        self._max_cost_usd = limits.max_cost_usd
        if limits.max_cost_usd is not None:
            self._meters.append(_Meter(_COST, limits.max_cost_usd))
        if limits.max_tokens is not None:
            self._meters.append(_Meter(_TOKENS, limits.max_tokens))
        self._limit_s = math.inf if limits.max_hours is None else limits.max_hours * HOUR_S
        self._began = began
        self._busy_s = _Typical()  # how long the attempts took that ended by themselves
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
            meter.uses(key, usage, self._expected(key.task_id))
        return self._reached() or self._unpriced(usage)

    def ended(self, outcome: Outcome) -> str:
        """Take the end of an attempt, whose usage replaces what was reported live; a sentence once a limit is reached.

        What was reported live stays where the outcome knows of no model call, as when its transcript was lost.
        """
        self._add(outcome, outcome.key)
        return self._reached() or self._unpriced(outcome.usage)

    def _unpriced(self, usage: Usage) -> str:
        """Say that a limit in dollars can't be kept, as soon as a model has answered whose price is not known."""
        if self._max_cost_usd is None or usage.known_cost_usd is not None:
            return ""
        return UNPRICED

    def _add(self, outcome: Outcome, key: TrialKey | None = None) -> None:
        """Take the end of an attempt; `key` is None for those of earlier sessions, which were not reported live."""
        expected_s = self._expected(outcome.key.task_id)
        for meter in self._meters:
            meter.ended(outcome, key, expected_s)
        if outcome.reason.is_attempt:
            self._busy_s.add(outcome.setup_s + outcome.execution_time_s, expected_s)
            self._called += outcome.paid.requests > 0

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

    def may_start(self, now: float, key: TrialKey, *, running: Collection[TrialKey]) -> str:
        """Say why no attempt at a trial is started while those at `running` run; empty when it may be.

        It may when what is spent, what the running ones will come to and what this one will come to stay within
        the limits, going by those that have ended and by how much longer or shorter it is expected to take.
        """
        if reached := self._reached() or self.expired(now):
            return reached
        expected_s = self._expected(key.task_id)
        if self._meters:
            running_s = {other: self._expected(other.task_id) for other in running}
            for meter in self._meters:
                if why := meter.no_room(expected_s, running_s):
                    return why
        usual_s = self._busy_s.of(expected_s)
        if now + usual_s > self.deadline:
            return (
                f"--max-hours {_time(self._limit_s)}: {_time(now - self._began)} have passed, and another trial would"
                f" take about {_time(usual_s)}."
            )
        self._most_running = max(self._most_running, len(running) + 1)
        return ""

    def outlook(self, now: float, left: Mapping[str, int]) -> str:
        """Say, once, that the whole run will not stay within its limits.

        `left` says how many attempts are still to be started, by task id.
        """
        if self._is_outlook_told or self._called < OUTLOOK_ATTEMPTS or not (self._meters or self._limit_s < math.inf):
            return ""
        left_s = math.fsum(count * self._expected(task_id) for task_id, count in left.items())
        passed = [why for meter in self._meters if (why := meter.outlook(left_s, sum(left.values())))]
        whole_s = now - self._began + self._busy_s.of_all(left_s) / self._most_running
        if whole_s > self._limit_s:
            passed.append(
                f"At this rate the whole run would take about {_time(whole_s)}; --max-hours is {_time(self._limit_s)}."
            )
        self._is_outlook_told = bool(passed)
        return " ".join(passed)

    def _expected(self, task_id: str) -> float:
        return self._expected_s.get(task_id, self._mean_s)

    def _reached(self) -> str:
        return next((why for meter in self._meters if (why := meter.reached())), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    """What can be used up: how it is read and how it is said. `spent` and `whole` are parts of sentences."""

    option: str
    of: Callable[[Usage], float]
    of_judge: Callable[[JudgeGrade], float]
    show: Callable[[float], str]
    spent: str
    whole: str


class _Meter:
    """One thing that is used up, and its limit."""

    def __init__(self, kind: _Kind, limit: float) -> None:
        self._kind = kind
        self._limit = limit
        self._spent = 0.0
        self._live: dict[TrialKey, _Typical] = {}
        self._most_live = _Typical()  # of one attempt: the best guess before any has ended
        self._typical = _Typical()  # of all that ended by themselves and made a model call
        self._judged = 0.0
        self._judged_count = 0
        self._to_judge = 0

    @property
    def _used(self) -> float:
        return self._spent + math.fsum(live.used for live in self._live.values())

    def _usual(self, expected_s: float) -> float:
        """What an attempt comes to, without its judge."""
        return (self._typical if self._typical.count else self._most_live).of(expected_s)

    @property
    def _usual_judge(self) -> float:
        """What judging comes to, on the average of all grades, be they a judge's or not."""
        return self._judged / self._judged_count if self._judged_count else 0.0

    def uses(self, key: TrialKey, usage: Usage, expected_s: float) -> None:
        self._live[key] = live = _Typical(used=self._kind.of(usage), expected_s=expected_s, count=1)
        self._most_live = max(self._most_live, live, key=lambda one: one.used)

    def ended(self, outcome: Outcome, key: TrialKey | None, expected_s: float) -> None:
        live = self._live.pop(key, None) if key is not None else None
        is_known = outcome.paid.requests > 0
        used = self._kind.of(outcome.paid) if is_known else live.used if live is not None else 0.0
        self._spent += used
        self._to_judge += outcome.reason.is_valid
        if is_known and outcome.reason is not Reason.INTERRUPTED:
            self._typical.add(used, expected_s)

    def judged(self, judge: JudgeGrade | None) -> None:
        used = self._kind.of_judge(judge) if judge is not None else 0.0
        self._spent += used
        self._judged += used
        self._judged_count += 1
        self._to_judge = max(0, self._to_judge - 1)  # what an earlier session left is judged as well

    def reached(self) -> str:
        if self._used < self._limit:
            return ""
        return f"{self._kind.option} {self._kind.show(self._limit)} is reached: {self._is_spent()}."

    def no_room(self, expected_s: float, running_s: Mapping[TrialKey, float]) -> str:
        """Say why there is no room for one more beside those that run: those not heard of yet have all before them.

        It is expected to take `expected_s`, and they `running_s`.
        """
        rest = math.fsum(max(0.0, self._usual(live.expected_s) - live.used) for live in self._live.values())
        unheard = math.fsum(self._usual(each_s) for key, each_s in running_s.items() if key not in self._live)
        coming = rest + unheard + (len(running_s) + self._to_judge) * self._usual_judge
        another = self._usual(expected_s) + self._usual_judge
        if self._used + coming + another <= self._limit * (1 + ROUNDING):
            return ""
        show = self._kind.show
        on_its_way = f" what is on its way will take about {show(coming)} more," if coming > 0 else ""
        return (
            f"{self._kind.option} {show(self._limit)}: {self._is_spent()},{on_its_way} and another trial would take"
            f" about {show(another)}."
        )

    def outlook(self, left_s: float, left: int) -> str:
        """Say that the whole will be too much; `left` attempts, which take `left_s` in all, are still to be started."""
        running = math.fsum(max(self._usual(live.expected_s), live.used) for live in self._live.values())
        to_judge = len(self._live) + self._to_judge + left
        whole = self._spent + running + self._typical.of_all(left_s) + to_judge * self._usual_judge
        if whole <= self._limit * (1 + ROUNDING):
            return ""
        told = self._kind.whole.format(self._kind.show(whole))
        return f"At this rate the whole run would {told}; {self._kind.option} is {self._kind.show(self._limit)}."

    def _is_spent(self) -> str:
        return self._kind.spent.format(self._kind.show(self._used))


def _tokens(usage: Usage) -> float:
    # Not every provider sums up
    parts = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return usage.total_tokens or parts


def _judge_cost(judge: JudgeGrade) -> float:
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

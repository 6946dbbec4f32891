"""What the attempts of a run use of one thing, money or tokens: so far, on its way, and to be expected (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model.ending import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinchbench.model.grade import JudgeGrade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.model.usage import Usage

FEW = 3  # attempts that must have ended before their rate counts: one or two may be far from the usual
ROUNDING = 1e-9  # of a limit: ten trials of $0.10 cost $1.00, whatever the sum of the floating-point numbers says
NEARLY = 0.9  # of a limit
MINUTE_S = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetLimits:
    """What a run may use, its judge included: USD, tokens and hours. None for no limit; all are above 0."""

    max_cost: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None


NO_LIMITS = BudgetLimits()


@dataclass(kw_only=True, slots=True)
class Typical:
    """What attempts come to: what `count` of them used in all, and how long they were expected to take in all."""

    used: float = 0.0
    expected_s: float = 0.0
    count: int = 0

    def add(self, used: float, expected_s: float) -> None:
        """Take one more attempt; in place, for a resumed run may bring 100 000."""
        self.used += used
        self.expected_s += expected_s
        self.count += 1

    def of(self, expected_s: float) -> float:
        """What an attempt that is expected to take this long will use.

        As long as few have ended, no more than the mean of them: what a short trial costs is mostly its beginning, and
        says little about a long one.
        """
        if not self.count:
            return 0.0
        share = self.used / self.expected_s * expected_s
        return share if self.count >= FEW else min(share, self.used / self.count)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """What can be used up: its limit, how it is read, and its sentences, of which `spent` is a part."""

    option: str
    limit: Callable[[BudgetLimits], float | None]
    of: Callable[[Usage], float]
    of_judge: Callable[[JudgeGrade], float]
    show: Callable[[float], str]
    spent: str

    def reached(self, limits: BudgetLimits, used: float, *, whose: str = "") -> str:
        """Say that a limit is reached; empty if not. `whose` follows the limit in the sentence."""
        limit = self.limit(limits)
        if limit is None or used < limit:
            return ""
        return f"{self.option} {self.show(limit)}{whose} is reached: {self._is_spent(used)}."

    def nearly_reached(self, limits: BudgetLimits, used: float, *, whose: str = "") -> str:
        """Say that most of a limit is used; empty if not, and once it is reached."""
        limit = self.limit(limits)
        if limit is None or not limit * NEARLY <= used < limit:
            return ""
        share = math.floor(100 * used / limit)
        return f"{share}% of {self.option} {self.show(limit)}{whose} is used: {self._is_spent(used)}."

    def no_room(self, limits: BudgetLimits, *, used: float, coming: float, another: float, whose: str = "") -> str:
        """Say why there is no room for one more trial in addition to what is used and on its way; empty if there is."""
        limit = self.limit(limits)
        if limit is None or used + coming + another <= limit * (1 + ROUNDING):
            return ""
        on_its_way = f" what is on its way will take about {self.show(coming)} more," if coming > 0 else ""
        return (
            f"{self.option} {self.show(limit)}{whose}: {self._is_spent(used)},{on_its_way} and another trial would take"
            f" about {self.show(another)}."
        )

    def _is_spent(self, used: float) -> str:
        return self.spent.format(self.show(used))


class Meter:
    """What one run uses of one thing."""

    def __init__(self, resource: Resource) -> None:
        """`resource` says of what."""
        self._resource = resource
        self._spent = 0.0
        self._live: dict[TrialKey, Typical] = {}
        self._live_used = 0.0  # of all these; reports come too often to sum up hundreds each time
        self._most_live = Typical()  # of one attempt: the best guess before any has ended
        self._typical = Typical()  # of all that ended by themselves and made a model call
        self._judged = 0.0
        self._judged_count = 0
        self._to_judge = 0

    @property
    def used(self) -> float:
        """What is used so far, that of running attempts and of the judge included."""
        return self._spent + self._live_used

    def _usual(self, expected_s: float) -> float:
        return (self._typical if self._typical.count else self._most_live).of(expected_s)

    @property
    def _usual_judge(self) -> float:
        """What judging comes to, on the average of all grades, be they a judge's or not."""
        return self._judged / self._judged_count if self._judged_count else 0.0

    def uses(self, key: TrialKey, usage: Usage, expected_s: float) -> None:
        """Take what a running attempt has used so far; it is expected to take `expected_s`."""
        before = self._live.get(key)
        self._live[key] = live = Typical(used=self._resource.of(usage), expected_s=expected_s, count=1)
        self._live_used += live.used - (before.used if before is not None else 0.0)
        self._most_live = max(self._most_live, live, key=lambda one: one.used)

    def ended(self, outcome: Outcome, key: TrialKey | None, expected_s: float) -> None:
        """Take the end of an attempt; `key` is None for one that was not reported while it ran."""
        live = self._live.pop(key, None) if key is not None else None
        self._live_used = math.fsum(one.used for one in self._live.values())  # rarely enough, and without rounding
        is_known = outcome.paid.requests > 0
        used = self._resource.of(outcome.paid) if is_known else 0.0
        is_partial = not is_known or (outcome.wire is not None and outcome.wire.unreported > 0)
        if live is not None and is_partial:  # what was not reported has been estimated
            used = max(used, live.used)
        self._spent += used
        self._to_judge += outcome.reason.is_valid
        if is_known and outcome.reason not in {Reason.INTERRUPTED, Reason.NODE_LOST}:  # those did not end by themselves
            self._typical.add(used, expected_s)

    def judged(self, judge: JudgeGrade | None) -> None:
        """Take what grading a trial has used."""
        used = self._resource.of_judge(judge) if judge is not None else 0.0
        self._spent += used
        self._judged += used
        self._judged_count += 1
        self._to_judge = max(0, self._to_judge - 1)  # what an earlier session left is judged as well

    def coming(self, running_s: Mapping[TrialKey, float]) -> float:
        """Return what the running attempts, expected to take so long, and their judge will use beyond what is used.

        Those not heard of yet have all before them.
        """
        rest = math.fsum(max(0.0, self._usual(live.expected_s) - live.used) for live in self._live.values())
        unheard = math.fsum(self._usual(each_s) for key, each_s in running_s.items() if key not in self._live)
        return rest + unheard + (len(running_s) + self._to_judge) * self._usual_judge

    def another(self, expected_s: float) -> float:
        """Return what one more attempt and its judge will use, if it is expected to take `expected_s`."""
        return self._usual(expected_s) + self._usual_judge


def _tokens(usage: Usage) -> float:
    # Not every provider sums up
    parts = usage.prompt_tokens + usage.output_tokens
    return usage.total_tokens or parts


def _judge_cost(judge: JudgeGrade) -> float:
    return judge.usage.cost_usd if judge.cost_usd is None else judge.cost_usd


def _dollars(amount: float) -> str:
    """Cents, and up to four digits for what is less than some of them."""
    digits = 2 if amount >= 0.1 else 3 if amount >= 0.01 else 4  # noqa: PLR2004 - two digits that say something
    whole, _, rest = f"{amount:,.{digits}f}".partition(".")
    return f"${whole}.{rest[:2]}{rest[2:].rstrip('0')}"


def time_text(seconds: float) -> str:
    """Return a time for a sentence, in seconds, or in hours and minutes."""
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / MINUTE_S), 60)
    parts = (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")
    return " ".join(filter(None, parts))


COST = Resource(
    option="--max-cost",
    limit=lambda limits: limits.max_cost,
    of=lambda usage: usage.cost_usd,
    of_judge=_judge_cost,
    show=_dollars,
    spent="{} is spent",
)
TOKENS = Resource(
    option="--max-tokens",
    limit=lambda limits: limits.max_tokens,
    of=_tokens,
    of_judge=lambda judge: _tokens(judge.usage),
    show="{:,.0f}".format,
    spent="{} tokens are used",
)
RESOURCES = (COST, TOKENS)

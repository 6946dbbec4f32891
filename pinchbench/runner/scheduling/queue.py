"""Which attempt is next: first attempts in their order, then retries when they are due (pure)."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, assert_never

from pinchbench.model.ending import Ending, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt, TrialKey

MAX_DELAY_S = 300.0  # of a retry: what has not passed in five minutes is for the circuit breaker
MAX_DOUBLINGS = 20  # a million times the first delay: keeps the power of two a number, however many retries there are


class Admission(StrEnum):
    """Whether a trial is made: now, perhaps later, or never."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"


class Admissions(Protocol):
    """Decides while a run works which of its trials are made."""

    def admits(self, key: TrialKey) -> Admission:
        """Return whether a trial is made; what is `NEVER` or `NOW` stays so, but for a run that is closed."""

    @property
    def is_closed(self) -> bool:
        """Whether the run makes no further trial. Until then, it may yet have to make one."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class _Retry:
    """An attempt that follows another. Sorted by `due_at`, in monotonic seconds; `order` settles ties."""

    due_at: float
    order: int
    attempt: Attempt = field(compare=False)


class AttemptQueue:
    """The attempts of a run that are still to be made.

    At most one attempt at a trial is waiting or running at any time. Times are monotonic seconds.
    """

    def __init__(
        self,
        attempts: Sequence[Attempt],
        *,
        retries: int,
        delay_s: float,
        jitter: Callable[[], float],
        used: Mapping[TrialKey, int] = MappingProxyType({}),
        admissions: Admissions | None = None,
    ) -> None:
        """`attempts` are at trials of their own, in the order in which they will be made.

        A trial that ends as infrastructure is retried at most `retries` times. Before the k-th time it waits `delay_s`
        * 2**(k-1) seconds, times what `jitter` gives (0.5 to 1.5, so that what failed together is not retried
        together), at most 300. `used` are the retries that trials of a resumed run have had. Without `admissions`,
        every trial is made.
        """
        self._first = deque(attempts)
        self._retries: list[_Retry] = []  # a heap
        self._running: set[TrialKey] = set()
        self._skipped: set[TrialKey] = set()
        self._used = dict(used)  # how many retries a trial has earned
        self._earned = 0  # how many retries there were so far, which numbers them
        self._allowance = retries
        self._delay_s = delay_s
        self._jitter = jitter
        self._admissions = admissions

    @property
    def waiting_keys(self) -> frozenset[TrialKey]:
        """The trials at which an attempt is to be made but not given out yet."""
        return frozenset(one.key for one in (*self._first, *(retry.attempt for retry in self._retries)))

    def skip(self, keys: Collection[TrialKey]) -> None:
        """Give out no attempt at these trials; one that runs is the last."""
        self._skipped |= set(keys)
        self._first = deque(one for one in self._first if one.key not in self._skipped)
        self._retries = [one for one in self._retries if one.attempt.key not in self._skipped]
        heapq.heapify(self._retries)

    def requeue(self, attempt: Attempt) -> None:
        """Give out an attempt before all that wait; none at its trial may be waiting or running.

        The trial has all its retries again.
        """
        self._skipped.discard(attempt.key)
        self._used.pop(attempt.key, None)
        self._first.appendleft(attempt)

    def coming(self, *, is_probe: bool = False) -> Attempt | None:
        """The attempt that `next`, or `probe`, gives out when the time has come; None when nothing waits."""
        if self._may_give_first(is_probe=is_probe) and not (is_probe and self._retries):
            return self._first[0]
        return self._retries[0].attempt if self._retries else None

    def next(self, now: float) -> Attempt | float | None:
        """Give out an attempt to run now, or say when to ask again, or None when there will be no more.

        `math.inf` stands for when something that runs has ended, or more is admitted. None is said while attempts are
        still running when none of them can earn a retry.
        """
        if self._may_give_first():
            return self._give_first()
        if self._retries and self._retries[0].due_at > now:
            return self._retries[0].due_at
        if self._retries:
            return self._give_retry()
        can_come_back = any(  # the first that is looked at, nearly always: no copy is made of what runs
            self._used.get(key, 0) < self._allowance for key in self._running if key not in self._skipped
        )
        may_be_admitted = self._admissions is not None and not self._admissions.is_closed
        return math.inf if can_come_back or may_be_admitted else None

    def probe(self) -> Attempt | None:
        """Give out the attempt that shows whether things work again; None when nothing waits.

        That is the retry that would come first, due or not: nothing new is spent on it. Without one, it is the next
        first attempt.
        """
        if self._retries:
            return self._give_retry()
        if self._may_give_first(is_probe=True):
            return self._give_first()
        return None

    def ended(self, attempt: Attempt, outcome: Outcome, now: float, *, is_spared: bool = False) -> bool:
        """Take the end of an attempt that was given out; whether another one at its trial will follow.

        What ended as infrastructure and `is_spared` is retried without using up a retry of the trial.
        """
        self._running.remove(attempt.key)
        if attempt.key in self._skipped:
            return False
        used = self._used.get(attempt.key, 0)
        match outcome.reason.ending:
            case Ending.INFRASTRUCTURE:
                # a replay gives the same divergence again, and a server the same window; what is too large to be kept
                # is the agent's doing
                is_lasting = outcome.reason in (Reason.DIVERGED, Reason.PROMPT_TRUNCATED) or (
                    outcome.reason is Reason.EVIDENCE_LOST and bool(outcome.not_kept)
                )
                follows = (is_spared or used < self._allowance) and not is_lasting
            case (
                Ending.COMPLETED
                | Ending.TIMED_OUT
                | Ending.AGENT_FAILED
                | Ending.UNTRUSTED
                | Ending.INTERRUPTED
                | Ending.PREREQUISITE_MISSING
            ):
                follows = False
            case ending:
                assert_never(ending)
        if follows:
            delay_s = self._delay_s * 2 ** min(used, MAX_DOUBLINGS) * self._jitter()
            self._used[attempt.key] = used if is_spared else used + 1
            again = replace(attempt, number=attempt.number + 1)
            self._earned += 1
            retry = _Retry(due_at=now + min(MAX_DELAY_S, delay_s), order=self._earned, attempt=again)
            heapq.heappush(self._retries, retry)
        return follows

    def _may_give_first(self, *, is_probe: bool = False) -> bool:
        """Drop what is not made; return whether the first of the others is made now.

        A probe may be made early: without one, a run would never learn that it can go on.
        """
        if self._admissions is None:
            return bool(self._first)
        if self._admissions.is_closed:
            self._first.clear()
            self._retries.clear()
        while self._first:
            admission = self._admissions.admits(self._first[0].key)
            if admission is not Admission.NEVER:
                return is_probe or admission is Admission.NOW
            self._first.popleft()
        return False

    def _give_first(self) -> Attempt:
        return self._given(self._first.popleft())

    def _give_retry(self) -> Attempt:
        return self._given(heapq.heappop(self._retries).attempt)

    def _given(self, attempt: Attempt) -> Attempt:
        self._running.add(attempt.key)
        return attempt

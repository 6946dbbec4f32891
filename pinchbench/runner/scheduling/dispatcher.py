"""What runs next, and what follows from an attempt's end: as retries, the provider and the budget allow (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from msgspec import UNSET

from pinchbench.model.ending import Ending, Stop
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.results import records
from pinchbench.results.statistics import is_passed
from pinchbench.runner.scheduling.diagnosis import is_busy

if TYPE_CHECKING:
    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.usage import Usage
    from pinchbench.runner.scheduling.budget import Budget, SharedBudget
    from pinchbench.runner.scheduling.circuit_breaker import CircuitBreaker
    from pinchbench.runner.scheduling.queue import AttemptQueue
    from pinchbench.runner.scheduling.rate_limit import RateLimit

BUSY = "The provider is rate-limiting: {limit} of {most} trials at once for now, and no new one for {wait_s:.0f} s."
NO_SLOTS = "Every node is lost."
BETTER = "The provider keeps up: {limit} of {most} trials at once."
PAUSED = "The run is paused, as you have asked: no trial starts before `pinchbench-async ctl {run} continue`."
CONTINUED = "Trials start again, as you have asked: {limit} of {most} at once."
SET = "At most {most} trials at once, as you have asked: {limit} for now."
FIRST_FAILURE = "{trial} did not pass (score {score:.3f}), and `-x` ends the run at the first that does not."
TOGETHER = "The runs that ask the same provider have {limit} of {most} trials at once for now."


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How many trials may run at once from now on; 0 in a pause and, with `is_end`, for good. `why` is for the user."""

    limit: int
    why: str
    is_end: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What the caller has to do."""

    retried: bool = False  # whether another attempt at the trial follows
    paces: tuple[Pace, ...] = ()  # to be recorded in this order
    notices: tuple[str, ...] = ()  # sentences for the user that change nothing
    ends_agents: bool = False  # whether the agents that run are to be stopped, for a limit is reached


class Dispatcher:
    """Decides which attempt is made when, and learns from what becomes of it. Times are monotonic seconds.

    `schedule` knows which attempt, `throttle` how many at once, `breaker` whether going on makes sense, and `budget`
    whether it is paid for; `shared` is the budget that the run has together with others. `running` are the trials that
    run, and since when. `stopped` is a sentence once the run has ended itself, and `stop` says of which kind that was.
    Nothing is done here: every call returns a `Decision`.
    """

    def __init__(
        self,
        *,
        schedule: AttemptQueue,
        throttle: RateLimit,
        breaker: CircuitBreaker,
        budget: Budget,
        shared: SharedBudget | None = None,
        run: str = "",
        run_id: str = "RUN",
        ends_below: float | None = None,
    ) -> None:
        """All but `throttle` and `shared` are this dispatcher's own from now on.

        `run` names its run in `shared`, `run_id` on a command line. The first grade below `ends_below` ends the run.
        """
        self._schedule = schedule
        self._throttle = throttle
        self._breaker = breaker
        self.budget = budget
        self._shared = shared
        self._run_id = run_id
        self._ends_below = ends_below
        self._last_limit = throttle.limit
        self.running: dict[TrialKey, float] = {}
        self._noted: dict[TrialKey, int] = {}  # how many answers of 429 a running attempt has been reported with
        self._probe: TrialKey | None = None
        self._is_paused = False  # by the user
        self._paces: list[Pace] = []  # these three: what the current call has decided so far
        self._notices: list[str] = []
        self._ends_agents = False
        self.stopped = ""
        self.stop: Stop | None = None
        if shared is not None:
            shared.join(run, budget, self.running.keys())

    @property
    def deadline(self) -> float:
        """When `expired` is to be called; `math.inf` for never."""
        return min(self.budget.deadline, math.inf if self._shared is None else self._shared.deadline)

    def next(self, now: float) -> tuple[Attempt | float | None, Decision]:
        """Return an attempt to make now, or when to ask again if nothing ends before, or None: there will be none."""
        self._cap(self._over(now))
        if self._throttle.limit != self._last_limit and self._is_open and not self.stopped:
            self._pace(self._throttle.limit, self._said(TOGETHER))
        answer = None if self.stopped else self._next(now)
        return answer, self._decided()

    def ended(self, attempt: Attempt, outcome: Outcome, now: float) -> Decision:
        """Take the end of an attempt that `next` gave out."""
        began = self.running.pop(attempt.key, now)
        self._throttle.ended()
        is_probe = self._probe == attempt.key
        if is_probe:
            self._probe = None
        is_spared = is_probe and outcome.reason.ending is Ending.INFRASTRUCTURE
        retried = self._schedule.ended(attempt, outcome, now, is_spared=is_spared)
        # what was reported while it ran is long over, and cuts no second time
        noted = self._noted.pop(attempt.key, 0)
        if outcome.rate_limits > noted or (outcome.rate_limits == 0 and is_busy(outcome)):
            self._limited(began, now)
        elif outcome.reason.is_valid and outcome.rate_limits == 0 and self._throttle.passed() and self._is_open:
            self._pace(self._throttle.limit, self._said(BETTER))
        why = self._breaker.ended(outcome, now, is_probe=is_probe)
        if why and self._breaker.state == "given up":
            self._end(why, Stop.INCONCLUSIVE)
        elif why:
            self._pace(self._throttle.limit if self._is_open else 0, why)
        self._cap(self.budget.ended(outcome) or self._over(now, outcome.usage))
        return self._decided(retried=retried)

    def uses(self, attempt: Attempt, usage: Usage, now: float) -> Decision:
        """Take what a running attempt has used so far."""
        self._cap(self.budget.uses(attempt.key, usage) or self._over(now, usage))
        return self._decided()

    def limited(self, attempt: Attempt, now: float) -> Decision:
        """Take note that the provider has sent a running attempt away for now."""
        self._noted[attempt.key] = self._noted.get(attempt.key, 0) + 1
        self._limited(self.running.get(attempt.key, now), now)
        return self._decided()

    def judged(self, grade: Grade, now: float) -> Decision:
        """Take a grade, and what a judge has used for it."""
        self._cap(self.budget.judged(grade) or self._over(now))
        if self._ends_below is not None and grade.score is not None and not is_passed(grade.score, self._ends_below):
            self._end(FIRST_FAILURE.format(trial=grade.key, score=grade.score), Stop.FAILURE)
            self._ends_agents = True
        return self._decided()

    def expired(self, now: float) -> Decision:
        """End the run if its hours are over, or what it shares with others is used up."""
        self._cap(self.budget.expired(now) or self._over(now))
        return self._decided()

    def slots_lost(self) -> Decision:
        """End the run, if attempts are left, because there is no slot for them."""
        if self._schedule.coming(is_probe=True) is not None:
            self._end(NO_SLOTS, Stop.INCONCLUSIVE)
        return self._decided()

    @property
    def waiting(self) -> frozenset[TrialKey]:
        """The trials at which an attempt is to be made but has not begun."""
        return self._schedule.waiting_keys

    @property
    def limit(self) -> int:
        """How many trials may run at once; 0 while the run is paused, by the user or by itself, or has ended itself."""
        return self._throttle.limit if self._is_open and not self.stopped else 0

    @property
    def why_waiting(self) -> str:
        """Why the run has paused itself; empty if it has not."""
        return self._breaker.why

    def apply(  # noqa: C901 - a case for each
        self, record: records.Control, now: float, attempt: Attempt | None = None
    ) -> Decision:
        """Do what a user has asked for; `attempt` is the one that is asked for, whose trial neither waits nor runs."""
        match record:
            case records.RunPaused():
                self._is_paused = True
                self._pace(0, PAUSED.format(run=self._run_id))
            case records.RunContinued():  # where the run has paused itself, a trial shows now whether things work
                self._is_paused = False
                self._breaker.try_now(now)
                if self._is_open:
                    self._pace(self._throttle.limit, self._said(CONTINUED))
            case records.ConcurrencySet(concurrency=most):
                self._throttle.set_most(most)
                if self._is_open:
                    self._pace(self._throttle.limit, self._said(SET))
            case records.BudgetSet(max_cost=max_cost, max_tokens=max_tokens):
                given = {"max_cost": max_cost, "max_tokens": max_tokens}
                self._cap(
                    self.budget.set_limits(**{name: limit for name, limit in given.items() if limit is not UNSET})
                )
            case records.TrialsSkipped(keys=keys):
                self._schedule.skip(keys)
            case records.TrialStopped(key=key):
                self._schedule.skip([key])
            case records.TrialRequeued() if attempt is not None:
                self._schedule.requeue(attempt)
            case records.TrialRequeued() | records.NoteAdded() | records.GradeOverridden():
                pass
            case _:
                assert_never(record)
        return self._decided()

    def _said(self, sentence: str) -> str:
        return sentence.format(limit=self._throttle.limit, most=self._throttle.most)

    @property
    def _is_open(self) -> bool:
        """Whether trials start, as far as the provider keeps up."""
        return self._breaker.state == "closed" and not self._is_paused

    def _next(self, now: float) -> Attempt | float | None:
        if self._is_paused and self._schedule.coming(is_probe=True) is not None:
            return math.inf
        if self._breaker.state != "closed":
            return self._next_probe(now)
        # a run that needs nothing more is answered so, even at the limit, which other runs share: nobody wakes a
        # run that has left
        if (coming := self._schedule.coming()) is not None:
            if self._throttle.is_full:
                return math.inf
            if now < self._throttle.not_before:
                return self._throttle.not_before
            if not self._is_paid(coming, now):
                return None if self.stopped else math.inf
        answer = self._schedule.next(now)
        if isinstance(answer, Attempt):
            self._begin(answer, now)
        return answer

    def _begin(self, attempt: Attempt, now: float) -> None:
        self.running[attempt.key] = now
        self._throttle.began()

    def _next_probe(self, now: float) -> Attempt | float | None:
        """As `_next` while the breaker is open. Running attempts are not awaited: that may take many minutes."""
        if self._breaker.state == "probing":
            return math.inf
        coming = self._schedule.coming(is_probe=True)
        if coming is None:
            if self.running:
                return math.inf  # one of them may earn a retry
            if not self._breaker.works:
                self._end(self._breaker.why, Stop.INCONCLUSIVE)
            return None
        if now < self._breaker.resume_at:
            return self._breaker.resume_at
        if not self._is_paid(coming, now):
            return None if self.stopped else math.inf
        attempt = self._schedule.probe()
        if attempt is not None:
            self._breaker.probing()
            self._probe = attempt.key
            self._begin(attempt, now)
        return attempt

    def _is_paid(self, attempt: Attempt, now: float) -> bool:
        """Return whether the budgets have room for it; if not, and nothing running could change that, the run ends."""
        why = self.budget.may_start(now, attempt.key, running=self.running.keys())
        is_last = not self.running
        if not why and self._shared is not None:
            why = self._shared.may_start(now, attempt.key.task_id)
            is_last = not self._shared.is_running
        if why and is_last:
            self._end(why, Stop.BUDGET)
        return not why

    def _over(self, now: float, usage: Usage | None = None) -> str:
        """Say that what the run shares with others is used up, unless the run needs nothing more."""
        if self._shared is None or not (self.running or self._schedule.coming()):
            return ""
        return self._shared.over(now, usage)

    def _limited(self, began: float, now: float) -> None:
        if self._throttle.limited(began, now) and self._is_open:
            limit, most = self._throttle.limit, self._throttle.most
            self._pace(limit, BUSY.format(limit=limit, most=most, wait_s=self._throttle.not_before - now))

    def _cap(self, why: str) -> None:
        """End the run with all that runs, when `why` says that a limit is reached; say so before it is."""
        self._notices += self.budget.nearly_used() + (() if self._shared is None else self._shared.nearly_used())
        if why:
            self._end(why, Stop.BUDGET)
            self._ends_agents = True

    def _end(self, why: str, stop: Stop) -> None:
        """No more attempts; the first reason counts."""
        if not self.stopped:
            self.stopped, self.stop = why, stop
            self._pace(0, why, is_end=True)

    def _pace(self, limit: int, why: str, *, is_end: bool = False) -> None:
        self._last_limit = limit
        self._paces.append(Pace(limit=limit, why=why, is_end=is_end))

    def _decided(self, *, retried: bool = False) -> Decision:
        """Return what the call has decided, and begin anew."""
        paces, notices, ends_agents = tuple(self._paces), tuple(self._notices), self._ends_agents
        self._paces, self._notices, self._ends_agents = [], [], False
        return Decision(retried=retried, paces=paces, notices=notices, ends_agents=ends_agents)

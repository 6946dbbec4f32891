"""Attempts on their way to the slots: retries, pauses, the provider's limits and the budget, on a virtual clock."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import anyio
import pytest
from anyio import create_task_group

from fakes import attempts
from pinchbench.model.ending import Reason, Stop
from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType
from pinchbench.model.trial import Attempt
from pinchbench.model.usage import Usage
from pinchbench.results.records import (
    BudgetSet,
    ConcurrencySet,
    PaceSet,
    Record,
    RunContinued,
    RunPaused,
    TrialFinished,
)
from pinchbench.runner.run_control import RunControl
from pinchbench.runner.scheduling.budget import Budget, SharedBudget
from pinchbench.runner.scheduling.circuit_breaker import CircuitBreaker
from pinchbench.runner.scheduling.dispatcher import TOGETHER, Decision, Dispatcher, Pace
from pinchbench.runner.scheduling.meter import BudgetLimits
from pinchbench.runner.scheduling.queue import AttemptQueue
from pinchbench.runner.scheduling.rate_limit import RateLimit
from pinchbench.runner.signals import Interrupt

pytestmark = pytest.mark.virtual_clock

DELAY_S = 10.0
TRIAL_S = 60.0
REFUSED = "401 invalid api key"
BUSY = "429 too many requests"


def a_dispatcher(
    trials: int = 4,
    *,
    slots: int = 2,
    retries: int = 0,
    limits: BudgetLimits = BudgetLimits(),  # noqa: B008 - frozen
    began: float = 0.0,
    fail_fast: bool = False,
    throttle: RateLimit | None = None,
    shared: SharedBudget | None = None,
    run: str = "",
    ends_below: float | None = None,
) -> Dispatcher:
    return Dispatcher(
        schedule=AttemptQueue(attempts(trials), retries=retries, delay_s=DELAY_S, jitter=steady),
        throttle=throttle or RateLimit(slots, delay_s=DELAY_S, jitter=steady),
        breaker=CircuitBreaker(enabled=fail_fast, delay_s=DELAY_S, jitter=steady),
        budget=Budget(limits, began=began),
        shared=shared,
        run=run,
        ends_below=ends_below,
    )


def steady() -> float:
    """The factor of a delay."""
    return 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """The end of an attempt: how many run at that moment, itself included, and when it is."""

    attempt: Attempt
    running: int
    now: float


class Bench:
    """A dispatcher, workers that take `TRIAL_S` an attempt, and a world that says how each attempt ends."""

    def __init__(
        self,
        ends: Callable[[Moment], Outcome],
        *,
        trials: int = 8,
        slots: int = 4,
        retries: int = 2,
        limits: BudgetLimits = BudgetLimits(),  # noqa: B008 - frozen
        fail_fast: bool = True,
        took_s: dict[str, float] | None = None,
    ) -> None:
        self.interrupt = Interrupt()
        self.paces: list[tuple[float, int, str]] = []
        self.made: list[tuple[float, str, int]] = []
        self.reasons: list[Reason] = []
        self.retried: list[bool] = []
        self.most = 0
        self._running = 0
        self._ends = ends
        self._slots = slots
        self._took_s = took_s or {}

        self.began = anyio.current_time()
        self.dispatcher = a_dispatcher(
            trials, slots=slots, retries=retries, limits=limits, began=self.began, fail_fast=fail_fast
        )
        self.control = RunControl(self.dispatcher, record=self._record, interrupt=self.interrupt, tell=lambda _: None)

    def _record(self, record: Record) -> None:
        if isinstance(record, PaceSet):
            self.paces.append((anyio.current_time(), record.limit, record.why))
            assert record.is_end == (record.why == self.dispatcher.stopped)
        elif isinstance(record, TrialFinished):
            self.retried.append(record.retried)

    async def run(self) -> None:
        async with create_task_group() as watch:
            watch.start_soon(self.control.end_at_deadline)
            watch.start_soon(self.control.end_on_stop)
            async with create_task_group() as workers:
                for _ in range(self._slots):
                    workers.start_soon(self._work)
            watch.cancel_scope.cancel()

    async def _work(self) -> None:
        while (attempt := await self.control.take()) is not None:
            self.made.append((anyio.current_time() - self.began, attempt.key.task_id, attempt.number))
            self._running += 1
            self.most = max(self.most, self._running)
            took_s = self._took_s.get(attempt.key.task_id, TRIAL_S)
            with anyio.move_on_after(took_s) as limit:
                await self.interrupt.stop.wait()
            outcome = self._ends(Moment(attempt=attempt, running=self._running, now=anyio.current_time() - self.began))
            if not limit.cancelled_caught:
                outcome = Outcome(key=attempt.key, reason=Reason.INTERRUPTED, digest="", usage=outcome.usage)
            self._running -= 1
            self.reasons.append(outcome.reason)
            self.control.ended(attempt, outcome)


def ended(attempt: Attempt, reason: Reason = Reason.COMPLETED, *, note: str = "", cost: float = 0.0) -> Outcome:
    return Outcome(
        key=attempt.key,
        reason=reason,
        digest="",
        attempt=attempt.number,
        note=note,
        execution_time_s=TRIAL_S,
        usage=Usage(requests=1, total_tokens=1000, cost_usd=cost),
    )


def test_what_follows_from_the_end_of_an_attempt_is_a_value_and_nothing_is_done() -> None:
    dispatcher = a_dispatcher(3, retries=2, limits=BudgetLimits(max_cost=1.0))
    first, nothing = dispatcher.next(0.0)
    assert isinstance(first, Attempt)
    assert nothing == Decision()
    busy = ended(first, Reason.PROVIDER_ERROR, note=BUSY, cost=0.1)
    decision = dispatcher.ended(first, busy, TRIAL_S)
    assert decision.retried
    assert [pace.limit for pace in decision.paces] == [1]
    assert not decision.ends_agents
    assert dispatcher.next(TRIAL_S) == (TRIAL_S + DELAY_S, Decision())
    second, _ = dispatcher.next(TRIAL_S + DELAY_S)
    assert isinstance(second, Attempt)
    decision = dispatcher.uses(second, Usage(requests=1, cost_usd=1.5), TRIAL_S + DELAY_S)
    assert decision.ends_agents
    assert decision.paces == (Pace(limit=0, why=dispatcher.stopped, is_end=True),)
    assert dispatcher.next(2 * TRIAL_S) == (None, Decision())


async def test_all_attempts_are_made_as_many_at_once_as_there_are_slots() -> None:
    bench = Bench(lambda at: ended(at.attempt))
    await bench.run()
    assert [task for _, task, _ in bench.made] == [f"task_{number}" for number in range(8)]
    assert bench.most == 4
    assert anyio.current_time() - bench.began == pytest.approx(2 * TRIAL_S)
    assert (bench.paces, bench.dispatcher.stopped) == ([], "")


async def test_a_run_that_can_not_work_is_paused_probed_once_and_given_up_as_inconclusive() -> None:
    bench = Bench(lambda at: ended(at.attempt, Reason.PROVIDER_ERROR, note=REFUSED), trials=100)
    await bench.run()
    assert bench.dispatcher.stop is Stop.INCONCLUSIVE
    assert "is it set, valid" in bench.dispatcher.stopped
    assert len(bench.made) == 5  # four at once, and one to see whether it was a bad moment
    assert [limit for _, limit, _ in bench.paces] == [0, 0]
    assert bench.paces[-1][2] == bench.dispatcher.stopped
    assert not bench.interrupt.stop.is_set()


def failing_beside(slow: Callable[[Moment], Outcome], working_from_s: float) -> Callable[[Moment], Outcome]:
    """An outage until `working_from_s`; task_0 ends as `slow` says, whenever it does."""

    def ends(at: Moment) -> Outcome:
        if at.attempt.key.task_id == "task_0":
            return slow(at)
        is_out = at.now <= working_from_s
        return ended(at.attempt, Reason.PROVIDER_ERROR if is_out else Reason.COMPLETED, note="503 unavailable")

    return ends


@pytest.mark.parametrize("reason", [Reason.COMPLETED, Reason.PROVIDER_ERROR, Reason.TIMED_OUT])
async def test_a_probe_starts_when_it_was_announced_although_a_trial_still_runs(reason: Reason) -> None:
    slow = failing_beside(lambda at: ended(at.attempt, reason, note="429 too many requests"), 2.5 * TRIAL_S)
    bench = Bench(slow, trials=20, took_s={"task_0": 10 * TRIAL_S})
    await bench.run()
    paused = [(when - bench.began, why) for when, limit, why in bench.paces if limit == 0]
    announced = [(when, re.findall(r"in (\d+) s\.", why)) for when, why in paused]
    assert announced[:2] == [(TRIAL_S, ["10"]), (2 * TRIAL_S + DELAY_S, ["40"])]
    started = [when for when, _, _ in bench.made]
    assert all(when + float(in_s) in started for when, [in_s] in announced)
    assert (
        max(when for when, task, _ in bench.made if task != "task_0") < 10 * TRIAL_S
    )  # and once it worked, the others did not wait for the slow one either


async def test_a_probe_that_the_budget_has_no_room_for_starts_when_it_has() -> None:
    def ends(at: Moment) -> Outcome:
        cost = 1e-6 if at.attempt.key.task_id == "task_0" else 0.3
        return ended(at.attempt, Reason.PROVIDER_ERROR, note=REFUSED, cost=cost)

    bench = Bench(ends, slots=4, trials=4, took_s={"task_0": 5 * TRIAL_S}, limits=BudgetLimits(max_cost=1.45))
    await bench.run()
    assert bench.made[4][0] == pytest.approx(5 * TRIAL_S)


async def test_a_run_outlasts_an_outage_of_minutes_and_loses_no_trial() -> None:
    def ends(at: Moment) -> Outcome:
        is_out = 2 * TRIAL_S < at.now <= 8 * TRIAL_S
        return ended(at.attempt, Reason.PROVIDER_ERROR if is_out else Reason.COMPLETED, note="503 unavailable")

    bench = Bench(ends, trials=40)
    await bench.run()
    assert bench.dispatcher.stopped == ""
    assert bench.reasons.count(Reason.COMPLETED) == 40
    assert bench.reasons.count(Reason.PROVIDER_ERROR) < 20
    assert [limit for _, limit, _ in bench.paces][-1] == 4


async def test_a_provider_that_serves_only_two_at_once_gets_fewer_and_then_more_again() -> None:
    def ends(at: Moment) -> Outcome:
        if at.running > 2:
            return ended(at.attempt, Reason.PROVIDER_ERROR, note=BUSY)
        return ended(at.attempt)

    bench = Bench(ends, trials=60, slots=8, retries=20, fail_fast=False)
    await bench.run()
    assert bench.reasons.count(Reason.COMPLETED) == 60
    limits = [limit for _, limit, _ in bench.paces]
    assert limits[0] == 4
    assert min(limits) >= 1
    assert any(after > before for before, after in pairwise(limits))


async def test_money_is_not_spent_beyond_the_limit() -> None:
    bench = Bench(lambda at: ended(at.attempt, cost=0.10), trials=100, slots=1, limits=BudgetLimits(max_cost=1.0))
    await bench.run()
    assert len(bench.made) == 10
    assert bench.dispatcher.stop is Stop.BUDGET
    assert "--max-cost" in bench.dispatcher.stopped
    assert not bench.interrupt.stop.is_set()


async def test_what_runs_is_ended_at_the_limit_itself() -> None:
    bench = Bench(lambda at: ended(at.attempt, cost=5.0), trials=8, slots=2, limits=BudgetLimits(max_cost=1.0))
    async with create_task_group() as group:
        group.start_soon(bench.run)
        await anyio.sleep(1)
        bench.control.uses(attempts(1)[0], Usage(requests=1, cost_usd=1.5))
    assert bench.interrupt.stop.is_set()
    assert bench.reasons == [Reason.INTERRUPTED, Reason.INTERRUPTED]
    assert bench.dispatcher.stop is Stop.BUDGET


async def test_a_trial_that_takes_too_long_is_ended_when_the_hours_are_over() -> None:
    bench = Bench(lambda at: ended(at.attempt), trials=4, slots=2, limits=BudgetLimits(max_hours=30 / 3600))
    await bench.run()
    assert bench.reasons == [Reason.INTERRUPTED, Reason.INTERRUPTED]
    assert anyio.current_time() - bench.began == pytest.approx(30)


def given(dispatcher: Dispatcher, now: float = 0.0) -> Attempt:
    attempt, _ = dispatcher.next(now)
    assert isinstance(attempt, Attempt)
    return attempt


def test_dispatchers_of_one_provider_share_its_rate_limit_and_each_says_so() -> None:
    throttle = RateLimit(4, delay_s=DELAY_S, jitter=steady)
    one, other = (a_dispatcher(3, throttle=throttle) for _ in range(2))
    first, _, second, _ = (given(dispatcher) for dispatcher in (one, one, other, other))
    assert one.next(0.0) == (math.inf, Decision())  # four run, whosever they are
    assert [pace.limit for pace in one.limited(first, 1.0).paces] == [2]
    assert other.ended(second, ended(second), 2.0) == Decision()
    answer, decision = other.next(2.0)
    assert answer == math.inf  # it has one trial, and the other run two
    assert decision.paces == (Pace(limit=2, why=TOGETHER.format(limit=2, most=4)),)


def test_a_run_that_needs_nothing_more_does_not_wait_for_the_trials_of_others_that_share_its_rate_limit() -> None:
    throttle = RateLimit(1, delay_s=DELAY_S, jitter=steady)
    short, long = (a_dispatcher(trials, throttle=throttle) for trials in (1, 2))
    only = given(short)
    short.ended(only, ended(only), 1.0)
    given(long, 1.0)
    assert long.next(1.0)[0] == math.inf
    assert short.next(1.0)[0] is None


def test_a_shared_budget_ends_a_run_with_its_agents_and_leaves_one_alone_that_needs_nothing_more() -> None:
    shared = SharedBudget(BudgetLimits(max_cost=1.0), began=0.0)
    one, other, short = (
        a_dispatcher(trials, shared=shared, run=name) for name, trials in (("one", 2), ("other", 2), ("short", 1))
    )
    last, first, second = (given(dispatcher) for dispatcher in (short, one, other))
    assert short.ended(last, ended(last, cost=0.3), 1.0) == Decision()
    assert one.uses(first, Usage(requests=1, cost_usd=0.3), 2.0) == Decision()
    assert other.uses(second, Usage(requests=1, cost_usd=0.3), 2.0) == Decision()
    assert one.next(2.0) == (math.inf, Decision())  # what runs may use up the rest
    assert other.uses(second, Usage(requests=1, cost_usd=0.5), 3.0).ends_agents
    assert one.expired(3.0).ends_agents
    assert one.stopped == other.stopped == "--max-cost $1.00 of the experiment is reached: $1.10 is spent."
    assert short.expired(3.0) == Decision()
    assert short.stop is None


def test_a_paused_run_starts_nothing_whatever_the_provider_does_and_continues_when_asked_to() -> None:
    dispatcher = a_dispatcher()
    first = given(dispatcher)
    [pace] = dispatcher.apply(RunPaused(at=0.0), 0.0).paces
    assert (pace.limit, pace.is_end) == (0, False)
    assert dispatcher.limit == 0
    assert dispatcher.next(1.0) == (math.inf, Decision())
    assert dispatcher.limited(first, 1.0).paces == ()  # it is reported when the run goes on
    [pace] = dispatcher.apply(RunContinued(at=0.0), 3.0).paces
    assert pace.limit == dispatcher.limit == 1
    dispatcher.apply(RunPaused(at=0.0), 0.0)
    dispatcher.ended(first, ended(first), 4.0)
    assert dispatcher.next(1000.0)[0] == math.inf
    dispatcher.apply(RunContinued(at=0.0), 1000.0)
    given(dispatcher, 1000.0)


def test_a_run_that_has_paused_itself_retries_at_once_when_asked_to_continue() -> None:
    dispatcher = a_dispatcher(fail_fast=True)
    refused = given(dispatcher)
    decision = dispatcher.ended(refused, ended(refused, Reason.PROVIDER_ERROR, note="401 invalid api key"), 1.0)
    assert [pace.limit for pace in decision.paces] == [0]
    due = dispatcher.next(1.0)[0]
    assert isinstance(due, float)
    assert due > 1.0
    assert dispatcher.why_waiting
    dispatcher.apply(RunContinued(at=0.0), 1.0)
    given(dispatcher, 1.0)


def test_fewer_run_at_once_when_the_user_says_so_and_as_many_as_before_when_he_takes_it_back() -> None:
    dispatcher = a_dispatcher(slots=3)
    given(dispatcher)
    [pace] = dispatcher.apply(ConcurrencySet(at=0.0, concurrency=1), 0.0).paces
    assert pace.limit == 1
    assert dispatcher.next(0.0)[0] == math.inf
    dispatcher.apply(ConcurrencySet(at=0.0, concurrency=3), 0.0)
    given(dispatcher)
    given(dispatcher)
    assert dispatcher.next(0.0)[0] == math.inf


def test_a_budget_that_is_used_up_ends_the_run_and_a_higher_one_makes_room() -> None:
    dispatcher = a_dispatcher(limits=BudgetLimits(max_cost=1.0))
    first = given(dispatcher)
    decision = dispatcher.uses(first, Usage(requests=1, total_tokens=1, cost_usd=0.9), 1.0)
    assert decision.notices == ("90% of --max-cost $1.00 is used: $0.90 is spent.",)
    assert dispatcher.next(1.0)[0] == math.inf
    assert dispatcher.apply(BudgetSet(at=0.0, max_cost=10.0), 1.0) == Decision()
    given(dispatcher, 1.0)
    decision = dispatcher.apply(BudgetSet(at=0.0, max_cost=0.5), 1.0)
    assert decision.ends_agents
    assert dispatcher.stop is Stop.BUDGET


@pytest.mark.parametrize(("score", "is_end"), [(0.8, False), (None, False), (0.79, True)])
def test_the_first_grade_below_the_threshold_ends_a_run_that_is_to_end_there(
    score: float | None, *, is_end: bool
) -> None:
    dispatcher = a_dispatcher(ends_below=0.8)
    first, second = given(dispatcher), given(dispatcher)
    dispatcher.ended(first, ended(first), 1.0)

    decision = dispatcher.judged(Grade(key=first.key, grading_type=GradingType.AUTOMATED, score=score), 2.0)

    assert decision.ends_agents is is_end
    assert dispatcher.stop is (Stop.FAILURE if is_end else None)
    dispatcher.ended(second, ended(second), 3.0)
    assert (dispatcher.next(3.0)[0] is None) is is_end

"""The order in which trials are started: longest expected first, the same each time, and a short tail."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio import create_task_group
from hypothesis import given
from hypothesis import strategies as st

from bench.start_order import high, lower_bound, make_world, makespan, ordered, planned, ratios
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.task import GradingType, Task
from pinchbench.model.trial import Attempt
from pinchbench.runner.control import RunControl
from pinchbench.runner.scheduling.budget import Budget
from pinchbench.runner.scheduling.circuit_breaker import CircuitBreaker
from pinchbench.runner.scheduling.dispatcher import Dispatcher
from pinchbench.runner.scheduling.expected import expected_durations
from pinchbench.runner.scheduling.meter import BudgetLimits
from pinchbench.runner.scheduling.past_durations import PastTrial
from pinchbench.runner.scheduling.plan import plan_trials
from pinchbench.runner.scheduling.queue import AttemptQueue
from pinchbench.runner.scheduling.rate_limit import RateLimit
from pinchbench.runner.scheduling.start_order import start_order
from pinchbench.runner.signals import Interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trio.testing import MockClock

    from bench.start_order import World

GOAL = 1.05  # of the lower bound
SEEDS = range(40)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Time passes at once where everybody waits for it."""
    from trio.testing import MockClock  # noqa: PLC0415

    clock: MockClock = MockClock(autojump_threshold=0)
    return "trio", {"clock": clock}


def attempts(limits_s: Mapping[str, float], *, runs: int = 1) -> list[Attempt]:
    tasks = [
        Task(
            task_id=task_id,
            name="",
            category="",
            grading_type=GradingType.AUTOMATED,
            prompt="",
            turns=(),
            timeout_s=limit_s,
            digest="now",
        )
        for task_id, limit_s in limits_s.items()
    ]
    return [Attempt(trial=trial) for trial in plan_trials(tasks, runs=runs, timeout_multiplier=1.0)]


def took(task_id: str, seconds: float, *, digest: str = "now", same_model: bool = True) -> PastTrial:
    return PastTrial(task_id=task_id, digest=digest, took_s=seconds, same_model=same_model)


def expected(limits_s: Mapping[str, float], *past: PastTrial) -> dict[str, float]:
    return expected_durations([attempt.trial for attempt in attempts(limits_s)], past)


def names(order: Sequence[Attempt]) -> list[str]:
    return [str(attempt.key) for attempt in order]


def started(
    limits_s: Mapping[str, float],
    *,
    runs: int = 1,
    slots: int = 1,
    first: Sequence[str] = (),
    seed: int | None = None,
    expected_s: Mapping[str, float] | None = None,
) -> list[str]:
    all_of_them = attempts(limits_s, runs=runs)
    return names(start_order(all_of_them, expected_s=expected_s or {}, slots=slots, first=first, seed=seed))


def test_differences_below_a_second_are_chance() -> None:
    limits_s = {"task_a": 100, "task_b": 100}
    past = [took("task_a", 9.8), took("task_b", 10.3)]
    assert started(limits_s, expected_s=expected(limits_s, *past)) == ["task_a", "task_b"]


@pytest.mark.parametrize("slots", [1, 2, 64])
def test_the_longest_is_started_first_by_limits_where_no_history_tells(slots: int) -> None:
    assert started({"task_a": 60, "task_b": 300, "task_c": 120}, slots=slots) == ["task_b", "task_c", "task_a"]


def test_what_is_expected_counts_and_not_the_limit() -> None:
    limits_s = {"task_a": 60, "task_b": 300, "task_c": 120}
    assert started(limits_s, expected_s={"task_a": 50, "task_b": 5, "task_c": 20}) == ["task_a", "task_c", "task_b"]


@pytest.mark.parametrize("sanity", ["task_00_sanity", "task_sanity"])
def test_the_sanity_task_and_those_that_run_first_do_so_once_in_their_order_however_short(sanity: str) -> None:
    limits_s = {"task_long": 900, "task_y": 5, sanity: 1, "task_x": 7}
    order = started(limits_s, runs=2, slots=4, first=("task_y", "task_x", "task_of_another_selection"))
    assert order[:3] == [sanity, "task_y", "task_x"]
    assert order[3:] == ["task_long", "task_long@2", "task_x@2", "task_y@2", f"{sanity}@2"]


def test_repetitions_stay_whole_where_the_longest_trial_fits_into_the_last_one() -> None:
    limits_s = {"task_a": 20, "task_b": 30, "task_c": 20, "task_d": 30}
    whole = ["task_b", "task_d", "task_a", "task_c", "task_b@2", "task_d@2", "task_a@2", "task_c@2"]
    assert started(limits_s, runs=2, slots=1) == whole
    assert started(limits_s, runs=2, slots=2) == whole


def test_repetitions_mix_where_the_longest_trial_would_be_the_end_of_the_run() -> None:
    limits_s = {"task_a": 20, "task_b": 300, "task_c": 20}
    mixed = ["task_b", "task_b@2", "task_a", "task_c", "task_a@2", "task_c@2"]
    assert started(limits_s, runs=2, slots=2) == mixed
    assert started(limits_s, runs=2, slots=1)[:3] == ["task_b", "task_a", "task_c"], "one slot has no such end"


def unequal(often: Mapping[str, int], limits_s: Mapping[str, float], *, slots: int) -> list[str]:
    """Return the start order of tasks that have different numbers of trials."""
    given = [one for task, runs in often.items() for one in attempts({task: limits_s[task]}, runs=runs)]
    return [str(one.key) for one in start_order(given, expected_s={}, slots=slots)]


def test_with_different_numbers_of_trials_each_repetition_has_to_end_evenly() -> None:
    limits_s = {"task_a": 20, "task_b": 30, "task_c": 20, "task_d": 30, "task_long": 100}
    often = {"task_a": 3, "task_b": 3, "task_c": 3, "task_d": 3, "task_long": 1}
    whole = ["task_long", "task_b", "task_d", "task_a", "task_c"]
    for number in (2, 3):
        whole += [f"{task}@{number}" for task in ("task_b", "task_d", "task_a", "task_c")]
    assert unequal(often, limits_s, slots=2) == whole, "the long one is over before the others are"
    mixed = unequal({**often, "task_long": 4}, limits_s, slots=2)
    assert mixed[:4] == ["task_long", "task_long@2", "task_long@3", "task_long@4"]


def test_equals_stay_in_the_plans_order_unless_a_seed_shuffles_them_the_same_way_each_time() -> None:
    limits_s = {**{f"task_{number}": 60.0 for number in range(20)}, "task_long": 90.0}
    plain = started(limits_s)
    assert plain == ["task_long", *(f"task_{number}" for number in range(20))]
    shuffled = started(limits_s, seed=0)
    assert shuffled != plain
    assert (shuffled[0], sorted(shuffled)) == ("task_long", sorted(plain))
    assert started(limits_s, seed=0) == shuffled
    assert started(limits_s, seed=1) not in (shuffled, plain)
    del limits_s["task_7"]
    assert started(limits_s, seed=0) == [name for name in shuffled if name != "task_7"], "as when a run is resumed"


@given(
    limits_s=st.dictionaries(st.sampled_from([f"task_{n}" for n in range(9)]), st.floats(0.1, 1e6), max_size=9),
    runs=st.integers(1, 4),
    slots=st.integers(1, 9),
    seed=st.none() | st.integers(0, 9),
    past=st.lists(
        st.builds(
            took,
            st.sampled_from([f"task_{n}" for n in range(12)]),
            st.floats(0, 1e9),
            digest=st.sampled_from(["now", "old"]),
            same_model=st.booleans(),
        ),
        max_size=12,
    ),
)
def test_every_attempt_is_started_once_and_no_longer_one_after_a_shorter_one_of_its_repetition(
    limits_s: dict[str, float], runs: int, slots: int, seed: int | None, past: list[PastTrial]
) -> None:
    given_ = attempts(limits_s, runs=runs)
    expected_s = expected_durations([attempt.trial for attempt in given_], past)
    order = start_order(given_, expected_s=expected_s, slots=slots, seed=seed)
    assert sorted(names(order)) == sorted(names(given_))
    assert expected_s == {} or expected_s.keys() == limits_s.keys()
    for number in range(1, runs + 1):
        lengths = [
            expected_s.get(one.key.task_id, one.trial.timeout_s) for one in order if one.key.repetition == number
        ]
        assert all(math.isfinite(one) for one in lengths)
        assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize(("tasks", "slots", "runs"), [(43, 4, 1), (43, 16, 1), (150, 4, 1), (150, 16, 1), (43, 4, 3)])
def test_with_history_a_run_takes_at_most_a_twentieth_longer_than_any_order_could(
    tasks: int, slots: int, runs: int
) -> None:
    found = ratios(SEEDS, tasks=tasks, slots=slots, runs=runs)
    for name in ("1 earlier run", "3 earlier runs"):
        assert median(found[name]) <= high(found[name]) <= GOAL
        assert median(found[name]) < median(found["plan order"])
        assert high(found[name]) < high(found["plan order"])
    assert median(found["by limits"]) < median(found["plan order"])


async def real_makespan(world: World, order: Sequence[Attempt], *, slots: int) -> float:
    """How long the run takes with the dispatcher of a real one, in seconds of its clock."""

    def jitter() -> float:
        return 1.0

    dispatcher = Dispatcher(
        schedule=AttemptQueue(order, retries=2, retry_timeouts=False, delay_s=10, jitter=jitter),
        throttle=RateLimit(slots, delay_s=10, jitter=jitter),
        breaker=CircuitBreaker(enabled=True, delay_s=10, jitter=jitter),
        budget=Budget(BudgetLimits(), began=anyio.current_time()),
    )
    control = RunControl(dispatcher, record=lambda _: None, interrupt=Interrupt(), tell=lambda _: None)

    async def work() -> None:
        while (attempt := await control.take()) is not None:
            await anyio.sleep(world.takes_s[attempt.key])
            control.ended(attempt, Outcome(key=attempt.key, reason=Reason.COMPLETED, digest=""))

    began = anyio.current_time()
    async with create_task_group() as workers:
        for _ in range(slots):
            workers.start_soon(work)
    return anyio.current_time() - began


@pytest.mark.anyio
async def test_the_dispatcher_of_a_real_run_takes_as_long_as_the_simulation_says() -> None:
    world = make_world(11, tasks=43)
    for order in (planned(world), ordered(world, slots=4, earlier=1)):
        simulated = makespan(world, order, slots=4)
        assert await real_makespan(world, order, slots=4) == pytest.approx(simulated)
    assert simulated <= GOAL * lower_bound(world, slots=4)

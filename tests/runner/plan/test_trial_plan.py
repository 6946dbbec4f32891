"""What trials are expected to take, and the order in which they start: the longest first, and a short tail."""

import math
from collections.abc import Mapping, Sequence
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.start_order import high, ratios
from fakes import make_task
from pinchbench.model.trial import Attempt
from pinchbench.runner.plan.past_runs import PastTrial
from pinchbench.runner.plan.trial_plan import expected_durations, plan_trials, start_order

pytestmark = pytest.mark.virtual_clock

GOAL = 1.05  # of the lower bound
SEEDS = range(40)


def attempts(limits_s: Mapping[str, float], *, runs: int = 1) -> list[Attempt]:
    tasks = [make_task(task_id=task_id, timeout_s=limit_s, digest="now") for task_id, limit_s in limits_s.items()]
    return [Attempt(trial=trial) for trial in plan_trials(tasks, runs=runs, timeout_multiplier=1.0)]


def took(task_id: str, seconds: float, *, digest: str = "now", same_model: bool = True) -> PastTrial:
    return PastTrial(task_id=task_id, digest=digest, took_s=seconds, same_model=same_model)


def expected(limits_s: Mapping[str, float], *past: PastTrial) -> dict[str, float]:
    return expected_durations([attempt.trial for attempt in attempts(limits_s)], past)


def test_a_task_is_expected_to_take_the_median_of_what_it_took_and_of_two_the_longer() -> None:
    limits_s = {"task_a": 100, "task_b": 100}
    past = [took("task_a", seconds) for seconds in (90, 10, 30)] + [took("task_b", 40), took("task_b", 50)]
    assert expected(limits_s, *past) == {"task_a": 30, "task_b": 50}


def test_a_task_as_it_is_now_goes_before_earlier_states_of_it_and_these_before_a_guess() -> None:
    limits_s = {"task_a": 100, "task_b": 100}
    past = [took("task_a", 80, digest="old"), took("task_a", 20), took("task_b", 70, digest="old")]
    assert expected(limits_s, *past) == {"task_a": 20, "task_b": 70}


def test_other_models_stand_in_for_what_this_one_has_not_run_and_the_limit_for_what_nobody_has() -> None:
    limits_s = {"task_a": 100, "task_b": 100, "task_c": 100}
    past = [took("task_a", 20), took("task_a", 10, same_model=False), took("task_b", 30, same_model=False)]
    assert expected(limits_s, *past) == {"task_a": 20, "task_b": 30, "task_c": 100}


def names(order: Sequence[Attempt]) -> list[str]:
    return [str(attempt.key) for attempt in order]


@pytest.mark.parametrize("sanity", ["task_00_sanity", "task_sanity"])
def test_the_sanity_task_and_those_that_run_first_do_so_once_in_their_order_however_short(sanity: str) -> None:
    limits_s = {"task_long": 900, "task_y": 5, sanity: 1, "task_x": 7}
    first = ("task_y", "task_x", "task_of_another_selection")
    order = names(start_order(attempts(limits_s, runs=2), expected_s={}, slots=4, first=first))
    assert order[:3] == [sanity, "task_y", "task_x"]
    assert order[3:] == ["task_long", "task_long@2", "task_x@2", "task_y@2", f"{sanity}@2"]


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


@given(
    limits_s=st.dictionaries(st.sampled_from([f"task_{n}" for n in range(9)]), st.floats(0.1, 1e6), max_size=9),
    runs=st.integers(1, 4),
    slots=st.integers(1, 9),
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
    limits_s: dict[str, float], runs: int, slots: int, past: list[PastTrial]
) -> None:
    given_ = attempts(limits_s, runs=runs)
    expected_s = expected_durations([attempt.trial for attempt in given_], past)
    order = start_order(given_, expected_s=expected_s, slots=slots)
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

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bench.soundness import TRIAL_S, Planted, drift_found, observations
from pinchbench.results.soundness.drift import Drift, Measure, Observation, Renamed, drift_of

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_VALUES: dict[Measure, float | None] = dict.fromkeys(Measure)


def _series(values: Sequence[float], *, repeated: bool = True) -> list[Observation]:
    return [
        Observation(
            variant="v",
            task_id=f"t{number % 4 if repeated else number}",
            at=float(number),
            values={**NO_VALUES, Measure.LATENCY: value},
        )
        for number, value in enumerate(values)
    ]


def test_a_provider_that_becomes_slow_midway_is_named_with_the_place() -> None:
    source = np.random.default_rng(2)
    values = [*source.normal(1, 0.1, 30), *source.normal(3, 0.1, 30)]

    (change,) = drift_of(_series(values)).changes

    assert (change.variant, change.measure, change.at) == ("v", Measure.LATENCY, 30.0)
    assert change.before == pytest.approx(1, abs=0.1)
    assert change.after == pytest.approx(3, abs=0.1)
    assert change.p <= 0.05


def test_the_order_of_the_trials_makes_no_difference() -> None:
    drawn = observations(np.random.default_rng(4), (2, 20, 2), memory=0.0, planted=Planted(latency=3))

    assert drift_of(drawn[::-1], permutations=99) == drift_of(drawn, permutations=99)


@pytest.mark.parametrize("values", [[1.0] * 60, [1.0, 2.0] * 9])
def test_equal_values_and_few_trials_tell_nothing(values: list[float]) -> None:
    assert drift_of(_series(values)).changes == ()


def test_series_with_few_trials_are_counted() -> None:
    found = drift_of(_series([1.0, 2.0] * 20))

    assert (found.examined, found.unexamined) == (1, 3)


def test_hard_tasks_that_come_late_are_no_change() -> None:
    values = [1.0] * 30 + [5.0] * 30

    assert drift_of(_series(values, repeated=False), is_shuffled=False) == Drift(unexamined=4)


def test_another_model_that_answers_is_named_with_the_time() -> None:
    trials = [
        Observation(variant="v", task_id="t", at=float(at), values=NO_VALUES, models=models)
        for at, models in enumerate([("m-1",), (), ("m-1",), ("m-2",), ("m-2",)])
    ]

    assert drift_of(trials).renamed == (Renamed(variant="v", at=3.0, before=("m-1",), after=("m-2",)),)


def test_models_that_take_turns_are_no_change() -> None:
    trials = [
        Observation(variant="v", task_id="t", at=float(at), values=NO_VALUES, models=(f"m-{at % 2}",))
        for at in range(9)
    ]

    assert drift_of(trials).renamed == ()


def test_the_more_series_there_are_the_more_permutations_are_made() -> None:
    source = np.random.default_rng(2)
    changed = _series([*source.normal(1, 0.1, 30), *source.normal(3, 0.1, 30)])
    others = [
        replace(one, variant=f"other {number}", values={**NO_VALUES, Measure.LATENCY: float(source.normal())})
        for number in range(20)
        for one in changed[:20]
    ]

    assert [one.variant for one in drift_of([*changed, *others], permutations=99).changes] == ["v"]


def test_planted_drift_is_found_at_its_place_and_false_alarms_are_rare() -> None:
    assert drift_found((1, 20, 4), memory=0.0, planted=Planted(latency=3), experiments=10)[1] >= 0.7
    assert drift_found((1, 20, 4), memory=0.2, experiments=40)[0] <= 0.1  # of 40, up to 4 are a matter of chance


def test_simulated_trials_are_a_minute_apart() -> None:
    drawn = observations(np.random.default_rng(1), (2, 3, 1), memory=0.0, planted=Planted())

    assert [one.at for one in drawn] == [number * TRIAL_S for number in range(6)]

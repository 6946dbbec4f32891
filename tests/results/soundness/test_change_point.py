from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bench.soundness import wandering
from pinchbench.results.soundness.change_point import MOST_PLACES, ChangePoint, change_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float64
    from numpy.typing import NDArray

LENGTH = 60


def _found(
    values: Sequence[float] | NDArray[float64],
    *,
    wanders: bool = True,
    groups: Sequence[int] | None = None,
    at_each: int = 1,
    draws: int = 399,
) -> ChangePoint | None:
    """Look for a change in values of which so many belong to each place."""
    number = np.arange(len(values))
    return change_in(
        np.asarray(values, dtype=np.float64),
        places=number // at_each,
        groups=np.zeros_like(number) if groups is None else np.array(groups),
        wanders=wanders,
        source=np.random.default_rng(3),
        draws=draws,
    )


def _noise(length: int = LENGTH, seed: int = 1) -> NDArray[float64]:
    return np.random.default_rng(seed).standard_normal(length)


def _step(size: float, place: int = LENGTH // 2, length: int = LENGTH) -> NDArray[float64]:
    return np.where(np.arange(length) >= place, size, 0.0)


@pytest.mark.parametrize("wanders", [True, False])
@pytest.mark.parametrize("place", [15, 30, 45])
def test_a_large_step_is_found_at_its_place(place: int, wanders: bool) -> None:
    found = _found(_noise() + _step(8, place), wanders=wanders)

    assert found is not None
    assert found.place == place
    assert found.p <= 0.01


def test_a_step_without_any_scatter_beside_it_is_found() -> None:
    found = _found(_step(1.0))

    assert found is not None
    assert (found.place, found.p <= 0.01) == (LENGTH // 2, True)


@pytest.mark.parametrize("wanders", [True, False])
def test_only_the_order_of_values_counts_and_not_the_direction(wanders: bool) -> None:
    values = _noise() + _step(2)
    found = _found(values, wanders=wanders)

    assert found is not None
    assert _found(np.exp(values), wanders=wanders) == found
    turned = _found(-values, wanders=wanders)
    assert turned is not None
    assert turned.place == found.place
    assert turned.p == pytest.approx(found.p)


def test_the_same_seed_gives_the_same_p() -> None:
    assert _found(_noise() + _step(1)) == _found(_noise() + _step(1))


@pytest.mark.parametrize("values", [np.ones(LENGTH), np.arange(LENGTH) % 4])
def test_values_that_their_groups_determine_tell_nothing(values: NDArray[float64]) -> None:
    assert _found(values, groups=[number % 4 for number in range(LENGTH)]) is None


def test_the_levels_of_groups_are_no_change() -> None:
    groups = [number // (LENGTH // 2) for number in range(LENGTH)]
    found = _found(_noise() + _step(9), groups=groups)

    assert found is not None
    assert found.p >= 0.05


@pytest.mark.parametrize("seed", range(8))
def test_a_series_that_wanders_is_held_to_be_a_change_less_than_one_of_independent_values(seed: int) -> None:
    values = wandering(np.random.default_rng(seed), LENGTH, 0.95)
    wanders, independent = _found(values), _found(values, wanders=False)

    assert wanders is not None
    assert independent is not None
    assert wanders.p >= independent.p


def test_further_values_at_each_place_are_no_further_evidence_of_a_change() -> None:
    state = np.repeat(wandering(np.random.default_rng(7), LENGTH, 0.95), 3)
    values = state + 0.3 * _noise(3 * LENGTH, seed=2)
    found, independent = _found(values, at_each=3), _found(values, at_each=3, wanders=False)

    assert found is not None
    assert independent is not None
    assert independent.p <= 0.01
    assert found.p >= 0.2


def test_a_long_series_is_searched_at_some_places_only() -> None:
    length = 3 * MOST_PLACES
    found = _found(_noise(length) + _step(8, 151, length), draws=99)

    assert found is not None
    assert abs(found.place - 151) <= 3

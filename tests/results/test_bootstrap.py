"""The resampling of scores: bit by bit what NumPy gives, as the results of earlier releases were computed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from pinchbench.results.bootstrap import deviations_of_means, standard_deviation
from pinchbench.results.statistics import SEED

RESAMPLES = 2000


LARGE = ((68, 5), (130, 2), (300, 3), (400, 1))


def _by_numpy(deviations: Sequence[float], repeated: Mapping[int, Sequence[float]]) -> list[float]:
    source = np.random.default_rng(SEED)
    count = len(deviations)
    chosen = source.integers(count, size=RESAMPLES * count)
    drawn = np.array(deviations)[chosen]
    for task, scores in repeated.items():
        own = np.flatnonzero(chosen == task)
        picked = source.integers(len(scores), size=(len(own), len(scores)))
        drawn[own] += np.array(scores)[picked].mean(axis=1)
    means: list[float] = drawn.reshape(RESAMPLES, count).mean(axis=1).tolist()
    return means


@pytest.mark.parametrize(
    ("tasks", "repetitions"),
    [(2, 2), (5, 3), (8, 9), (17, 1), (43, 3), *(pytest.param(*large, marks=pytest.mark.long) for large in LARGE)],
)
def test_it_draws_adds_and_rounds_as_numpy_does(tasks: int, repetitions: int) -> None:
    source = np.random.default_rng(tasks)
    deviations = source.normal(size=tasks).tolist()
    repeated = {task: source.normal(size=repetitions).tolist() for task in range(tasks) if repetitions > 1 and task % 5}
    means = deviations_of_means(deviations, repeated, RESAMPLES)

    assert means == _by_numpy(deviations, repeated)
    assert standard_deviation(means) == float(np.array(means).std(ddof=1))

"""Resample scores with a fixed seed, in the order and with the rounding of NumPy: stored results keep every bit (pure).

Results of earlier releases were computed with NumPy, whose generator and whose sums are written down here: an interval
that is computed again from a journal has to equal the stored one, or `verify` would call the result altered.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from math import sqrt
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# PCG64 (O'Neill, 2014) as `numpy.random.default_rng(20_250_601)` starts it.
STATE = 0xB6D2FA829CEBD24B621934F99353FCFB
INCREMENT = 0x0F8917BC4CCEA46A540987A0665B161F
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
BITS_128, BITS_64, BITS_32 = 2**128 - 1, 2**64 - 1, 2**32 - 1
BLOCK = 2**16  # numbers of 64 bits that are kept together: every estimate draws the same ones
UNROLLED, IN_ONE_GO = 8, 128  # values that are summed side by side, and those that are summed without being halved
DRAWS_AT_ONCE = 1_000_000  # of tasks, before the draws within them


def deviations_of_means(
    deviations: Sequence[float], repeated: Mapping[int, Sequence[float]], resamples: int
) -> list[float]:
    """Draw tasks and then repetitions within them, and return how far the mean of each resample is from the mean.

    `deviations` are those of the tasks' means, and `repeated` those of the scores within a task, by its place.
    """
    source = _Source()
    tasks = len(deviations)
    most = max(1, DRAWS_AT_ONCE // tasks)
    means: list[float] = []
    for start in range(0, resamples, most):
        chosen = source.below(tasks, min(most, resamples - start) * tasks)
        drawn = [deviations[task] for task in chosen]
        places: list[list[int]] = [[] for _ in deviations]
        for place, task in enumerate(chosen):
            places[task].append(place)
        for task, scores in repeated.items():
            own, size = places[task], len(scores)
            values = [scores[one] for one in source.below(size, len(own) * size)]
            for place, total in zip(own, _sums(values, size), strict=True):
                drawn[place] += total / size
        means += [total / tasks for total in _sums(drawn, tasks)]
    return means


def standard_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample."""
    [total] = _sums(values, len(values))
    mean = total / len(values)
    [squares] = _sums([(value - mean) * (value - mean) for value in values], len(values))
    return sqrt(squares / (len(values) - 1))


class _Source:
    """Draws the numbers of the generator from the first one on."""

    def __init__(self) -> None:
        self._block = -1
        self._words = array("I")

    def _take(self, count: int) -> array[int]:
        while len(self._words) < count:
            self._block += 1
            self._words += _block(self._block)[0]
        taken, self._words = self._words[:count], self._words[count:]
        return taken

    def below(self, limit: int, size: int) -> list[int]:
        """Draw numbers below a limit by Lemire's method; none is drawn for a limit of 1."""
        if limit == 1:
            return [0] * size
        # a few words in four billion would make some numbers more frequent: the next ones stand in for them
        least = 2**32 % limit
        unfair = {word for part in range(limit) if (word := -(-(part << 32) // limit)) * limit & BITS_32 < least}
        words = self._take(size)
        while not unfair.isdisjoint(words):
            words = array("I", [word for word in words if word not in unfair])
            words += self._take(size - len(words))
        return [word * limit >> 32 for word in words]


@lru_cache(maxsize=64)  # 32 MB
def _block(number: int) -> tuple[array[int], int]:
    """Return numbers of 32 bits, the lower half of each draw first, and the state of the generator after them."""
    state = _block(number - 1)[1] if number else STATE
    found = array("I")
    for _ in range(BLOCK):
        state = (state * MULTIPLIER + INCREMENT) & BITS_128
        mixed, turns = (state >> 64) ^ (state & BITS_64), state >> 122
        mixed = (mixed >> turns | mixed << (64 - turns)) & BITS_64
        found.append(mixed & BITS_32)
        found.append(mixed >> 32)
    return found, state


def _sums(values: Sequence[float], width: int) -> list[float]:
    """Add up each row of so many values as NumPy does: pairwise."""
    return _pairwise([values[column::width] for column in range(width)])


def _pairwise(columns: Sequence[Sequence[float]]) -> list[float]:
    width = len(columns)
    if width > IN_ONE_GO:
        half = width // 2 - width // 2 % UNROLLED
        return list(map(add, _pairwise(columns[:half]), _pairwise(columns[half:])))
    whole = width - width % UNROLLED
    if whole:
        a, b, c, d, e, f, g, h = (_one_by_one(columns[lane:whole:UNROLLED]) for lane in range(UNROLLED))
        left, right = map(add, map(add, a, b), map(add, c, d)), map(add, map(add, e, f), map(add, g, h))
        return _one_by_one([list(map(add, left, right)), *columns[whole:]])
    return _one_by_one(columns)


def _one_by_one(columns: Sequence[Sequence[float]]) -> list[float]:
    total = list(columns[0])
    for column in columns[1:]:
        total = list(map(add, total, column))
    return total

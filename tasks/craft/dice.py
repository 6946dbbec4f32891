"""Random choices that are the same on every system and Python version."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws from `random()` alone: the one method whose numbers Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def share(self) -> float:
        """A number from 0 up to 1."""
        return self._random.random()

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both of them possible."""
        return low + self.below(high - low + 1)

    def bell(self, mean: float, spread: float) -> float:
        """A number near `mean`, nearly normal, with `spread` as its standard deviation."""
        return mean + spread * (sum(self._random.random() for _ in range(12)) - 6)

    def pick(self, values: Sequence[T]) -> T:
        return values[self.below(len(values))]

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """`count` different entries, in random order."""
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def shuffled(self, values: Sequence[T]) -> list[T]:
        return self.sample(values, len(values))

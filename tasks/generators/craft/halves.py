"""Plots of follow-up trials that can be halved so that both halves have the same sum of every property.

The values are drawn, and then shifted here and there until the sums of two hidden halves are equal. Annealing finds
those of the smallest trial, and ends at a sixth or so of what the best of 200 drawn by lot has in the others. The
hidden halves are a vector of the lattice of all exact divisions. In all trials but the smallest, that lattice has 118
dimensions or more, and small values with few properties for each plot keep it dense, so that the vector is hardly
shorter than others: by the usual estimate, reduction finds it with blocks of 90 in `birch` and of 130 in `oak`. Larger
values or fewer plots make it stand out.
"""

from functools import cache
from typing import NamedTuple

from craft.dice import Dice

MOST = 99  # points
DRAWN = 200  # plans by lot, the best of which is the obvious one
MEASURED = ("clay", "sand", "humus", "acidity", "stones", "salt", "lime", "iron", "roots", "water")
PROPERTIES = tuple(f"{name}_{depth}" for depth in (10, 25, 50) for name in MEASURED)  # at a depth in cm
SIZES = {
    "ash": (36, 10),
    "birch": (140, 22),
    "cedar": (150, 24),
    "elm": (160, 25),
    "hazel": (170, 26),
    "oak": (190, 28),
}


class Trial(NamedTuple):
    plots: list[list[int]]  # the values of each plot, by property
    halves: str  # `1` or `2` for each plot, in their order
    obvious: int  # the imbalance of the best plan of some that are drawn by lot


def imbalance(plots: list[list[int]], halves: str) -> int:
    signs = [1 if half == "1" else -1 for half in halves]
    return sum(abs(sum(map(int.__mul__, signs, column))) for column in zip(*plots, strict=True))


def column(dice: Dice, halves: str) -> list[int]:
    """Return values of one property whose sums are equal in both halves."""
    values = [dice.between(0, MOST) for _ in halves]
    while True:
        over = sum(value if half == "1" else -value for value, half in zip(values, halves, strict=True))
        if not over:
            return values
        place = dice.below(len(halves))
        step = min(abs(over), dice.between(1, 9)) * (-1 if (over > 0) == (halves[place] == "1") else 1)
        if 0 <= values[place] + step <= MOST:
            values[place] += step


def trial(dice: Dice, count: int, properties: int) -> Trial:
    def drawn() -> str:
        return "".join(dice.shuffled("12" * (count // 2)))

    halves = drawn()
    columns = [column(dice, halves) for _ in range(properties)]
    plots = [list(row) for row in zip(*columns, strict=True)]
    return Trial(plots, halves, min(imbalance(plots, drawn()) for _ in range(DRAWN)))


@cache
def follow_ups(seed: int) -> dict[str, Trial]:
    return {name: trial(Dice(seed * 8 + place), *size) for place, (name, size) in enumerate(SIZES.items(), 1)}

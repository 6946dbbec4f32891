"""Plots of follow-up trials that can be halved so that both halves have the same sum of every property.

The values are drawn, and then shifted here and there until the sums of two hidden halves are equal. Annealing, which finds
those of the smallest trial, ends at about an eighth of what the best of 200 drawn by lot has in the others, whether there are
few plots or many. Lattice reduction finds them in all but the largest.
"""

from typing import NamedTuple

from craft.dice import Dice

MOST = 999  # points
DRAWN = 200  # plans by lot, the best of which is the obvious one
PROPERTIES = ("clay", "sand", "humus", "acidity", "slope", "shade", "wind", "rain", "depth", "stones", "salt", "lime", "iron",
              "roots", "pests", "moss", "frost", "noise")  # fmt: skip
SIZES = {"ash": (36, 10), "birch": (56, 12), "cedar": (72, 13), "elm": (92, 14), "hazel": (116, 16), "oak": (150, 18)}


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
        step = min(abs(over), dice.between(1, 90)) * (-1 if (over > 0) == (halves[place] == "1") else 1)
        if 0 <= values[place] + step <= MOST:
            values[place] += step


def trial(dice: Dice, count: int, properties: int) -> Trial:
    def drawn() -> str:
        return "".join(dice.shuffled("12" * (count // 2)))

    halves = drawn()
    columns = [column(dice, halves) for _ in range(properties)]
    plots = [list(row) for row in zip(*columns, strict=True)]
    return Trial(plots, halves, min(imbalance(plots, drawn()) for _ in range(DRAWN)))


def follow_ups(seed: int) -> dict[str, Trial]:
    return {name: trial(Dice(seed * 8 + place), *size) for place, (name, size) in enumerate(SIZES.items(), 1)}

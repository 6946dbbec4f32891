"""Set covers around a hidden choice of sets that has hardly anything twice, and that nothing countable tells from the rest.

The other sets have as many members as those of the hidden choice, and everything is in equally many sets. With sets of fewer
members than a member has sets, averages over many near solutions don't tell them apart either.
"""

from itertools import pairwise

from craft.dice import Dice


def pieces(dice: Dice, members: list[int], least: int, most: int) -> list[list[int]]:
    """Cut a list into sets. None is cut to what is left, by which it could be told from the others."""
    while True:
        ends = [0]
        while ends[-1] < len(members):
            ends.append(ends[-1] + dice.between(least, most))
        if ends[-1] == len(members):
            return [members[start:end] for start, end in pairwise(ends)]


def separate(dice: Dice, sets: list[list[int]]) -> None:
    """Where a set has a member twice, let one of the two change places with a member of another set."""
    while twice := [(one, place) for one in sets for place, member in enumerate(one) if member in one[:place]]:
        for one, place in twice:
            other = dice.pick(sets)
            there = dice.below(len(other))
            one[place], other[there] = other[there], one[place]


def cover(
    dice: Dice, members: int, copies: int, least: int, most: int, twice: int = 0
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the hidden sets and the others, of `least` to `most` members each; every member is in `copies` of them all.

    The hidden ones have each member once, but `twice` of them two times: then no exact cover is there to be found.
    """
    extra = dice.sample(range(members), twice)
    hidden = pieces(dice, dice.shuffled([*range(members), *extra]), least, most)
    if twice:
        separate(dice, hidden)
    left = [*range(members)] * (copies - 1)
    for member in extra:
        left.remove(member)
    others = pieces(dice, dice.shuffled(left), least, most)
    separate(dice, others)
    return hidden, others

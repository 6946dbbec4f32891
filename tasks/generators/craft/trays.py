"""Files of houses that moved from tray to tray, by tables that nobody has any more, and whose houses were inspected.

A table of `trays` rows and `kinds` columns has `trays * kinds * log2(trays)` bits, less those of the trays' order, and a
result of which a share `wrong` is wrong tells `1 - H(wrong)` bits: in each district the results tell at least 1.6 times
what there is to know (A: 3 times), so that no other table agrees with nearly as many of them. To find it is another matter.
"""

from typing import NamedTuple

from craft.dice import Dice

NEW = 200  # houses of each district whose inspection is asked for


class Size(NamedTuple):
    trays: int
    kinds: int
    houses: int
    shortest: int  # entries in a file
    longest: int
    wrong: int  # results that are wrong, of those that are known


SIZES = {
    "A": Size(8, 4, 400, 2, 12, 24),
    "B": Size(11, 4, 500, 4, 13, 40),
    "C": Size(12, 5, 600, 4, 13, 48),
    "D": Size(14, 5, 700, 4, 14, 56),
    "E": Size(16, 5, 800, 4, 14, 64),
    "F": Size(18, 5, 950, 4, 14, 76),
}
KINDS = "cbfvm"  # of entries: a call, a bill, a form, a visit, a move


class District(NamedTuple):
    table: list[list[int]]  # by kind of entry: for each tray, the next one
    inspected: list[bool]
    known: list[tuple[str, bool]]  # files with their results as they were
    new: list[tuple[str, bool]]
    wrong: set[int]  # places in `known` at which the records say the opposite


def last_tray(table: list[list[int]], entries: str) -> int:
    tray = 0
    for entry in entries:
        tray = table[KINDS.index(entry)][tray]
    return tray


def drawn_table(dice: Dice, size: Size) -> list[list[int]]:
    """Return a table that leads to every tray, and seldom from two trays to the same: the last entries tell little alone."""
    while True:
        table = [dice.shuffled(range(size.trays)) for _ in range(size.kinds)]
        for row in table:
            row[dice.below(size.trays)] = dice.below(size.trays)
        reached = [0]
        for tray in reached:
            reached += sorted({row[tray] for row in table}.difference(reached))
        if len(reached) == size.trays:
            return table


def district(dice: Dice, size: Size) -> District:
    while True:
        table = drawn_table(dice, size)
        inspected = dice.shuffled([tray % 2 > 0 for tray in range(size.trays)])
        files: dict[str, bool] = {}
        while len(files) < size.houses + NEW:
            length = dice.between(size.shortest, size.longest)
            entries = "".join(KINDS[dice.below(size.kinds)] for _ in range(length))
            files[entries] = inspected[last_tray(table, entries)]
        houses = dice.shuffled(list(files.items()))
        known, new = houses[NEW:], houses[:NEW]
        # Who says the same of all must be right about as often as wrong.
        if abs(sum(result for _, result in new) * 2 - NEW) <= NEW // 10:
            return District(table, inspected, known, new, set(dice.sample(range(size.houses), size.wrong)))


def districts(seed: int) -> dict[str, District]:
    return {name: district(Dice(seed * 8 + place), size) for place, (name, size) in enumerate(SIZES.items(), 1)}


def as_line(one: District) -> str:
    """Return a district's table in one line: which trays mean an inspection, and the next trays by kind."""
    return " ".join(["".join("yn"[not yes] for yes in one.inspected), *(",".join(map(str, row)) for row in one.table)])

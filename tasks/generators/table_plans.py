"""Five meetings of two evenings at long tables, around hidden plans where nobody sits with whom they met that day."""

import csv
import hashlib
import io
from typing import NamedTuple

from craft.dice import Dice

TASK = "task_61_table_plans"
SEED = 20261204
EVENINGS = 2
# Tables, people and how many of the others each met in a day. With fewer, there would be other plans without such pairs;
# from about (tables - 1) ** 2 on, the numbers of people that two have both met show who sits together in the hidden plan.
# Between the two, and with many people, nothing but luck is known to lead there; April alone is small enough for that.
SIZES = {
    "april": (8, 280, 36),
    "may": (10, 360, 46),
    "june": (12, 430, 56),
    "july": (14, 500, 68),
    "august": (16, 570, 84),
}
LEAST_HOSTS = 2
MEALS = ("", "", "", "", "vegan", "halal")


class Meeting(NamedTuple):
    seats: list[int]
    meals: int
    people: dict[int, tuple[str, str, str]]
    met: list[set[tuple[int, int]]]
    plan: dict[int, list[int]]


def seated(dice: Dice, names: list[int], sizes: list[int], before: dict[int, int]) -> dict[int, int]:
    """Seat people by lot, nobody at the table where they sat before."""
    places = dice.shuffled([table for table, size in enumerate(sizes, 1) for _ in range(size)])[: len(names)]
    wrong = [place for place, name in enumerate(names) if places[place] == before.get(name)]
    while wrong:
        one, other = wrong[-1], dice.below(len(names))
        if places[other] != before.get(names[one]) and places[one] != before.get(names[other]):
            places[one], places[other] = places[other], places[one]
        wrong = [place for place in wrong if places[place] == before.get(names[place])]
    return dict(zip(names, places, strict=True))


def met(dice: Dice, table_of: dict[int, int], usual: int) -> set[tuple[int, int]]:
    """Return who met whom: pairs by lot among those who do not sit together, about as many for each person."""
    # The ends left over at last belong to few tables; as numbers differ anyway, nobody sees which.
    ends = dice.shuffled([name for name in table_of for _ in range(usual + dice.below(usual // 4) - usual // 8)])
    pairs: set[tuple[int, int]] = set()
    missed = 0
    while len(ends) > 1 and missed < 300:
        one = ends.pop()
        place = dice.below(len(ends))
        other = ends[place]
        pair = (min(one, other), max(one, other))
        if table_of[one] == table_of[other] or pair in pairs:
            ends.insert(dice.below(len(ends) + 1), one)
            missed += 1
        else:
            ends[place] = ends[-1]
            ends.pop()
            pairs.add(pair)
            missed = 0
    return pairs


def meeting(seed: int, tables: int, count: int, usual: int) -> Meeting:
    dice = Dice(seed)
    names = list(range(1, count + 1))
    away = {name: dice.pick((1, 2)) if dice.chance(0.1) else 0 for name in names}
    there = [[name for name in names if away[name] != evening] for evening in range(1, EVENINGS + 1)]
    most = max(map(len, there))
    sizes = [most // tables] * tables
    for table in range(0, tables - 1, 2):
        change = dice.below(1 + most // tables // 12)
        sizes[table] += change
        sizes[table + 1] -= change
    sizes = dice.shuffled([size + (number < most % tables) for number, size in enumerate(sizes)])
    plan: list[dict[int, int]] = []
    for present in there:
        plan.append(seated(dice, present, sizes, plan[0] if plan else {}))
    groups = [[name for name in one if one[name] == table] for one in plan for table in range(1, tables + 1)]
    while True:
        hosts = {name for name in names if dice.chance(0.2)}
        if all(len(hosts.intersection(group)) >= LEAST_HOSTS for group in groups):
            break
    meal = {name: dice.pick(MEALS) for name in names}
    most_meals = max(sum(meal[name] == kind for name in group) for group in groups for kind in MEALS[-2:])
    people = {name: ("yes" if name in hosts else "", meal[name], str(away[name] or "")) for name in names}
    days = [met(dice, one, usual) for one in plan]
    return Meeting(sizes, most_meals, people, days, {name: [one.get(name, 0) for one in plan] for name in names})


def meetings(seed: int) -> dict[str, Meeting]:
    return {name: meeting(seed * len(SIZES) + place, *SIZES[name]) for place, name in enumerate(SIZES)}


def table(head: tuple[str, ...], rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return file.getvalue().encode()


def met_rows(one: Meeting) -> list[tuple]:
    rows = []
    for day, pairs in enumerate(one.met, 1):
        later: dict[int, list[int]] = {}
        for first, second in sorted(pairs):
            later.setdefault(first, []).append(second)
        rows += [(day, first, " ".join(map(str, others))) for first, others in later.items()]
    return rows


def files(seed: int = SEED) -> dict[str, bytes]:
    made, rows = {}, []
    for name, one in meetings(seed).items():
        rows.append((name, len(one.people), len(one.seats), LEAST_HOSTS, one.meals))
        made[f"{name}/people.csv"] = table(
            ("person", "host", "meal", "away"), [(person, *about) for person, about in one.people.items()]
        )
        made[f"{name}/tables.csv"] = table(("table", "seats"), list(enumerate(one.seats, 1)))
        made[f"{name}/met.csv"] = table(("day", "person", "met"), met_rows(one))
    made["meetings.csv"] = table(("meeting", "people", "tables", "hosts", "meals"), rows)
    return {f"table_plans/{name}": data for name, data in made.items()}


def particulars(seed: int) -> list[str]:
    """Return the hidden plans, as they stand in the solution: each person's tables, in the persons' order."""
    return [
        f"{name}: {' '.join(','.join(map(str, row)) for row in one.plan.values())}"
        for name, one in meetings(seed).items()
    ]


def expected(seed: int = SEED) -> dict:
    digests = {name.partition("/")[2]: hashlib.sha256(data).hexdigest()[:20] for name, data in files(seed).items()}
    return {"given": digests}

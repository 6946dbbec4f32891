"""A grants office's guideline, what the council changed, all decisions of eight years, and new applications to decide.

Every rule has a name, and every number in the rules too. A decision shows a rule if it would be another without it, and a
number if it would be another with the next number; the new applications show each of them.
"""

import csv
import io
import json
from collections.abc import Iterator
from datetime import date

from craft.dice import Dice
from craft.grants import RULES, Past, decide, differs, numbers, numbers_tried, shown, with_next

SEED = 20261121
COLUMNS = ("case", "person", "date", "kind", "cost", "area", "built", "flats", "income", "district", "owner", "oil",
           "contractor", "age")  # fmt: skip
KINDS = {"heating": (3000, 24000), "window": (700, 15000), "wall": (1500, 24000), "roof": (2000, 28000),
         "door": (400, 5000), "solar": (2000, 18000)}  # fmt: skip
PERSONS, NEW_PERSONS, WRONG = 2300, 9000, 38
FIRST, LAST = date(2013, 1, 2), date(2020, 12, 30)
A_GROUP = 16  # cases of each rule among the new applications, at least
HISTORY = ("repeat", "third", "cool_off", "door_alone", "second", "carry", "year_cap")
REFUSALS = tuple(rule for rule in RULES[: RULES.index("heating_rate")] if rule not in HISTORY)
SHARES = RULES[RULES.index("heating_rate") : RULES.index("square_metre")]
AMOUNTS = tuple(rule for rule in RULES[RULES.index("square_metre") :] if rule not in HISTORY)


def near(dice: Dice, value: int) -> int:
    return value + dice.pick((-1, -1, -1, 0, 0, 1, 1, dice.between(-9, 9)))


def application(dice: Dice, house: dict, day: date, kind: str) -> dict:
    low, high = KINDS[kind]
    cost = dice.between(low, (low + high) // 2) if dice.chance(0.5) else dice.between(low, high)
    contractor = dice.pick(("local", "local", "other", "other", "other", "self"))
    return {"cost": cost, "contractor": contractor} | house | {"date": day, "kind": kind}


def plain_house(dice: Dice) -> dict:
    """Return what brings no rule about houses and persons into play."""
    return {
        "area": dice.between(60, 140), "built": dice.between(1942, 1968), "flats": 3, "income": dice.between(47500, 54000),
        "district": "B", "owner": True, "oil": False, "age": dice.between(28, 62), "contractor": "other",
    }  # fmt: skip


def any_house(dice: Dice) -> dict:
    return {
        "area": dice.between(45, 210), "built": dice.between(1885, 1996), "flats": dice.pick((1, 1, 2, 2, 3, 4, 4, 5, 6, 9)),
        "income": dice.between(14000, 64000), "district": dice.pick("ABCDEF"), "owner": dice.chance(0.9),
        "oil": dice.chance(0.5), "age": dice.between(24, 88),
    }  # fmt: skip


def at_an_edge(dice: Dice, n: dict[str, int]) -> tuple[dict, str, int | None]:
    """Return what is special in a plain house at the edge of a rule, a measure, and a day or None."""

    def after(name: str) -> int:
        return n[name] + dice.between(3, 500)

    def at(name: str) -> int:
        return near(dice, n[name])

    kind = dice.pick(tuple(KINDS))
    rich_in_points = {"income": 20000, "flats": 6, "district": "E", "age": 80, "oil": True, "contractor": "local"}
    match dice.below(32):
        case 0:
            return {"district": "F", "oil": True}, "heating", at("f_from")
        case 1:
            return {"district": "F", "built": at("f_old")}, "heating", after("f_from")
        case 2:
            return {}, "window", at("window_from")
        case 3:
            return {"oil": dice.chance(0.3)}, "heating", at("heating_from")
        case 4:
            return {"district": "D", "built": n["new"] + dice.between(0, 6)}, "solar", at("solar_d_from")
        case 5:
            return {"built": at("new")}, dice.pick(("wall", "roof", "window")), None
        case 6 | 30:
            return {"built": at("new_heating")}, dice.pick(("heating", "heating", "solar")), None
        case 7:
            return {"district": dice.pick("DDB"), "built": n["new"] + dice.between(0, 8)}, "solar", None
        case 8:
            return {"owner": False, "oil": dice.chance(0.7)}, dice.pick(("heating", "heating", kind)), None
        case 9:
            return {"income": at("income"), "flats": dice.pick((1, 3, 3))}, kind, None
        case 10:
            return {"income": at("income_flats"), "flats": dice.pick((4, 4, 5))}, kind, None
        case 11:
            return {"income": dice.between(63000, 67000), "flats": dice.pick((3, 4))}, kind, None
        case 12:
            return {"income": at("poor"), "flats": dice.pick((2, 3, 4))}, kind, None
        case 13:
            return {"income": at("poor_flats"), "flats": dice.pick((5, 5, 6))}, kind, None
        case 14:
            return {"income": dice.between(27000, 29900), "flats": dice.pick((4, 5))}, kind, None
        case 15:
            return {"built": at("old"), "district": dice.pick("AABB")}, dice.pick(("window", "door")), None
        case 16:
            return {"district": dice.pick("CE")}, kind, at("district_from")
        case 17:
            return {"contractor": "local", "cost": at("local")}, kind, None
        case 18:
            return {"age": at("age"), "income": dice.between(31000, 37000), "flats": 2}, kind, None
        case 19 | 31:
            return (
                {"age": dice.between(73, 88), "income": at("senior_income"), "flats": 2},
                dice.pick((kind, "solar")),
                None,
            )
        case 20:
            return rich_in_points | {"cost": dice.between(3000, 9000)}, dice.pick(("heating", "wall")), at("cap_from")
        case 21:
            day = n["cap_from"] + dice.pick((-1, 1, -1)) * dice.between(3, 600)
            return rich_in_points | {"cost": dice.between(3000, 9000)}, dice.pick(("heating", "wall")), day
        case 22 | 28:
            day = date(dice.between(2013, 2019), dice.pick((2, 11)), 28).toordinal() + dice.between(0, 3)
            return {"built": at("winter_built")}, "heating", day
        case 23 | 29:
            return {"area": at("big"), "flats": dice.pick((1, 2, 2, 3))}, dice.pick((kind, "solar")), None
        case 24:
            return {"area": dice.between(172, 210), "flats": 1}, "solar", None
        case 25:
            return {"age": dice.between(73, 88), "income": dice.between(32000, 37000), "flats": 2}, "solar", None
        case 26:
            return {"oil": True, "flats": dice.pick((1, 1, 2)), "cost": dice.between(3000, 12000)}, "heating", None
        case _:
            return (
                {"area": dice.between(150, 210), "flats": 6},
                dice.pick(("heating", "roof", "wall")),
                at("round_from"),
            )


def sequence(dice: Dice, n: dict[str, int]) -> tuple[list[str], list[int]]:
    """Return the measures of one person, and the days between them."""
    kinds = dice.sample(tuple(KINDS), 3)
    match dice.below(6):
        case 0:
            return [kinds[0]] * 2, [near(dice, n["repeat_days"])]
        case 1:
            return [dice.pick(("window", "wall")), "door"], [near(dice, n["door_days"])]
        case 2:
            return [kinds[0], kinds[0], kinds[1]], [dice.between(20, 200), near(dice, n["cool_days"])]
        case 3:
            return kinds, [dice.between(12, 90), dice.between(12, 120)]
        case 4:
            return dice.shuffled(("heating", "roof", "wall", "solar")), [
                dice.between(25, 100),
                dice.between(25, 330),
                300,
            ]
        case _:
            return dice.shuffled(("heating", "roof", "wall")), [dice.between(12, 150), dice.between(250, 400)]


def person(dice: Dice, n: dict[str, int]) -> list[dict]:
    """Return the applications of one person, in order, often at the edge of a rule."""
    start = FIRST.toordinal() + dice.below((LAST - FIRST).days)
    if dice.chance(0.3):
        kinds, gaps = sequence(dice, n)
        house = plain_house(dice) | {"area": dice.between(90, 210)}
        house.pop("contractor")
        if len(gaps) > 1 and dice.chance(0.7):
            house |= {"contractor": "other", "cost": dice.between(9000, 24000)}
    else:
        special, kind, day = at_an_edge(dice, n) if dice.chance(0.85) else ({}, dice.pick(tuple(KINDS)), None)
        house = (plain_house(dice) | special) if special else any_house(dice)
        kinds, gaps, start = [kind], [], start if day is None else day
        if dice.chance(0.12):
            kinds.append(dice.pick(tuple(KINDS)))
            gaps.append(dice.between(12, 400))
    days = [start]
    for gap in gaps:
        days.append(days[-1] + max(2, gap))
    return [
        application(dice, house, date.fromordinal(day), kind)
        for day, kind in zip(days, kinds, strict=True)
        if day <= LAST.toordinal()
    ]


def decided(dice: Dice, n: dict[str, int], count: int) -> Iterator[Past]:
    for _ in range(count):
        past: Past = []
        for one in person(dice, n):
            past.append((one, decide(one, past, n)))
        yield past


def chosen(seed: int, n: dict[str, int]) -> list[Past]:
    """Return new persons whose cases show every rule often enough, and every number."""
    kept, counts = [], dict.fromkeys((*RULES, *numbers_tried(n)), 0)
    for past in decided(Dice(seed + 1), n, NEW_PERSONS):
        lacking = [name for name, count in counts.items() if count < (A_GROUP if name in RULES else 2)]
        if not lacking:
            break
        found = [rule for rules in shown(past, n, [name for name in lacking if name in RULES]) for rule in rules]
        found += [name for name in lacking if name not in RULES and differs(past, with_next(n, name))]
        if found:
            kept.append(past)
            for name in found:
                counts[name] += 1
    if lacking := [name for name, count in counts.items() if count < (A_GROUP if name in RULES else 1)]:
        raise ValueError(f"no new case shows {lacking}: take another seed")
    return kept


def table(rows: list[tuple[str, int, dict]], grants: list[int] | None) -> str:
    file = io.StringIO()
    out = csv.writer(file, lineterminator="\n")
    out.writerow([*COLUMNS, "grant"] if grants else COLUMNS)
    for place, (name, number, one) in enumerate(rows):
        told = {key: "yes" if value is True else "no" if value is False else value for key, value in one.items()}
        row = [name, f"P{number:04}", *(told[key] for key in COLUMNS[2:])]
        out.writerow([*row, f"{grants[place] / 100:.2f}"] if grants else row)
    return file.getvalue()


def in_order(people: list[Past], letter: str) -> tuple[list[tuple[str, int, dict]], list[int], list[tuple[int, int]]]:
    """Return the cases by day with their names, the grants, and whose they are."""
    places = [(one["date"], number, turn) for number, past in enumerate(people) for turn, (one, _) in enumerate(past)]
    rows, grants = [], []
    for count, (_, number, turn) in enumerate(sorted(places), 1):
        one, decision = people[number][turn]
        rows.append((f"{letter}{count:04}", number + 1, one))
        grants.append(decision.grant)
    return rows, grants, [(number, turn) for _, number, turn in sorted(places)]


GUIDELINE = """# Guideline for grants towards heating and insulating houses

In force from 1 January 2013. The measures are `heating`, `window`, `wall`, `roof`, `door` and `solar`. Sections are applied in their
order. The date of the application decides which rules hold, "granted" means more than nothing, and days between two applications
are counted from one date to the other. There were no grants before 2013.

## 1 What gets no grant

1.1 A house that was built in {new} or later. Heating is supported all the same if it was built in {new_heating} or before, and solar
    in every house.
1.2 An applicant who does not own the house, unless the new heating replaces oil.
1.3 An applicant with an income of more than {income} euros, or of more than {income_flats} in a house with {many_flats} flats or more.
1.4 Heating and solar that the applicant installs without a firm (`self`).
1.5 A measure that the same person has been granted before, if that application was made fewer than {repeat_days} days earlier.
1.6 A third grant in a calendar year: whoever has been granted two gets no more in that year.
1.7 An application that comes fewer than {cool_days} days after the same person's last one, if that one got nothing, for whatever reason.

## 2 The share

2.1 The share of the cost is {base_heating} per cent for heating, {base_window} for windows, {base_wall} for walls, {base_roof} for
    roofs, {base_door} for doors, and {base_solar} for solar.
2.2 These are added, in points of per cent:
    - {oil} for heating that replaces oil, but not in a house with a single flat
    - {poor_points} for an income below {poor} euros, or below {poor_flats} in a house with more than {many_flats} flats
    - {old_points} for windows and doors in a house built before {old}, but not in district A, which has a fund of its own
    - {early} in the districts C and E
    - {local_points} if a local firm does the work and the cost is {local} euros or more
    - {senior_points} for applicants of {age} years or more with an income below {senior_income} euros, but not for solar
2.3 All in all, the share is {cap} per cent at most.

## 3 The grant

3.1 The cost counts up to a sum for each square metre of `area`: {metre_window} euros for windows, {metre_wall} for walls, and
    {metre_roof} for roofs.
3.2 Where the applicant does the work, {self_cost} per cent of the cost by 3.1 counts.
3.3 The grant is the share of the cost that counts.
3.4 Solar gets at most {metre_solar} euros for each square metre of `area`.
3.5 A house of more than {big} square metres with {big_flats} flats or fewer gets {big_cut} per cent of the grant; solar is not cut.
3.6 A door gets half, unless the same person has been granted windows or walls by an application fewer than {door_days} days earlier.
3.7 For heating in a house built before {winter_built}, {winter} euros are added if the application is made in December, January or
    February.
3.8 A person's second grant in a calendar year is {second} per cent of what it would be otherwise.
3.9 A grant of less than {minimum} euros is not made.
3.10 A grant is {maximum_heating} euros at most for heating, and {maximum} euros at most for everything else.

## 4 The year

4.1 What 4.2 has cut off in a calendar year is added to the person's first grant of the next year, also above the limits of 3.10.
4.2 A person gets {year} euros at most in a calendar year. What is above that is cut off.
4.3 The grant is rounded down to full tens of euros. Nothing is rounded before that, not even what 4.2 cuts off. What has been
    granted, for 4.2, are the rounded sums.
"""
ITEMS = (
    ("heating_from", "2.1", "From {day}, the share for heating is {heating_late} per cent."),
    ("solar_d_from", "1.1", "From {day}, the exception for solar no longer holds in district D."),
    ("district_from", "2.2", "From {day}, the points for the districts are {late}, and only district E has them."),
    ("round_from", "4.3", "From {day}, grants are rounded to the nearest five euros, and up where two are as near."),
    ("f_from", "1", """New section 1.8: from {day}, heating in district F gets no grant, since the town's pipes reach it now. Houses built
before {f_old} are exempt, as they can't be connected."""),
    ("window_from", "2.1", "From {day}, the share for windows is {window_late} per cent."),
    ("cap_from", "2.3", "From {day}, the share is {cap_late} per cent at most."),
)  # fmt: skip
# Motions that have changed nothing, by the years of their meetings; `{day}` is 1 January of the year after.
OTHERS = (
    (2014, "1.2", "From {day}, tenants get grants for windows and doors.", "Rejected by 14 votes to 9."),
    (2016, "3.9", "From {day}, the least grant is 500 euros.", "Put off until the budget is known."),
    (2017, "3.9", "The motion of last year on the least grant.", "Withdrawn by those who made it."),
    (2019, "3.10", "From {day}, no grant is more than 2500 euros.",
     "Carried. (Taken back by the council on 12 December, before it came into force.)"),
)  # fmt: skip


def minutes(n: dict[str, int]) -> str:
    """Return what the council's minutes say of the guideline, by the days of the meetings."""
    found = []
    for name, number, text in ITEMS:
        met = date.fromordinal(n[name] - 40)
        found.append((met, number, text.format(day=spelled(date.fromordinal(n[name])), **n), "Carried."))
    for year, number, text, result in OTHERS:
        found.append((date(year, 11, 9), number, text.format(day=spelled(date(year + 1, 1, 1))), result))
    parts = [f"## {spelled(met)}\n\nOn {number}: {text}\n\n{result}\n" for met, number, text, result in sorted(found)]
    return "\n".join(["# From the minutes of the town council: the guideline for grants\n", *parts])


def spelled(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def slips(dice: Dice, grants: list[int]) -> dict[int, int]:
    """Return wrong grants by the place of the decision."""
    wrong = {}
    for place in dice.sample(range(len(grants)), WRONG):
        slip = dice.pick((-1, 1)) * dice.between(3, 60) * 1000
        wrong[place] = max(0, grants[place] + slip) if grants[place] else 50000
    return wrong


def particulars(seed: int) -> list[str]:
    """Return the numbers in the rules, as they stand in the program of the solution."""
    values = {
        name: f"{date.fromordinal(value)}" if name.endswith("_from") else value for name, value in numbers(seed).items()
    }
    return [json.dumps(values)]


def files(seed: int = SEED) -> dict[str, bytes]:
    dice, n = Dice(seed + 2), numbers(seed)
    rows, grants, _ = in_order(list(decided(Dice(seed), n, PERSONS)), "D")
    for place, grant in slips(dice, grants).items():
        grants[place] = grant
    made = {"decisions.csv": table(rows, grants), "GUIDELINE.md": GUIDELINE.format(**n), "COUNCIL.md": minutes(n)}
    return {f"lost_program/{name}": text.encode() for name, text in made.items()}


def expected(seed: int = SEED) -> dict:
    n = numbers(seed)
    people = chosen(seed, n)
    rows, grants, places = in_order(people, "N")
    rules = {number: shown(past, n) for number, past in enumerate(people)}
    groups: dict[str, list[int]] = {rule: [] for rule in RULES}
    for place, (number, turn) in enumerate(places):
        for rule in rules[number][turn]:
            groups[rule].append(place)
    few = {}
    for rule, members in groups.items():
        # The cases that the fewest other rules decide: they measure this one.
        members.sort(key=lambda place: (len(rules[places[place][0]][places[place][1]]), place))
        few[rule] = sorted(members[:A_GROUP])
    parts = {"refusals": REFUSALS, "shares": SHARES, "amounts": AMOUNTS, "history": HISTORY}
    recorded, right, _ = in_order(list(decided(Dice(seed), n, PERSONS)), "D")
    wrong = {recorded[place][0]: right[place] for place in slips(Dice(seed + 2), right)}
    return {"cases": table(rows, None), "grants": grants, "groups": few, "parts": parts, "wrong": wrong}

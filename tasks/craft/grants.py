"""The rules of an office that gives grants for houses: each has a name, and each number in them."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from craft.dice import Dice

EXACT = 10**9  # parts of a cent: nothing is rounded before the end
EURO = 100 * EXACT
RULES = """new_house new_heating new_solar new_solar_d tenant tenant_oil income income_flats self_made repeat third
    cool_off f_heating f_heating_old heating_rate window_rate oil oil_single poor poor_flats old_house old_house_a
    district_early district_late local senior senior_solar points_cap points_cap_late square_metre solar_metre self_cost
    big_house big_house_solar door_alone winter second minimum maximum maximum_heating carry year_cap round_early
    round_late""".split()
ROUND_AMOUNTS = ("winter", "minimum", "maximum", "maximum_heating", "year")  # multiples of ten euros


class Decision(NamedTuple):
    grant: int  # cents
    cut: int  # what the limit of the year took away, in parts of a cent


Past = list[tuple[dict, Decision]]


def numbers(seed: int) -> dict[str, int]:
    """Return the numbers in the rules: euros, years, square metres, days, per cent, and dates as ordinals."""
    dice = Dice(seed * 7 + 3)

    def day(year: int) -> int:
        return date(year, dice.between(3, 10), dice.pick((1, 1, 15))).toordinal()

    drawn = {
        "new": dice.between(1994, 1999), "new_heating": dice.between(2003, 2007),
        "solar_d_from": day(2016), "income": dice.between(55, 62) * 1000, "income_flats": dice.between(68, 76) * 1000,
        "many_flats": 4, "repeat_days": dice.pick((600, 640, 700, 730)), "cool_days": dice.between(6, 12) * 10,
        "f_from": day(2017), "f_old": dice.between(1926, 1939), "heating_from": day(2015), "window_from": day(2018),
        "oil": dice.between(6, 9), "poor": dice.between(21, 26) * 1000, "poor_flats": dice.between(30, 35) * 1000,
        "poor_points": dice.between(5, 7), "old": dice.between(1908, 1924), "old_points": dice.between(4, 6),
        "district_from": day(2016), "early": 3, "late": dice.between(4, 6), "local": dice.between(52, 68) * 100, "local_points": 2,
        "age": dice.between(66, 72), "senior_income": dice.between(38, 46) * 1000, "senior_points": 4, "cap": 37, "cap_late": 33,
        "cap_from": day(2018), "metre_window": dice.between(70, 85), "metre_wall": dice.between(80, 98),
        "metre_roof": dice.between(105, 130), "metre_solar": dice.between(13, 17), "self_cost": dice.between(62, 74),
        "big": dice.between(150, 170), "big_flats": 2, "big_cut": dice.between(84, 88), "door_days": dice.between(30, 40) * 10,
        "winter": dice.between(20, 29) * 10, "winter_built": dice.between(1976, 1986), "second": dice.between(70, 80),
        "minimum": dice.between(15, 20) * 10, "maximum": dice.between(36, 42) * 100,
        "maximum_heating": dice.between(44, 48) * 100, "year": dice.between(51, 56) * 100, "round_from": day(2016),
    }  # fmt: skip
    base = {"heating": 27, "window": 16, "wall": 23, "roof": 21, "door": 19, "solar": 14}
    return (
        drawn
        | {f"base_{kind}": rate + dice.between(-2, 2) for kind, rate in base.items()}
        | {"heating_late": 21 + dice.between(-1, 1), "window_late": 20 + dice.between(-1, 1)}
    )


def is_refused(one: dict, past: Past, n: dict[str, int], off: str) -> bool:
    kind, built, flats, day = one["kind"], one["built"], one["flats"], one["date"].toordinal()
    if off != "new_house" and built >= n["new"]:
        heating = off != "new_heating" and kind == "heating" and built <= n["new_heating"]
        in_d = off != "new_solar_d" and one["district"] == "D" and day >= n["solar_d_from"]
        if not heating and (off == "new_solar" or kind != "solar" or in_d):
            return True
    if off != "tenant" and not one["owner"] and (off == "tenant_oil" or kind != "heating" or not one["oil"]):
        return True
    is_house = off != "income_flats" and flats >= n["many_flats"]
    if off != "income" and one["income"] > n["income_flats" if is_house else "income"]:
        return True
    if off != "self_made" and one["contractor"] == "self" and kind in ("heating", "solar"):
        return True
    if off != "f_heating" and one["district"] == "F" and kind == "heating" and day >= n["f_from"]:
        if off == "f_heating_old" or built >= n["f_old"]:
            return True
    granted = [(other, day - other["date"].toordinal()) for other, decided in past if decided.grant]
    if off != "repeat" and any(other["kind"] == kind and days < n["repeat_days"] for other, days in granted):
        return True
    if off != "third" and sum(other["date"].year == one["date"].year for other, _ in granted) >= 2:
        return True
    if off != "cool_off" and past:
        other, decided = past[-1]
        return not decided.grant and day - other["date"].toordinal() < n["cool_days"]
    return False


def points(one: dict, n: dict[str, int], off: str) -> int:
    kind, day, flats = one["kind"], one["date"].toordinal(), one["flats"]
    rate = n[f"base_{kind}"]
    if kind == "heating" and off != "heating_rate" and day >= n["heating_from"]:
        rate = n["heating_late"]
    if kind == "window" and off != "window_rate" and day >= n["window_from"]:
        rate = n["window_late"]
    if off != "oil" and kind == "heating" and one["oil"] and (off == "oil_single" or flats > 1):
        rate += n["oil"]
    if off != "poor" and one["income"] < n["poor_flats" if off != "poor_flats" and flats > n["many_flats"] else "poor"]:
        rate += n["poor_points"]
    if off != "old_house" and kind in ("window", "door") and one["built"] < n["old"]:
        rate += n["old_points"] if off == "old_house_a" or one["district"] != "A" else 0
    if day < n["district_from"]:
        rate += n["early"] if off != "district_early" and one["district"] in "CE" else 0
    elif off != "district_late" and one["district"] == "E":
        rate += n["late"]
    if off != "local" and one["contractor"] == "local" and one["cost"] >= n["local"]:
        rate += n["local_points"]
    if off != "senior" and one["age"] >= n["age"] and one["income"] < n["senior_income"]:
        rate += n["senior_points"] if off == "senior_solar" or kind != "solar" else 0
    if off != "points_cap_late" and day >= n["cap_from"]:
        return min(rate, n["cap_late"])
    return rate if off == "points_cap" else min(rate, n["cap"])


def decide(one: dict, past: Past, n: dict[str, int], off: str = "") -> Decision:
    """Decide a case by the numbers `n`, without the rule `off`; `past` are the person's earlier cases."""
    if is_refused(one, past, n, off):
        return Decision(0, 0)
    kind, day, year = one["kind"], one["date"].toordinal(), one["date"].year
    cost = one["cost"] * EURO
    if off != "square_metre" and kind in ("window", "wall", "roof"):
        cost = min(cost, n[f"metre_{kind}"] * one["area"] * EURO)
    if off != "self_cost" and one["contractor"] == "self":
        cost = cost * n["self_cost"] // 100
    amount = cost * points(one, n, off) // 100
    if off != "solar_metre" and kind == "solar":
        amount = min(amount, n["metre_solar"] * one["area"] * EURO)
    if off != "big_house" and one["area"] > n["big"] and one["flats"] <= n["big_flats"]:
        amount = amount * n["big_cut"] // 100 if off == "big_house_solar" or kind != "solar" else amount
    granted = [(other, decided) for other, decided in past if decided.grant]
    if off != "door_alone" and kind == "door":
        helped = (
            day - other["date"].toordinal() < n["door_days"]
            for other, _ in granted
            if other["kind"] in ("window", "wall")
        )
        amount = amount if any(helped) else amount // 2
    if off != "winter" and kind == "heating" and one["date"].month in (12, 1, 2) and one["built"] < n["winter_built"]:
        amount += n["winter"] * EURO
    of_year = [decided for other, decided in granted if other["date"].year == year]
    if off != "second" and of_year:
        amount = amount * n["second"] // 100
    if off != "minimum" and amount < n["minimum"] * EURO:
        return Decision(0, 0)
    if kind == "heating" and off != "maximum_heating":
        amount = min(amount, n["maximum_heating"] * EURO)
    elif off != "maximum":
        amount = min(amount, n["maximum"] * EURO)
    if off != "carry" and not of_year:
        amount += sum(decided.cut for other, decided in past if other["date"].year == year - 1)
    cut = 0
    if off != "year_cap":
        left = max(0, n["year"] * EURO - sum(decided.grant * EXACT for decided in of_year))
        cut, amount = max(0, amount - left), min(amount, left)
    if day < n["round_from"]:
        return Decision(amount // EXACT if off == "round_early" else amount // (10 * EURO) * 1000, cut)
    return Decision(amount // EXACT if off == "round_late" else (2 * amount + 5 * EURO) // (10 * EURO) * 500, cut)


def shown(past: Past, n: dict[str, int], rules: Sequence[str] = RULES) -> list[set[str]]:
    """Return for each case of a person those of `rules` without which it would be decided otherwise."""
    return [
        {rule for rule in rules if decide(one, past[:place], n, rule).grant != decision.grant}
        for place, (one, decision) in enumerate(past)
    ]


def numbers_tried(n: dict[str, int]) -> list[str]:
    return [f"{name}{step}" for name in n for step in ("+", "-")]


def with_next(n: dict[str, int], name: str) -> dict[str, int]:
    step = 10 if name[:-1] in ROUND_AMOUNTS else 1
    return n | {name[:-1]: n[name[:-1]] + (step if name[-1] == "+" else -step)}


def differs(past: Past, n: dict[str, int]) -> int:
    return sum(decide(one, past[:place], n).grant != decision.grant for place, (one, decision) in enumerate(past))

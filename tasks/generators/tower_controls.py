"""Eight water towers with hidden properties: their records, their controls, and how cheaply they can be run."""

import csv
import io
import json
import sys
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from craft.dice import Dice

sys.dont_write_bytecode = True  # nothing is left beside what a service gets
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "assets" / "tower_controls"))
from tower import CLEAN, MOST_CLOGGED, Tower, advance, begun  # noqa: E402 - the one that the service runs

TASK = "task_63_tower_controls"
SEED = 20261206
NAMES = ("ash", "birch", "cedar", "elm", "hazel", "larch", "oak", "rowan")
PAST_HOURS, HOURS, FIRST_WEEKDAY = 42 * 24, 6 * 24, 0
NOTICE_AT, LAUNDRY_FROM = 48, 78  # hours of the six days: when it is announced, and when the laundry begins
LAUNDRY_HOURS = range(6, 16)
NO_LEAK = "none"
BEGIN = datetime(2026, 6, 1)
SERVED = ("arriving", "back", "breaker", "clogged", "clogs", "demand", "first", "flow", "gauge", "hole", "holds", "kwh",
          "leaks", "level", "notices", "owed", "price", "spring")  # fmt: skip
PRICES = (16, 14, 13, 12, 13, 17, 26, 36, 40, 37, 32, 29, 27, 25, 25, 28, 34, 43, 47, 44, 36, 29, 23, 19)
MORNING = (4, 3, 3, 3, 5, 11, 19, 22, 18, 14, 12, 12, 14, 12, 10, 10, 12, 16, 20, 19, 15, 11, 8, 5)
STEADY = (9, 9, 9, 9, 9, 10, 11, 13, 14, 14, 14, 14, 13, 14, 14, 14, 13, 12, 11, 11, 10, 10, 9, 9)
LOW, HIGH, USUAL, CLEANED = 65, 90, 4, 168  # of the warden's rule: per cent, setting, hours

SHARES, BREADTH, PASSES = (
    40,
    60,
    2,
)  # of a tower's height, in which the search keeps one state each; states kept of an hour; passes of improvement
WORTH = 16  # cents a kWh, at which the search takes water to be worth what it costs to pump
Weather = list[tuple[int, int, int]]


class Site(NamedTuple):
    """What the search found for a tower: nearly the cheapest orders, and their cost."""

    orders: list
    best: int


def weather(dice: Dice, hours: int) -> Weather:
    """Return price (cents a kWh), temperature and rain (mm) of each hour."""
    made = []
    warm, wet = 17.0, 0
    for hour in range(hours):
        if hour % 24 == 0:
            warm = max(9.0, min(27.0, dice.bell(0.7 * warm + 0.3 * 18, 3)))
            level = dice.bell(1, 0.18)
        wet = max(0, wet - 1) if not dice.chance(0.03) else dice.between(2, 7)
        swing = (-4, -4, -5, -5, -5, -4, -3, -2, 0, 1, 3, 4, 5, 6, 6, 6, 5, 4, 2, 1, 0, -1, -2, -3)[hour % 24]
        price = PRICES[hour % 24] * level * (0.85 if hour // 24 % 7 > 4 else 1)
        made.append((max(5, round(dice.bell(price, 3))), round(warm) + swing, dice.between(1, 6) if wet else 0))
    return made


def spring(dice: Dice, days: Weather, much: int) -> list[int]:
    """Return what a spring brings in each hour, from the rain of the 30 hours before it."""
    return [much * sum(rain for *_, rain in days[max(0, hour - 30) : hour]) // 30 for hour in range(len(days))]


def demands(dice: Dice, one: dict, days: Weather, laundry: int) -> list[int]:
    made, mood, mean = [], 1.0, sum(one["pattern"]) // 24
    for hour, (_, warmth, _) in enumerate(days):
        clock, weekday = hour % 24, hour // 24 % 7
        mood = 1 + 0.9 * (mood - 1) + dice.bell(0, 0.05)
        need = one["pattern"][clock] * (one["weekend"] if weekday > 4 else 100) // 100
        need = round((need + one["thirst"] * max(0, warmth - 18)) * mood * dice.bell(1, 0.08))
        if laundry and hour >= LAUNDRY_FROM and clock in LAUNDRY_HOURS and weekday < 5:
            need += laundry
        if dice.chance(0.02):
            need += mean * dice.between(8, 16) // 10  # a fire brigade's exercise, a pool that is filled
        made.append(max(0, need))
    return made


def pump(dice: Dice, mean: int) -> dict:
    """Return what a pump does, by its settings; the one with the most water for a kWh is another at each."""
    best = dice.between(1, 4)
    flow, kwh = [0], [0]
    for setting in range(1, 6):
        flow.append(round(mean * (0.3 + 0.4 * setting) * dice.bell(1, 0.07)))
        good = 1 + 0.14 * abs(setting - best) + dice.share() * 0.1
        kwh.append(max(2, round(flow[-1] * good / 26)))
    clogs = [0, *(dice.between(1, 3) + setting * setting // 4 * dice.between(0, 1) for setting in range(1, 6))]
    return {
        "flow": flow,
        "kwh": kwh,
        "clogs": clogs,
        "breaker": kwh[4] * dice.between(41, 46),
    }


def described(dice: Dice) -> dict:
    """Return what is peculiar to a tower. Water in tenths of a cubic metre."""
    scale = dice.between(80, 130)
    shape = MORNING if dice.chance(0.6) else STEADY
    pattern = [round(cup * 20 * scale / 100 * dice.bell(1, 0.1)) for cup in shape]
    mean = sum(pattern) // 24
    holds = mean * dice.between(7, 10) // 100 * 100
    quirks = dice.sample(("hole", "back", "first", "spring"), 2)
    return {
        "pattern": pattern,
        "weekend": dice.between(70, 135),
        "thirst": dice.between(0, mean // 40),
        "holds": holds,
        "level": holds * dice.between(45, 65) // 100,
        "clogged": 0,
        "hole": holds * dice.between(55, 80) // 10000 * 100 if "hole" in quirks else 10 * holds,
        "leaks": dice.between(12, 25),
        "back": dice.between(20, 40) if "back" in quirks else 0,
        "first": dice.between(30, 60) if "first" in quirks else 100,
        "much": dice.between(mean // 14, mean // 8) if "spring" in quirks else 0,
        "delay": dice.between(1, 5),
        "arriving": [],
        "notices": [],
    } | pump(dice, mean)


def warden(tower: Tower, low: int, high: int, usual: int) -> object:
    """Return what the warden would order."""
    percent = tower.reading * 1000 // tower.one["holds"]
    running = tower.setting > 0
    return usual if percent < low or (running and percent < high) else 0


def searched(one: dict) -> tuple[list, int]:
    """Return nearly the cheapest orders for a tower whose future is known, and their cost: a beam search."""
    front = [(0, begun(one), None)]
    mean = sum(one["demand"]) // HOURS
    most = one["holds"] + one["delay"] * mean
    worth = min(kwh / flow for kwh, flow in zip(one["kwh"][1:], one["flow"][1:], strict=True)) * WORTH
    for hour in range(HOURS):
        kept = {}
        still = mean * worth * min(48, HOURS - hour) / 2000
        for _, state, before in front:
            orders = (0,) if state[5] else (0, 1, 2, 3, 4, 5)
            if not state[5] and state[2] > 60 and hour < HOURS - 12:
                orders += (CLEAN,)
            for order in orders:
                after = advance(one, state, order)
                _, level, clogged, setting, heat, _, arriving, cost, _ = after
                water = level + sum(arriving)
                key = (water * SHARES // most, setting > 0, clogged * 5 // MOST_CLOGGED, heat * 3 // one["breaker"])
                # States of one key are compared by their cost and the worth of the water.
                value = cost - water * worth + clogged * still
                if key not in kept or value < kept[key][0]:
                    kept[key] = (value, after, (order, before))
        front = sorted(kept.values(), key=lambda state: state[0])[:BREADTH]
    way = min(front, key=lambda state: state[1][7])[2]
    orders = []
    while way is not None:
        orders.append(way[0])
        way = way[1]
    return improved(one, orders[::-1])


def improved(one: dict, orders: list) -> tuple[list, int]:
    """Return orders that hardly any change of one hour, or exchange with the next one, makes cheaper."""

    def cost_from(state: tuple, hour: int) -> int:
        for order in orders[hour:]:
            state = advance(one, state, order)
        return state[7]

    best = cost_from(begun(one), 0)
    for _ in range(PASSES):
        state = begun(one)
        for hour in range(HOURS):
            kept = orders[hour : hour + 2]
            changes = [[order, *kept[1:]] for order in range(6) if order != kept[0]]
            for change in (*changes, kept[::-1]):
                orders[hour : hour + 2] = change
                cost = cost_from(state, hour)
                if cost < best:
                    best, kept = cost, change
            orders[hour : hour + 2] = kept
            state = advance(one, state, orders[hour])
    return orders, best


class History(NamedTuple):
    rows: list[tuple]
    left: Tower


def history(dice: Dice, one: dict, days: Weather) -> History:
    """Return six weeks of a tower in the care of wardens with habits of their own, and the tower as they left it."""
    past = one | {
        "demand": demands(dice, one, days, 0),
        "price": [price for price, *_ in days],
        "spring": spring(dice, days, one["much"]),
        "gauge": [round(dice.bell(0, 8)) for _ in days],
        "arriving": [0] * one["delay"],
        "owed": 0,
    }
    tower, rows = Tower(past), []
    low, high, usual = LOW, HIGH, USUAL
    for hour in range(PAST_HOURS):
        if hour % 8 == 6:
            usual = dice.pick((2, 3, 3, 3, 4, 4, 5)) if hour % 24 != 22 else dice.pick((1, 2, 3))
            low, high = (50, 80) if usual > 2 else (70, 90)
        order = warden(tower, low, high, usual)
        if hour % CLEANED == 6:
            order = CLEAN
        tower.step(order)
        kwh, short, spilt, what = tower.seen
        rows.append((tower.reading, tower.setting, kwh, what, short / 10, spilt / 10))
    return History(rows, tower)


@cache
def made(seed: int) -> tuple[Weather, dict[str, tuple[dict, History]]]:
    """Return the weather of all seven weeks, and the towers with what they have behind them."""
    dice = Dice(seed)
    days = weather(dice, PAST_HOURS + HOURS)
    towers = {}
    for place, name in enumerate(NAMES):
        own = Dice(seed * 16 + place + 1)
        while True:
            one = described(own)
            past = history(own, one, days[:PAST_HOURS])
            troubles = sum(row[4] > 0 for row in past.rows)
            if troubles < 60 and past.left.state[5] == 0:
                break
        mean = sum(one["pattern"]) // 24
        laundry = own.between(mean // 50, mean // 20) * 10
        left = past.left
        future = days[PAST_HOURS:]
        description = (
            one
            | pump(own, mean)
            | {
                "laundry": laundry,
                "demand": demands(own, one, future, laundry),
                "price": [price for price, *_ in future],
                "spring": spring(own, days, one["much"])[PAST_HOURS:],
                "gauge": [round(own.bell(0, 8)) for _ in future],
                "level": left.state[1],
                "clogged": 0,
                "arriving": list(left.state[6]),
                "owed": one["holds"] // 2,
                "notices": [
                    [
                        NOTICE_AT,
                        "From Thursday on a laundry draws water from this tower, 06:00 to 16:00 on working days.",
                    ]
                ],
            }
        )
        towers[name] = (description, past)
    return days, towers


@cache
def sites(seed: int) -> dict[str, Site]:
    return {name: Site(*searched(one)) for name, (one, _) in made(seed)[1].items()}


def table(rows: list[tuple]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def time_of(hour: int) -> str:
    return f"{BEGIN + timedelta(hours=hour):%Y-%m-%d %H:%M}"


def files(seed: int = SEED) -> dict[str, bytes]:
    days, towers = made(seed)
    result = {}
    rows = [(time_of(hour), *one) for hour, one in enumerate(days)]
    result["tower_records/days.csv"] = table([("time", "cents_per_kwh", "degrees", "rain_mm"), *rows])
    rows = [(name, one["holds"] // 10) for name, (one, _) in towers.items()]
    result["tower_records/towers.csv"] = table([("tower", "holds"), *rows])
    for name, (_, past) in towers.items():
        rows = [(time_of(hour), *row) for hour, row in enumerate(past.rows)]
        result[f"tower_records/{name}.csv"] = table(
            [("time", "level", "setting", "kwh", "event", "short", "spilt"), *rows]
        )
    known = {name: {key: one[key] for key in SERVED} for name, (one, _) in towers.items()}
    data = {"form": form_of(seed), "towers": known}
    result["tower_controls/towers.json"] = json.dumps(data, separators=(",", ":")).encode() + b"\n"
    return result


def form_of(seed: int) -> str:
    return sha256(f"{TASK} {seed}".encode()).hexdigest()[:12]


def findings(seed: int) -> dict[str, list]:
    """Return of each tower its delay, where it leaks (cubic metres), and what the laundry takes (cubic metres an hour)."""
    return {
        name: [one["delay"], one["hole"] // 10 if one["hole"] < one["holds"] else NO_LEAK, one["laundry"] // 10]
        for name, (one, _) in made(seed)[1].items()
    }


def particulars(seed: int) -> list[str]:
    """Return what the solution orders and finds: the orders of each tower, hour by hour, and its row of the report."""
    orders = [f"{name}: {' '.join(map(str, site.orders))}" for name, site in sites(seed).items()]
    return orders + [f"{name},{','.join(map(str, found))}" for name, found in findings(seed).items()]


def expected(seed: int = SEED) -> dict:
    best = {name: site.best for name, site in sites(seed).items()}
    return {"best": best, "form": form_of(seed), "found": findings(seed)}

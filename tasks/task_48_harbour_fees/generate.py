"""A season's bookings of a small harbour, and what each of them costs by its tariff."""

import json
from typing import NamedTuple
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

from craft.dice import Dice

SEED = 20260701
LOCAL = ZoneInfo("Europe/Copenhagen")
ZONES = ("Europe/Copenhagen", "UTC", "Europe/London", "Europe/Helsinki")


class Rates(NamedTuple):
    """Prices in øre: of a half metre in the high season, outside it and by the second tariff, and of a kWh."""

    high: int = 1100
    low: int = 650
    second: int = 720
    power: int = 310


def rates(seed: int) -> Rates:
    if seed == SEED:
        return Rates()
    dice = Dice(seed + 2)
    return Rates(
        1010 + 10 * dice.below(9), 560 + 10 * dice.below(9), 660 + 10 * dice.below(6), 320 + 10 * dice.below(8)
    )


def particulars(seed: int) -> list[str]:
    """Return the prices, as they stand in the tariff."""
    return [str(rate) for rate in rates(seed)]


def booking(dice: Dice, number: int, kind: int) -> dict:
    day = date(2026, 4, 25) + timedelta(days=dice.below(140))
    if kind == 1:
        day = dice.pick((date(2026, 3, 28), date(2026, 10, 24)))  # the clocks change in the night after
    arrive = datetime(day.year, day.month, day.day, dice.between(0, 23), dice.pick((0, 10, 30, 45)), tzinfo=LOCAL)
    hours = (
        dice.pick((2, 3, 3, 4, 9))
        if kind == 0
        else dice.between(10, 40)
        if kind == 1
        else dice.between(14, 24 * dice.pick((3, 9, 16, 24)))
    )
    if kind == 1 and dice.chance(0.5):
        arrive, hours = arrive.replace(hour=23), dice.pick((3, 4, 5))
    depart = (arrive.astimezone(UTC) + timedelta(hours=hours, minutes=dice.pick((0, 0, 1, 30)))).astimezone(LOCAL)
    made = min(day, date(2026, 1, 20) + timedelta(days=dice.below(110)))
    zones = [ZoneInfo(dice.pick(ZONES)) for _ in range(2)]
    return {
        "id": f"B{number}", "booked_on": f"{made}", "length_cm": dice.between(520, 1680), "hulls": 2 if dice.chance(0.2) else 1,
        "member": dice.chance(0.4), "arrive": arrive.astimezone(zones[0]).isoformat(timespec="minutes"),
        "depart": depart.astimezone(zones[1]).isoformat(timespec="minutes"), "kwh": f"{dice.below(900) / 10:.1f}",
        "cancelled": dice.chance(0.07),
    }  # fmt: skip


def ore(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_HALF_UP))


def bill(one: dict, prices: Rates, *, is_new: bool) -> dict:
    """What a booking costs in øre, by the first tariff or by that of the second message."""
    arrive, depart = (datetime.fromisoformat(one[key]).astimezone(LOCAL) for key in ("arrive", "depart"))
    halves = -(-one["length_cm"] // 50)
    hulls = Decimal("1.5") if one["hulls"] > 1 else Decimal(1)
    count = (depart.date() - arrive.date()).days
    discount = Decimal(0)
    if one["member"]:
        discount = Decimal("0.25") if is_new and one["booked_on"] >= "2026-03-15" else Decimal("0.20")

    def night(day: date) -> int:
        is_high = date(2026, 6, 15) <= day <= date(2026, 8, 31)
        rate = prices.high if is_high else prices.second if is_new and day >= date(2026, 5, 1) else prices.low
        price = halves * rate * hulls
        return ore(price if is_high else price * (1 - discount))

    is_free = not (is_new and arrive.date() >= date(2026, 7, 1))
    nights = [
        0 if is_free and place % 7 == 6 else night(arrive.date() + timedelta(days=place)) for place in range(count)
    ]
    berth = sum(nights)
    if not count:
        elapsed = depart.astimezone(UTC) - arrive.astimezone(UTC)
        berth = ore(Decimal(night(arrive.date())) * Decimal("0.4")) if elapsed > timedelta(hours=3) else 0
    used = max(Decimal(0), Decimal(one["kwh"]) - 5 * count)
    power = ore(used * prices.power)
    if one["cancelled"]:
        berth, power = (ore(Decimal(night(arrive.date())) / 2), 0)
    return {"id": one["id"], "nights": count, "berth": berth, "power": power, "total": berth + power}


def bookings(seed: int, count: int, first: int) -> list[dict]:
    dice = Dice(seed)
    return [booking(dice, first + number, number % 5) for number in range(count)]


def files(seed: int = SEED) -> dict[str, bytes]:
    given = bookings(seed, 240, 1001)
    made = {f"bookings/{one['id']}.json": (json.dumps(one, indent=1) + "\n").encode() for one in given}
    return {f"harbour_fees/{name}": data for name, data in made.items()}


def expected(seed: int = SEED) -> dict:
    prices = rates(seed)

    def lines(given: list[dict], *, is_new: bool) -> dict[str, list[int]]:
        bills = (bill(one, prices, is_new=is_new) for one in given)
        return {one["id"]: [one["nights"], one["berth"], one["power"]] for one in bills}

    given, hidden = bookings(seed, 240, 1001), bookings(seed + 1, 60, 5001)
    totals = [[bill(one, prices, is_new=is_new)["total"] for one in given] for is_new in (False, True)]
    difference = {
        "first": sum(totals[0]),
        "second": sum(totals[1]),
        "changed": sum(a != b for a, b in zip(*totals, strict=True)),
    }
    return {
        "difference": difference,
        "bills": lines(given, is_new=True),
        "hidden": hidden,
        "answers": lines(hidden, is_new=True),
        "old": lines(hidden, is_new=False),
    }

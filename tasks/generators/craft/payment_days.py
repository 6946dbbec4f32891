"""Payments of six shops, made around a hidden plan that pays each in time and leaves hardly anything of any day's limits."""

from typing import NamedTuple

from craft.dice import Dice

# Banking days of each shop. With fewer payments a search of all plans would end, with many more a simple one would do.
DAYS = {"ashby": 15, "brook": 18, "cairn": 21, "dell": 24, "eyre": 28, "firth": 32}
MEASURES = ("eur", "lines", "pages", "minutes")
# What a day allows of each measure, and the least of it that a payment takes.
LIMITS = ((48_000, 520, 640, 420), (64_000, 700, 560, 480), (90_000, 610, 860, 450))
LEAST = (150, 2, 2, 3)
# How much of a day's limits the hidden plan leaves at most, in thousandths. If it left nothing, the sets of payments that
# fill a day exactly could be listed, and the plan be put together from them.
FREE = 8


class Shop(NamedTuple):
    limits: tuple[int, ...]
    payments: list[tuple]
    plan: list[int]  # the day of each payment


def shares(dice: Dice, whole: int, count: int, least: int) -> list[int]:
    """Cut a whole number into random parts, none of which is much smaller than the others."""
    weights = [dice.between(30, 170) for _ in range(count)]
    parts = [max(least, whole * weight // sum(weights)) for weight in weights]
    parts[parts.index(max(parts))] += whole - sum(parts)
    return parts


def shop(seed: int, days: int) -> Shop:
    dice = Dice(seed)
    limits = dice.pick(LIMITS)
    placed = []
    for day in range(1, days + 1):
        count = dice.between(7, 9)
        filled = [limit - dice.below(limit * FREE // 1000 + 1) for limit in limits]
        columns = [shares(dice, whole, count, least) for whole, least in zip(filled, LEAST, strict=True)]
        suppliers = dice.sample(range(1, days + 10), count)
        placed += [(day, *rest) for rest in zip(suppliers, *columns, strict=True)]
    placed = dice.shuffled(placed)
    payments = []
    for number, (day, supplier, *needs) in enumerate(placed, 1):
        start = max(1, day - dice.below(days * 2 // 3))
        until = min(days, day + dice.below(days * 2 // 3))
        due = min(days, until + dice.between(1, 4))
        size = sum(need / limit for need, limit in zip(needs, limits, strict=True))
        discount, late = (round(size * dice.between(180, 220)) for _ in range(2))
        payments.append((f"P{number:03}", f"T-{supplier:02}", *needs, start, until, due, discount, late))
    return Shop(limits, payments, [day for day, *_ in placed])


def shops(seed: int) -> dict[str, Shop]:
    return {name: shop(seed + place, days) for place, (name, days) in enumerate(DAYS.items())}


def tables(seed: int) -> dict[str, tuple[str, list[tuple]]]:
    """Return head and rows of each file, by its name."""
    every = shops(seed)
    limits = [(name, DAYS[name], *one.limits) for name, one in every.items()]
    made = {"limits.csv": (",".join(("shop", "days", *MEASURES)), limits)}
    head = ",".join(("payment", "supplier", *MEASURES, "from", "discount_until", "due", "discount_eur", "late_eur"))
    return made | {f"{name}.csv": (head, one.payments) for name, one in every.items()}

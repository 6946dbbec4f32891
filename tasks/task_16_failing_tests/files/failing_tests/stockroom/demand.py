"""How well parts sell, and when to order them again."""

from collections.abc import Iterable
from datetime import date
from decimal import ROUND_CEILING, Decimal

from stockroom.clock import business_day, days_of, last_days
from stockroom.model import Movement


def sold_by_part(movements: Iterable[Movement], first: date, last: date) -> dict[str, int]:
    """Return for each part the pieces sold less the pieces returned on the business days from `first` to `last`."""
    sold: dict[str, int] = {}
    for movement in movements:
        if first <= business_day(movement.moment) < last:
            pieces = movement.quantity if movement.kind == "sold" else -movement.quantity
            sold[movement.sku] = sold.get(movement.sku, 0) + pieces
    return sold


def sold_by_day(movements: Iterable[Movement], sku: str, first: date, last: date) -> dict[date, int]:
    """Return the same for one part by business day; days without a movement are there with 0."""
    movements = list(movements)
    return {day: sold_by_part(movements, day, day).get(sku, 0) for day in days_of(first, last)}


def daily_average(movements: Iterable[Movement], sku: str, day: date, count: int = 7) -> Decimal:
    """Return how many pieces of a part were sold a day in the last `count` days up to `day`."""
    first, last = last_days(day, count)
    return Decimal(sold_by_part(movements, first, last).get(sku, 0)) / count


def reorder_quantity(average: Decimal, stock: int, days: int = 14) -> int:
    """Return how many whole pieces must be ordered so that the stock lasts `days` days, at least 0."""
    return max(0, int((average * days).to_integral_value(ROUND_CEILING)) - stock)

import unittest
from datetime import date, datetime, timezone
from decimal import Decimal

from stockroom.demand import daily_average, reorder_quantity, sold_by_day, sold_by_part
from stockroom.model import Movement


def at(day: int, quantity: int, kind: str = "sold", sku: str = "HC-20") -> Movement:
    return Movement(datetime(2026, 3, day, 10, tzinfo=timezone.utc), sku, kind, quantity)


class DemandTest(unittest.TestCase):
    def test_returns_are_taken_off(self) -> None:
        moves = [at(2, 5), at(3, 2, "returned"), at(3, 4, sku="FN-8")]
        self.assertEqual(sold_by_part(moves, date(2026, 3, 1), date(2026, 3, 5)), {"HC-20": 3, "FN-8": 4})

    def test_a_period_holds_its_last_day(self) -> None:
        self.assertEqual(sold_by_part([at(4, 5)], date(2026, 3, 1), date(2026, 3, 4)), {"HC-20": 5})

    def test_days_without_sales_are_listed(self) -> None:
        by_day = sold_by_day([at(2, 5), at(4, 1)], "HC-20", date(2026, 3, 2), date(2026, 3, 4))
        self.assertEqual(by_day, {date(2026, 3, 2): 5, date(2026, 3, 3): 0, date(2026, 3, 4): 1})

    def test_the_average_of_a_week(self) -> None:
        self.assertEqual(daily_average([at(5, 7), at(9, 7)], "HC-20", date(2026, 3, 10)), Decimal(2))

    def test_how_many_to_order(self) -> None:
        self.assertEqual(reorder_quantity(Decimal("1.5"), 4), 17)
        self.assertEqual(reorder_quantity(Decimal("0.1"), 40), 0)
        self.assertEqual(reorder_quantity(Decimal("0.1"), 0), 2)

import unittest
from datetime import date, datetime, timezone
from decimal import Decimal

from stockroom.catalogue import Catalogue
from stockroom.model import Movement, Part
from stockroom.pricing import Line, invoice
from stockroom.report import best_seller_lines, invoice_lines, page


class ReportTest(unittest.TestCase):
    def test_pages(self) -> None:
        rows = ["a", "b", "c", "d", "e"]
        self.assertEqual([page(rows, number, 2) for number in (0, 1, 3, 4)], [[], ["a", "b"], ["e"], []])

    def test_the_best_sellers(self) -> None:
        noon = datetime(2026, 3, 3, 12, tzinfo=timezone.utc)
        catalogue = Catalogue([Part("HC-20", "Hose clamp", Decimal("0.85"))])
        moves = [Movement(noon, "HC-20", "sold", 3), Movement(noon, "FN-8", "sold", 9), Movement(noon, "OR-3", "returned", 1)]
        lines = best_seller_lines(catalogue, moves, date(2026, 3, 1), date(2026, 3, 8))
        self.assertEqual(lines, ["1. ? (FN-8): 9", "2. Hose clamp (HC-20): 3"])

    def test_the_same_sales_are_in_the_order_of_the_sku(self) -> None:
        noon = datetime(2026, 3, 3, 12, tzinfo=timezone.utc)
        moves = [Movement(noon, sku, "sold", 3) for sku in ("HC-20", "FN-8", "OR-3")]
        lines = best_seller_lines(Catalogue(), moves, date(2026, 3, 1), date(2026, 3, 8), count=2)
        self.assertEqual(lines, ["1. ? (FN-8): 3", "2. ? (HC-20): 3"])

    def test_an_invoice_as_text(self) -> None:
        done = invoice([Line(Part("HC-20", "Hose clamp", Decimal("850")), 2)])
        self.assertEqual(invoice_lines(done), ["net: 1,700.00 EUR", "tax 20 %: 340.00 EUR", "gross: 2,040.00 EUR"])

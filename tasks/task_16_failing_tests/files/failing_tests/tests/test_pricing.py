import unittest
from decimal import Decimal

from stockroom.model import Part
from stockroom.pricing import Line, discount_rate, invoice, line_net

CLAMP = Part("HC-20", "Hose clamp", Decimal("0.85"))
BOOK = Part("MN-1", "Manual", Decimal("14.90"), tax_rate=10)


class PricingTest(unittest.TestCase):
    def test_discounts(self) -> None:
        self.assertEqual([discount_rate(count) for count in (1, 9, 25, 60)], [0, 0, Decimal("2.5"), 5])

    def test_ten_pieces_have_a_discount(self) -> None:
        self.assertEqual(discount_rate(10), Decimal("2.5"))

    def test_a_line_with_a_discount(self) -> None:
        self.assertEqual(line_net(Line(CLAMP, 60)), Decimal("48.45"))

    def test_tax_is_kept_by_rate(self) -> None:
        done = invoice([Line(CLAMP, 2), Line(BOOK, 1)])
        self.assertEqual(done.net, Decimal("16.60"))
        self.assertEqual(list(done.tax.items()), [(10, Decimal("1.49")), (20, Decimal("0.34"))])
        self.assertEqual(done.gross, Decimal("18.43"))

import unittest
from decimal import Decimal

from stockroom.money import parse_amount, round_cents, show


class MoneyTest(unittest.TestCase):
    def test_amounts_with_a_comma_or_a_point(self) -> None:
        self.assertEqual(parse_amount("1 234,50"), Decimal("1234.50"))
        self.assertEqual(parse_amount("-7.5"), Decimal("-7.5"))

    def test_nonsense_is_refused(self) -> None:
        for text in ("", "twelve", "1.2.3", "NaN", "Infinity"):
            with self.assertRaises(ValueError):
                parse_amount(text)

    def test_cents_have_two_decimals(self) -> None:
        self.assertEqual(str(round_cents(Decimal("3"))), "3.00")
        self.assertEqual(str(round_cents(Decimal("3.999"))), "4.00")

    def test_half_a_cent_is_rounded_up(self) -> None:
        self.assertEqual(round_cents(Decimal("2.675")), Decimal("2.68"))

    def test_amounts_for_people(self) -> None:
        self.assertEqual(show(Decimal("1234.5")), "1,234.50 EUR")

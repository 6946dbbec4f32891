import unittest
from datetime import date

from stockroom.allocation import ShortageError, allocate, leaving_order, usable
from stockroom.model import Batch

MARCH = date(2026, 3, 2)


class AllocationTest(unittest.TestCase):
    def test_the_earliest_expiry_goes_first(self) -> None:
        batches = [
            Batch("B1", "GL-5", 4, date(2026, 1, 5)),
            Batch("B2", "GL-5", 4, date(2026, 1, 6), date(2026, 9, 1)),
            Batch("B3", "GL-5", 4, date(2026, 1, 7), date(2026, 6, 1)),
        ]
        self.assertEqual(allocate(batches, "GL-5", 9, MARCH), [("B3", 4), ("B2", 4), ("B1", 1)])
        self.assertEqual([batch.quantity for batch in batches], [3, 0, 0])

    def test_a_batch_may_be_used_on_its_last_day(self) -> None:
        batches = [Batch("B1", "GL-5", 4, date(2026, 1, 5), MARCH), Batch("B2", "GL-5", 4, date(2026, 1, 5), date(2026, 3, 1))]
        self.assertEqual([batch.number for batch in usable(batches, "GL-5", MARCH)], ["B1"])

    def test_lower_numbers_go_first(self) -> None:
        same = date(2026, 1, 5)
        batches = [Batch("B10", "GL-5", 1, same), Batch("B9", "GL-5", 1, same)]
        self.assertEqual([batch.number for batch in leaving_order(batches)], ["B9", "B10"])

    def test_a_shortage_takes_nothing(self) -> None:
        batches = [Batch("B1", "GL-5", 4, date(2026, 1, 5))]
        with self.assertRaises(ShortageError) as caught:
            allocate(batches, "GL-5", 6, MARCH)
        self.assertEqual(caught.exception.missing, 2)
        self.assertEqual(batches[0].quantity, 4)

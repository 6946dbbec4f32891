import unittest
from datetime import datetime, timezone

from stockroom.importer import read_movements

GOOD = """moment,sku,kind,quantity
2026-03-02T09:00:00Z,hc-20,sold,4
2026-03-02T08:00:00Z,FN-8,Returned,1
"""
BAD = """moment,sku,kind,quantity
2026-03-02T09:00:00Z,HC-20,lost,4
2026-03-02T09:00:00Z,HC-20,sold,0
2026-03-02T09:00:00Z,HC-20,sold,3
"""


class ImporterTest(unittest.TestCase):
    def test_problems_name_their_line(self) -> None:
        movements, problems = read_movements(BAD, [])
        self.assertEqual(problems, ["line 2: unknown kind 'lost'", "line 3: the quantity must be positive"])
        self.assertEqual([movement.quantity for movement in movements], [3])

    def test_problems_are_added_to_a_given_list(self) -> None:
        mine = ["before"]
        read_movements(BAD, mine)
        self.assertEqual(len(mine), 3)

    def test_movements_are_in_time_order(self) -> None:
        movements, _ = read_movements(GOOD, [])
        self.assertEqual([movement.sku for movement in movements], ["FN-8", "HC-20"])
        self.assertEqual(movements[0].moment, datetime(2026, 3, 2, 8, tzinfo=timezone.utc))

    def test_every_import_has_its_own_problems(self) -> None:
        read_movements(BAD)
        self.assertEqual(read_movements(GOOD)[1], [])

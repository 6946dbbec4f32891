import unittest
from datetime import date, datetime, timezone

from stockroom.clock import business_day, days_of, last_days, parse_moment


class ClockTest(unittest.TestCase):
    def test_a_moment_in_utc(self) -> None:
        self.assertEqual(parse_moment("2026-03-01T08:00:00Z"), datetime(2026, 3, 1, 8, tzinfo=timezone.utc))

    def test_an_offset_is_taken_into_account(self) -> None:
        self.assertEqual(parse_moment("2026-03-01T08:00:00+05:30"), datetime(2026, 3, 1, 2, 30, tzinfo=timezone.utc))

    def test_nonsense_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            parse_moment("yesterday")

    def test_the_business_day_at_noon(self) -> None:
        self.assertEqual(business_day(datetime(2026, 3, 1, 12, tzinfo=timezone.utc)), date(2026, 3, 1))

    def test_a_business_day_needs_a_time_zone(self) -> None:
        with self.assertRaises(ValueError):
            business_day(datetime(2026, 3, 1, 12))

    def test_the_last_days_end_with_the_day(self) -> None:
        self.assertEqual(last_days(date(2026, 3, 9), 7)[1], date(2026, 3, 9))

    def test_a_period_of_no_days_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            last_days(date(2026, 3, 9), 0)

    def test_days_of_a_period(self) -> None:
        self.assertEqual(days_of(date(2026, 2, 27), date(2026, 3, 1)), [date(2026, 2, 27), date(2026, 2, 28), date(2026, 3, 1)])
        self.assertEqual(days_of(date(2026, 3, 2), date(2026, 3, 1)), [])

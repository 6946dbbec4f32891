"""Moments and business days."""

from datetime import date, datetime, timedelta, timezone

DEPOT = timezone(timedelta(hours=2), "depot")


def parse_moment(text: str) -> datetime:
    """Read an ISO 8601 time stamp and return the moment in UTC.

    `2026-03-01T08:00:00Z` and `2026-03-01T10:00:00+02:00` are the same moment. Without an offset it is depot time.
    """
    moment = datetime.fromisoformat(text.strip())
    return moment.replace(tzinfo=timezone.utc)


def business_day(moment: datetime) -> date:
    """Return the day in depot time on which a moment lies. Moments without a time zone are refused (`ValueError`)."""
    if moment.tzinfo is None:
        raise ValueError("a moment needs a time zone")
    return moment.date()


def last_days(day: date, count: int) -> tuple[date, date]:
    """Return the first and the last day of the last `count` days up to `day`."""
    if count < 1:
        raise ValueError("a period has at least one day")
    return day - timedelta(days=count), day


def days_of(first: date, last: date) -> list[date]:
    """Return all days of a period, in order. It is empty if `last` lies before `first`."""
    return [first + timedelta(days=step) for step in range((last - first).days + 1)]

"""Retries are bounded, and wait as long as the provider asks for."""

from __future__ import annotations

import pytest

from pinchbench.wire.messages import RetrySettings
from pinchbench.wire.retries import retry_after_s, retry_delay_s

THREE = RetrySettings(times=3, limit_s=60.0)


@pytest.mark.parametrize(
    ("status", "tried", "elapsed_s", "after_s", "expected"),
    [
        (200, 1, 0.0, None, None),
        (400, 1, 0.0, None, None),
        (429, 1, 0.0, None, 0.5),
        (503, 3, 0.0, None, 2.0),
        (503, 4, 0.0, None, None),  # no further try
        (0, 1, 0.0, None, 0.5),  # not reached
        (429, 1, 0.0, 7.0, 7.0),
        (429, 1, 55.0, 7.0, None),  # too late
        (500, 1, 59.8, None, None),
    ],
)
def test_a_failure_is_retried_within_count_and_time(
    status: int, tried: int, elapsed_s: float, after_s: float | None, expected: float | None
) -> None:
    assert retry_delay_s(status, tried=tried, elapsed_s=elapsed_s, retry_after_s=after_s, settings=THREE) == expected


def test_nothing_is_retried_unless_asked_for() -> None:
    assert retry_delay_s(429, tried=1, elapsed_s=0.0, retry_after_s=0.0, settings=RetrySettings()) is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (b"Retry-After", b"3", 3.0),
        (b"retry-after", b"1.5", 1.5),
        (b"retry-after-ms", b"250", 0.25),
        (b"Retry-After", b"Thu, 01 Jan 1970 00:01:40 GMT", 60.0),
        (b"Retry-After", b"Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        (b"Retry-After", b"-1", None),
        (b"Retry-After", b"nan", None),
        (b"Retry-After", b"soon", None),
        (b"Other", b"3", None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(name: bytes, value: bytes, expected: float | None) -> None:
    assert retry_after_s([(name, value)], now=40.0) == expected

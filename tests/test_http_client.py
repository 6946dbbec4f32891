"""What is known of an endpoint, for all its clients."""

import logging
import math
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinchbench.http_client import LOGGERS, careful_logs, is_loopback, retry_after_s

NOW = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)
LONGEST_S = 120.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("1.5", 1.5),
        (" 3 ", 3),
        ("-1", 0),
        ("86400", LONGEST_S),
        ("inf", LONGEST_S),
        ("nan", None),
        ("", None),
        ("soon", None),
        ("Sun, 22 Nov 2026 01:02:33 GMT", 30),
        ("Sun, 22 Nov 2026 01:02:33 -0000", 30),
        ("Sun, 22 Nov 2026 03:02:33 +0200", 30),
        ("Sun, 22 Nov 2026 00:00:00 GMT", 0),
        ("Sun, 22 Nov 2099 00:00:00 GMT", LONGEST_S),
        ("Sun, 99 Nov 2026 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, NOW, longest_s=LONGEST_S) == seconds


@given(value=st.text() | st.floats().map(str) | st.datetimes().map(format_datetime))
def test_retry_after_never_means_more_than_its_cap(value: str) -> None:
    seconds = retry_after_s(value, NOW, longest_s=LONGEST_S)
    assert seconds is None or (math.isfinite(seconds) and 0 <= seconds <= LONGEST_S)


def test_without_a_cap_a_wait_is_reported_as_it_is_unless_it_never_ends() -> None:
    assert retry_after_s("86400", NOW) == 86_400
    assert retry_after_s("Sun, 22 Nov 2099 01:02:03 GMT", NOW) == (NOW.replace(year=2099) - NOW).total_seconds()
    assert retry_after_s("inf", NOW) is None


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("judge.localhost", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
    ],
)
def test_which_hosts_are_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_logs_hold_no_keys_within_the_block_alone(caplog: pytest.LogCaptureFixture) -> None:
    loggers = [logging.getLogger(name) for name in LOGGERS]

    def log_all() -> None:
        for logger in loggers:
            logger.warning("the header is %s", "sk-planted")
            logger.warning("fine")

    with careful_logs(["", "sk-planted"]):
        log_all()
    assert [record.getMessage() for record in caplog.records] == ["fine"] * len(loggers)
    caplog.clear()
    log_all()
    assert len(caplog.records) == 2 * len(loggers)

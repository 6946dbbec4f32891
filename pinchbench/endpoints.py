"""What all that asks other machines over HTTP has in common: whose they are, when to ask again, and quiet logs."""

from __future__ import annotations

import ipaddress
import logging
import math
from contextlib import contextmanager
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Generator
    from datetime import datetime

LOGGERS = ("stamina", "httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy")


class TransientError(Exception):
    """A request failed in a way that a retry may fix; `wait_s` is the delay the endpoint asked for, if any."""

    def __init__(self, what: str, *, wait_s: float | None = None) -> None:
        """`what` goes on with a sentence on the last attempt."""
        super().__init__(what)
        self.wait_s = wait_s


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine (pure)."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def retry_after_s(value: str, now: datetime, *, longest_s: float = math.inf) -> float | None:
    """Read a `Retry-After` header, seconds or an HTTP date, as seconds from now: 0 to `longest_s` (pure).

    None: it says nothing, or that there is no end to it.
    """
    try:
        seconds = float(value)
    except ValueError:
        try:
            due = parsedate_to_datetime(value)
            seconds = (due if due.tzinfo else due.replace(tzinfo=UTC)).timestamp() - now.timestamp()
        except (ValueError, TypeError, OverflowError):
            return None
    wait_s = max(0.0, min(seconds, longest_s)) if not math.isnan(seconds) else math.inf
    return wait_s if math.isfinite(wait_s) else None


@contextmanager
def careful_logs(secrets: Collection[str]) -> Generator[None]:
    """Keep two things out of the logs of the HTTP client's libraries within the block.

    Retries of ours: Python prints them to stderr where nobody has set logging up. And keys, should an endpoint echo
    them: httpcore2 logs the headers of responses.
    """

    def accept(record: logging.LogRecord) -> bool:
        if TransientError.__name__ in str(record.__dict__.get("stamina.caused_by", "")):
            return False
        message = record.getMessage()
        return not any(secret and secret in message for secret in secrets)

    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(accept)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(accept)

"""When the proxy asks a provider again before it passes a failure on (pure)."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.wire.messages import RetrySettings
    from pinchbench.wire.request_route import Header

NOT_REACHED = 0  # in place of a status
RETRYABLE = frozenset({NOT_REACHED, 429, 500, 502, 503, 504})
FIRST_DELAY_S = 0.5  # as OpenClaw's own
MAX_DELAY_S = 30.0


def retry_delay_s(
    status: int, *, tried: int, elapsed_s: float, retry_after_s: float | None, settings: RetrySettings
) -> float | None:
    """Return how long to wait before the next try; None if the failure, or the success, is passed on.

    Args:
        status: What came back; 0 if nothing did.
        tried: How many tries there were, this one included.
        elapsed_s: Since the first try began.
        retry_after_s: What the provider asked for.
        settings: How often and how long.
    """
    if status not in RETRYABLE or tried > settings.times:
        return None
    delay_s = min(FIRST_DELAY_S * 2 ** (tried - 1), MAX_DELAY_S) if retry_after_s is None else retry_after_s
    return delay_s if elapsed_s + delay_s <= settings.limit_s else None


def retry_after_s(headers: Iterable[Header], *, now: float) -> float | None:
    """Return what `Retry-After-Ms` or `Retry-After` asks for, in seconds from now, which is a Unix time."""
    values = {name.lower(): value.decode("latin-1").strip() for name, value in headers}
    if (number := _number(values.get(b"retry-after-ms", ""))) is not None:
        return number / 1000
    text = values.get(b"retry-after", "")
    if (number := _number(text)) is not None:
        return number
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.fromtimestamp(now, UTC)).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None

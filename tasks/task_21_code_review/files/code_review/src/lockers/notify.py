"""Messages to receivers."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta

from lockers.fees import FREE_DAYS
from lockers.store import Parcel

log = logging.getLogger(__name__)
Send = Callable[[str, str], None]


def message(parcel: Parcel, code: str, *, with_site: str | None = None) -> str:
    """Return the text of a message; `with_site` adds where the lockers are."""
    where = f" at {with_site}" if with_site else ""
    return f"Your parcel {parcel.id} waits in locker {parcel.locker}{where}. Code: {code}"


def free_until(parcel: Parcel) -> date | None:
    """Return the last day on which a parcel can be collected free of charge."""
    if parcel.put_in is None:
        return None
    return date.fromisoformat(parcel.put_in) + timedelta(days=FREE_DAYS)


def send_all(send: Send, texts: dict[str, str], attempts: int = 1) -> list[str]:
    """Send a text to each receiver, trying up to `attempts` times; return the receivers that could not be reached."""
    lost = []
    for receiver, text in texts.items():
        for attempt in range(1, attempts + 1):
            try:
                send(receiver, text)
                break
            except OSError as error:
                log.warning("attempt %d to reach %s failed: %s", attempt, receiver, error)
        else:
            lost.append(receiver)
    return lost


def send_quietly(send: Send, receiver: str, text: str) -> None:
    """Send a courtesy message; whether it arrives does not matter."""
    with suppress(OSError):
        send(receiver, text)

"""The morning report of a site."""

from datetime import date

from lockers.fees import FREE_DAYS
from lockers.store import Store


def waiting(store: Store, site: str) -> int:
    """Return how many parcels of a site were not collected yet."""
    return sum(1 for parcel in store.parcels(site) if parcel.collected is None)


def morning(store: Store, site: str, today: date) -> list[str]:
    """Return the lines of the report: every parcel that is still shown, and how long it has been there."""
    lines = [f"{site}: {waiting(store, site)} waiting"]
    for parcel in store.parcels(site):
        if parcel.put_in is None:
            continue
        days = (today - date.fromisoformat(parcel.put_in)).days
        state = "collected" if parcel.collected else "late" if days > FREE_DAYS else "waiting"
        lines.append(f"{parcel.id:>6} {parcel.locker} {state} {days} d")
    return lines

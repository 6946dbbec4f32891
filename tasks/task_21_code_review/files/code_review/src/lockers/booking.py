"""Which locker a parcel goes into, and when it is free again."""

from datetime import date

from lockers.store import Store


class NoLockerError(Exception):
    """All lockers of the size are taken."""


class Booking:
    """Bookings of one site. Every worker process has a store and bookings of its own.

    `assigned` counts what this object assigned, for the log of its process.
    """

    def __init__(self, store: Store, site: str) -> None:
        self.store = store
        self.site = site
        self.assigned = 0

    def free(self, size: int) -> list[str]:
        """Return the names of the free lockers that are large enough, the smallest first."""
        rows = self.store.connection.execute(
            "SELECT name FROM lockers WHERE site = ? AND size >= ? AND parcel IS NULL ORDER BY size, name",
            (self.site, size),
        )
        return [name for (name,) in rows]

    def claim(self, number: int, locker: str) -> bool:
        """Put a parcel into a locker named by the courier. Return False if another parcel was faster."""
        done = self.store.connection.execute(
            "UPDATE lockers SET parcel = ? WHERE name = ? AND parcel IS NULL", (number, locker)
        )
        return done.rowcount == 1

    def assign(self, number: int, size: int, today: date) -> str:
        """Choose a free locker for a parcel and return its name."""
        names = self.free(size)
        if not names:
            raise NoLockerError(f"no locker of size {size} at {self.site}")
        locker = names[0]
        connection = self.store.connection
        connection.execute("UPDATE lockers SET parcel = ? WHERE name = ?", (number, locker))
        connection.execute(
            "UPDATE parcels SET locker = ?, put_in = ? WHERE id = ?", (locker, today.isoformat(), number)
        )
        self.assigned += 1
        return locker

    def collect(self, number: int, today: date) -> None:
        """Take a parcel out. Its locker is free afterwards; collecting twice changes nothing."""
        connection = self.store.connection
        connection.execute(
            "UPDATE parcels SET collected = ? WHERE id = ? AND collected IS NULL", (today.isoformat(), number)
        )
        connection.execute("UPDATE lockers SET parcel = NULL WHERE parcel = ?", (number,))

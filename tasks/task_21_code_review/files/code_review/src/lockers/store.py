"""The database: parcels and lockers in one SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date

TABLES = ("parcels", "lockers", "payments")

SCHEMA = """
CREATE TABLE IF NOT EXISTS parcels (
    id INTEGER PRIMARY KEY, sender TEXT NOT NULL, receiver TEXT NOT NULL, locker TEXT, put_in TEXT, collected TEXT,
    archived INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS lockers (name TEXT PRIMARY KEY, site TEXT NOT NULL, size INTEGER NOT NULL, parcel INTEGER);
CREATE TABLE IF NOT EXISTS payments (parcel INTEGER PRIMARY KEY, cents INTEGER NOT NULL, reference TEXT NOT NULL, state TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Parcel:
    """A row of `parcels`; days are ISO dates."""

    id: int
    sender: str
    receiver: str
    locker: str | None
    put_in: str | None
    collected: str | None
    archived: int


class Store:
    """One connection to the database. Statements outside `transaction` are committed one by one."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, timeout=10, isolation_level=None)
        self.connection.executescript(SCHEMA)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock of the database; commit at the end, or roll back after an exception."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        if table not in TABLES:
            raise ValueError(f"no such table: {table}")
        return self.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def parcel(self, number: int) -> Parcel:
        """Return a parcel. An unknown number raises `KeyError`."""
        row = self.connection.execute("SELECT * FROM parcels WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise KeyError(number)
        return Parcel(*row)

    def parcels(self, site: str, include_archived: bool = True) -> list[Parcel]:
        """Return the parcels in the lockers of a site by number."""
        hidden = "" if include_archived else " AND parcels.archived = 0"
        rows = self.connection.execute(
            "SELECT parcels.* FROM parcels JOIN lockers ON lockers.name = parcels.locker"
            f" WHERE lockers.site = ?{hidden} ORDER BY parcels.id",
            (site,),
        )
        return [Parcel(*row) for row in rows]

    def search(self, sender: str, sort: str = "id", limit: int = 50) -> list[Parcel]:
        """Return parcels whose sender begins with a text, for the desk."""
        rows = self.connection.execute(
            f"SELECT * FROM parcels WHERE sender LIKE ? || '%' ORDER BY {sort} LIMIT ?",
            (sender, limit),
        )
        return [Parcel(*row) for row in rows]

    def by_ids(self, numbers: list[int]) -> list[Parcel]:
        """Return the parcels with these numbers, as far as they exist."""
        marks = ", ".join("?" for _ in numbers)
        rows = self.connection.execute(f"SELECT * FROM parcels WHERE id IN ({marks}) ORDER BY id", numbers)
        return [Parcel(*row) for row in rows]

    def put_in_between(self, site: str, first: date, end: date) -> Iterator[Parcel]:
        """Yield the parcels that were put in from `first` (included) to `end` (excluded)."""
        query = (
            "SELECT parcels.* FROM parcels JOIN lockers ON lockers.name = parcels.locker"
            " WHERE lockers.site = ? AND put_in >= ? AND put_in < ? ORDER BY parcels.id"
        )
        with closing(self.connection.execute(query, (site, first.isoformat(), end.isoformat()))) as cursor:
            for row in cursor:
                yield Parcel(*row)

    def archive(self, before: date) -> int:
        """Archive the parcels that were collected before a day; return how many."""
        done = self.connection.execute(
            "UPDATE parcels SET archived = 1 WHERE archived = 0 AND collected < ?", (before.isoformat(),)
        )
        return done.rowcount

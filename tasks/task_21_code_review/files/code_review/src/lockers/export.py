"""The monthly file for book-keeping: one CSV file for each site and month."""

import csv
import os
from contextlib import suppress
from datetime import date
from pathlib import Path

from lockers.store import Store

COLUMNS = ("id", "sender", "receiver", "put_in", "collected")


def month_bounds(year: int, month: int) -> tuple[date, date]:
    """Return the first day of a month and the first day of the next."""
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def write_month(store: Store, site: str, year: int, month: int, folder: Path) -> Path | None:
    """Write the file of a month and return its place, or None if there was nothing to write.

    The file appears under its name only when it is complete.
    """
    first, end = month_bounds(year, month)
    target = folder / f"{site}-{year}-{month:02}.csv"
    part = target.with_suffix(".part")
    file = open(part, "w", encoding="utf-8", newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    rows = 0
    for parcel in store.put_in_between(site, first, end):
        writer.writerow((parcel.id, parcel.sender, parcel.receiver, parcel.put_in, parcel.collected or ""))
        rows += 1
    if rows == 0:
        return None
    file.close()
    os.replace(part, target)
    return target


def remove_month(site: str, year: int, month: int, folder: Path) -> None:
    """Remove the file of a month, if there is one."""
    with suppress(FileNotFoundError):
        (folder / f"{site}-{year}-{month:02}.csv").unlink()


def summary_line(path: Path) -> str:
    """Return the number of rows and of bytes of a file, as book-keeping wants it in the accompanying mail."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = sum(1 for _ in csv.reader(file)) - 1
    return f"{path.name}: {rows} rows, {path.stat().st_size} bytes"

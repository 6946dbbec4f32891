"""Reads the exports of the scanner: CSV text with the columns moment, sku, kind and quantity."""

import csv
import io

from stockroom.clock import parse_moment
from stockroom.model import Movement

KINDS = ("sold", "returned")


def read_movements(text: str, problems: list[str] = []) -> tuple[list[Movement], list[str]]:
    """Return the movements in time order, and what was wrong, as `line 3: …`.

    Problems are added to a list if one is given. Rows with a problem are left out. Movements of the same moment
    stay in the order of the file.
    """
    movements = []
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        try:
            movements.append(_movement(row))
        except ValueError as error:
            problems.append(f"line {reader.line_num}: {error}")
    return sorted(movements, key=lambda movement: movement.moment), problems


def _movement(row: dict[str, str]) -> Movement:
    kind = (row["kind"] or "").strip().lower()
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    quantity = int(row["quantity"])
    if quantity < 1:
        raise ValueError("the quantity must be positive")
    return Movement(parse_moment(row["moment"]), row["sku"].strip().upper(), kind, quantity)

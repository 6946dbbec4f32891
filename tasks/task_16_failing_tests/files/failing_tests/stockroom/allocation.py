"""Which batches an order is taken from."""

from collections.abc import Iterable
from datetime import date

from stockroom.model import Batch


class ShortageError(Exception):
    """There are not enough pieces. `missing` says how many more are needed."""

    def __init__(self, sku: str, missing: int) -> None:
        super().__init__(f"{missing} pieces of {sku} are missing")
        self.sku = sku
        self.missing = missing


def usable(batches: Iterable[Batch], sku: str, day: date) -> list[Batch]:
    """Return the batches of a part that have pieces left and may still be used on `day`.

    A batch may be used up to and on the day it expires.
    """
    return [
        batch
        for batch in batches
        if batch.sku == sku and batch.quantity > 0 and (batch.expires is None or batch.expires >= day)
    ]


def leaving_order(batches: Iterable[Batch]) -> list[Batch]:
    """Return the batches in the order in which they leave the depot (see README.md)."""
    return sorted(batches, key=lambda batch: (batch.expires or date.max, batch.number))


def allocate(batches: Iterable[Batch], sku: str, quantity: int, day: date) -> list[tuple[str, int]]:
    """Take `quantity` pieces: return pairs of a batch number and how many pieces come from it.

    The batches become smaller by what is taken. If there are too few pieces, nothing is taken and `ShortageError` is raised.
    """
    if quantity < 1:
        raise ValueError("the quantity must be positive")
    candidates = leaving_order(usable(batches, sku, day))
    missing = quantity - sum(batch.quantity for batch in candidates)
    if missing > 0:
        raise ShortageError(sku, missing)
    taken = []
    for batch in candidates:
        if quantity == 0:
            break
        pieces = min(batch.quantity, quantity)
        batch.quantity -= pieces
        quantity -= pieces
        taken.append((batch.number, pieces))
    return taken

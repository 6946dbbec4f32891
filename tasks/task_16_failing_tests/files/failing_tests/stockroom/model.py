"""Parts, batches, shelves and stock movements."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal


@dataclass(frozen=True)
class Part:
    """A spare part: its SKU, a name, the price of one piece, and the tax rate in per cent."""

    sku: str
    name: str
    price: Decimal
    tax_rate: int = 20
    tags: tuple[str, ...] = ()


@dataclass
class Batch:
    """A delivery of one part. `number` is `B` and a whole number; `expires` is None if it doesn't expire."""

    number: str
    sku: str
    quantity: int
    received: date
    expires: date | None = None


@dataclass(frozen=True)
class Movement:
    """Pieces that left (`sold`) or came back (`returned`)."""

    moment: datetime
    sku: str
    kind: str
    quantity: int


class Shelf:
    """A shelf with labels (a slot and what stands on it). Every shelf has labels of its own."""

    labels: dict[str, str] = {}

    def __init__(self, name: str, slots: int) -> None:
        self.name = name
        self.slots = slots

    def put(self, slot: str, sku: str) -> None:
        """Label a slot. A full shelf raises `ValueError`; labelling a slot again replaces its label."""
        if slot not in self.labels and len(self.labels) >= self.slots:
            raise ValueError(f"shelf {self.name} is full")
        self.labels[slot] = sku

    def find(self, sku: str) -> list[str]:
        """Return the slots of a part, sorted."""
        return sorted(slot for slot, there in self.labels.items() if there == sku)

"""The catalogue of parts and its search."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from stockroom.model import Part


class Catalogue:
    """All parts by SKU. `builds` counts how often the index of the search was built."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._parts: dict[str, Part] = {}
        self._index: dict[str, set[str]] | None = None
        self._found: dict[str, list[Part]] = {}
        self.builds = 0
        for part in parts:
            self.add(part)

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, sku: str) -> bool:
        return sku in self._parts

    def get(self, sku: str) -> Part:
        """Return a part. An unknown SKU raises `KeyError`."""
        return self._parts[sku]

    def add(self, part: Part) -> None:
        """Add a part, or replace the one with the same SKU."""
        self._parts[part.sku] = part
        self._index = None
        self._found = {}

    def remove(self, sku: str) -> None:
        """Remove a part. An unknown SKU raises `KeyError`."""
        del self._parts[sku]
        self._index = None

    def rename(self, sku: str, name: str) -> None:
        """Give a part another name."""
        self._parts[sku] = replace(self._parts[sku], name=name)

    def retag(self, sku: str, tags: Iterable[str]) -> None:
        """Replace the tags of a part."""
        self._parts[sku] = replace(self._parts[sku], tags=tuple(tags))
        self._index = None

    def reprice(self, sku: str, price: Decimal) -> None:
        """Give a part another price."""
        self._parts[sku] = replace(self._parts[sku], price=price)

    def search(self, text: str) -> list[Part]:
        """Return the parts that have every word of `text` in their name or tags, in the order of their SKU.

        Capitals don't matter. A text without words finds nothing.
        """
        words = text.lower().split()
        key = " ".join(sorted(set(words)))
        if key not in self._found:
            self._found[key] = self._look_up(words)
        return self._found[key]

    def _look_up(self, words: list[str]) -> list[Part]:
        if not words:
            return []
        if self._index is None:
            self._index = self._build()
        found = set.intersection(*(self._index.get(word, set()) for word in words))
        return [self._parts[sku] for sku in sorted(found)]

    def _build(self) -> dict[str, set[str]]:
        self.builds += 1
        index: dict[str, set[str]] = {}
        for part in self._parts.values():
            for word in (*part.name.lower().split(), *(tag.lower() for tag in part.tags)):
                index.setdefault(word, set()).add(part.sku)
        return index

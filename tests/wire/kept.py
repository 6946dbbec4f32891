"""A recorder for the tests of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinchbench.wire.exchange import Exchange


class Kept:
    """A recorder that keeps exchanges in a list."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.closed = False

    def append(self, one: Exchange) -> None:
        self.exchanges.append(one)

    def close(self) -> None:
        self.closed = True

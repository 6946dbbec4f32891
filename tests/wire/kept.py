"""A recorder for the tests of the wire."""

from __future__ import annotations

from pinchbench.wire.exchange import Exchange


class Kept:
    """A recorder that keeps exchanges in a list."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.closed = False
        self.size_bytes = self.line_bytes = 0

    def append(self, one: Exchange) -> None:
        self.exchanges.append(one)
        self.size_bytes += len(one.request)
        self.line_bytes = self.size_bytes

    def close(self) -> None:
        self.closed = True

"""A recorder for the tests of the wire."""

from pinchbench.wire.exchange import Exchange
from pinchbench.wire.recording import RecordingWriter
from pinchbench.wire.redact import redact


class Kept(RecordingWriter):
    """A recorder that keeps exchanges in a list, without secrets."""

    def __init__(self, *secrets: str) -> None:
        self._secrets = frozenset(secrets)
        self.exchanges: list[Exchange] = []
        self.closed = False
        self.size_bytes = self.line_bytes = 0

    def append(self, exchange: Exchange) -> None:
        self.exchanges.append(redact(exchange, self._secrets))
        self.size_bytes += len(exchange.request)
        self.line_bytes = self.size_bytes

    def close(self) -> None:
        self.closed = True

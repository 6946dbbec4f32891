"""An exchange while it goes on: what is kept of it, within a limit for all exchanges together."""

from __future__ import annotations

import time

from pinchbench.wire.exchange import Chunk, DivergenceNote, Exchange, ExchangeEnd
from pinchbench.wire.messages import ExchangeEnded

MIB = 1024 * 1024
BODY_BYTES = 16 * MIB  # of one body: more than providers accept; what is beyond passes, but is not recorded
TOTAL_BYTES = 256 * MIB  # of all bodies that are kept at a time, those that wait to be written included
CHUNK_BYTES = 200  # about what a chunk takes beside its data


class Allowance:
    """How many bytes of bodies may be kept at a time."""

    def __init__(self, total_bytes: int = TOTAL_BYTES) -> None:
        """Start with all of them."""
        self._left = total_bytes

    def take(self, size_bytes: int) -> bool:
        """Reserve so many; False if there are not as many left."""
        if size_bytes > self._left:
            return False
        self._left -= size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        """Return so many."""
        self._left += size_bytes


class Draft:
    """Collects an exchange. Its owner calls `discard` when the exchange has been written."""

    def __init__(self, allowance: Allowance, *, provider: str, method: str) -> None:
        """Begin the exchange now; `assign` says whose it is."""
        self._allowance = allowance
        self._provider, self._method = provider, method
        self._number, self._trial, self._turn = 0, "", 0
        self._clock = time.monotonic()
        self._began_at = time.time()
        self._request: list[bytes] = []
        self._request_bytes = 0
        self._reply_bytes = 0
        self._reserved_bytes = 0
        self._chunks: list[Chunk] = []
        self._first_chunk_s: float | None = None
        self._is_finished = False
        self._ended_s = 0.0
        self._end = ExchangeEnd.COMPLETE
        self._error = ""
        self.path = ""
        self.request_headers: tuple[tuple[str, str], ...] = ()
        self.reply_headers: tuple[tuple[str, str], ...] = ()
        self.sent_s = 0.0
        self.queued_s = 0.0
        self.status = 0
        self.retried: list[int] = []
        self.served: int | None = None
        self.divergence: DivergenceNote | None = None
        self.omitted_bytes = 0

    def assign(self, *, number: int, trial: str, turn: int) -> None:
        """Set whose exchange it is, and its number there."""
        self._number, self._trial, self._turn = number, trial, turn

    @property
    def elapsed_s(self) -> float:
        """The time since the exchange began."""
        return time.monotonic() - self._clock

    def add_request(self, data: bytes) -> bool:
        """Add a part of the request; False if it is not kept."""
        self._request_bytes += len(data)
        if not self.omitted_bytes and self._keeps(len(data), self._request_bytes):
            self._request.append(data)
            return True
        self.omitted_bytes += len(data)
        return False

    def add_chunk(self, data: bytes) -> None:
        """Add a chunk of the reply that has just arrived."""
        at_s = self.elapsed_s
        if self._first_chunk_s is None:
            self._first_chunk_s = at_s
        self._reply_bytes += len(data)
        if self._keeps(len(data) + CHUNK_BYTES, self._reply_bytes):
            self._chunks.append(Chunk(at_s=at_s, data=data))
        else:
            self._reply_bytes = BODY_BYTES + 1  # a reply is kept up to a point, not with gaps
            self.omitted_bytes += len(data)

    def replace_request(self, body: bytes) -> None:
        """Keep and send another body than the one that was received."""
        self._request = [body]

    @property
    def turn(self) -> int:
        """The index of the turn that the exchange belongs to."""
        return self._turn

    @property
    def began_at(self) -> float:
        """The Unix time at which the exchange began, in seconds."""
        return self._began_at

    @property
    def request(self) -> tuple[bytes, ...]:
        """The parts of the request that are kept."""
        return tuple(self._request)

    def finish(self, end: ExchangeEnd = ExchangeEnd.COMPLETE, error: str = "") -> None:
        """End the exchange now. Nothing happens if it has ended."""
        if self._is_finished:
            return
        self._is_finished = True
        self._ended_s, self._end, self._error = self.elapsed_s, end, error

    def exchange(self) -> Exchange:
        """Return the finished exchange."""
        return Exchange(
            number=self._number,
            began_at=self._began_at,
            turn=self._turn,
            provider=self._provider,
            method=self._method,
            path=self.path,
            request_headers=self.request_headers,
            request=b"".join(self._request),
            sent_s=self.sent_s,
            queued_s=self.queued_s,
            status=self.status,
            reply_headers=self.reply_headers,
            chunks=tuple(self._chunks),
            ended_s=self._ended_s,
            end=self._end,
            error=self._error,
            retried=tuple(self.retried),
            served=self.served,
            divergence=self.divergence,
        )

    def event(self) -> ExchangeEnded:
        """Return the numbers of the finished exchange."""
        return ExchangeEnded(
            trial=self._trial,
            number=self._number,
            provider=self._provider,
            turn=self._turn,
            status=self.status,
            end=self._end.value,
            queued_s=self.queued_s,
            first_chunk_s=self._first_chunk_s,
            ended_s=self._ended_s,
            retried=tuple(self.retried),
            omitted_bytes=self.omitted_bytes,
        )

    def discard(self) -> None:
        """Return what was reserved."""
        self._allowance.give_back(self._reserved_bytes)
        self._reserved_bytes = 0

    def _keeps(self, size_bytes: int, body_bytes: int) -> bool:
        if body_bytes > BODY_BYTES or not self._allowance.take(size_bytes):
            return False
        self._reserved_bytes += size_bytes
        return True

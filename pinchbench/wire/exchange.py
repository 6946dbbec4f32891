"""One exchange between agent and model, as the wire saw it: while it goes on, and whole."""

from __future__ import annotations

import time
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from pinchbench.wire.request_route import with_model
from pinchbench.wire.wire_messages import CallFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.wire.request_route import Header


class ExchangeEnd(StrEnum):
    """How an exchange ended."""

    COMPLETE = "complete"  # the reply ended as its protocol says, whatever its status
    CUT = "cut"  # the provider closed the connection within the reply
    CLIENT_LEFT = "client_left"  # OpenClaw closed the connection first, for instance after a timeout of its own
    NOT_REACHED = "not_reached"  # no reply: DNS, connection or TLS failed, or the provider sent nothing


class Chunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):  # thousands, and none refers to another object
    """Bytes of a reply as they arrived.

    Attributes:
        at_s: seconds since the exchange began.
        data: the bytes, which may end within a character.
    """

    at_s: float
    data: bytes


class DivergenceNote(msgspec.Struct, frozen=True, kw_only=True):
    """How a request of a replay differs from what was recorded, for people.

    Attributes:
        summary: one line.
        details: the lines that differ; empty if there is nothing to compare with.
        repeated: whether earlier requests of the replay had the same differences.
    """

    summary: str
    details: str = ""
    repeated: bool = False


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its reply. Keys are already masked in headers, and tokens of slots are not part of the path.

    Attributes:
        number: counts the exchanges of a trial from 1, in the order in which they began.
        began_at: Unix time of the request's first byte, in seconds.
        turn: the index of the trial's turn in which it began.
        provider: the id of the provider in OpenClaw's configuration, such as `anthropic`.
        method: the HTTP method.
        path: path and query as the provider received them.
        request_headers: pairs of a lower-case name and a value, in the order sent.
        request: the body of the request.
        sent_s: when the request had been passed on, in seconds since the exchange began; what a queue of the wire
            added is in it.
        queued_s: how long the wire held the request back, in seconds.
        status: the HTTP status of the reply; 0 if there was none.
        reply_headers: as `request_headers`.
        chunks: the body of the reply, in the order of arrival.
        ended_s: when the exchange ended, in seconds since it began.
        end: how it ended.
        error: why it did not complete; empty if it did.
        served: in a replay, the number of the recorded exchange whose reply was served; None if a model was asked.
        divergence: in a replay, how the request differs from the recorded ones; None if it does not.
    """

    number: int
    began_at: float
    turn: int = 0
    provider: str
    method: str
    path: str
    request_headers: tuple[tuple[str, str], ...] = ()
    request: bytes = b""
    sent_s: float = 0.0
    queued_s: float = 0.0
    status: int = 0
    reply_headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[Chunk, ...] = ()
    ended_s: float = 0.0
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    error: str = ""
    served: int | None = None
    divergence: DivergenceNote | None = None

    @property
    def reply(self) -> bytes:
        """The whole body of the reply."""
        return b"".join(chunk.data for chunk in self.chunks)


MIB = 1024 * 1024
BODY_BYTES = 64 * MIB  # of one body: more than providers accept, and than their longest replies
TOTAL_BYTES = 128 * MIB  # of all bodies of a trial at a time, those that wait to be written included
CHUNK_BYTES = 200  # about what a chunk takes in addition to its data


class Allowance:
    """How many bytes of a trial's bodies may be kept at a time."""

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
        self._exceed: Callable[[str], None] = lambda _: None
        self._number, self._trial, self.turn = 0, "", 0
        self._clock = time.monotonic()
        self.began_at = time.time()
        self._request: list[bytes] = []
        self._request_bytes = 0
        self._reply_bytes = 0
        self._reserved_bytes = 0
        self._chunks: list[Chunk] = []
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
        self.served: int | None = None
        self.divergence: DivergenceNote | None = None
        self.is_refused = False  # and so no exchange

    def assign(
        self, allowance: Allowance, *, number: int, trial: str, turn: int, exceed: Callable[[str], None]
    ) -> bool:
        """Set whose exchange it is, and its number there; return whether what is kept so far fits in its `allowance`.

        `exceed` is called with what the trial used if that is too much.
        """
        self._number, self._trial, self.turn, self._exceed = number, trial, turn, exceed
        reserved_bytes = self._reserved_bytes
        self.discard()
        self._allowance = allowance
        return self._reserves(reserved_bytes)

    @property
    def elapsed_s(self) -> float:
        """The time since the exchange began."""
        return time.monotonic() - self._clock

    def add_request(self, data: bytes) -> bool:
        """Add a part of the request; False if it is not kept."""
        self._request_bytes += len(data)
        if self._keeps(len(data), self._request_bytes):
            self._request.append(data)
            return True
        return False

    def add_chunk(self, data: bytes) -> None:
        """Add a chunk of the reply that has just arrived."""
        at_s = self.elapsed_s
        self._reply_bytes += len(data)
        if self._keeps(len(data) + CHUNK_BYTES, self._reply_bytes):
            self._chunks.append(Chunk(at_s=at_s, data=data))

    def ask_for(self, model: str, headers: list[Header]) -> list[Header]:
        """Put another model into the request, which has been read; return its headers."""
        body = with_model(b"".join(self._request), model)
        self._request = [body]
        size = str(len(body)).encode()
        return [(name, size if name.lower() == b"content-length" else value) for name, value in headers]

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
            began_at=self.began_at,
            turn=self.turn,
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
            served=self.served,
            divergence=self.divergence,
        )

    @property
    def failure(self) -> CallFailed | None:
        """How the finished exchange failed, for people; None if it did not, or if the client left."""
        is_complete = self._end in (ExchangeEnd.COMPLETE, ExchangeEnd.CLIENT_LEFT)
        if is_complete and self.status < HTTPStatus.BAD_REQUEST:
            return None
        return CallFailed(trial=self._trial, number=self._number, status=self.status)

    def discard(self) -> None:
        """Return what was reserved."""
        self._allowance.give_back(self._reserved_bytes)
        self._reserved_bytes = 0

    def _keeps(self, size_bytes: int, body_bytes: int) -> bool:
        if body_bytes > BODY_BYTES:
            self._exceed(f"a request or reply of more than {BODY_BYTES // MIB} MiB")
            return False
        return self._reserves(size_bytes)

    def _reserves(self, size_bytes: int) -> bool:
        if not self._allowance.take(size_bytes):
            self._exceed(f"more than {TOTAL_BYTES // MIB} MiB of requests and replies at a time")
            return False
        self._reserved_bytes += size_bytes
        return True

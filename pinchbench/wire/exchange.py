"""One exchange between agent and model, as the wire saw it: while it goes on, and whole."""

from __future__ import annotations

import time
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from pinchbench.wire.request_route import Header, with_model
from pinchbench.wire.wire_messages import CallFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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


class ExchangeHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an exchange besides its bodies. Keys are already masked in headers.

    Attributes:
        number: counts the exchanges of a trial from 1, in the order in which they began.
        began_at: Unix time of the request's first byte, in seconds.
        turn: the index of the trial's turn in which it began.
        provider: the id of the provider in OpenClaw's configuration, such as `anthropic`.
        path: path and query as the provider received them, without tokens of slots.
        request_headers: pairs of a lower-case name and a value, in the order sent.
        sent_s: when the request had been passed on, in seconds since the exchange began; what a queue of the wire
            added is in it.
        queued_s: how long the wire held the request back, in seconds.
        status: the HTTP status of the reply; 0 if there was none.
        reply_headers: as `request_headers`.
        ended_s: when the exchange ended, in seconds since it began.
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
    sent_s: float = 0.0
    queued_s: float = 0.0
    status: int = 0
    reply_headers: tuple[tuple[str, str], ...] = ()
    ended_s: float = 0.0
    end: ExchangeEnd = ExchangeEnd.COMPLETE
    error: str = ""
    served: int | None = None
    divergence: DivergenceNote | None = None


def head_of(known: object) -> dict[str, Any]:
    """Return the fields of a head that a value has as its attributes."""
    return {name: getattr(known, name) for name in ExchangeHead.__struct_fields__}


class Exchange(ExchangeHead, frozen=True, kw_only=True):
    """A request and its reply: the body of the request, and that of the reply in the order of its arrival."""

    request: bytes = b""
    chunks: tuple[Chunk, ...] = ()

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
    """Collects an exchange (see `ExchangeHead`). Its owner calls `discard` when that has been written."""

    def __init__(self, allowance: Allowance, *, provider: str, method: str) -> None:
        """Begin the exchange now; `assign` says whose it is, before anything is added."""
        self._allowance = allowance
        self._exceed: Callable[[str], None] = lambda _: None
        self._trial = ""
        self._clock = time.monotonic()
        self._request: list[bytes] = []
        self._request_bytes = self._reply_bytes = self._reserved_bytes = 0
        self._chunks: list[Chunk] = []
        self._is_finished = False
        self.is_refused = False  # and so no exchange
        self.number = self.turn = 0
        self.began_at = time.time()
        self.provider, self.method, self.path = provider, method, ""
        self.request_headers: tuple[tuple[str, str], ...] = ()
        self.reply_headers: tuple[tuple[str, str], ...] = ()
        self.sent_s = self.queued_s = self.ended_s = 0.0
        self.status = 0
        self.end = ExchangeEnd.COMPLETE
        self.error = ""
        self.served: int | None = None
        self.divergence: DivergenceNote | None = None

    def assign(self, *, number: int, trial: str, turn: int, exceed: Callable[[str], None]) -> None:
        """Set whose exchange it is, and its number there; `exceed` is called with what it uses if that is too much."""
        self.number, self._trial, self.turn, self._exceed = number, trial, turn, exceed

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
        if not self._is_finished:
            self._is_finished = True
            self.ended_s, self.end, self.error = self.elapsed_s, end, error

    def exchange(self) -> Exchange:
        """Return the finished exchange."""
        return Exchange(**head_of(self), request=b"".join(self._request), chunks=tuple(self._chunks))

    @property
    def failure(self) -> CallFailed | None:
        """How the finished exchange failed, for people; None if it did not, or if the client left."""
        is_complete = self.end in (ExchangeEnd.COMPLETE, ExchangeEnd.CLIENT_LEFT)
        if is_complete and self.status < HTTPStatus.BAD_REQUEST:
            return None
        return CallFailed(trial=self._trial, number=self.number, status=self.status)

    def discard(self) -> None:
        """Return what was reserved."""
        self._allowance.give_back(self._reserved_bytes)
        self._reserved_bytes = 0

    def _keeps(self, size_bytes: int, body_bytes: int) -> bool:
        if body_bytes > BODY_BYTES:
            self._exceed(f"a request or reply of more than {BODY_BYTES // MIB} MiB")
            return False
        if not self._allowance.take(size_bytes):
            self._exceed(f"more than {TOTAL_BYTES // MIB} MiB of requests and replies at a time")
            return False
        self._reserved_bytes += size_bytes
        return True

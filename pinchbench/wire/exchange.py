"""One exchange between agent and model, as the wire saw it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


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
        retried: the statuses of earlier tries that the wire made for this request, without their replies.
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
    retried: tuple[int, ...] = ()
    served: int | None = None
    divergence: DivergenceNote | None = None

    @property
    def reply(self) -> bytes:
        """The whole body of the reply."""
        return b"".join(chunk.data for chunk in self.chunks)

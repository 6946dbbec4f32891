"""Where the body of a reply ends, and its data without the framing, piece by piece as it arrives (RFC 9112, 6.3)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h11

WITHOUT_BODY = frozenset({204, 304})
MAX_LINE_BYTES = 64 * 1024  # of the framing: the size of a chunk and its extensions, or a trailer
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")


class ReplyBody(ABC):
    """A body.

    Attributes:
        is_complete: whether its end has arrived.
        has_end: whether that is known without the end of the connection.
        surplus_bytes: how many of the bytes that were fed came after its end.
    """

    has_end = True

    def __init__(self) -> None:
        """Begin at the first byte after the head."""
        self.is_complete = False
        self.surplus_bytes = 0

    @abstractmethod
    def feed(self, raw: bytes) -> bytes:
        """Take the next bytes that arrived; return the data in them. Raises ValueError if they are not of a body."""


class UnboundedBody(ReplyBody):
    """A body that ends with its connection."""

    has_end = False

    def feed(self, raw: bytes) -> bytes:
        """Return the bytes."""
        return raw


class SizedBody(ReplyBody):
    """A body whose size is known."""

    def __init__(self, size_bytes: int) -> None:
        """Take the size."""
        super().__init__()
        self._left = size_bytes
        self.is_complete = not size_bytes

    def feed(self, raw: bytes) -> bytes:
        """Return the bytes up to the end."""
        data = raw[: self._left]
        self._left -= len(data)
        self.is_complete = not self._left
        self.surplus_bytes += len(raw) - len(data)
        return data


class ChunkedBody(ReplyBody):
    """A body in chunks, with trailers after the last."""

    def __init__(self) -> None:
        """Begin before the first chunk."""
        super().__init__()
        self._left = 0  # of the data of a chunk
        self._line = b""  # of the framing, as far as it has arrived
        self._read_line = self._read_size

    def feed(self, raw: bytes) -> bytes:
        """Return the data of the chunks."""
        data = []
        at = 0
        while at < len(raw) and not self.is_complete:
            if self._left:
                data.append(raw[at : at + self._left])
                self._left -= len(data[-1])
                at += len(data[-1])
                continue
            end = raw.find(b"\n", at) + 1 or len(raw)
            self._line += raw[at:end]
            at = end
            if self._line.endswith(b"\n"):
                self._read_line(self._line)
                self._line = b""
            elif len(self._line) > MAX_LINE_BYTES:
                raise ValueError("a line of the framing is too long")
        self.surplus_bytes += len(raw) - at
        return data[0] if len(data) == 1 else b"".join(data)

    def _read_size(self, line: bytes) -> None:
        match = CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise ValueError("a chunk does not begin with its size")
        self._left = int(match[1], 16)
        self._read_line = self._read_end if self._left else self._read_trailer

    def _read_end(self, line: bytes) -> None:
        if line != b"\r\n":
            raise ValueError("a chunk is longer than its size")
        self._read_line = self._read_size

    def _read_trailer(self, line: bytes) -> None:
        if not line.endswith(b"\r\n"):
            raise ValueError("a trailer does not end as a line does")
        self.is_complete = line == b"\r\n"


def body_of(method: bytes, response: h11.Response) -> ReplyBody:
    """Return the body that follows a head, which h11 has checked."""
    headers = dict(response.headers)
    if method == b"HEAD" or response.status_code in WITHOUT_BODY:
        return SizedBody(0)
    if b"transfer-encoding" in headers:
        return ChunkedBody()
    if size := headers.get(b"content-length"):
        return SizedBody(int(size))
    return UnboundedBody()

"""Where the body of an HTTP/1.1 reply ends, and the data in it (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h11

WITHOUT_BODY = frozenset({204, 304})
MAX_LINE_BYTES = 64 * 1024  # of the framing: the size of a chunk and its extensions, or a trailer
LINE_END = b"\r\n"
LAST_CHUNK = b"0\r\n\r\n"
# The end of the chunk before, the size of the next, and extensions; and any part from the beginning of that.
CHUNK_START = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")
CHUNK_START_BEGUN = re.compile(rb"\r(?:\n(?:[0-9A-Fa-f]{1,16}[ \t]*(?:;[^\r\n]*)?\r?)?)?")


class ReplyBody:
    """A body: one that ends with its connection, unless a subclass finds its end.

    Attributes:
        is_complete: whether its end has arrived.
        has_end: whether that is known without the end of the connection.
        surplus_bytes: how many of the bytes that were fed came after its end.
    """

    has_end = False

    def __init__(self) -> None:
        """Begin at the first byte after the head."""
        self.is_complete = False
        self.surplus_bytes = 0

    def feed(self, raw: bytes) -> bytes:
        """Take the next bytes that arrived; return the data in them. Raises ValueError if they are not of a body."""
        return raw


class SizedBody(ReplyBody):
    """A body whose size is known."""

    has_end = True

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

    has_end = True

    def __init__(self) -> None:
        """Begin before the first chunk, as if another had just ended."""
        super().__init__()
        self._left = 0  # of the data of a chunk
        self._framing = LINE_END  # that has not arrived in full
        self._is_in_trailers = False

    def feed(self, raw: bytes) -> bytes:
        """Return the data of the chunks."""
        data = []
        if self._framing:
            raw, self._framing = self._framing + raw, b""
        at = 0
        while at < len(raw) and not self.is_complete:
            if self._left:
                data.append(raw[at : at + self._left])
                at += len(data[-1])
                self._left -= len(data[-1])
            elif self._is_in_trailers:
                at = self._skip_trailer(raw, at)
            elif match := CHUNK_START.match(raw, at):
                at = match.end()
                self._left = int(match[1], 16)
                self._is_in_trailers = not self._left
            else:
                self._keep(raw[at:])
                if not CHUNK_START_BEGUN.fullmatch(self._framing):
                    raise ValueError("where a chunk should begin, there is something else")
                return b"".join(data)
        self.surplus_bytes += len(raw) - at
        return data[0] if len(data) == 1 else b"".join(data)

    def _skip_trailer(self, raw: bytes, at: int) -> int:
        end = raw.find(LINE_END, at)
        if end < 0:
            self._keep(raw[at:])
            return len(raw)
        self.is_complete = end == at
        return end + len(LINE_END)

    def _keep(self, framing: bytes) -> None:
        if len(framing) > MAX_LINE_BYTES:
            raise ValueError("a line of the framing is too long")
        self._framing = framing


def body_of(method: bytes, response: h11.Response) -> ReplyBody:
    """Return the body that follows a head, which h11 has checked."""
    headers = dict(response.headers)
    if method == b"HEAD" or response.status_code in WITHOUT_BODY:
        return SizedBody(0)
    if b"transfer-encoding" in headers:
        return ChunkedBody()
    if size := headers.get(b"content-length"):
        return SizedBody(int(size))
    return ReplyBody()


def chunked(data: bytes) -> bytes:
    """Return data, which is not empty, as a chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)

"""Server-sent events out of chunks that may end anywhere, even within a character (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinchbench.wire.exchange import Chunk

BOM = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 64 * 1024 * 1024  # a longer line is no event of a model


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerEvent:
    """An event: its data, and when the chunk that completed it came, in seconds since the exchange began."""

    at_s: float
    data: bytes


def events(chunks: Iterable[Chunk]) -> Iterator[ServerEvent]:
    """Split a reply into its events; comments and fields other than `data` are left out.

    Lines end in LF, CRLF or CR. Unlike the standard says, an event at the end counts without its blank line: some
    servers leave it out, and cut JSON can be told from whole JSON anyway.
    """
    data: list[bytes] = []
    at_s = 0.0
    for at_s, line in _lines(chunks):
        if not line:
            if data:
                yield ServerEvent(at_s=at_s, data=b"\n".join(data))
                data = []
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
    if data:
        yield ServerEvent(at_s=at_s, data=b"\n".join(data))


def _lines(chunks: Iterable[Chunk]) -> Iterator[tuple[float, bytes]]:
    held: list[bytes] = []  # pieces of a line that is not complete: joined once, as a line may come byte by byte
    held_bytes, after_cr, is_first, at_s = 0, False, True, 0.0
    for chunk in chunks:
        at_s, data = chunk.at_s, chunk.data
        if after_cr and data:
            data, after_cr = data.removeprefix(b"\n"), False
        after_cr = after_cr or data.endswith(b"\r")
        *complete, rest = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for piece in complete:
            line = b"".join((*held, piece))
            held, held_bytes = [], 0
            yield at_s, line.removeprefix(BOM) if is_first else line
            is_first = False
        if rest and held_bytes <= MAX_LINE_BYTES:
            held.append(rest)
            held_bytes += len(rest)
    if held:
        line = b"".join(held)
        yield at_s, line.removeprefix(BOM) if is_first else line

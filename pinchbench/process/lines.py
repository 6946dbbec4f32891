"""Bytes into lines, with a bound on the length of a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line without its newline. `cut_bytes` is how much of it was dropped because it was too long."""

    data: bytes
    cut_bytes: int = 0


class LineSplitter:
    r"""Split a stream of byte chunks on `\n`, holding at most `max_line_bytes` of an unfinished line.

    A longer line is given with its head only, once its end has been seen; memory stays flat however long
    it is. Never splits on other separators: JSON text may hold U+2028.
    """

    def __init__(self, *, max_line_bytes: int, head_bytes: int | None = None) -> None:
        """Start empty. `max_line_bytes` is at least 1. Of a longer line `head_bytes` are kept, all of these if None."""
        self._max = max_line_bytes
        self._head = max_line_bytes if head_bytes is None else min(head_bytes, max_line_bytes)
        self._held = bytearray()
        self._cut = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """Take a chunk, return the lines it finished."""
        *ended, rest = chunk.split(b"\n")
        lines = []
        for part in ended:
            self._hold(part)
            lines.append(self._take())
        self._hold(rest)
        return lines

    def finish(self) -> Line | None:
        """Return the unfinished last line, if there is one, and start anew."""
        return self._take() if self._held or self._cut else None

    def _hold(self, part: bytes) -> None:
        if self._cut:
            self._cut += len(part)
            return
        over = len(self._held) + len(part) - self._max
        self._held += part[: self._max - len(self._held)]
        if over > 0:
            self._cut = over + len(self._held) - self._head
            del self._held[self._head :]

    def _take(self) -> Line:
        line = Line(data=bytes(self._held), cut_bytes=self._cut)
        self._held.clear()
        self._cut = 0
        return line

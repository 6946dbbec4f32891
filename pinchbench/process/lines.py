"""Splits bytes into lines of limited length."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line without its newline. `cut_bytes` is the number of bytes dropped because the line was too long."""

    data: bytes
    cut_bytes: int = 0


class LineSplitter:
    r"""Split a stream of byte chunks on `\n`, holding at most `max_line_bytes` of an unfinished line.

    Only the head of a longer line is returned, once its end has been read, so memory use is bounded. Other separators
    don't end a line: JSON text may contain U+2028.
    """

    def __init__(self, *, max_line_bytes: int, head_bytes: int | None = None) -> None:
        """Start empty.

        `max_line_bytes` is at least 1. Of a longer line, `head_bytes` are kept, by default `max_line_bytes`.
        """
        self._max = max_line_bytes
        self._head = max_line_bytes if head_bytes is None else min(head_bytes, max_line_bytes)
        self._held = bytearray()
        self._cut = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """Process a chunk and return the lines that it completes."""
        *ended, rest = chunk.split(b"\n")
        lines = []
        for part in ended:
            self._hold(part)
            lines.append(self._take())
        self._hold(rest)
        return lines

    def finish(self) -> Line | None:
        """Return the unfinished last line, if there is one, and reset the splitter."""
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

"""Bodies before compression, and server-sent events out of chunks that may end anywhere (pure)."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import msgspec

from pinchbench.wire.exchange import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# What can be read here, and so what the wire lets OpenClaw ask for; others are not in the standard library.
READABLE = frozenset({"gzip", "x-gzip", "deflate"})
MAX_DECODED_BYTES = 64 * 1024 * 1024  # of one body; the rest of a larger one is dropped
ENCODING = "content-encoding"

Headers = tuple[tuple[str, str], ...]


class Unreadable(Exception):  # noqa: N818 - a situation that the caller turns into a fact
    """A body is compressed in a way that can not be read here, or is damaged from its beginning on."""


def encoding_of(headers: Headers) -> str:
    """Return the encoding of a body; empty if it is not encoded."""
    named = ",".join(value for name, value in headers if name.lower() == ENCODING).strip().lower()
    return "" if named in ("", "identity") else named


def decoded(chunks: Iterable[Chunk], encoding: str) -> tuple[Chunk, ...]:
    """Decompress a body chunk by chunk. From a damaged chunk on, and beyond `MAX_DECODED_BYTES`, it is dropped.

    Raises:
        Unreadable: The encoding is not known here, or not even the beginning could be read.
    """
    if not encoding:
        return tuple(chunks)
    if encoding not in READABLE:
        raise Unreadable(f"The body is compressed with {encoding!r}, which can not be read here.")
    inflater = _Inflater(is_gzip=encoding != "deflate")
    whole = []
    for chunk in chunks:
        whole.append(msgspec.structs.replace(chunk, data=inflater.feed(chunk.data)))
        if inflater.is_damaged and not inflater.size_bytes:
            raise Unreadable(f"The body is not compressed with {encoding!r}, as its header says.")
    return tuple(chunk for chunk in whole if chunk.data)


class _Inflater:
    """Decompresses gzip, of several members too, and deflate with or without zlib's header."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._raw: zlib._Decompress | None = None
        self.size_bytes = 0
        self.is_damaged = False

    def feed(self, data: bytes) -> bytes:
        pieces = []
        while data and not self.is_damaged and self.size_bytes < MAX_DECODED_BYTES:
            if self._raw is None:
                self._raw = zlib.decompressobj(self._window(data))
            try:
                piece = self._raw.decompress(data, MAX_DECODED_BYTES - self.size_bytes)
            except zlib.error:
                self.is_damaged = True
                break
            pieces.append(piece)
            self.size_bytes += len(piece)
            data = self._raw.unused_data
            if self._raw.eof:
                self._raw = None
        return b"".join(pieces)

    def _window(self, data: bytes) -> int:
        if self._is_gzip:
            return zlib.MAX_WBITS | 16
        # Servers disagree whether "deflate" has zlib's header, whose first byte names this method.
        return zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS  # noqa: PLR2004 - RFC 1950, CM


BOM = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 64 * 1024 * 1024  # a longer line is no event of a model


def events(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Split a reply into the data of its events, each with the time of the chunk that completed it.

    Comments and other fields are left out, but what an event named `error` says is one, whatever its form.

    Lines end in LF, CRLF or CR. Unlike the standard says, an event at the end counts without its blank line: some
    servers leave it out, and cut JSON differs from whole JSON anyway.
    """
    data: list[bytes] = []
    at_s, is_error = 0.0, False
    for at_s, line in _lines(chunks):
        if not line:
            if data:
                yield _event(at_s, data, is_error=is_error)
            data, is_error = [], False
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name == b"event":
            is_error = value.strip() == b"error"
    if data:
        yield _event(at_s, data, is_error=is_error)


def _event(at_s: float, data: Sequence[bytes], *, is_error: bool) -> Chunk:
    said = b"\n".join(data)
    return Chunk(at_s=at_s, data=b'{"error": %b}' % said if is_error and b'"error"' not in said else said)


def json_lines(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Split a reply into its lines, each an event; empty ones are left out."""
    yield from (Chunk(at_s=at_s, data=line) for at_s, line in _lines(chunks) if line)


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

"""The recording of a trial's exchanges, `wire.jsonl.zst`: one line an exchange, one zstd frame a line."""

from __future__ import annotations

import os
from collections import deque
from contextlib import AbstractContextManager
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import msgspec
import zstandard

from pinchbench.decoding import decode_json
from pinchbench.files.beneath import open_regular
from pinchbench.wire.exchange import Chunk, Exchange, ExchangeHead, head_of
from pinchbench.wire.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from typing import BinaryIO

FORMAT = 1
LEVEL = 3  # 9 made recordings of real trials 5% smaller and took 5 times as long
# Earlier requests of a trial with which the next is compared: conversations of subagents and recaps come in between.
EARLIER_REQUESTS = 8
EARLIER_BYTES = 16 * 1024 * 1024  # of them all, in the writer
SHORTEST_SHARED_BYTES = 64  # a shorter beginning and end in common is not worth a reference
READ_BYTES = 1024  # so little at a time that a damaged file can not expand to more than some 32 MB before it is noticed
MAX_LINE_BYTES = 512 * 1024 * 1024  # of one exchange, decompressed
MICROSECONDS = 1_000_000


class _Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A body: `text` if it is UTF-8, else `base64`.

    If `back` is not 0, it stands between the first `head` and the last `tail` bytes of the request of so many lines
    before.
    """

    text: str = ""
    base64: bytes = b""
    back: int = 0
    head: int = 0
    tail: int = 0


class _Line(ExchangeHead, frozen=True, kw_only=True, omit_defaults=True):
    """An exchange as it is written. `sizes` are those of its chunks, and `gaps_us` the microseconds before each."""

    format: int = FORMAT
    request: _Body = _Body()
    reply: _Body = _Body()
    sizes: tuple[int, ...] = ()
    gaps_us: tuple[int, ...] = ()


class RecordingWriter(AbstractContextManager["RecordingWriter"]):
    """Appends exchanges to a recording. What was appended is read back even if the process is killed then.

    Memory is bounded: the last requests are kept, at most `EARLIER_BYTES` besides the last. Not thread-safe. Blocks
    for the compression and one write per exchange.

    Attributes:
        size_bytes: how large the file is.
        line_bytes: how much was appended, without the compression.
    """

    def __init__(self, path: Path, secrets: Collection[str] = ()) -> None:
        """Begin a recording.

        Args:
            path: The file to create, in a folder that exists.
            secrets: What is masked in every exchange, as in `redact`.

        Raises:
            OSError: The file can't be created, or exists.
        """
        self._path = path
        self._secrets = frozenset(secrets)
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._earlier: deque[bytes] = deque(maxlen=EARLIER_REQUESTS)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.size_bytes = self.line_bytes = 0

    def append(self, exchange: Exchange) -> None:
        """Write an exchange, redacted, and its chunks timed in whole microseconds.

        Raises:
            OSError: It could not be written. The recording is as before, and may be appended to again.
        """
        back, head = self._nearest(exchange.request)
        clean = redact(exchange, self._secrets, clean_bytes=head)
        at_us = [round(chunk.at_s * MICROSECONDS) for chunk in clean.chunks]
        line = _Line(
            **head_of(clean),
            request=self._difference(clean.request, back),
            reply=_body(clean.reply),
            sizes=tuple(len(chunk.data) for chunk in clean.chunks),
            gaps_us=tuple(after - before for before, after in pairwise([0, *at_us])),
        )
        data = msgspec.json.encode(line) + b"\n"
        self._write(self._compressor.compress(data))
        self.line_bytes += len(data)
        self._remember(clean.request)

    def close(self) -> None:
        """Flush the recording to the disk and close it."""
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _write(self, frame: bytes) -> None:
        rest = memoryview(frame)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            # On a full disk a piece of it may be written, after which nothing more could be read.
            os.ftruncate(self._file, self.size_bytes)
            raise
        self.size_bytes += len(frame)

    def _nearest(self, body: bytes) -> tuple[int, int]:
        """Return how many lines before the request is that begins most like this one, and how many bytes they share."""
        back, head = 0, 0
        for index, earlier in enumerate(self._earlier, start=1):
            start = _shared_head(earlier, body)
            if start > head:
                back, head = index, start
        return back, head

    def _difference(self, body: bytes, back: int) -> _Body:
        if not back:
            return _body(body)
        head, tail = _shared(self._earlier[back - 1], body)
        if head + tail < SHORTEST_SHARED_BYTES:
            return _body(body)
        middle = _body(body[head : len(body) - tail])
        return msgspec.structs.replace(middle, back=back, head=head, tail=tail)

    def _remember(self, body: bytes) -> None:
        """Keep a request; the latest is the first."""
        self._earlier.appendleft(body)
        while len(self._earlier) > 1 and sum(map(len, self._earlier)) > EARLIER_BYTES:
            self._earlier.pop()


class RecordingReader:
    """Iterates over a recording. Memory is bounded by one exchange and the requests that it may repeat.

    Attributes:
        problem: why the iteration ended before the end of the file; empty if it did not.
    """

    def __init__(self, path: Path) -> None:
        """Take the path of a recording."""
        self._path = path
        self.problem = ""

    def __iter__(self) -> Iterator[Exchange]:
        """Yield the exchanges in the order in which they ended.

        Raises:
            OSError: The file can not be read.
        """
        self.problem = ""
        earlier: deque[bytes] = deque(maxlen=EARLIER_REQUESTS)
        read = 0
        try:
            with open_regular(self._path) as file:
                for line in _lines(file):
                    exchange = _exchange(decode_json(line, _Line), earlier)
                    earlier.appendleft(exchange.request)
                    yield exchange
                    read += 1
        except EOFError:
            self.problem = f"{self._path}: exchange {read + 1} is cut off, as its writer ended meanwhile"
        except (zstandard.ZstdError, ValueError, IndexError) as error:
            self.problem = f"{self._path}: damaged after {read} exchanges, so that the others are lost: {error}"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield each decompressed line.

    Raises:
        EOFError: The last frame is not complete.
        ValueError: A line is longer than `MAX_LINE_BYTES`.
        zstandard.ZstdError: A frame is damaged.
    """
    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    pieces: list[bytes] = []
    size = begun = 0
    while data := file.read(READ_BYTES):
        while data:
            begun += len(data)
            pieces.append(frame.decompress(data))
            size += len(pieces[-1])
            if size > MAX_LINE_BYTES:
                raise ValueError(f"a line has more than {MAX_LINE_BYTES} bytes")
            data = frame.unused_data
            if frame.eof:
                yield b"".join(pieces)
                frame, pieces, size, begun = decompressor.decompressobj(), [], 0, 0
    if begun:
        raise EOFError


def _body(data: bytes) -> _Body:
    try:
        return _Body(text=data.decode())
    except UnicodeDecodeError:
        return _Body(base64=data)


def _data(body: _Body) -> bytes:
    return body.base64 or body.text.encode()


def _exchange(line: _Line, earlier: deque[bytes]) -> Exchange:
    request = _data(line.request)
    if line.request.back:
        base, head, tail = earlier[line.request.back - 1], line.request.head, line.request.tail
        if not (head >= 0 and tail >= 0 and head + tail <= len(base)):
            raise ValueError("a request repeats more of an earlier one than there is")
        request = base[:head] + request + base[len(base) - tail :]
    return Exchange(**head_of(line), request=request, chunks=_chunks(_data(line.reply), line))


def _chunks(reply: bytes, line: _Line) -> tuple[Chunk, ...]:
    ends = accumulate(line.sizes, initial=0)
    times = accumulate(line.gaps_us)
    return tuple(
        Chunk(at_s=at_us / MICROSECONDS, data=reply[start:end])
        for (start, end), at_us in zip(pairwise(ends), times, strict=True)
    )


def _shared(earlier: bytes, body: bytes) -> tuple[int, int]:
    """Return how many bytes two bodies share at their beginning and at their end, in whole characters."""
    head = _shared_head(earlier, body)
    most = min(len(earlier), len(body)) - head
    tail = _shared_head(earlier[len(earlier) - most :][::-1], body[len(body) - most :][::-1])
    while 0 < head < len(body) and _is_within_character(body[head]):
        head -= 1
    while tail and _is_within_character(body[len(body) - tail]):
        tail -= 1
    return head, tail


def _is_within_character(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8's mark of a byte that continues a character


def _shared_head(one: bytes, other: bytes) -> int:
    """Bisect: comparing slices is as fast as copying memory, where a loop over bytes takes a thousand times as long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

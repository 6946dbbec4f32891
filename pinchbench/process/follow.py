"""Follows a growing file."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiofiles
import anyio
from anyio import CancelScope, current_time, move_on_after

from pinchbench.files.beneath import MACHINE_ERRORS, regular_fd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiofiles.threadpool.binary import AsyncBufferedReader

POLL_S = 0.125  # how often a growing file is polled: a shorter delay than users notice
CHUNK_BYTES = 256 * 1024
CLOSE_LIMIT_S = 5.0  # closing a file is fast, except on a dead network mount, where it may never finish
AT_ONCE_BYTES = 16 * 1024  # read without a thread; enough for a file that grows line by line


def next_look_s() -> float:
    """Return the seconds until the next poll. All files are polled at the same times, to wake the event loop once."""
    return POLL_S - current_time() % POLL_S


class Follower:
    """Reads the data added to a file since the last read.

    The file need not exist yet; what can't be opened is treated as missing, and so is what is no regular file. No link
    is followed below `within`, by default the file's folder. A file that shrank or was replaced is read from its
    beginning. Reading a file that has not grown costs one `stat` call. It owns the open file until `aclose`.

    Attributes:
        failure: the error of the last read, if the machine rather than the file caused it (see `MACHINE_ERRORS`).
    """

    def __init__(self, path: Path, *, within: Path | None = None) -> None:
        """Start at the beginning. The file is not opened before the first `read`."""
        self._path = path
        self._within = within
        self._file: AsyncBufferedReader | None = None
        self._inode = 0
        self._offset = 0
        self.failure: OSError | None = None

    async def aclose(self) -> None:
        """Close the file, also when cancelled. A later `read` opens it again and continues where the last one ended."""
        with move_on_after(CLOSE_LIMIT_S, shield=True):
            file, self._file = self._file, None
            if file is not None:
                await file.close()

    async def read(self) -> bytes:
        """Return at most `CHUNK_BYTES` new bytes; empty if there are none now.

        No data is lost on cancellation: a read that has begun is completed and returned, and the cancellation takes
        effect at the caller's next checkpoint.
        """
        try:
            info = os.lstat(self._path)  # takes microseconds, a thread a hundred
        except OSError:
            return b""
        if not stat.S_ISREG(info.st_mode):
            return b""
        if (at_once := self._glance(info)) is not None:
            self._offset += len(at_once)
            return at_once
        # Shielded: a thread continues after a cancellation, and the file it opens would never be closed. Reading a
        # local file is fast.
        data = b""
        with CancelScope(shield=True):
            data = await self._look(info)
            self._offset += len(data)
        return data

    def skip(self, keep_bytes: int) -> int:
        """Skip unread data except the last `keep_bytes`, and return the number of bytes skipped."""
        if self._file is None:
            return 0
        skipped = max(0, os.fstat(self._file.fileno()).st_size - keep_bytes - self._offset)
        self._offset += skipped
        return skipped

    def _glance(self, info: os.stat_result) -> bytes | None:
        """Return the new bytes if they can be read without a thread, else None.

        That is the case if there are none, or if they were just written and so are in memory. This takes 1 to 2
        microseconds, a thread a hundred.
        """
        if self._file is None:
            return b"" if info.st_size == 0 else None
        if info.st_ino != self._inode or not self._offset <= info.st_size <= self._offset + AT_ONCE_BYTES:
            return None
        return os.pread(self._file.fileno(), AT_ONCE_BYTES, self._offset) if info.st_size > self._offset else b""

    async def _look(self, info: os.stat_result) -> bytes:
        if info.st_size < self._offset or self._inode not in (0, info.st_ino):
            await self.aclose()
            self._offset = 0
        if info.st_size <= self._offset:
            return b""
        if self._file is None:
            try:
                self._file = await aiofiles.open(  # type: ignore[assignment]
                    self._path, "rb", buffering=0, opener=lambda *_: regular_fd(self._path, within=self._within)
                )
            except OSError as error:  # deleted meanwhile, a folder, or not readable: none of these may end a trial
                self.failure = error if error.errno in MACHINE_ERRORS else None
                return b""
            self.failure = None
            assert self._file is not None  # noqa: S101 - for the type checker
            self._inode = os.fstat(self._file.fileno()).st_ino  # of the opened file: the path may have been replaced
        await self._file.seek(self._offset)
        return await self._file.read(CHUNK_BYTES)


class LineSplitter:
    r"""Split a stream of byte chunks on `\n`, holding at most `max_line_bytes` of an unfinished line.

    Only the head of a longer line is returned, once its end has been read, so memory use is bounded. Other separators
    don't end a line: JSON text may contain U+2028. Lines are returned without their newlines.
    """

    def __init__(self, *, max_line_bytes: int, head_bytes: int | None = None) -> None:
        """Start empty.

        `max_line_bytes` is at least 1. Of a longer line, `head_bytes` are kept, by default `max_line_bytes`.
        """
        self._max = max_line_bytes
        self._head = max_line_bytes if head_bytes is None else min(head_bytes, max_line_bytes)
        self._held = bytearray()
        self._is_cut = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Process a chunk and return the lines that it completes."""
        *ended, rest = chunk.split(b"\n")
        lines = []
        for part in ended:
            self._hold(part)
            lines.append(self._take())
        self._hold(rest)
        return lines

    def finish(self) -> bytes | None:
        """Return the unfinished last line, if there is one, and reset the splitter."""
        return self._take() if self._held else None

    def _hold(self, part: bytes) -> None:
        if self._is_cut:
            return
        self._is_cut = len(self._held) + len(part) > self._max
        self._held += part[: self._max - len(self._held)]
        if self._is_cut:
            del self._held[self._head :]

    def _take(self) -> bytes:
        line = bytes(self._held)
        self._held.clear()
        self._is_cut = False
        return line


SHOWN_LINE_BYTES = 4096
SHOWN_BYTES = 32 * 1024  # per read of a growing file: 40 ms of work if every line is empty
LAST_LOOKS = 8  # reads of 256 KiB after the trial is over


@dataclass(slots=True)
class Output:
    """A file that consecutive processes write to. `take` is called with each line, cut at `SHOWN_LINE_BYTES`."""

    path: Path
    follower: Follower
    take: Callable[[str], None]
    splitter: LineSplitter = field(default_factory=lambda: LineSplitter(max_line_bytes=SHOWN_LINE_BYTES))

    async def read_on(self) -> bool:
        """Process new output. Returns False if there is none.

        If there is too much, only the first `SHOWN_BYTES` are processed now and the last `SHOWN_BYTES` by the next
        call. Users could not read more, and the agents need the disk and the event loop.
        """
        data = await self.follower.read()
        for line in self.splitter.feed(data[:SHOWN_BYTES]):
            self.take(line.decode("utf-8", "replace"))
        if len(data) > SHOWN_BYTES:
            left_out = len(data) - SHOWN_BYTES + self.follower.skip(SHOWN_BYTES)
            self.take(f"… {left_out} bytes are not shown; {self.path} has them all")
        return bool(data)

    async def follow(self) -> None:
        """Process new output until cancelled."""
        while True:
            await self.read_on()
            await anyio.sleep(next_look_s())

    async def finish(self) -> None:
        """Process the remaining output of a process that has exited.

        Raises OSError if it can't be read because of the machine.
        """
        for _ in range(LAST_LOOKS):
            if not await self.read_on():
                break
        if self.follower.failure is not None:
            raise self.follower.failure
        if (rest := self.splitter.finish()) is not None:
            self.take(rest.decode("utf-8", "replace"))

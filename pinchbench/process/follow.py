"""Follows a growing file."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import aiofiles
from anyio import CancelScope, current_time, move_on_after

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from aiofiles.threadpool.binary import AsyncBufferedReader

POLL_S = 0.125  # how often a growing file is polled: a shorter delay than users notice
CHUNK_BYTES = 256 * 1024
# Errors of the machine rather than of the file: no descriptors, no memory, a failing disk, a stale mount
MACHINE_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE})
CLOSE_LIMIT_S = 5.0  # closing a file is fast, except on a dead network mount, where it may never finish
AT_ONCE_BYTES = 16 * 1024  # read without a thread; enough for a file that grows line by line


def next_look_s() -> float:
    """Return the seconds until the next poll. All files are polled at the same times, to wake the event loop once."""
    return POLL_S - current_time() % POLL_S


class Follower:
    """Reads the data added to a file since the last read.

    The file need not exist yet; a file that can't be opened is treated as missing. A file that shrank or was replaced
    is read from its beginning. Reading a file that has not grown costs one `stat` call. Use as an async context
    manager: it owns the open file.

    Attributes:
        failure: the error of the last read, if the machine rather than the file caused it (see `MACHINE_ERRORS`).
    """

    def __init__(self, path: Path, *, from_byte: int = 0) -> None:
        """Start at offset `from_byte`. The file is not opened before the first `read`."""
        self._path = path
        self._file: AsyncBufferedReader | None = None
        self._inode = 0
        self._offset = from_byte
        self.failure: OSError | None = None

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file, also when cancelled."""
        with move_on_after(CLOSE_LIMIT_S, shield=True):
            await self.close()

    async def close(self) -> None:
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
            info = os.stat(self._path)  # noqa: PTH116 - takes microseconds, a thread a hundred
        except OSError:
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
            await self.close()
            self._offset = 0
        if info.st_size <= self._offset:
            return b""
        if self._file is None:
            try:
                self._file = await aiofiles.open(self._path, "rb", buffering=0)  # type: ignore[assignment]
            except OSError as error:  # deleted meanwhile, a folder, or not readable: none of these may end a trial
                self.failure = error if error.errno in MACHINE_ERRORS else None
                return b""
            self.failure = None
            assert self._file is not None  # noqa: S101 - for the type checker
            self._inode = os.fstat(self._file.fileno()).st_ino  # of the opened file: the path may have been replaced
        await self._file.seek(self._offset)
        return await self._file.read(CHUNK_BYTES)

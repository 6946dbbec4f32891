"""The archive of a kept workspace: how much it may hold, and how it is read."""

from __future__ import annotations

import os
import tarfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_KEPT_BYTES = 1024 * 1024 * 1024  # of all kept files together, before compression
MAX_ENTRIES = 50_000  # files, folders and links of one workspace; `npm install` of a large project stays below it
HEADER_BYTES = 16 * 1024  # an entry's share of the archive beside its content, at most: names are the largest part
PIECE_BYTES = 1024 * 1024
END_MARK = b"pinchbench: this archive is whole\n"  # after the tar's end: what was cut off anywhere lacks it

# What reading a damaged archive raises.
UNREADABLE = (zstandard.ZstdError, tarfile.TarError, EOFError, ValueError, LookupError, ArithmeticError)


class ArchiveLostError(OSError):
    """The archive of a workspace is missing, can't be read, or is not what was written."""


class _Unpacked:
    """The tar inside an archive, as tarfile reads it: bounded, and its last bytes remembered."""

    def __init__(self, packed: BinaryIO) -> None:
        self._reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        self._left = MAX_KEPT_BYTES + (MAX_ENTRIES + 1) * HEADER_BYTES
        self._tail = b""

    def read(self, size: int) -> bytes:
        try:
            data = self._reader.read(size)
        except OSError as error:
            raise ArchiveLostError(f"it can't be read: {error.strerror}") from error
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveLostError("it holds more than a workspace may")
        self._tail = (self._tail + data[-len(END_MARK) :])[-len(END_MARK) :]
        return data

    def check_end(self) -> None:
        """Read to the end, beyond the checksum."""
        while self.read(64 * 1024):
            pass
        if self._tail != END_MARK:
            raise ArchiveLostError("its end is missing")


@contextmanager
def open_archive(archive: Path) -> Iterator[tuple[tarfile.TarFile, Iterator[tarfile.TarInfo]]]:
    """The tar and its members, to be used while they come. Raises ArchiveLostError for all that is wrong with it."""
    try:
        file = archive.open("rb")
    except OSError as error:
        raise ArchiveLostError(f"the archive of the workspace can't be read: {error.strerror}") from error
    with file:
        try:
            unpacked = _Unpacked(file)
            with tarfile.open(
                fileobj=cast("BinaryIO", unpacked), mode="r|", encoding="utf-8", errors="surrogateescape"
            ) as tar:
                yield tar, _members(tar, unpacked)
        except (ArchiveLostError, *UNREADABLE) as error:
            raise ArchiveLostError(f"the archive of the workspace is damaged: {error}") from error


def _members(tar: tarfile.TarFile, unpacked: _Unpacked) -> Iterator[tarfile.TarInfo]:
    entries = 0
    while (member := tar.next()) is not None:
        entries += 1
        if entries > MAX_ENTRIES:
            raise ArchiveLostError("it holds more than a workspace may")
        yield member
        tar.members.clear()  # type: ignore[attr-defined]  # nobody asks for them, and they are a kilobyte each
    unpacked.check_end()


def unpacked(archive: Path) -> Iterator[bytes]:
    """Yield the contents and names of an archive's files in pieces, as one text. Raises ArchiveLostError."""
    try:
        with archive.open("rb") as file:
            text = _Unpacked(file)
            while piece := text.read(PIECE_BYTES):
                yield piece
    except (OSError, *UNREADABLE) as error:
        raise ArchiveLostError(f"the archive of the workspace can't be read: {error}") from error


MAX_SENTENCES = 100  # about what was left out; one more says how many there are beyond


MAX_SHOWN_NAME = 200  # characters of a path in a sentence


class LeftOut:
    """Sentences about what was left out, not too many of them."""

    def __init__(self) -> None:
        """Nothing is left out yet."""
        self._sentences: list[str] = []
        self._count = 0

    def say(self, path: str, why: str) -> None:
        """Tell why what has this path was left out; `why` goes on after the path and ends without a full stop."""
        self._count += 1
        if len(self._sentences) < MAX_SENTENCES:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            if not shown.isprintable():
                shown = ascii(shown)[1:-1]
            if len(shown) > MAX_SHOWN_NAME:
                shown = f"{shown[:MAX_SHOWN_NAME]}…"
            self._sentences.append(f"{shown} {why}.")

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that were said, or the first of them and how many there were beyond."""
        more = self._count - len(self._sentences)
        return (*self._sentences, f"{more} more were left out.") if more else tuple(self._sentences)

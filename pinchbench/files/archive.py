"""The archive of a kept workspace: how much it may hold, how it is read, and its texts for a judge."""

from __future__ import annotations

import codecs
import os
import re
import tarfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

from pinchbench.defaults import MAX_ENTRIES, MAX_KEPT_BYTES
from pinchbench.files.beneath import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


HEADER_BYTES = 16 * 1024  # an entry's share of the archive besides its content, at most: names are the largest part
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
        file = open_regular(archive)
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
        with open_regular(archive) as file:
            text = _Unpacked(file)
            while piece := text.read(PIECE_BYTES):
                yield piece
    except (OSError, *UNREADABLE) as error:
        raise ArchiveLostError(f"the archive of the workspace can't be read: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What was left out of a workspace's archive: all in sentences, and the first thing beyond the limits, if any."""

    left_out: tuple[str, ...] = ()
    beyond: str = ""


MAX_SENTENCES = 100  # about what was left out; one more says how many there are beyond


MAX_SHOWN_NAME = 200  # characters of a path in a sentence


class LeftOut:
    """Sentences about what was left out, not too many of them."""

    def __init__(self) -> None:
        """Nothing is left out yet."""
        self._sentences: list[str] = []
        self._count = 0
        self._beyond = ""

    def say(self, path: str, why: str, *, is_beyond: bool = False) -> None:
        """Tell why what has this path was left out; `why` goes on after the path and ends without a full stop.

        `is_beyond`: it exceeds what is kept, so a missing file is not evidence against the agent.
        """
        self._count += 1
        if is_beyond and not self._beyond:
            self._beyond = f"{os.fsencode(path).decode('utf-8', 'backslashreplace')[:MAX_SHOWN_NAME]} {why}"
        if len(self._sentences) < MAX_SENTENCES:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            if not shown.isprintable():
                shown = ascii(shown)[1:-1]
            if len(shown) > MAX_SHOWN_NAME:
                shown = f"{shown[:MAX_SHOWN_NAME]}…"
            self._sentences.append(f"{shown} {why}.")

    @property
    def kept(self) -> Kept:
        """What was left out."""
        return Kept(left_out=self.sentences, beyond=self._beyond)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that were said, or the first of them and how many there were beyond."""
        more = self._count - len(self._sentences)
        return (*self._sentences, f"{more} more were left out.") if more else tuple(self._sentences)


SHORT_PART = 8  # of what is read of a text: one that is no longer than this part comes before the long ones


class NoText(StrEnum):
    """Why a kept file comes without its text: it is not UTF-8 text, or no room was left for it."""

    BINARY = "binary"
    NO_ROOM = "no_room"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptFile:
    """A regular file of a kept workspace. `path` is relative, `size` in bytes.

    `text` is the beginning of the file, all of it when it is no longer than the limit; None where `no_text` says why.
    A path that is not UTF-8 has replacement characters.
    """

    path: str
    size: int
    text: str | None
    no_text: NoText | None = None


def kept_texts(
    archive: Path, *, max_file_bytes: int, max_bytes: int, comes_last: Callable[[str], bool] = lambda _: False
) -> tuple[KeptFile, ...]:
    """The regular files of a kept workspace by path, with the text of those that are text, within the limits.

    Of a text longer than `max_file_bytes` its beginning of that size is given. Where all together are larger than
    `max_bytes`, short files have their texts first and those near the top of the workspace before deep ones, and those
    whose path `comes_last` names after all others; what would bring the sum above the limit has none. Raises
    ArchiveLostError when the archive is missing or damaged. Reads it once, or twice where not all has room. Blocks.
    """
    files: list[_Listed] = []
    texts: dict[int, str] = {}
    room = max_bytes
    for listed in _listed(archive, max_file_bytes, None):
        files.append(replace(listed, text=None))
        room -= listed.taken
        if room < 0:
            texts.clear()  # there are too many, and which ones count is known at the end
        elif listed.text is not None:
            texts[listed.number] = listed.text
    if room < 0:
        short = max_file_bytes // SHORT_PART
        files.sort(key=lambda one: (comes_last(one.path), one.taken > short, len(one.parts), one.taken, one.parts))
        wanted = _with_room(files, max_bytes)
        texts = {one.number: one.text for one in _listed(archive, max_file_bytes, wanted) if one.text is not None}
    ordered = sorted(files, key=lambda one: one.parts)
    return tuple(
        KeptFile(
            path=one.path,
            size=one.size,
            text=texts.get(one.number),
            no_text=None if one.number in texts else NoText.NO_ROOM if one.is_text else NoText.BINARY,
        )
        for one in ordered
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    """A regular file of an archive and its `number`. `taken` is the part of the limit that its text uses, in bytes."""

    number: int
    parts: list[str]
    path: str
    size: int
    is_text: bool
    taken: int
    text: str | None


def _listed(archive: Path, max_file_bytes: int, wanted: set[int] | None) -> Iterator[_Listed]:
    """Read the heads of the files, all or those with the `wanted` numbers."""
    with open_archive(archive) as (tar, members):
        for number, member in enumerate(members):
            if not member.isreg() or member.issparse() or not (wanted is None or number in wanted):
                continue
            content = tar.extractfile(member)
            if content is None:
                continue
            taken = min(member.size, max_file_bytes)
            text = text_of(content.read(taken), whole=taken == member.size)
            yield _Listed(
                number=number,
                parts=member.name.split("/"),
                path=os.fsencode(member.name).decode("utf-8", "replace"),
                size=member.size,
                is_text=text is not None,
                taken=0 if text is None else taken,
                text=text,
            )


def _with_room(files: Iterable[_Listed], room: int) -> set[int]:
    """Choose the files whose texts are to be had, by number; who comes first is served first."""
    chosen: set[int] = set()
    for one in files:
        if one.is_text and one.taken <= room:
            chosen.add(one.number)
            room -= one.taken
    return chosen


CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
COMMON_BYTES = 1.8  # of two bytes a sign, those that GB2312 has: "für" in Latin-1 is GB18030 with a rare sign


def text_of(data: bytes, *, whole: bool) -> str | None:
    """Return the text of a file, or of its beginning, in UTF-8 or, if it is Chinese, GB18030; None for other data."""
    if b"\0" in data:
        return None
    for encoding in ("utf-8", "gb18030"):
        # the head of a longer text may end within a character
        decoder = codecs.getincrementaldecoder(encoding)()
        with suppress(UnicodeDecodeError):
            text = decoder.decode(data, final=whole)
            if encoding == "utf-8" or _is_chinese(text):
                return text
    return None


def _is_chinese(text: str) -> bool:
    signs = "".join(one for one in text if not one.isascii())
    return len(signs.encode("gb2312", "ignore")) >= COMMON_BYTES * len(signs) and not CONTROL.search(text)

"""The texts of a kept workspace, for a judge to read."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.files.archive import open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

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
            text = _text(content.read(taken), whole=taken == member.size)
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


def _text(data: bytes, *, whole: bool) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # the head of a longer text may end within a character
        is_cut = not whole and error.reason == "unexpected end of data"
        return data[: error.start].decode("utf-8") if is_cut else None

"""The files that a suite copies into workspaces: their paths, finding and hashing them."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.defaults import MAX_ENTRIES, MAX_FILE_BYTES, MAX_KEPT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_VARIABLE = re.compile(r"\$\w+|\$?\{+ *\w+ *\}+|%\w+%|<\w+>")
_CHUNK_BYTES = 64 * 1024
_MAX_NAME_BYTES = 255  # of a part of a path, as every common file system has it


def relative_path(text: str) -> str:
    """Return the path without `.` parts and doubled slashes.

    Backslashes are refused, not read as separators: their meaning differs between systems.

    Raises:
        ValueError: the path is empty, absolute, leaves its folder, or is not the same on every system. The message
            completes a sentence that begins with the path.
    """
    if not text.strip():
        raise ValueError("is empty")
    if _CONTROL.search(text):
        raise ValueError("holds a control character")
    if "\\" in text:
        raise ValueError("holds a backslash: write / between the parts")
    if text.startswith("/"):
        raise ValueError("is absolute: it must be relative to the workspace")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ValueError("holds `..`: it must stay inside its folder")
    if not parts:
        raise ValueError("names a folder, not a place in it")
    if parts[0].startswith("~") or _VARIABLE.fullmatch(parts[0]):
        raise ValueError(f"starts with {parts[0]}: it must be relative to the workspace")
    if max(len(part.encode()) for part in parts) > _MAX_NAME_BYTES:
        raise ValueError(f"has a name of more than {_MAX_NAME_BYTES} bytes")
    if _DRIVE.match(parts[0]):
        raise ValueError("names a drive: it must be relative to the workspace")
    return "/".join(parts)


_FOLDERS = ("assets", "fixtures")


class FixtureError(Exception):
    """A source can't be used. The message is the reason, suitable for a list of problems."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixtureFolders:
    """The folders searched for sources, in order; symbolic links in their own paths are resolved."""

    folders: tuple[Path, ...]
    named: tuple[Path, ...]

    @classmethod
    def of(cls, root: Path) -> FixtureFolders:
        """Return the fixture folders of a tasks folder: `assets` and `fixtures` in it, then next to it."""
        resolved = root.resolve()
        named = tuple(base / name for base in (resolved, resolved.parent) for name in _FOLDERS)
        folders = tuple(folder.resolve() for folder in named if folder.is_dir())
        return cls(folders=folders, named=named)

    def of_task(self, task_id: str) -> FixtureFolders:
        """Return these folders, with those of one task before them: `assets/<task id>` and the like."""
        return self.after(*(folder / task_id for folder in self.named))

    def after(self, *places: Path) -> FixtureFolders:
        """Return these folders, preceded by those of `places` that exist."""
        found = tuple(place.resolve() for place in places if place.is_dir())
        return FixtureFolders(folders=(*found, *self.folders), named=(*places, *self.named))

    def resolve(self, source: Path) -> Path:
        """Return the absolute path of a relative source, with symbolic links resolved.

        Raises:
            FixtureError: there is no such file or folder, or it is outside the fixture folders.
        """
        spellings = [source]
        if source.parts[0] in _FOLDERS and len(source.parts) > 1:
            spellings.append(Path(*source.parts[1:]))
        for folder in self.folders:
            for spelling in spellings:
                try:
                    found = (folder / spelling).resolve(strict=True)
                except (OSError, RuntimeError):
                    # Missing, unreadable, too long for the system, or a loop of symbolic links.
                    continue
                if not any(found.is_relative_to(other) for other in self.folders):
                    raise FixtureError(f"the source {str(source)!r} leads out of {folder}")
                return found
        places = ", ".join(map(str, self.named))
        raise FixtureError(f"the source {str(source)!r} is missing (looked in {places})")


def fixture_hash(path: Path, *, without: str = "") -> bytes:
    """Return a SHA-256 over a file, or over every file of a folder with its relative path.

    Files in a folder named `without` do not count.

    Raises:
        FixtureError: something in it is not a regular file, can't be read, or is a symbolic link to the outside.
    """
    try:
        if path.is_dir():
            total = hashlib.sha256()
            for name in _files(path):
                if without in name.split("/")[:-1]:
                    continue
                total.update(
                    hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest() + _file_hash(f"{path}/{name}")
                )
            return total.digest()
        return _file_hash(str(path))
    except OSError as error:
        raise FixtureError(f"the source {error.filename} can't be read: {error.strerror}") from error


def refuse_unkept(sources: Iterable[Path]) -> None:
    """Raise FixtureError if a task gives more than is kept of a workspace: its check would miss that. Blocks."""
    entries = size = 0
    for source in sources:
        try:
            files = [f"{source}/{name}" for name in _files(source)] if source.is_dir() else [str(source)]
            for file in files:
                entries, bytes_of_file = entries + 1, os.stat(file).st_size  # noqa: PTH116 - see `_file_hash`
                size += bytes_of_file
                if bytes_of_file > MAX_FILE_BYTES:
                    raise FixtureError(
                        f"the source {file} is larger than the {MAX_FILE_BYTES // 1024**2} MiB that are kept of a file"
                    )
        except OSError as error:
            raise FixtureError(f"the source {error.filename} can't be read: {error.strerror}") from error
    if entries > MAX_ENTRIES or size > MAX_KEPT_BYTES:
        raise FixtureError(
            f"the task gives {entries} files with {size // 1024**2} MiB, and of a workspace {MAX_ENTRIES} entries and"
            f" {MAX_KEPT_BYTES // 1024**2} MiB are kept"
        )


def _file_hash(path: str) -> bytes:
    # For many small files, a Path or a file object takes longer than the hash. A pipe could block for ever.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise FixtureError(f"the source {path} is neither a file nor a folder")
        digest = hashlib.sha256()
        while data := os.read(fd, min(info.st_size + 1, _CHUNK_BYTES)):
            digest.update(data)
        return digest.digest()
    finally:
        os.close(fd)


def _files(folder: Path) -> list[str]:
    """Return the relative path of every file below a folder, in the same order on all systems.

    Symbolic links to folders are refused.
    """
    found: list[str] = []
    pending = [""]
    while pending:
        place = pending.pop()
        with os.scandir(f"{folder}/{place}".rstrip("/")) as entries:
            for entry in entries:
                if entry.is_symlink():
                    _refuse_bad_link(folder / place / entry.name, folder)
                elif entry.is_dir():
                    pending.append(f"{place}{entry.name}/")
                    continue
                found.append(place + entry.name)
    return sorted(found, key=lambda name: name.split("/"))


def _refuse_bad_link(path: Path, folder: Path) -> None:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise FixtureError(f"the link {path} leads nowhere") from error
    if not target.is_relative_to(folder):
        raise FixtureError(f"the link {path} leads out of the source {folder}")
    if target.is_dir():
        raise FixtureError(f"the link {path} stands for a folder: copy the folder instead")

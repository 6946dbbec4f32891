"""The files that a suite copies into workspaces: finding and hashing them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

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
        """Return the fixture folders of a tasks folder: `assets` and `fixtures` in it, then beside it."""
        resolved = root.resolve()
        named = tuple(base / name for base in (resolved, resolved.parent) for name in _FOLDERS)
        folders = tuple(folder.resolve() for folder in named if folder.is_dir())
        return cls(folders=folders, named=named)

    def of_task(self, task_id: str) -> FixtureFolders:
        """Return these folders, with those of one task before them: `assets/<task id>` and the like."""
        own = tuple(folder / task_id for folder in self.named)
        found = tuple(folder.resolve() for folder in own if folder.is_dir())
        return FixtureFolders(folders=(*found, *self.folders), named=(*own, *self.named))

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


def fixture_hash(path: Path) -> bytes:
    """Return a SHA-256 over a file, or over every file of a folder with its relative path.

    Raises:
        FixtureError: something in it is not a regular file, can't be read, or is a symbolic link to the outside.
    """
    try:
        if path.is_dir():
            total = hashlib.sha256()
            for name in _files(path):
                total.update(
                    hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest() + _file_hash(f"{path}/{name}")
                )
            return total.digest()
        return _file_hash(str(path))
    except OSError as error:
        raise FixtureError(f"the source {error.filename} can't be read: {error.strerror}") from error


def _file_hash(path: str) -> bytes:
    # Opening a pipe or a device could block for ever.
    if not os.path.isfile(path):  # noqa: PTH113 - for many small files, creating a Path takes longer than the hash
        raise FixtureError(f"the source {path} is neither a file nor a folder")
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        return hashlib.file_digest(file, "sha256").digest()


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

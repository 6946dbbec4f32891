"""The files of a workspace as values, and changes to them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


TOOL_STATE = ("*.git", "__pycache__", ".pytest_cache")  # folders that tools fill, with other bytes each time


@dataclass(frozen=True, kw_only=True, slots=True)
class SymbolicLink:
    """A symbolic link; `target` may lead nowhere."""

    target: str


class NoFile(StrEnum):
    """What is in a file's place instead of it."""

    ABSENT = "absent"
    FOLDER = "folder"


Content: TypeAlias = "bytes | SymbolicLink | NoFile"


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the regular files below a folder by their relative path, except those in `TOOL_STATE`. Blocks.

    Links are not followed. Raises OSError.
    """
    files = {}
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not any(fnmatchcase(name, state) for state in TOOL_STATE))
        for path in (Path(root, name) for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def changed_files(given: Mapping[str, bytes], folder: Path) -> dict[str, Content]:
    """Return what a folder holds that differs from the given files, and which of these are gone. Blocks."""
    left = read_files(folder)
    changed: dict[str, Content] = {path: data for path, data in left.items() if given.get(path) != data}
    return changed | dict.fromkeys(given.keys() - left.keys(), NoFile.ABSENT)


def files_digest(files: Mapping[str, Content]) -> str:
    """Return a SHA-256 over names and contents, in hexadecimal (pure)."""
    digest = sha256()
    for path, content in sorted(files.items()):
        data = content if isinstance(content, bytes) else str(content).encode()
        digest.update(sha256(path.encode()).digest() + sha256(data).digest())
    return digest.hexdigest()


def write_changes(folder: Path, changes: Mapping[str, Content]) -> None:
    """Put contents in the places of files, whatever is there; missing folders are created. Blocks. Raises OSError."""
    for name, content in changes.items():
        path = folder / name
        _remove(path)
        if content is NoFile.ABSENT:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case NoFile.FOLDER:
                path.mkdir()
            case SymbolicLink():
                path.symlink_to(content.target)
            case bytes():
                path.write_bytes(content)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

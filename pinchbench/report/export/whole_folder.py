"""Write a folder atomically."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.files.folders import make_private, refuse_planted, remove_folder, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill; it is renamed to `path` when the block ends, and removed if the block raises. Blocks.

    It is readable by the user only, as it can contain what the agents wrote. Raises ResultsError if it can't be
    written, or if `path` exists and is not an empty folder: new files are never mixed with those of an earlier export.
    """
    try:
        refuse_planted(path.parent, option="--output")
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
            raise ResultsError(f"{path} is there already; remove it, or name another folder with --output.")
        fresh = path.with_name(f".{secrets.token_hex(8)}.new")  # unpredictable: no other user can put a link there
        make_private(fresh)
        try:
            yield fresh
            sync_folder(fresh)
            fresh.replace(path)  # replaces an empty folder
        except BaseException:
            remove_folder(fresh)
            raise
    except OSError as error:
        raise ResultsError(f"{path} can't be written: {error.strerror}; name another folder with --output.") from error
    sync_folder(path.parent)

"""A folder that is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.folders import make_private, refuse_planted, remove_folder, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill, which gets the name `path` when the block ends, and is gone when it raises. Blocks.

    It is the user's alone, as it can hold what the agents wrote. Raises ResultsError when it can't be written, or when
    something has that name, other than an empty folder: what an earlier export left is not mixed with what is new.
    """
    try:
        refuse_planted(path.parent, option="--output")
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
            raise ResultsError(f"{path} is there already; remove it, or name another folder with --output.")
        fresh = path.with_name(f".{secrets.token_hex(8)}.new")  # nobody can guess it and put a link there
        make_private(fresh)
        try:
            yield fresh
            sync_folder(fresh)
            fresh.replace(path)  # an empty folder gives way
        except BaseException:
            remove_folder(fresh)
            raise
    except OSError as error:
        raise ResultsError(f"{path} can't be written: {error.strerror}; name another folder with --output.") from error
    sync_folder(path.parent)

"""Opens files in folders in which others can place anything: an agent, or the sender of a run."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Errors of the machine rather than of the file: no descriptors, no memory, a failing disk, a stale mount
MACHINE_ERRORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE})
NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a named pipe must not wait


@contextmanager
def folder_beneath(path: Path, within: Path) -> Iterator[int]:
    """Open the folder `path` for the block, following no link below `within`. Blocks. Raises OSError.

    Each part is opened in the folder before it, so that nothing changes if a part is replaced meanwhile.
    """
    fd = os.open(within, FOLDER_FLAGS)
    try:
        for part in path.relative_to(within).parts:
            if part == "..":
                raise OSError(errno.EINVAL, "It leads out of its folder", str(path))
            below = os.open(part, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def regular_fd(path: Path, *, within: Path | None = None) -> int:
    """Open a regular file to read it, and return its descriptor. Blocks, but never on what is no file.

    No link is followed below `within`, by default the file's folder. Raises OSError, also for anything else than a
    regular file.
    """
    with folder_beneath(path.parent, within or path.parent) as folder:
        fd = os.open(path.name, FILE_FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
    return fd


def open_regular(path: Path, *, within: Path | None = None) -> BinaryIO:
    """Open a regular file as `regular_fd` does."""
    return os.fdopen(regular_fd(path, within=within), "rb")


def is_regular(path: Path, *, within: Path | None = None) -> bool:
    """Return whether there is a file for `regular_fd`, even if the machine can't open it for the moment. Blocks."""
    try:
        os.close(regular_fd(path, within=within))
    except OSError as error:
        return error.errno in MACHINE_ERRORS
    return True


def link_regular(path: Path, copy: Path, *, within: Path) -> bool:
    """Give a regular file the second name `copy`, which nobody else can change, instead of what had it. Blocks.

    Returns False if there is no such file, or if anything else has its name. Raises OSError if it can't be linked.
    """
    copy.unlink(missing_ok=True)
    try:
        with folder_beneath(path.parent, within) as folder:
            os.link(path.name, copy, src_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno in NOT_THERE:
            return False
        raise
    if stat.S_ISREG(copy.lstat().st_mode):
        return True
    copy.unlink()
    return False

"""Whether the file systems a trial writes to have room left."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# What OpenClaw wants to write may be larger than the last bit of room, so that a full disk is seldom quite full. A turn of
# it writes less than this into its own state (measured), and no disk that people work on is this full for long.
MIN_FREE_BYTES = 16 * 1024 * 1024
MIN_FREE_INODES = 64


def is_disk_full(error: OSError) -> bool:
    """Whether the system refused to write for want of room."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def find_full(folders: Iterable[Path]) -> str:
    """Name the first of these folders whose file system has less than the minimum of room left; empty if none. Blocks."""
    for folder in folders:
        try:
            left = os.statvfs(folder)
        except OSError:  # gone: that is another trouble, and told elsewhere
            continue
        # the blocks that are kept back for root are no room for anybody else
        free = (left.f_bfree if os.geteuid() == 0 else left.f_bavail) * left.f_frsize
        if free < MIN_FREE_BYTES:
            return f"{folder} is on a file system with {free} bytes left"
        if left.f_files and left.f_ffree < MIN_FREE_INODES:  # some file systems count no inodes
            return f"{folder} is on a file system that can take {left.f_ffree} more files"
    return ""

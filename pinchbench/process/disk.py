"""Detects full file systems."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# A write may be larger than the remaining space, so a full disk usually has some space left. A turn of OpenClaw writes
# less than this into its own state (measured), and a disk in normal use is rarely this full.
MIN_FREE_BYTES = 16 * 1024 * 1024
MIN_FREE_INODES = 64


def is_disk_full(error: OSError) -> bool:
    """Return whether a write failed because the disk or quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def find_full(folders: Iterable[Path]) -> str:
    """Describe the first of these folders with too little free space; return an empty string if none. Blocks."""
    for folder in folders:
        try:
            left = os.statvfs(folder)
        except OSError:  # missing: a different failure, which is reported elsewhere
            continue
        # other users can't use the blocks that are reserved for root
        free = (left.f_bfree if os.geteuid() == 0 else left.f_bavail) * left.f_frsize
        if free < MIN_FREE_BYTES:
            return f"{folder} is on a file system with {free} bytes left"
        if left.f_files and left.f_ffree < MIN_FREE_INODES:  # some file systems don't count inodes
            return f"{folder} is on a file system that can take {left.f_ffree} more files"
    return ""

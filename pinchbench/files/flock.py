"""What a lock of the system on an open file tells of the processes that may hold it."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path

# File systems that one kernel alone writes to: whoever has died there, in whichever container, holds no lock any more.
# Others, of which there are many, may be shared between machines whose locks do not meet.
LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "overlay", "ramfs", "reiserfs"}
    | {"tmpfs", "xfs", "zfs"}
)
MOUNTS = Path("/proc/self/mountinfo")


def is_local(fd: int) -> bool:
    """Whether an open file is on a file system of this machine alone; not where the system does not tell. Blocks."""
    with suppress(OSError, ValueError, IndexError):
        told = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="ascii").split()
        mount = told[told.index("mnt_id:") + 1]
        for line in MOUNTS.read_bytes().split(b"\n"):
            if line.startswith(f"{mount} ".encode()):
                return line.partition(b" - ")[2].split()[0].decode() in LOCAL
    return False


def is_surely_unlocked(fd: int) -> bool:
    """Return whether no living process of any container holds a lock on an open file. Blocks.

    A lock that the caller holds is released.
    """
    if not is_local(fd):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        return False
    return True

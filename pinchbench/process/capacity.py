"""What this machine allows and has left: open files, processes, memory and room on its disks."""

from __future__ import annotations

import errno
import math
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

CGROUP = Path("/sys/fs/cgroup")
# File descriptors: transcripts, databases, outputs and guardians of a slot, and the runner's own
SLOT_FILES, OWN_FILES = 24, 64
# An agent consists of two Node processes of a dozen threads each, all of which count (measured on 2026.9.6), and of the
# commands that it runs
SLOT_TASKS, OWN_TASKS = 64, 64
GIB = 1024**3
# An agent at its peak, measured on 2026.9.6
SLOT_MEMORY_BYTES = int(1.3 * GIB)
# More agents wait for a CPU, on their trials' time: each takes 11 CPU-seconds (measured), most of them at its start,
# which would be a quarter of a limit of 120 s for three.
SLOTS_A_CPU = 2


def raise_open_files() -> None:
    """Raise the soft limit of open files to the hard limit, for this process and its children.

    Children keep the higher limit: Node.js raises its own limit too and passes it on to every tool, and checks get
    their own limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):  # macOS rejects values above its own maximum; the old limit stays then
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def allowed_open_files() -> float:
    """Return the soft limit of open files; infinity if there is none."""
    return _soft(resource.RLIMIT_NOFILE)


def allowed_tasks() -> float:
    """Return the lower of the user's limit of processes and threads and the number that the container can still start.

    Blocks. Infinity if there are no limits.
    """
    of_user = math.inf if os.geteuid() == 0 else _soft(resource.RLIMIT_NPROC)  # the kernel doesn't limit root
    return min(of_user, _container_tasks())


def slots_refusal(slots: int, *, files: float, tasks: float) -> str:
    """Return a sentence if these limits are too low for so many slots, with commands that raise them; else empty."""
    needs_files, needs_tasks = needed(slots)
    commands = []
    if files < needs_files:
        commands.append(f"ulimit -n {max(4096, needs_files)}")
    if tasks < needs_tasks:
        commands.append(f"ulimit -u {max(4096, needs_tasks)} (in a container, its limit of processes)")
    if not commands:
        return ""
    most = most_slots(files=files, tasks=tasks)
    smaller = f", or use --concurrency {most}" if most else ""
    return (
        f"--concurrency {slots} needs {needs_files} open files and {needs_tasks} processes, more than this session's"
        f" limits allow. Raise them: {', '.join(commands)}{smaller}."
    )


def needed(slots: int) -> tuple[int, int]:
    """Return the number of open files and the number of processes that a run with this number of slots needs."""
    return OWN_FILES + SLOT_FILES * slots, OWN_TASKS + SLOT_TASKS * slots


def most_slots(*, files: float, tasks: float) -> int:
    """Return the largest `--concurrency` that these limits allow; 0 if they are too low for a single slot."""
    most = min((files - OWN_FILES) / SLOT_FILES, (tasks - OWN_TASKS) / SLOT_TASKS)
    return max(0, math.floor(min(most, 1_000_000)))


def suited_slots(*, free_bytes: float, cpus: int) -> int:
    """Return for how many slots memory and CPUs suffice; 0 if the memory is too little for a single one."""
    return int(min(free_bytes // SLOT_MEMORY_BYTES, cpus * SLOTS_A_CPU))


def slots_warning(slots: int) -> str:
    """Return a sentence if this machine's memory or CPUs don't suffice for so many slots, else an empty text.

    Blocks.
    """
    free_bytes, cpus = available_bytes(), usable_cpus()
    most = suited_slots(free_bytes=free_bytes, cpus=cpus)
    if slots <= most:
        return ""
    return (
        f"{slots} {'slot needs' if slots == 1 else 'slots need'} about {slots * SLOT_MEMORY_BYTES / GIB:.1f} GiB of"
        f" memory ({free_bytes / GIB:.1f} GiB are free), and this machine has {cpus} {'CPU' if cpus == 1 else 'CPUs'}: "
        + (f"--concurrency {most} suits it, or a higher --timeout-multiplier." if most else "free some memory.")
    )


def _soft(which: int) -> float:
    soft, _ = resource.getrlimit(which)
    return math.inf if soft == resource.RLIM_INFINITY else soft


def _container_tasks() -> float:
    with suppress(OSError, ValueError):  # no cgroups v2, or no limit: the file contains `max`
        most = int((CGROUP / "pids.max").read_text(encoding="ascii"))
        return max(0, most - int((CGROUP / "pids.current").read_text(encoding="ascii")))
    return math.inf


def oom_kills() -> int:
    """Return how many processes the kernel has killed so far for lack of memory; only a rise means anything.

    Counted are those of the machine and those of this program's own cgroup, where the files exist. Blocks.
    """
    files = [Path("/proc/vmstat")]
    with suppress(OSError, UnicodeDecodeError):
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::")[2].strip()
        files += [CGROUP / own.lstrip("/") / "memory.events"]
    count = 0
    for file in files:
        with suppress(OSError, ValueError):
            lines = (line.split() for line in file.read_text(encoding="ascii").splitlines())
            count += next((int(value) for name, value in lines if name == "oom_kill"), 0)
    return count


def available_bytes() -> int:
    """Return the memory that new processes can use without swapping, and that a container allows. Reads files."""
    return int(min(psutil.virtual_memory().available, _container_bytes()))


def _container_bytes() -> float:
    """Return the memory that the container still allows, its page cache included; infinity if there is no limit."""
    with suppress(OSError, ValueError):  # as in `_container_tasks`
        most, current = (int((CGROUP / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        lines = (line.split() for line in (CGROUP / "memory.stat").read_text(encoding="ascii").splitlines())
        return max(0, most - current + sum(int(value) for name, value in lines if name == "inactive_file"))
    return math.inf


def usable_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# A write may be larger than the remaining space, so a full disk usually has some space left. A turn of OpenClaw writes
# less than this into its own state (measured), and a disk in normal use is rarely this full.
MIN_FREE_BYTES = 16 * 1024 * 1024
MIN_FREE_INODES = 64


def is_disk_full(error: OSError) -> bool:
    """Return whether a write failed because the disk or quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def room_of(folder: Path) -> int:
    """Return the free bytes of a folder's file system that this user can use. Blocks. Raises OSError."""
    left = os.statvfs(folder)
    return (left.f_bfree if os.geteuid() == 0 else left.f_bavail) * left.f_frsize  # others can't use root's reserve


def find_full(folders: Iterable[Path]) -> str:
    """Describe the first of these folders with too little free space; return an empty string if none. Blocks."""
    for folder in folders:
        try:
            left, free = os.statvfs(folder), room_of(folder)
        except OSError:  # missing: a different failure, which is reported elsewhere
            continue
        if free < MIN_FREE_BYTES:
            return f"{folder} is on a file system with {free} bytes left"
        if left.f_files and left.f_ffree < MIN_FREE_INODES:  # some file systems don't count inodes
            return f"{folder} is on a file system that can take {left.f_ffree} more files"
    return ""

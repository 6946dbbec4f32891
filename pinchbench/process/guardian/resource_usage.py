"""What a process tree uses of the machine, compared with its limits, and how long it waits for it.

It is measured, as the kernel has no such limits. Each limit is 0 if there is none. A tree can exceed its limits between
two measurements. Not measured are files that only a mapping or a socket refers to, and folders that the user of the
guardian can't read.
"""

# pathlib is slow to import
# ruff: noqa: PTH116, PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pinchbench.process.guardian.process_tree import Tree

CHECK_S = 0.25  # how often processes and memory are measured; takes less than a millisecond for a trial
DISK_CHECK_S = 2.0  # the pause between two measurements of the disk
DISK_PAUSES = (
    25  # the pause is at least this many times as long as the measurement took, which is 0.2 s for 50 000 files
)
GROWTH = 8  # a measurement begins at once if the file system has grown by this part of the limit
SLICE_S = 0.01  # for how long folders are read at a time, during which no command is received
PAUSE_S = 0.03  # between two slices
BLOCK_BYTES = 512  # the unit of `st_blocks`
LEAST_BYTES = 4096  # what an empty file is counted as: it takes room in the file system's tables
GIB = 1024**3
PROPORTIONAL = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")


class ResourceLimits:
    """The limits of a tree."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Use the limits and folders in a job's `settings`."""
        self.max_processes = int(settings["max_processes"])
        self._max_memory_bytes = int(settings["max_memory_bytes"])
        self.max_disk_bytes = int(settings["max_disk_bytes"])
        self._disk = DiskUse(settings["measured"], self.max_disk_bytes) if self.max_disk_bytes else None
        self._checked_at = time.monotonic()

    @property
    def exist(self) -> bool:
        """Whether there is any limit."""
        return bool(self.max_processes or self._max_memory_bytes or self.max_disk_bytes)

    @property
    def pause_s(self) -> float:
        """How long to wait until the next call of `exceeded`."""
        return PAUSE_S if self._disk is not None and self._disk.is_measuring else CHECK_S

    def exceeded(self, tree: Tree) -> str:
        """Return how much the tree uses of what, and its limit; empty if it exceeds none.

        Call it often: it measures only when that is due, and takes at most about `SLICE_S`.
        """
        if (self.max_processes or self._max_memory_bytes) and time.monotonic() >= self._checked_at + CHECK_S:
            self._checked_at = time.monotonic()
            tasks = tree.tasks()
            if 0 < self.max_processes < (number := sum(tasks.values())):
                return f"{number} processes and threads; the limit is {self.max_processes}"
            if 0 < self._max_memory_bytes < (memory_bytes := _memory_bytes(tasks, self._max_memory_bytes)):
                return _sized(memory_bytes, "memory", self._max_memory_bytes)
        if self._disk is not None and self.max_disk_bytes < (disk_bytes := self._disk.measure(tree)):
            return _sized(disk_bytes, "disk space", self.max_disk_bytes)
        return ""


def _sized(used_bytes: int, what: str, limit_bytes: int) -> str:
    return f"{used_bytes / GIB:.3g} GiB of {what}; the limit is {limit_bytes / GIB:.3g} GiB"


class DiskUse:
    """The size of folders and of deleted files that processes have open, measured a slice at a time."""

    def __init__(self, folders: Sequence[str], limit_bytes: int) -> None:
        """Measure for a limit of `limit_bytes`; missing folders have no size."""
        self._folders = folders
        self._growth_bytes = limit_bytes // GROWTH
        self._sizes: Iterator[int] | None = None
        self._sum_bytes = 0
        self._took_s = 0.0
        self._used_bytes = self._file_systems()
        self._due = time.monotonic() + DISK_CHECK_S

    @property
    def is_measuring(self) -> bool:
        """Whether a measurement has begun and not ended."""
        return self._sizes is not None

    def measure(self, tree: Tree) -> int:
        """Go on measuring if it is due; return how many bytes the current measurement has found so far."""
        begin = time.monotonic()
        if self._sizes is None:
            used_bytes = self._file_systems()
            if begin < self._due and used_bytes < self._used_bytes + self._growth_bytes:
                return 0
            self._used_bytes, self._sum_bytes, self._took_s = used_bytes, 0, 0.0
            self._sizes = _sizes([*self._folders], [*tree.tasks()])
        for size in self._sizes:
            self._sum_bytes += size
            if time.monotonic() >= begin + SLICE_S:
                self._took_s += time.monotonic() - begin
                return self._sum_bytes
        self._sizes = None
        self._took_s += time.monotonic() - begin
        self._due = time.monotonic() + max(DISK_CHECK_S, DISK_PAUSES * self._took_s)
        return self._sum_bytes

    def _file_systems(self) -> int:
        """Return how many bytes the file systems of the folders use, by whomever."""
        total = 0
        for folder in self._folders:
            with contextlib.suppress(OSError):
                info = os.statvfs(folder)
                total += (info.f_blocks - info.f_bfree) * info.f_frsize
        return total


def _sizes(folders: list[str], pids: list[int]) -> Iterator[int]:
    """Yield the size of everything in the folders, and of the deleted files that processes have open."""
    seen: set[tuple[int, int]] = set()  # of those that could come twice
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:  # deleted meanwhile
                    continue
                if stat.S_ISDIR(info.st_mode):
                    folders.append(entry.path)
                elif info.st_nlink > 1:
                    if (info.st_dev, info.st_ino) in seen:
                        continue
                    seen.add((info.st_dev, info.st_ino))
                yield max(info.st_blocks * BLOCK_BYTES, LEAST_BYTES)
    for pid in pids:
        for info in _open_files(pid):
            if info.st_nlink == 0 and stat.S_ISREG(info.st_mode) and (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                yield info.st_blocks * BLOCK_BYTES


def _open_files(pid: int) -> Iterator[os.stat_result]:
    with contextlib.suppress(OSError):  # it has ended, or belongs to another user
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                yield os.stat(f"/proc/{pid}/fd/{name}")


def _memory_bytes(pids: dict[int, int], limit_bytes: int) -> int:
    """Return the memory of processes, in which shared pages count once if they decide whether it is over the limit."""
    if not sys.platform.startswith("linux"):
        return sum(map(_resident_by_psutil, pids))
    # what a process has mapped, including what it shares
    resident = {pid: sum(_fields(f"/proc/{pid}/status", ("VmRSS:", "VmSwap:"))) for pid in pids}
    if sum(resident.values()) <= limit_bytes:
        return 0
    # the same without files that are cached, and with its part of shared pages, where that can be read
    return sum(sum(_fields(f"/proc/{pid}/smaps_rollup", PROPORTIONAL)) or size for pid, size in resident.items())


def _fields(path: str, names: tuple[str, ...]) -> Iterator[int]:
    """Yield the sizes with these names in a file of /proc."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(names):
                yield int(line.split()[1]) * 1024


def _resident_by_psutil(pid: int) -> int:
    import psutil  # noqa: PLC0415 - in the standard library there is nothing for it outside of Linux

    with contextlib.suppress(psutil.Error, OSError):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


RESOURCES = ("cpu", "memory", "io")
HAS_WAITS = os.path.exists("/proc/self/schedstat")  # noqa: PTH110 - pathlib is slow to import
LOOK_S = 1.0  # between two looks at the threads of a tree, which take 0.7 ms of CPU time for 20 threads


class LoadMeter:
    """Measures from its creation on.

    Pressure is that of the whole machine: how long at least one process waited for a resource (`some` in
    /proc/pressure; see Documentation/accounting/psi.rst in Linux). The wait for a processor is, of each second, that of
    the tree's thread that waited longest (the second number in /proc/<pid>/task/<tid>/schedstat): the waits of all
    together say little, as they are often at the same time. Threads that live for less than a second may be missing.
    """

    def __init__(self) -> None:
        """Note how long processes have waited before."""
        self._before = _pressure_us()
        self._seen_ns: dict[str, int] = {}
        self._waited_ns: float | None = None
        self._looked_at = time.monotonic()

    def measure(self, tree: Tree) -> None:
        """Look at the tree's threads if that is due; call it often."""
        passed_s = time.monotonic() - self._looked_at
        if not HAS_WAITS or passed_s < LOOK_S:
            return
        longest_ns = 0
        for pid in tree.tasks():
            with contextlib.suppress(OSError):  # it has ended
                for thread in os.listdir(f"/proc/{pid}/task"):
                    path = f"/proc/{pid}/task/{thread}/schedstat"
                    with contextlib.suppress(OSError, ValueError, IndexError), open(path, "rb") as file:
                        waited_ns = int(file.read().split()[1])
                        longest_ns = max(longest_ns, waited_ns - self._seen_ns.get(path, 0))
                        self._seen_ns[path] = waited_ns
        self._waited_ns = (self._waited_ns or 0) + min(longest_ns, passed_s * 1e9)
        self._looked_at += passed_s

    def report(self) -> dict[str, float | None]:
        """Return the seconds since the creation by name; None if the system does not measure it."""
        after = _pressure_us()
        stalled = {
            f"{name}_stalled_s": round((after[name] - self._before[name]) / 1e6, 3)
            if name in after and name in self._before
            else None
            for name in RESOURCES
        }
        return {**stalled, "cpu_wait_s": None if self._waited_ns is None else round(self._waited_ns / 1e9, 3)}


def _pressure_us() -> dict[str, int]:
    """Return for how many microseconds processes have waited since the system started, by resource."""
    found = {}
    for name in RESOURCES:
        # the kernel may lack the file, or fail to open or to read it
        with contextlib.suppress(OSError, ValueError), open(f"/proc/pressure/{name}", "rb") as file:
            found[name] = int(file.readline().rpartition(b"total=")[2])
    return found

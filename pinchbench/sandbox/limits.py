"""Limits of a trial's memory, processes and disk: by a control group where one is delegated, otherwise by counting."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CONTROLLERS = frozenset({"memory", "pids"})
STAT_PARENT = 1  # fields of /proc/PID/stat behind the program's name
STAT_THREADS = 17
STAT_RSS = 21


class Resource(StrEnum):
    """What is limited."""

    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceLimits:
    """The most that one trial may use; None is unlimited."""

    memory_bytes: int | None = None
    processes: int | None = None
    disk_bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceUse:
    """What a trial uses. `processes` counts threads, as the kernel's own limits do."""

    memory_bytes: int = 0
    processes: int = 0
    disk_bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceLimit:
    """The finding that a trial exceeded a limit."""

    resource: Resource
    used: int
    allowed: int


def exceeded(use: ResourceUse, limits: ResourceLimits) -> ResourceLimit | None:
    """Return the first limit that is exceeded."""
    for resource, used, allowed in (
        (Resource.MEMORY, use.memory_bytes, limits.memory_bytes),
        (Resource.PROCESSES, use.processes, limits.processes),
        (Resource.DISK, use.disk_bytes, limits.disk_bytes),
    ):
        if allowed is not None and used > allowed:
            return ResourceLimit(resource=resource, used=used, allowed=allowed)
    return None


def measure_tree(root: int) -> ResourceUse:
    """Return what a process and its descendants use. Shared pages count for each process that has them."""
    processes: dict[int, tuple[int, int, int]] = {}
    with os.scandir("/proc") as listing:
        for entry in listing:
            with contextlib.suppress(OSError, ValueError, IndexError):
                if entry.name.isdigit():
                    fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                    numbers = (int(fields[place]) for place in (STAT_PARENT, STAT_THREADS, STAT_RSS))
                    parent, threads, pages = numbers
                    processes[int(entry.name)] = parent, threads, pages
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    tree = [root] if root in processes else []
    for pid in tree:
        tree += children.get(pid, [])
    return ResourceUse(
        memory_bytes=sum(processes[pid][2] for pid in tree) * PAGE_BYTES,
        processes=sum(processes[pid][1] for pid in tree),
    )


def measure_disk(folders: list[Path]) -> int:
    """Return how many bytes of disk the folders take; files that are being deleted don't count."""
    total = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(Path(place, name)).st_blocks * 512
    return total


def delegated_group(root: Path = CGROUP_ROOT) -> Path | None:
    """Return the control group (version 2) in which this user may create groups with limits; None if there is none."""
    try:
        line = next(
            line
            for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
            if line.startswith("0::")
        )
        group = root / line.removeprefix("0::").lstrip("/")
        enabled = (group / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except (OSError, StopIteration):
        return None
    return group if enabled and set(enabled) >= CONTROLLERS and os.access(group / "cgroup.procs", os.W_OK) else None


class ControlGroup:
    """A control group of one trial. The owner calls `remove` when no process is left in it."""

    def __init__(self, parent: Path, name: str, limits: ResourceLimits) -> None:
        """Create it. Raises OSError."""
        self.path = parent / name
        self.path.mkdir()
        if limits.memory_bytes is not None:
            self._write("memory.max", limits.memory_bytes)
            with contextlib.suppress(OSError):  # a kernel without accounting of swap
                self._write("memory.swap.max", 0)
        if limits.processes is not None:
            self._write("pids.max", limits.processes)

    def add(self, pid: int) -> None:
        """Move a process into it; its children will be in it too. Raises OSError."""
        self._write("cgroup.procs", pid)

    def peak(self) -> ResourceUse:
        """Return the most that was used so far; 0 where this kernel does not record it."""
        return ResourceUse(memory_bytes=self._read("memory.peak"), processes=self._read("pids.peak"))

    def kill(self) -> None:
        """Kill all processes in it. Raises OSError."""
        self._write("cgroup.kill", 1)

    def remove(self) -> None:
        """Remove it. Raises OSError if a process is left."""
        self.path.rmdir()

    def _write(self, name: str, value: int) -> None:
        (self.path / name).write_text(str(value), encoding="ascii")

    def _read(self, name: str) -> int:
        try:
            return int((self.path / name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

"""Limits of open files and processes, and the number of slots that they allow."""

from __future__ import annotations

import math
import os
import resource
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
# File descriptors: transcripts, databases, outputs and guardians of a slot, and the runner's own
SLOT_FILES, OWN_FILES = 24, 64
# An agent consists of two Node processes of a dozen threads each, all of which count (measured on 2026.9.6), and of the
# commands that it runs
SLOT_TASKS, OWN_TASKS = 64, 64


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


def lacking(*, files: float, tasks: float, slots: int) -> tuple[str, ...]:
    """Return the shell commands that raise the limits that are too low for this number of slots; empty if none are."""
    needs_files, needs_tasks = needed(slots)
    found = []
    if files < needs_files:
        found.append(f"ulimit -n {max(4096, needs_files)}")
    if tasks < needs_tasks:
        found.append(f"ulimit -u {max(4096, needs_tasks)} (in a container, its limit of processes)")
    return tuple(found)


def needed(slots: int) -> tuple[int, int]:
    """Return the number of open files and the number of processes that a run with this number of slots needs."""
    return OWN_FILES + SLOT_FILES * slots, OWN_TASKS + SLOT_TASKS * slots


def most_slots(*, files: float, tasks: float) -> int:
    """Return the largest `--concurrency` that these limits allow; 0 if they are too low for a single slot."""
    most = min((files - OWN_FILES) / SLOT_FILES, (tasks - OWN_TASKS) / SLOT_TASKS)
    return max(0, math.floor(min(most, 1_000_000)))


def _soft(which: int) -> float:
    soft, _ = resource.getrlimit(which)
    return math.inf if soft == resource.RLIM_INFINITY else soft


def _container_tasks() -> float:
    with suppress(OSError, ValueError):  # no cgroups v2, or no limit: the file contains `max`
        most = int((CGROUP / "pids.max").read_text(encoding="ascii"))
        return max(0, most - int((CGROUP / "pids.current").read_text(encoding="ascii")))
    return math.inf

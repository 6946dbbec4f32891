"""Resource limits of a check's process, its separation from other processes, and the removal of chance from it.

A check may run programs that an agent wrote. On Linux they can neither trace the process whose answer counts nor read
its memory and files (it is not dumpable), and they can neither signal nor trace processes that the check did not start
(Landlock; from kernel 6.12 on). When run as root, they lack the capabilities that would still allow it, and no program
can give them more privileges (`no_new_privs`).

Not covered: code that runs in the check's own process, such as a module of the agent's that the check imports, can do
everything that the check itself can.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import random
import resource
import struct
import sys
import tempfile
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


SEED = 0

# References taken before the originals are replaced.
listdir, scandir = os.listdir, os.scandir


def exclude_chance() -> None:
    """Make random and unordered results of this process the same in every check.

    Programs that the check starts are not affected; they only share its hash seed.
    """
    os.umask(0o022)
    random.seed(SEED)
    source = Random(SEED)  # noqa: S311 - predictable on purpose
    os.urandom = source.randbytes  # the source of `uuid`, `secrets` and numpy's generators
    random._urandom = source.randbytes  # type: ignore[attr-defined]  # noqa: SLF001
    names = tempfile._get_candidate_names()  # type: ignore[attr-defined]  # noqa: SLF001
    names._rng, names._rng_pid = Random(SEED), os.getpid()  # noqa: S311, SLF001 - a fork creates its own
    os.listdir = _sorted_names  # type: ignore[assignment]
    os.scandir = _SortedEntries  # type: ignore[assignment]
    os.supports_fd |= {os.listdir, os.scandir}


def _sorted_names(path: str | int | os.PathLike[str] | None = None) -> list[str]:
    return sorted(listdir(path))


class _SortedEntries(contextlib.AbstractContextManager["_SortedEntries"]):
    """The entries that `os.scandir` returns, sorted by name."""

    def __init__(self, path: str | int | os.PathLike[str] | None = None) -> None:
        with scandir(path) as listing:
            self._entries = iter(sorted(listing, key=lambda entry: entry.name))

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        return self

    def __next__(self) -> os.DirEntry[str]:
        return next(self._entries)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


FILE_BYTES = 256 * 1024 * 1024  # of each written file; also the largest file that is kept of a workspace
DATA_BYTES = 2 * 1024 * 1024 * 1024
OPEN_FILES = 1024
PROCESSES = 512  # and threads, in addition to those that this user already has
SPARE_BYTES = 64 * 1024 * 1024  # kept back from the check, to report its end
SPARE_FILES = 16

PR_SET_DUMPABLE = 4  # linux/prctl.h
PR_SET_NO_NEW_PRIVS = 38
LANDLOCK_CREATE_RULESET = 444  # the same on every architecture
LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_SCOPE_SIGNAL = 2  # linux/landlock.h
CAPABILITIES_VERSION = 0x20080522  # linux/capability.h: two words of 32 bits each
# CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYS_BOOT, CAP_PERFMON, CAP_BPF,
# CAP_CHECKPOINT_RESTORE: they allow accessing, impersonating or ending other processes
DROPPED_CAPABILITIES = sum(1 << number for number in (16, 17, 19, 21, 22, 38, 39, 40))
LIBC = ctypes.CDLL(None)


def limit(timeout_s: float) -> None:
    """Limit the resources of this process and of each process that it starts."""
    cpu_s = math.ceil(timeout_s) + 1
    _set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)
    _set_limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES + SPARE_FILES)
    if sys.platform.startswith("linux"):
        # Not the address space: programs such as Node reserve much more of it than they use, and must still start.
        _set_limit(resource.RLIMIT_DATA, DATA_BYTES, DATA_BYTES + SPARE_BYTES)
        if os.getuid() != 0:  # the kernel does not enforce it for root; the guardian's count holds for all users
            _set_limit(resource.RLIMIT_NPROC, _own_threads() + PROCESSES)


def spare() -> None:
    """Make the resources available that were kept back for reporting this process's end."""
    for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_DATA):
        _, hard = resource.getrlimit(which)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (hard, hard))


def separate() -> None:
    """Isolate this process from those that it starts, and all of them from the rest; see the module's docstring."""
    if not sys.platform.startswith("linux"):
        return
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _restrict_signals()
    _drop_capabilities()
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    # a fork's answer does not count; being dumpable, it can be found by its environment
    os.register_at_fork(after_in_child=lambda: LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))


def _restrict_signals() -> None:
    rules = struct.pack("QQQ", 0, 0, LANDLOCK_SCOPE_SIGNAL)  # neither file system nor network rules
    number = LIBC.syscall(LANDLOCK_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    if number >= 0:  # otherwise this kernel is too old
        LIBC.syscall(LANDLOCK_RESTRICT_SELF, number, 0)
        os.close(number)


def _drop_capabilities() -> None:
    header = struct.pack("Ii", CAPABILITIES_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    if LIBC.capget(header, held):
        return
    kept = ~DROPPED_CAPABILITIES
    words = struct.unpack("6I", held.raw)
    low, high = kept & 0xFFFFFFFF, (kept >> 32) & 0xFFFFFFFF
    masked = [word & mask for word, mask in zip(words, (low, low, low, high, high, high), strict=True)]
    LIBC.capset(header, struct.pack("6I", *masked))


def _set_limit(which: int, soft: int, hard: int | None = None) -> None:
    _, highest = resource.getrlimit(which)
    hard = soft if hard is None else hard
    if highest != resource.RLIM_INFINITY:
        soft, hard = min(soft, highest), min(hard, highest)
    with contextlib.suppress(OSError, ValueError):  # macOS refuses some
        resource.setrlimit(which, (soft, hard))


def _own_threads() -> int:
    """Return the number of threads of all processes of this user."""
    mine = os.getuid()
    total = 0
    with os.scandir("/proc") as listing:
        for entry in listing:
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{entry.name}/stat", "rb") as file:  # noqa: PTH123
                if os.fstat(file.fileno()).st_uid == mine:
                    text = file.read()
                    total += int(text[text.rindex(b")") + 2 :].split(b" ")[17])
    return total

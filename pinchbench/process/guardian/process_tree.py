"""A process tree from the point of view of the process that owns it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
MARKER = "PINCHBENCH_TRIAL"
OWN_NAMES = (MARKER, "PINCHBENCH_RUNNER")
# Most kernels list children, so that the machine's other processes need not be read: they are many with many trials.
HAS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - pathlib is slow to import


def become_subreaper() -> bool:
    """Make this process the new parent of orphaned descendants. Returns False if the system doesn't support it."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # noqa: PLC0415 - takes 10 ms, and other systems don't need it

    try:
        return int(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
    except (OSError, AttributeError):
        return False


def spawn(argv: list[str], env: dict[str, str]) -> int:
    """Start `argv` in its own session with default signal handlers. Raises OSError if it can't be executed."""
    # All signals: Python ignores two itself, and the runner may have inherited other ignored ones.
    usual = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    places = [argv[0]] if "/" in argv[0] else [f"{place}/{argv[0]}" for place in os.get_exec_path(env)]
    failure: OSError | None = None
    for program in places:
        try:
            # takes a third of the time of forking this process
            return os.posix_spawn(program, argv, env, setsid=True, setsigmask=(), setsigdef=usual)
        except OSError as error:
            # the error of a file that can't be executed is more useful than that of folders without the file
            if failure is None or isinstance(failure, FileNotFoundError | NotADirectoryError):
                failure = error
    code = failure.errno if failure is not None and failure.errno else errno.ENOENT
    raise OSError(code, os.strerror(code), argv[0])


class Tree:
    """The agent and all processes it started. Collects exit status, CPU time and peak memory while reaping."""

    def __init__(self, pid: int, *, subreaper: bool, marker: str = "") -> None:
        """Use the agent's `pid`, a child of this process; without a subreaper, find its descendants by `marker`."""
        self.pid = pid
        self._marker = marker
        self.status: int | None = None
        self.cpu_s = 0.0
        self.peak_rss_bytes = 0
        self._subreaper = subreaper

    def reap(self) -> bool:
        """Reap children that have exited. Returns True while this process still has children."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status
            self.cpu_s += usage.ru_utime + usage.ru_stime
            unit = 1 if sys.platform == "darwin" else 1024
            self.peak_rss_bytes = max(self.peak_rss_bytes, usage.ru_maxrss * unit)

    def alive(self) -> bool:
        """Return whether any process of the tree is alive."""
        return self.reap() or (not self._subreaper and bool(self.living()))

    def living(self) -> dict[int, int]:
        """Return the living processes of the tree, by pid with their process groups, without zombies."""
        return _descendants(os.getpid()) if self._subreaper else _marked(self._marker)

    def tasks(self) -> dict[int, int]:
        """Return how many threads each process of the tree has; zombies, which occupy the process table, have one.

        Processes whose parents end meanwhile may be missing. Threads are counted on Linux only.
        """
        if self._subreaper and HAS_CHILDREN:
            return _tasks_below(os.getpid())
        pids = _descendants(os.getpid(), zombies=True) if self._subreaper else _marked(self._marker)
        return {pid: len(_threads(pid)) for pid in pids}

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process, unless it has ended."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)

    def signal_groups(self, groups: set[int], number: int) -> None:
        """Send a signal to process groups of the tree, which also reaches children that are just being forked."""
        for group in groups - {0, 1, os.getpgrp()}:  # 0 is reported for a group in another pid namespace
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)


def _descendants(root: int, *, zombies: bool = False) -> dict[int, int]:
    parents: dict[int, list[int]] = {}
    groups: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
                text = file.read()
        except OSError:
            continue
        # the command name may contain spaces and parentheses, so fields are counted from the last ")"
        fields = text[text.rindex(b")") + 2 :].split(b" ")
        state, parent, threads = fields[0], fields[1], int(fields[17])
        # a process whose first thread has ended looks like a zombie although other threads are running
        if zombies or state not in (b"Z", b"X") or threads > 1:
            parents.setdefault(int(parent), []).append(int(name))
            groups[int(name)] = int(fields[2])
    found: dict[int, int] = {}
    queue = [root]
    while queue:
        children = parents.get(queue.pop(), [])
        found.update((child, groups[child]) for child in children)
        queue += children
    return found


def _tasks_below(root: int) -> dict[int, int]:
    found: dict[int, int] = {}
    queue = [root]
    while queue:
        pid = queue.pop()
        threads = _threads(pid)
        if pid != root:
            found[pid] = len(threads)
        for thread in threads:  # each has the children that it started itself
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                queue += [child for child in map(int, file.read().split()) if child not in found]
    return found


def _threads(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - pathlib is slow to import
    return [""]  # it has ended, or the system has no such folder


def _marked(mine: str) -> dict[int, int]:
    import psutil  # noqa: PLC0415 - only needed without a subreaper

    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid in (os.getpid(), os.getppid()) or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(MARKER) == mine:
                found[process.pid] = os.getpgid(process.pid)
    return found


def command_line(pid: int) -> str:
    """Return the first 400 bytes of a process's command line; empty if it can't be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read(400).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""

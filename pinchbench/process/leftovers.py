"""Finds and ends processes by their trial's marker, for cases in which a guardian could not end them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MARKER = "PINCHBENCH_TRIAL"
RUNNER = "PINCHBENCH_RUNNER"  # contains the identity of the runner
GUARDIANS_S = 3.0  # guardians end their trees within 1 s of their runner's death; a busy machine may take longer
LOOK_S = 0.1  # how often to check whether they have
ROUND_S = 0.5  # how long to wait for the effect of one round of SIGKILL
ROUNDS = 50  # rounds of SIGKILL; a process that survives them can't be killed
EXEC_S = 1.0  # limit per scan for processes inside exec, which takes microseconds unless they get no CPU time
EXEC_LOOK_S = 0.001  # how often to check whether exec has finished
MAX_PID = 2**31 - 1
GUARDIANS = (("guardian", "__main__.py"), ("prepared", "__main__.py"))  # the ends of their programs' paths


@dataclass(frozen=True, kw_only=True, slots=True)
class _Identity:
    """A parsed `identity` of a process.

    Attributes:
        pid: the process id.
        started: on Linux, the start time in clock ticks since boot; elsewhere psutil's wall-clock time.
        boot: the id of that boot; empty except on Linux.
        namespace: the number of the pid namespace in which `pid` is valid; empty except on Linux.
    """

    pid: int
    started: float
    boot: str = ""
    namespace: str = ""


def identity() -> str:
    """Return a string that identifies this process by its pid and start time, for use with `is_alive`.

    On Linux it does not depend on the wall clock, which may be set back.
    """
    return _identity(os.getpid())


def is_alive(written: str) -> bool:
    """Return whether the process described by `identity` is alive.

    False if its pid was reused by another process, if it is a zombie, or if `written` is not a valid identity. True if
    it `is_elsewhere`: files and processes of another container must not be deleted or killed.
    """
    one = _read(written)
    return one is not None and _lives(one)


def is_elsewhere(written: str) -> bool:
    """Return whether the process described by `identity` was started in another pid namespace during this boot.

    Such a process can't be examined from here.
    """
    one = _read(written)
    return one is not None and bool(one.boot) and one.boot == _boot() and one.namespace != _namespace()


def find_marked(prefix: str) -> list[psutil.Process]:
    """Return the processes whose marker is `prefix` or begins with `prefix/`, except zombies.

    Processes of other users are skipped, because their environment can't be read. Blocks for some milliseconds, or for
    `EXEC_S` if the environment of a process stays empty.
    """
    return _find(lambda _, env: f"{env.get(MARKER, '')}/".startswith(f"{prefix}/"))


def _find(is_wanted: Callable[[psutil.Process, Mapping[str, str]], bool]) -> list[psutil.Process]:
    """Return the processes that are wanted, judging by their environments, except zombies."""
    found = []
    due = time.monotonic() + EXEC_S
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if is_wanted(process, _environment(process, due)) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_marked(prefix: str) -> int:
    """Kill all marked processes until none is left, and return how many were killed. Blocks.

    Guardians are first given `GUARDIANS_S` to end their trees; an agent may have stopped them, so then their children
    are killed too, including those that cleared their environment. Processes are stopped before they are killed, as in
    the guardian, because they may fork faster than they are found.
    """
    return _end_after_guardians(lambda: _with_children(find_marked(prefix)))


def _environment(process: psutil.Process, due: float) -> dict[str, str]:
    """Return the environment of a process; while the process is inside exec, wait for it. Blocks until `due` at most.

    Inside exec, the environment and the command line are empty for a moment; skipping such a process would let it
    survive. `due` is a time of the monotonic clock, because in some programs both stay empty. A process without an
    executable, such as a kernel thread or a zombie, has neither and is not waited for.

    Raises psutil.Error and OSError.
    """
    env: dict[str, str] = process.environ()
    while not env and time.monotonic() < due:
        is_settled = bool(process.cmdline()) or not process.exe()
        env = process.environ()  # read after the command line, because both appear at the same time
        if is_settled:
            break
        time.sleep(EXEC_LOOK_S)
    return env


def end_orphaned() -> int:
    """End this user's trials whose runners have died, and return how many processes were killed. Blocks.

    Takes some milliseconds if there are none. Guardians are first given `GUARDIANS_S` to end their trees, since only
    they can find children that cleared their environment; processes that they end are not counted. Processes whose
    runner is alive or can't be examined are not touched, nor are this process and its ancestors.
    """
    return _end_after_guardians(_find_orphaned)


def _find_orphaned() -> list[psutil.Process]:
    """Return the marked processes whose runner has died, and the children of their guardians, except zombies."""
    is_gone = cache(_is_gone)

    def is_orphaned(process: psutil.Process, env: Mapping[str, str]) -> bool:
        is_of_trial = MARKER in env and RUNNER in env
        return is_of_trial and process.uids().real == os.getuid() and is_gone(env[RUNNER])

    spared = _self_and_parents()
    return [process for process in _with_children(_find(is_orphaned)) if process.pid not in spared]


def _with_children(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return the processes and the children of the guardians among them that removed the runner, except zombies."""
    found = {process.pid: process for process in processes}
    for guardian in filter(_is_guardian, processes):
        for child in _children(guardian):
            with contextlib.suppress(psutil.Error, OSError):
                if child.status() != psutil.STATUS_ZOMBIE and RUNNER not in child.environ():
                    found[child.pid] = child
    return list(found.values())


def _self_and_parents() -> set[int]:
    """Return the pids of this process and its ancestors. The search stops at an ancestor that has just ended."""
    found = {os.getpid()}
    with contextlib.suppress(psutil.Error, OSError):
        parent = psutil.Process().parent()
        while parent is not None:
            found.add(parent.pid)
            parent = parent.parent()
    return found


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error, OSError):
        return process.children(recursive=True)
    return []


def _guardians_last(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return all except guardians if there are others: some processes can be found only through their guardian."""
    others = [process for process in processes if not _is_guardian(process)]
    return others or processes


def _end_after_guardians(find: Callable[[], list[psutil.Process]]) -> int:
    due = time.monotonic() + GUARDIANS_S
    while any(map(_is_guardian, find())) and time.monotonic() < due:
        time.sleep(LOOK_S)
    return _end_all(lambda: _guardians_last(find()))


def _is_guardian(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return any(Path(word).parts[-2:] in GUARDIANS for word in process.cmdline()[1:7])
    return False


def _end_all(find: Callable[[], list[psutil.Process]]) -> int:
    ended: set[int] = set()
    for _ in range(ROUNDS):
        processes = find()
        if not processes:
            break
        for send in ("suspend", "kill"):
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    getattr(process, send)()
        ended |= {process.pid for process in processes}
        psutil.wait_procs(processes, timeout=ROUND_S)
    return len(ended)


@lru_cache(maxsize=1)  # keyed by pid, because a fork is another process
def _identity(pid: int) -> str:
    started, boot, namespace = _started_ticks(pid), _boot(), _namespace()
    if started is None or not boot or not namespace:
        return f"{pid} {psutil.Process(pid).create_time()}"
    return f"{pid} {started} {boot} {namespace}"


def _read(written: str) -> _Identity | None:
    """Parse an identity; return None if it isn't valid."""
    try:
        match written.split():
            case [pid, started]:
                one = _Identity(pid=int(pid), started=float(started))
            case [pid, ticks, boot, namespace]:
                one = _Identity(pid=int(pid), started=int(ticks), boot=boot, namespace=namespace)
            case _:
                return None
    except ValueError:
        return None
    return one if 0 < one.pid <= MAX_PID else None


def _is_gone(written: str) -> bool:
    """Return whether this is a valid identity of a process that is known to be dead."""
    one = _read(written)
    return one is not None and not _lives(one)


def _lives(one: _Identity) -> bool:
    if not one.boot:
        try:
            return psutil.Process(one.pid).create_time() == one.started
        except psutil.AccessDenied:
            return True
        except psutil.Error:
            return False
    boot = _boot()
    if boot and one.boot != boot:
        return False
    if one.namespace != _namespace():
        return True
    started = _started_ticks(one.pid)
    return psutil.pid_exists(one.pid) if started is None else started == one.started


def _boot() -> str:
    """Return the id of the current boot; empty if the system has none."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _namespace() -> str:
    """Return the number of this process's pid namespace; empty if the system has none."""
    if not sys.platform.startswith("linux"):
        return ""
    with contextlib.suppress(OSError):
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    return ""


def _started_ticks(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot; -1 if it is dead, None if it can't be read."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # the command name may contain spaces and parentheses, so fields are counted from the last ")"
    fields = text[text.rindex(b")") + 2 :].split(b" ")
    state, threads, ticks = fields[0], int(fields[17]), int(fields[19])
    # a process whose first thread has ended looks like a zombie although other threads are running
    return -1 if state in (b"Z", b"X") and threads <= 1 else ticks

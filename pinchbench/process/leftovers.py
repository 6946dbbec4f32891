"""Processes that carry a trial's marker: find them and end them, where a guardian could not."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable

MARKER = "PINCHBENCH_TRIAL"
RUNNER = "PINCHBENCH_RUNNER"  # the identity of the runner, beside the marker
GUARDIANS_S = 3.0  # guardians end their trees within 1 s of their runner's death; a busy machine may take longer
LOOK_S = 0.1  # how often to see whether they have
ROUND_S = 0.5  # how long one round of SIGKILL may take to show
ROUNDS = 50  # of killing; who outlives them can't be killed
EXEC_S = 1.0  # for processes to become other programs, in one look: microseconds, unless they are given no turn
EXEC_LOOK_S = 0.001  # how often to see whether it has
MAX_PID = 2**31 - 1
GUARDIANS = (("guardian", "__main__.py"), ("prepared", "__main__.py"))  # the programs


@dataclass(frozen=True, kw_only=True, slots=True)
class _Identity:
    """A process as `identity` wrote it down.

    `started` is, on Linux, in ticks since the boot that `boot` names, and `namespace` is where the pid is valid. These
    two are empty elsewhere, and `started` is then psutil's wall-clock time.
    """

    pid: int
    started: float
    boot: str = ""
    namespace: str = ""


def identity() -> str:
    """This process, so that a later one can tell whether it still lives: its pid and when it was started.

    On Linux nothing in it depends on the wall clock, which may be set back.
    """
    return _identity(os.getpid())


def is_alive(written: str) -> bool:
    """Whether the process that `identity` described lives. A pid that was given to another process does not count.

    Nor does a zombie, or what `identity` never wrote. One that `is_elsewhere` counts as alive, for nobody may delete or
    kill what another container runs.
    """
    one = _read(written)
    return one is not None and _lives(one)


def is_elsewhere(written: str) -> bool:
    """Whether the process that `identity` described ran in another pid namespace since this boot: no pid tells of it."""
    one = _read(written)
    return one is not None and bool(one.boot) and one.boot == _boot() and one.namespace != _namespace()


def find_marked(prefix: str) -> list[psutil.Process]:
    """The living processes whose marker is `prefix` or begins with `prefix/`. Zombies are not alive.

    Only processes of this user can be looked into; others are passed over. Blocks for some milliseconds; for `EXEC_S` when
    there is one that shows no environment for good.
    """
    found = []
    due = time.monotonic() + EXEC_S
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marker = _environment(process, due).get(MARKER, "")
            if (marker == prefix or marker.startswith(f"{prefix}/")) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_marked(prefix: str) -> int:
    """Kill every marked process until none is found; returns how many were killed. Blocks.

    A process that forks faster than it can be found is stopped first, as the guardian does.
    """
    return _end_all(lambda: find_marked(prefix))


def end_within(prefix: str, folder: Path, grace_s: float) -> list[tuple[int, str]]:
    """End what works in `folder` below a marked process, such as a server's commands; returns pids and command lines.

    A process counts when its working directory is inside, when its environment names the folder (a shell's `PWD` does,
    after a `cd` as well), or when it descends from one that counts; that of another marker, or of nobody's, never. SIGTERM
    first, then at most `grace_s` seconds until SIGKILL. Blocks.
    """
    found = _within(prefix, folder)
    named = [(process.pid, _command_line(process)) for process in found]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    if found:
        psutil.wait_procs(found, timeout=grace_s)
        _end_all(lambda: _within(prefix, folder))
    return named


def _within(prefix: str, folder: Path) -> list[psutil.Process]:
    """The processes of `end_within`, looked for below the marked ones and the guardian that keeps them."""
    marked = find_marked(prefix)
    roots = {process.pid: process for process in marked}
    for process in marked:
        with contextlib.suppress(psutil.Error, OSError):
            parent = process.parent()
            if parent is not None and _is_guardian(parent):
                roots[parent.pid] = parent  # what left its parents and cleared its environment has fallen to it
    tree = {child.pid: child for root in roots.values() for child in _children(root)}
    counted: dict[int, psutil.Process] = {}
    places = {folder, folder.resolve()}  # the system tells where links lead, a shell how it got there
    for process in tree.values():
        if process.pid in counted or not any(_works_in(process, place) for place in places):
            continue
        counted |= {one.pid: one for one in (process, *_children(process))}
    return [process for process in counted.values() if not _is_zombie(process)]


def _works_in(process: psutil.Process, folder: Path) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        if Path(process.cwd()).is_relative_to(folder):
            return True
    with contextlib.suppress(psutil.Error, OSError):
        names = (str(folder), f"{folder}{os.sep}")
        return any(value == names[0] or value.startswith(names[1]) for value in process.environ().values())
    return False


def _environment(process: psutil.Process, due: float) -> dict[str, str]:
    """The environment of a process. One that is just becoming another program shows none, nor a command line.

    Whoever passed it over would let it live, so it is waited for, until `due` on the monotonic clock: some programs show
    neither for good. A process without a program, such as the kernel's own or a dead one, has neither and never will.
    Raises psutil.Error and OSError.
    """
    env: dict[str, str] = process.environ()
    while not env and time.monotonic() < due:
        is_settled = bool(process.cmdline()) or not process.exe()
        env = process.environ()  # after the command line: both come at once
        if is_settled:
            break
        time.sleep(EXEC_LOOK_S)
    return env


def _is_zombie(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


def _command_line(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error, OSError):
        return " ".join(process.cmdline())[:400]
    return ""


def end_orphaned() -> int:
    """End this user's trials whose runners are gone; returns how many processes were killed. Blocks.

    Costs some milliseconds where there are none. A guardian that still works is given its time, since only it reaches
    children that dropped their environment; what it ends is not counted. Nothing is touched whose runner lives or can't
    be judged, nor this process and those it runs under.
    """
    due = time.monotonic() + GUARDIANS_S
    while any(map(_is_guardian, _find_orphaned())) and time.monotonic() < due:
        time.sleep(LOOK_S)
    return _end_all(lambda: _guardians_last(_find_orphaned()))


def list_orphaned() -> list[tuple[int, str, str]]:
    """Those that `end_orphaned` would end: pid, marker (empty where it was dropped) and command line. Blocks; ends none."""
    listed = []
    for process in _find_orphaned():
        marker = ""
        with contextlib.suppress(psutil.Error, OSError):
            marker = process.environ().get(MARKER, "")
        listed.append((process.pid, marker, _command_line(process)))
    return sorted(listed)


def _find_orphaned() -> list[psutil.Process]:
    """The living processes that carry a marker and a runner that is gone, and the children of their guardians."""
    gone: dict[str, bool] = {}
    spared = _self_and_parents()
    due = time.monotonic() + EXEC_S
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            env = _environment(process, due)
            if MARKER not in env or RUNNER not in env or process.uids().real != os.getuid():
                continue
            runner = env[RUNNER]
            if runner not in gone:
                gone[runner] = _is_gone(runner)
            if gone[runner] and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = process
    for guardian in filter(_is_guardian, list(found.values())):
        for child in _children(guardian):
            with contextlib.suppress(psutil.Error, OSError):
                if child.status() != psutil.STATUS_ZOMBIE and RUNNER not in child.environ():
                    found[child.pid] = child
    return [process for pid, process in found.items() if pid not in spared]


def _self_and_parents() -> set[int]:
    """This process and those it runs under, up to one that has just ended: those above that are its parents no more."""
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
    """All but the guardians, as long as there are others: a guardian's death lets go of who is known by it alone."""
    others = [process for process in processes if not _is_guardian(process)]
    return others or processes


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


@lru_cache(maxsize=1)  # by pid: a fork is another process
def _identity(pid: int) -> str:
    started, boot, namespace = _started_ticks(pid), _boot(), _namespace()
    if started is None or not boot or not namespace:
        return f"{pid} {psutil.Process(pid).create_time()}"
    return f"{pid} {started} {boot} {namespace}"


def _read(written: str) -> _Identity | None:
    """Take an identity apart; None where it is none."""
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
    """Whether this is certainly the identity of a dead process; what can't be read is certain of nothing."""
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
    """What names this boot of the machine; empty where nothing does."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _namespace() -> str:
    """The number of this process's pid namespace; empty where there is no such thing."""
    if not sys.platform.startswith("linux"):
        return ""
    with contextlib.suppress(OSError):
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    return ""


def _started_ticks(pid: int) -> int | None:
    """When a process was started, in ticks since boot; -1 for one that is dead, None where that can't be read."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # the command name may hold spaces and parentheses: fields are counted from its last ")"
    fields = text[text.rindex(b")") + 2 :].split(b" ")
    state, threads, ticks = fields[0], int(fields[17]), int(fields[19])
    # a program whose first thread has ended looks like a zombie, but has other threads that live on
    return -1 if state in (b"Z", b"X") and threads <= 1 else ticks

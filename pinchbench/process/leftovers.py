"""Processes that carry a trial's marker: find them and end them, where a guardian could not."""

from __future__ import annotations

import contextlib

import psutil

MARKER = "PINCHBENCH_TRIAL"


def identity() -> str:
    """This process, so that a later one can tell whether it still lives: its pid and when it was started."""
    process = psutil.Process()
    return f"{process.pid} {process.create_time()}"


def is_alive(written: str) -> bool:
    """Whether the process that `identity` described lives. A pid that was given to another process does not count."""
    pid, _, created = written.partition(" ")
    try:
        return psutil.Process(int(pid)).create_time() == float(created)
    except psutil.AccessDenied:
        return True
    except (psutil.Error, ValueError):
        return False


def find_marked(prefix: str) -> list[psutil.Process]:
    """The living processes whose marker is `prefix` or begins with `prefix/`. Zombies are not alive.

    Only processes of this user can be looked into; others are passed over. Blocks for some milliseconds.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marker = process.environ().get(MARKER, "")
            if (marker == prefix or marker.startswith(f"{prefix}/")) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_marked(prefix: str) -> int:
    """Kill every marked process until none is found; returns how many were killed. Blocks.

    A process that forks faster than it can be found is stopped first, as the guardian does.
    """
    ended: set[int] = set()
    for _ in range(50):
        marked = find_marked(prefix)
        if not marked:
            break
        for send in ("suspend", "kill"):
            for process in marked:
                with contextlib.suppress(psutil.Error):
                    getattr(process, send)()
        ended |= {process.pid for process in marked}
        psutil.wait_procs(marked, timeout=0.5)
    return len(ended)

"""Which processes are alive."""

import os
from contextlib import suppress
from pathlib import Path

import psutil


def lives(who: psutil.Process | int) -> bool:
    """Whether a process, or the one with this pid, runs; a zombie does not. It may end at any moment, here as well."""
    with suppress(psutil.Error):
        process = psutil.Process(who) if isinstance(who, int) else who
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def living(folder: Path) -> list[str]:
    """Return the command lines of the living processes that work below `folder`, whatever their environment.

    Trials run in their workspaces, and so does all they start.
    """
    found = []
    for process in psutil.process_iter():
        try:
            inside = Path(process.cwd()).is_relative_to(folder)
            if inside and process.pid != os.getpid() and lives(process):
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, OSError):
            continue
    return found

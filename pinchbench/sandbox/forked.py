"""Starts a program from a process that is in a sandbox, with a session and default signal handlers of its own.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal

CANNOT_START = 125  # exit code, like that of env(1) and timeout(1)

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from collections.abc import Callable


def find_program(name: str, env: dict[str, str]) -> str:
    """Return the path of a program, as `os.execvpe` finds it, which imports a module that a sandbox may not have."""
    if "/" not in name:
        for folder in env.get("PATH", os.defpath).split(":"):
            path = f"{folder}/{name}"
            if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - pathlib is slow to import
                return path
    return name


def fork_program(program: Callable[[], None], *, cwd: str, name: str) -> int:
    """Call `program`, which executes another one, in a fork with a session and default signal handlers of its own.

    Returns its process id when all descriptors that it inherited are closed, which `program` has to do. Call it in a
    process with one thread. Raises OSError with `name` if `cwd` does not exist, or if `program` raises OSError.
    """
    failed_r, failed_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in filter(_has_handler, signal.valid_signals()):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            os.chdir(cwd)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            program()
        except OSError as error:
            os.write(failed_w, json.dumps([error.errno, error.strerror]).encode())
        finally:
            os._exit(CANNOT_START)
    os.close(failed_w)
    with os.fdopen(failed_r, "rb") as file:
        failure = file.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(*json.loads(failure), name)
    return pid


def _has_handler(number: signal.Signals) -> bool:
    return signal.getsignal(number) != signal.SIG_DFL

"""The runner's end of prepared processes (see `process.prepared`), and the pool of idle ones."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, move_on_after, to_thread

from pinchbench.process.leftovers import MARKER, RUNNER, identity

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

PROGRAM = Path(__file__).with_name("prepared") / "__main__.py"
# Settings that would otherwise vary with each start of Python or with the user's environment.
FIXED = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
ALL_LIMIT_S = 60.0  # for as many as there are
END_LIMIT_S = 5.0  # it is idle and exits when its socket is closed, unless the machine is swapping heavily


class PreparedProcess:
    """A process that makes one call at a time. The caller that starts it has to `end` it."""

    def __init__(self, module: str, *, level: str, marker: str) -> None:
        """Start the process. `marker` is in its environment, to find it if the runner dies. Raises OSError."""
        self.module = module
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        # `-I` without `-E`: the hash seed can only be set by an environment variable, and there are no others
        argv = [sys.executable, "-s", "-P", "-X", "utf8", str(PROGRAM), str(theirs.fileno()), level, module]
        try:
            with theirs:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={MARKER: marker, RUNNER: identity(), **FIXED},
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                )
        except BaseException:
            self._ours.close()
            raise

    @property
    def lives(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    async def call(self, files: Sequence[int]) -> bool:
        """Make the process fork a guardian with these files, and wait until the guardian has exited.

        Returns False if the guardian did not exit properly. A cancellation does not end the guardian: the caller has to
        `end` this process. Raises OSError if this process has died.
        """
        socket.send_fds(self._ours, [b"."], list(files))
        await anyio.wait_readable(self._ours)
        with suppress(OSError):
            return bool(self._ours.recv(1))
        return False

    async def end(self, *, kill: bool = False) -> None:
        """Wait until the process has exited, or kill it if `kill` is true. Shielded and bounded.

        Its guardians then end their trees.
        """
        self._ours.close()
        if kill:
            self._process.kill()  # not yet reaped, so its process id can't have been reused
        with CancelScope(shield=True):
            try:
                await to_thread.run_sync(self._process.wait, END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                with move_on_after(END_LIMIT_S):
                    await to_thread.run_sync(self._process.wait, abandon_on_cancel=True)


_idle: ContextVar[list[PreparedProcess] | None] = ContextVar("prepared processes", default=None)


@asynccontextmanager
async def keep_prepared() -> AsyncGenerator[None]:
    """Inside the block, reuse processes for further calls. All of them have exited when the block is left."""
    idle: list[PreparedProcess] = []
    token = _idle.set(idle)
    try:
        yield
    finally:
        _idle.reset(token)
        with move_on_after(ALL_LIMIT_S, shield=True):
            while idle:
                await idle.pop().end()


@asynccontextmanager
async def prepared_process(module: str, *, level: str, marker: str) -> AsyncGenerator[PreparedProcess]:
    """Provide a process for one call: an idle one, else a new one with `marker`.

    Inside `keep_prepared`, the process is kept for further calls, unless the block raises. Raises OSError if no process
    can be started.
    """
    idle = _idle.get()
    if level == "session":  # processes of a call are found by the marker of their guardian, so it can't be shared
        idle = None
    process = None
    while idle and process is None:
        process = next((one for one in idle if one.module == module), None)
        if process is None:
            break
        idle.remove(process)
        if not process.lives:
            await process.end()
            process = None
    if process is None:
        process = PreparedProcess(module, level=level, marker=marker)
    is_over = False
    try:
        yield process
        is_over = True
    finally:
        if is_over and idle is not None and process.lives:
            idle.append(process)
        else:
            with move_on_after(ALL_LIMIT_S, shield=True):
                await process.end(kill=not is_over)

"""The runner's end of processes that fork guardians for calls (see `process.prepared`), and those that have nothing to do."""

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
# What each start of Python would choose anew or take from the user's settings is the same for each call.
FIXED = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
END_LIMIT_S = 5.0  # it has nothing to do and goes when its socket does, but on a machine in deep swap


class PreparedProcess:
    """A process that makes one call at a time. Whoever started it ends it."""

    def __init__(self, module: str, *, level: str, marker: str) -> None:
        """Start it. `marker` stands in its environment, by which what a runner has left is found. Raises OSError."""
        self.module = module
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        # `-I` without `-E`: the hash seed can only be set by a variable, and no others are there
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
        """Whether it can be given something to do."""
        return self._process.poll() is None

    async def call(self, files: Sequence[int]) -> bool:
        """Have a guardian forked that takes these files, and wait until it has exited; False when it did not do so properly.

        A cancellation leaves it to itself: end this process then. Raises OSError when this process is gone.
        """
        socket.send_fds(self._ours, [b"."], list(files))
        await anyio.wait_readable(self._ours)
        with suppress(OSError):
            return bool(self._ours.recv(1))
        return False

    async def end(self, *, kill: bool = False) -> None:
        """Wait until it is gone, with `kill` at once. Shielded and bounded. Guardians end their trees with it."""
        self._ours.close()
        if kill:
            self._process.kill()  # nobody else waits for it, so this is still its process id
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
    """Inside the block, a process whose call is over makes the next one. All are gone when the block is left."""
    idle: list[PreparedProcess] = []
    token = _idle.set(idle)
    try:
        yield
    finally:
        _idle.reset(token)
        while idle:
            await idle.pop().end()


@asynccontextmanager
async def prepared_process(module: str, *, level: str, marker: str) -> AsyncGenerator[PreparedProcess]:
    """A process for one call: one that is kept and has nothing to do, else a new one, with `marker`.

    It is kept, where there is a `keep_prepared`, unless the block was left by an exception. Raises OSError.
    """
    idle = _idle.get()
    if level == "session":  # there a call's programs are found by the marker that their guardian has
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
            await process.end(kill=not is_over)

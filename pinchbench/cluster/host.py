"""Starts the program of a node and passes messages on between it and whoever calls: what runs in a Ray actor."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING

import anyio
from anyio import move_on_after, to_thread
from anyio.abc import UNIXSocketStream

from pinchbench.cluster.file_server import FileServer
from pinchbench.cluster.messages import Beat, FrameReader, encode, frame

if TYPE_CHECKING:
    from pathlib import Path

POLL_S = 1.0  # how long a call for events waits for one
START_LIMIT_S = 60.0  # it takes a second to import the runner; a busy machine needs longer
DISTRIBUTION = "pinchbench-async"
PROGRAM = "pinchbench.cluster.node"


class NodeHost:
    """The connection to a node's program. All calls are short, so that a lost one is noticed soon.

    The program is not a child of this process, which Ray kills before it can clean up: it ends by itself, with all
    that it started, when the connection is closed or nobody has called `events` for some seconds.
    """

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._stream: UNIXSocketStream | None = None
        self._frames = FrameReader()
        self._writing = anyio.Lock()
        self._first = 0  # the number of the first message that is held
        self._held: list[bytes] = []

    async def start(self, host: str = "") -> tuple[int, bytes]:
        """Start the program, and serve files on an address of this machine; return the port and the secret for that.

        Both are empty without an address, or where it can't be used. Raises OSError.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            program = [sys.executable, "-P", "-m", PROGRAM, str(theirs.fileno())]
            with anyio.fail_after(START_LIMIT_S):
                await anyio.run_process(
                    program,
                    stdin=subprocess.DEVNULL,
                    stdout=None,
                    stderr=None,
                    start_new_session=True,
                    pass_fds=[theirs.fileno()],
                )
        self._stream = await UNIXSocketStream.from_socket(ours)
        if host:
            with suppress(OSError):  # files can be read with `read` too
                server = FileServer(host)
                return server.port, server.secret
        return 0, b""

    async def send(self, frames: bytes) -> None:
        """Pass messages on to the program, each in its frame.

        One that has ended gets none: `events` tells of the end, after the last messages, which say why.
        """
        assert self._stream is not None  # noqa: S101 - `start` comes first
        async with self._writing:
            with suppress(anyio.BrokenResourceError):
                await self._stream.send(frames)

    async def events(self, after: int) -> list[bytes] | None:
        """Return the messages from the program beyond the first `after`, waiting a moment for one; None at its end.

        What was before is forgotten. The same call gives the same messages again.
        """
        assert self._stream is not None  # noqa: S101 - as above
        del self._held[: after - self._first]
        self._first = after
        try:
            await self.send(frame(encode(Beat())))
            if not self._held:
                with move_on_after(POLL_S):
                    while not self._held:
                        self._held += self._frames.feed(await self._stream.receive())
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return list(self._held) or None
        return list(self._held)

    async def read(self, path: str, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of a regular file, from `offset`. Raises OSError."""
        return await to_thread.run_sync(_read, path, offset, size)

    async def close(self) -> None:
        """Close the connection; the program ends by itself."""
        if self._stream is not None:
            await self._stream.aclose()

    async def about(self) -> tuple[str, float, bool]:
        """Return this machine's release of this program, its time in seconds since the epoch (UTC), and `has_token`."""
        return version(DISTRIBUTION), time.time(), has_token()


def has_token() -> bool:
    """Return whether the Ray that this process belongs to obeys only those who know its token."""
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"  # `ray start` sets it where it finds a token


def _read(path: str | Path, offset: int, size: int) -> bytes:
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(number, size, offset)
    finally:
        os.close(number)

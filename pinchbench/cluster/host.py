"""Starts the program of a node and passes messages on between it and its callers: what runs in a Ray actor."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import anyio
from anyio import move_on_after, to_thread
from anyio.abc import UNIXSocketStream

from pinchbench.cluster.messages import Beat, FrameReader, frame
from pinchbench.process.capacity import usable_cpus
from pinchbench.results.node_times import Hardware

POLL_S = 1.0  # how long a call for events waits for one
START_LIMIT_S = 60.0  # it takes a second to import the runner; a busy machine needs longer
DISTRIBUTION = "pinchbench-async"
PROGRAM = "pinchbench.cluster.node"
CPU_INFO = Path("/proc/cpuinfo")


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

    async def start(self) -> None:
        """Start the program. Raises OSError."""
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

    async def send(self, frames: bytes) -> None:
        """Pass messages on to the program, each in its frame.

        One that has ended gets none: `events` reports the end, after the last messages, which say why.
        """
        assert self._stream is not None  # noqa: S101 - `start` comes first
        async with self._writing:
            with suppress(anyio.BrokenResourceError):
                await self._stream.send(frames)

    async def events(self, after: int) -> list[bytes] | None:
        """Return the messages from the program beyond the first `after`, waiting a moment for one; None at its end.

        What was before is forgotten. The same call gives the same messages again.
        """
        assert self._stream is not None  # noqa: S101 - `start` comes first
        del self._held[: after - self._first]
        self._first = after
        try:
            await self.send(frame(Beat()))
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


def read_hardware() -> Hardware:
    """Read what this machine is made of. Blocks."""
    return Hardware(
        processor=_processor(),
        cpus=usable_cpus(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=f"{platform.system()} {platform.release()}",
    )


def _processor() -> str:
    """Return the model of the processor; its architecture where that is not known, as on ARM."""
    with suppress(OSError):
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()

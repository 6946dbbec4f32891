"""The runner's end of the conversation with a guardian (see `process.guardian`), and the command that starts one."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import BrokenResourceError, CancelScope, ClosedResourceError, DelimiterNotFound, Event, IncompleteRead
from anyio.abc import UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from pinchbench.process.leftovers import MARKER, RUNNER, identity

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from pinchbench.process.supervise import ProcessSpec

GUARDIAN = Path(__file__).with_name("guardian") / "__main__.py"
MESSAGE_BYTES = 64 * 1024 * 1024  # the answer of a call, of which JSON may make six times as much, and the report


class GuardianLink:
    """A socket pair, and what the guardian has told through it. Use as a context manager: it owns both ends."""

    def __init__(self) -> None:
        """Create inside an event loop. Raises OSError when no socket can be had."""
        self.given = Event()  # the job has been sent, or never will be
        self.started = Event()  # or failed, or gone
        self.ended = Event()  # the report is here, or never will be
        self.started_at = 0.0  # on this machine's monotonic clock
        self.report: dict[str, object] | None = None
        self.failure: dict[str, object] | None = None
        self._ours, self.theirs = socket.socketpair()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both ends."""
        self._ours.close()
        self.theirs.close()

    @property
    def proves_all_dead(self) -> bool:
        """Whether nobody of the trial can be left."""
        return self.failure is not None or (self.report is not None and not self.report["survivors"])

    async def converse(self, spec: ProcessSpec, *, gap_s: float) -> None:
        """Give it its job, and listen until its report has come or `hang_up` was called, cancelled or not."""
        try:
            with CancelScope(shield=True):
                await self._converse(_job(spec, gap_s=gap_s))
        except (BrokenResourceError, ClosedResourceError, IncompleteRead, DelimiterNotFound):
            pass  # it has died, which the missing report tells
        finally:
            for event in (self.given, self.started, self.ended):
                event.set()

    async def _converse(self, job: bytes) -> None:
        async with await UNIXSocketStream.from_socket(self._ours) as stream:
            await stream.send(job)
            self.given.set()
            messages = BufferedByteReceiveStream(stream)
            while not self.ended.is_set():
                self._take(json.loads(await messages.receive_until(b"\n", MESSAGE_BYTES)))

    def say(self, word: str) -> None:
        """Say a word to it after its job, unless it is gone."""
        with suppress(OSError):
            self._ours.send(word.encode() + b"\n")

    def hang_up(self) -> None:
        """Let the conversation end with what has been said: the guardian is gone, whoever may hold its end."""
        with suppress(OSError):
            self.theirs.shutdown(socket.SHUT_RDWR)

    def _take(self, message: dict[str, object]) -> None:
        match message["event"]:
            case "started":
                self.started_at = float(str(message["at"]))
                self.started.set()
            case "failed":
                self.failure = message
                self.ended.set()
            case _:
                self.report = message
                self.ended.set()


def guardian_command(level: str, fd: int) -> list[str]:
    """What starts a guardian. Nothing of the trial stands in it: an agent may end processes by such words."""
    # psutil, which the weaker level needs, lives in site-packages
    options = ["-I", "-S"] if level == "guardian" else ["-I"]
    return [sys.executable, *options, str(GUARDIAN), str(fd), level]


def guardian_env(spec: ProcessSpec) -> dict[str, str]:
    """The environment of the guardian itself: by it what a runner has left is found."""
    return {MARKER: spec.marker, RUNNER: identity()}


def _job(spec: ProcessSpec, *, gap_s: float) -> bytes:
    """The job as a guardian reads it: a line in which each byte of a word is a character."""
    env = {**spec.env, MARKER: spec.marker, RUNNER: identity()}
    words = {
        "cwd": str(spec.cwd),
        "argv": [_characters(word) for word in spec.argv],
        "env": {_characters(name): _characters(value) for name, value in env.items()},
    }
    return json.dumps({**words, **asdict(spec.limits), "gap_s": gap_s}).encode("ascii") + b"\n"


def _characters(word: str) -> str:
    return os.fsencode(word).decode("latin-1")

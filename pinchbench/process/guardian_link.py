"""The runner's end of the connection to a guardian (see `process.guardian`), and the command that starts a guardian."""

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
    from pinchbench.process.spec import ProcessSpec

GUARDIAN = Path(__file__).with_name("guardian") / "__main__.py"
MESSAGE_BYTES = 64 * 1024 * 1024  # a report with a call's answer, which JSON escapes may make six times as long


class GuardianLink:
    """A socket pair, and the guardian's messages. It owns both ends until `close`."""

    def __init__(self) -> None:
        """Create the socket pair; must be called inside an event loop. Raises OSError if that fails."""
        self.given = Event()  # the job has been sent, or never will be
        self.started = Event()  # the agent has started, failed to start, or the guardian has died
        self.ended = Event()  # the report has arrived, or never will
        self.started_at = 0.0  # a time of the monotonic clock
        self.report: dict[str, object] | None = None
        self.failure: dict[str, object] | None = None
        self._ours, self.theirs = socket.socketpair()

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self.theirs.close()

    @property
    def proves_all_dead(self) -> bool:
        """Whether it is certain that no process of the trial is left."""
        return self.failure is not None or (self.report is not None and not self.report["survivors"])

    async def converse(self, spec: ProcessSpec, *, gap_s: float) -> None:
        """Send the job, and receive messages until the report has arrived or `hang_up` is called. Shielded."""
        try:
            with CancelScope(shield=True):
                await self._converse(_job(spec, gap_s=gap_s))
        except (BrokenResourceError, ClosedResourceError, IncompleteRead, DelimiterNotFound):
            pass  # the guardian has died, which the missing report shows
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
        """Send a command after the job, unless the guardian has died."""
        with suppress(OSError):
            self._ours.send(word.encode() + b"\n")

    def hang_up(self) -> None:
        """End the conversation once the guardian has exited, even if another process holds its end of the socket."""
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
    """Return the command that starts a guardian.

    It contains nothing about the trial, because an agent may kill processes by words in their command lines.
    """
    # psutil, which the level `session` needs, is in site-packages
    options = ["-I", "-S"] if level == "guardian" else ["-I"]
    return [sys.executable, *options, str(GUARDIAN), str(fd), level]


def guardian_env(spec: ProcessSpec) -> dict[str, str]:
    """Return the environment of the guardian itself, by which processes of a dead runner are found."""
    return {MARKER: spec.marker, RUNNER: identity()}


def _job(spec: ProcessSpec, *, gap_s: float) -> bytes:
    """Return the job as a line of JSON, in which each character of `argv` and `env` stands for a byte."""
    env = {**spec.env, MARKER: spec.marker, RUNNER: identity()}
    words = {
        "measured": [str(folder) for folder in spec.measured],
        "cwd": str(spec.cwd),
        "argv": [_characters(word) for word in spec.argv],
        "env": {_characters(name): _characters(value) for name, value in env.items()},
    }
    sandbox = {} if spec.sandbox is None else {"sandbox": spec.sandbox}
    flags = {"answers": spec.input is not None, "keeps_output": spec.keeps_output}
    settings = {**asdict(spec.limits), "gap_s": gap_s, **flags}
    return json.dumps({**words, **sandbox, **settings}).encode("ascii") + b"\n"


def _characters(word: str) -> str:
    return os.fsencode(word).decode("latin-1")

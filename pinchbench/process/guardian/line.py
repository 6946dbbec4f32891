"""The guardian's end of its connection to the runner."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Job:
    """The process to run, the plan of its sandbox if it has one, and its limits.

    Sent as one line of JSON, in which each character of `argv` and `env` stands for a byte, because file names need not
    be valid text.
    """

    def __init__(self, line: bytes) -> None:
        """Parse the line."""
        self.settings = json.loads(line)
        self.sandbox: dict[str, Any] | None = self.settings.pop("sandbox", None)
        self.argv = [_decode(word) for word in self.settings.pop("argv")]
        self.env = {_decode(name): _decode(value) for name, value in self.settings.pop("env").items()}


def _decode(word: str) -> str:
    return os.fsdecode(word.encode("latin-1"))


class Line:
    """The connection to the runner. Its `wait` also returns when a child exits."""

    def __init__(self, fd: int) -> None:
        """Use this end, `fd`, of the connection, and install signal handlers for the exit of children."""
        self._fd = fd
        self._inbox = b""
        self._is_cut = False
        self._takes: dict[int, Callable[[], bool]] = {}
        self.gap_s = 0.0
        self.asleep_s = 0.0
        self._wake_r, self._wake_w = os.pipe()
        os.set_blocking(self._wake_r, False)
        os.set_blocking(self._wake_w, False)
        signal.set_wakeup_fd(self._wake_w)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._poll.register(self._wake_r, select.POLLIN)

    def read_job(self) -> Job | None:
        """Wait for the job and return it; return None if the runner has died."""
        while b"\n" not in self._inbox:
            if not self._read():
                return None
        line, _, self._inbox = self._inbox.partition(b"\n")
        job = Job(line)
        self.gap_s = job.settings["gap_s"]
        return job

    def say(self, **line: object) -> None:
        """Send one line to the runner, unless it has died."""
        data = json.dumps(line).encode() + b"\n"
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._fd, data) :]

    def listen(self, fd: int, take: Callable[[], bool]) -> None:
        """Call `take` whenever `fd` is readable, until it returns False."""
        self._takes[fd] = take
        self._poll.register(fd, select.POLLIN)

    def forget(self, fd: int) -> None:
        """Undo `listen`."""
        if self._takes.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def wait(self, timeout_s: float) -> str | None:
        """Wait for an event for at most `timeout_s`; return the runner's command if there is one, else None.

        Returns `orphaned` if the runner has died.
        """
        if b"\n" in self._inbox:  # two commands arrived together: don't delay the second one
            timeout_s = 0
        due = time.monotonic() + max(0.0, timeout_s)
        came = self._poll.poll(max(0.0, timeout_s) * 1000)
        late_s = time.monotonic() - due
        if late_s > self.gap_s:  # too late for a busy machine: the container was paused
            self.asleep_s += late_s
        for fd, _ in came:
            if fd == self._wake_r:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_r, 4096)
            elif fd in self._takes:
                if not self._takes[fd]():
                    self.forget(fd)
            elif not self._read():
                self._poll.unregister(self._fd)
                return "orphaned"
        word, separator, rest = self._inbox.partition(b"\n")
        if not separator:
            return None
        self._inbox = rest
        return word.decode("ascii", "replace")

    def _read(self) -> bool:
        """Read data into the inbox, and wait for it if necessary. Returns False if the runner has died."""
        if self._is_cut:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            data = b""
        self._inbox += data
        self._is_cut = not data
        return not self._is_cut

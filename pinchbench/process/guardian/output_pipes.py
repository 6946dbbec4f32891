"""The pipes through which a job's output reaches its files.

No descriptor of the job leads to a file outside: its name would reveal the task, and its contents are evidence.
Pipes can be opened by other processes of the job, through `/proc`, and what these write can't be told from what the
job's own process says. Sockets can't.
"""

from __future__ import annotations

import _socket  # `socket` takes milliseconds
import contextlib
import os
from functools import partial

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from pinchbench.process.guardian.line import Line

READ_BYTES = 64 * 1024
MOST_READS = 1024  # of what is left in the pipes when all processes have ended, by which time they are hardly full


class OutputPipes:
    """Pipes in place of this process's stdout and stderr, for the job that it starts next."""

    def __init__(self, limit_bytes: float, *, of_sockets: bool = False) -> None:
        """Open the pipes, or sockets; one if both files are the same. What comes after `limit_bytes` is not written.

        What earlier jobs have written to the files counts. Raises OSError.
        """
        self._limit_bytes = limit_bytes
        self._files: dict[int, int] = {}  # by the pipe's end that is read
        infos = [os.fstat(fd) for fd in (1, 2)]
        is_one = os.path.samestat(*infos)
        self._came_bytes = sum(info.st_size for info in (infos[:1] if is_one else infos))
        self._kept = [os.dup(fd) for fd in (1, 2)]
        for fd in (1, 2):
            if fd == 2 and is_one:  # noqa: PLR2004 - stderr
                os.dup2(1, fd)
                continue
            source, target = _socket_pair() if of_sockets else os.pipe()
            os.set_blocking(source, False)
            os.dup2(target, fd)
            os.close(target)
            self._files[source] = fd

    @property
    def came_bytes(self) -> int:
        """How much the files hold, or would without the limit."""
        return self._came_bytes

    def give_back(self) -> None:
        """Put this process's own stdout and stderr back when the job has inherited the pipes, or can't be started."""
        for fd, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, fd)
            os.close(kept)

    def listen(self, line: Line) -> None:
        """Write what comes while `line` waits."""
        for source in self._files:
            line.listen(source, partial(self._pass_on, source))

    def finish(self) -> None:
        """Write what is left in the pipes; a process that has survived may still hold them."""
        for source in self._files:
            before = -1
            for _ in range(MOST_READS):
                if before == self._came_bytes:
                    break
                before = self._came_bytes
                self._pass_on(source)
            os.close(source)

    def _pass_on(self, source: int) -> bool:
        """Write what is in a pipe. Returns False at its end."""
        try:
            data = os.read(source, READ_BYTES)
        except BlockingIOError:
            return True
        if data and self._came_bytes <= self._limit_bytes:
            with contextlib.suppress(OSError):  # the disk is full, which the runner finds out by itself
                view = memoryview(data)
                while view:
                    view = view[os.write(self._files[source], view) :]
        self._came_bytes += len(data)
        return bool(data)


def _socket_pair() -> tuple[int, int]:
    source, target = _socket.socketpair()
    return source.detach(), target.detach()

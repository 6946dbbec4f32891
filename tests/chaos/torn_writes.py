"""The program with a bad disk under its journal: writes in pieces, slowly, and death in the middle of one.

`python tests/chaos/torn_writes.py SEED OPERATIONS ARGV...` dies by its own SIGKILL after so many pieces and flushes.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import pinchbench.results.journal.journal as journal_room
from pinchbench.cli import main

SLOWEST_S = 0.01  # one piece


class BadDisk:
    """The `os` of the journal alone."""

    def __init__(self, rng: random.Random, operations: int) -> None:
        """It dies when `operations` are used up."""
        self._rng = rng
        self._left = operations

    def __getattr__(self, name: str) -> object:
        """All else is as it is."""
        return getattr(os, name)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """Take some of it, and take one's time."""
        self._use_up()
        rest = memoryview(data)
        time.sleep(self._rng.uniform(0, SLOWEST_S))
        written = os.write(fd, rest[: self._rng.randint(1, len(rest))])
        self._use_up()
        return written

    def fsync(self, fd: int) -> None:
        """Flush, if it comes to that."""
        self._use_up()
        os.fsync(fd)
        self._use_up()

    def _use_up(self) -> None:
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    vars(journal_room)["os"] = BadDisk(random.Random(int(sys.argv[1])), int(sys.argv[2]))
    sys.argv[1:3] = []
    main()

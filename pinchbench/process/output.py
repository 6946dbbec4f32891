"""Follows the output of processes in a file, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from pinchbench.process.follow import next_look_s
from pinchbench.process.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.process.follow import Follower

SHOWN_LINE_BYTES = 4096
SHOWN_BYTES = 32 * 1024  # per read of a growing file: 40 ms of work if every line is empty
LAST_LOOKS = 8  # reads of 256 KiB after the trial is over


@dataclass(slots=True)
class Output:
    """A file that consecutive processes write to. `take` is called with each line, cut at `SHOWN_LINE_BYTES`."""

    path: Path
    follower: Follower
    take: Callable[[str], None]
    splitter: LineSplitter = field(default_factory=lambda: LineSplitter(max_line_bytes=SHOWN_LINE_BYTES))

    async def read_on(self) -> bool:
        """Process new output. Returns False if there is none.

        If there is too much, only the first `SHOWN_BYTES` are processed now and the last `SHOWN_BYTES` by the next
        call. Users could not read more, and the agents need the disk and the event loop.
        """
        data = await self.follower.read()
        for line in self.splitter.feed(data[:SHOWN_BYTES]):
            self.take(line.data.decode("utf-8", "replace"))
        if len(data) > SHOWN_BYTES:
            left_out = len(data) - SHOWN_BYTES + self.follower.skip(SHOWN_BYTES)
            self.take(f"… {left_out} bytes are not shown; {self.path} has them all")
        return bool(data)

    async def follow(self) -> None:
        """Process new output until cancelled."""
        while True:
            await self.read_on()
            await anyio.sleep(next_look_s())

    async def finish(self) -> None:
        """Process the remaining output of a process that has exited.

        Raises OSError if it can't be read because of the machine.
        """
        for _ in range(LAST_LOOKS):
            if not await self.read_on():
                break
        if self.follower.failure is not None:
            raise self.follower.failure
        if (rest := self.splitter.finish()) is not None:
            self.take(rest.data.decode("utf-8", "replace"))

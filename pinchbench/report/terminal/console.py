"""The console for reports: plain text if there is no terminal, and output that never blocks the run."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.text import Text

from pinchbench.report.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import StringIO
    from types import TracebackType
    from typing import Self

LOG_COLUMNS = 200  # a log or a pipe has no width of its own, and rows must not be folded there
QUEUE_BYTES = 256 * 1024  # how far a reader may fall behind before lines are dropped
PIECE_BYTES = 16 * 1024  # one write: small, so that even a slow reader frees space
END_LIMIT_S = 2.0  # for a slow reader to read the rest after the run has ended


class QueuedWriter:
    """A text file whose `write` never blocks: a thread writes the text to a descriptor.

    The reader may stall (`| less`, a dead ssh): text that exceeds the queue is dropped. It may close its end (`| head`,
    a closed terminal): all further text is dropped. A context manager that owns the thread, a daemon, so that a reader
    that stalls forever can't prevent the exit; it does not own the descriptor.
    """

    def __init__(self, descriptor: int | None, *, encoding: str = "utf-8") -> None:
        """Without a descriptor (stderr may be closed), all text is dropped."""
        self.encoding = encoding
        self._descriptor = descriptor
        self._changed = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0  # including what is being written
        self._is_over = descriptor is None
        self._patience_s: float | None = None  # None: writes don't wait
        self._thread = threading.Thread(target=self._hand_on, name="report", daemon=True)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, and give the reader a last chance to read."""
        self.close(END_LIMIT_S)

    def write(self, text: str) -> int:
        """Queue the text, or drop it if the queue is full."""
        data = text.encode(self.encoding, "backslashreplace")
        with self._changed:
            if self._wait_until_not(self._is_full) and not self._is_over:
                self._queue.append(data)
                self._queued_bytes += len(data)
                self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes as fast as the reader reads."""

    def fileno(self) -> int:
        """Return the descriptor that is written to."""
        if self._descriptor is None:
            raise OSError("no descriptor")
        return self._descriptor

    def isatty(self) -> bool:
        """Whether the descriptor is a terminal."""
        return self._descriptor is not None and os.isatty(self._descriptor)

    def is_full(self) -> bool:
        """Return whether text written now would be dropped because of a slow reader; False if the reader is gone."""
        with self._changed:
            return self._is_full()

    def be_patient(self, limit_s: float) -> None:
        """Let further writes, and `close`, wait for the reader, for `limit_s` in total; other work takes nothing of it.

        For the end of a run, when nothing else would be delayed.
        """
        self._patience_s = limit_s

    def close(self, limit_s: float) -> None:
        """Wait until all is written, at most `limit_s` (or as long as `be_patient` allows), and end the thread."""
        if self._patience_s is None:
            self.be_patient(limit_s)
        with self._changed:
            self._wait_until_not(lambda: self._queued_bytes > 0)
            self._end()
        if self._thread.is_alive():
            self._thread.join(self._patience_s)

    def _is_full(self) -> bool:
        return self._queued_bytes >= QUEUE_BYTES

    def _wait_until_not(self, condition: Callable[[], bool]) -> bool:
        if not condition() or not self._patience_s:
            return not condition()
        began = time.monotonic()
        is_over = self._changed.wait_for(lambda: not condition(), self._patience_s)
        self._patience_s = max(0.0, self._patience_s - (time.monotonic() - began))
        return is_over

    def _end(self) -> None:
        self._is_over = True
        self._queue.clear()
        self._queued_bytes = 0
        self._changed.notify_all()

    def _hand_on(self) -> None:
        """Run the thread: write until closed, or until the reader has closed its end."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_over)
                if self._is_over:
                    return
                data = memoryview(self._queue.popleft())
            while data:
                try:
                    size = self._write(data[:PIECE_BYTES])
                except OSError:
                    with self._changed:
                        self._end()
                    return
                data = data[size:] if self._goes_on(size) else data[:0]

    def _goes_on(self, size: int) -> bool:
        """Count what was written; return whether to continue."""
        with self._changed:
            if self._is_over:
                return False
            self._queued_bytes -= size
            self._changed.notify_all()
            return True

    def _write(self, data: memoryview) -> int:
        # not through sys.stderr: a thread blocked inside it would hold its lock, which the exit needs
        descriptor = self.fileno()
        with suppress(BlockingIOError):  # a terminal that another program made non-blocking
            return os.write(descriptor, data)
        select.select([], [descriptor], [])
        return 0


def stderr_writer() -> QueuedWriter:
    """Return a writer to this program's stderr."""
    # None if the program was started without stderr: descriptor 2 may then be any other file
    if sys.stderr is None:
        return QueuedWriter(None)
    return QueuedWriter(sys.stderr.fileno(), encoding=sys.stderr.encoding)


class ReportConsole(Console):
    """A console that breaks lines between words, where a terminal would break them anywhere."""

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 - rich's signature
        """Print as rich does; on a terminal, text with `soft_wrap` is broken between words.

        In a log or a pipe it stays one line, so that it can be searched; so do table rows with `no_wrap`.
        """
        if self.is_terminal and options.get("soft_wrap") and not options.get("no_wrap") and len(objects) == 1:
            text = Text(objects[0]) if isinstance(objects[0], str) and not options.get("markup", True) else objects[0]
            if isinstance(text, Text):
                objects = (_folded(text, self.width),)
        super().print(*objects, **options)


def _folded(text: Text, width: int) -> Text:
    rows: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        parts, hang = fold(line.plain, width)
        rows += [Text.assemble(" " * hang * (number > 0), line[part]) for number, part in enumerate(parts)]
    return Text("\n").join(rows)


def report_console(file: QueuedWriter | StringIO, *, is_terminal: bool = False) -> Console:
    """Return a console on a writer, or on text that is printed later, to a terminal if `is_terminal`."""
    target = cast("IO[str]", file)  # the writer has all of a file that rich uses
    force = True if is_terminal else None  # None: as the file and the environment (`FORCE_COLOR`) determine
    console = ReportConsole(file=target, highlight=False, force_terminal=force)
    return console if console.is_terminal else ReportConsole(file=target, highlight=False, width=LOG_COLUMNS)

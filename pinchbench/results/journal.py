"""The journal: append-only truth of a run; a writer that loses nothing and a reader that survives anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import EndOfStream, WouldBlock, to_thread

from pinchbench.errors import ResultsError
from pinchbench.results.records import Record, TrialFinished, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO, Self

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.model import Outcome

MAX_RECORD_BYTES = 1024 * 1024
MAX_GROUP = 256  # records that one fsync makes durable


class JournalWriter:
    """Appends records and makes them durable. A context manager that owns the open file; one writer a journal."""

    def __init__(self, path: Path) -> None:
        """Create the journal; raises ResultsError when it is there already or can't be made."""
        self._path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ResultsError(f"The journal {path} can't be created: {error.strerror}.") from error

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        os.close(self._fd)

    def append(self, records: Sequence[Record]) -> None:
        """Write records and return when they are on the disk. Blocks; a group costs one `fsync`.

        Raises ResultsError when they can't be written, a full disk above all: what was acknowledged before is safe.
        """
        data = memoryview(b"".join(map(encode, records)))
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            os.fsync(self._fd)
        except OSError as error:
            raise ResultsError(
                f"The journal {self._path} can't be written ({error.strerror}); what it held before is safe."
            ) from error


async def write_records(
    records: MemoryObjectReceiveStream[Record], journal: JournalWriter, written: Callable[[Record], None]
) -> None:
    """Write everything the stream brings until its end; `written` hears of each record once it is on the disk.

    What has queued up meanwhile goes into one group. Owns the stream. Raises ResultsError as `JournalWriter.append`.
    Run it where no signal cancels it: it ends when the senders have closed.
    """
    with records:
        async for first in records:
            group = [first]
            try:
                while len(group) < MAX_GROUP:
                    group.append(records.receive_nowait())
            except (WouldBlock, EndOfStream):
                pass
            await to_thread.run_sync(journal.append, group)
            for record in group:
                written(record)


@dataclass(frozen=True, kw_only=True, slots=True)
class Journal:
    """What a journal says: its whole records in order, and a sentence for every line that is none."""

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes in the order in which they were written."""
        return tuple(record.outcome for record in self.records if isinstance(record, TrialFinished))


def read_journal(path: Path) -> Journal:
    """Read a journal in whatever state its writer's death left it. Blocks.

    A torn last line, and any line that is no record, is left out and named in `problems`. Raises ResultsError when
    the file can't be read at all.
    """
    records: list[Record] = []
    problems: list[str] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_RECORD_BYTES), b""), 1):
                if len(line) == MAX_RECORD_BYTES and not line.endswith(b"\n"):
                    _skip_line(file)
                    problems.append(f"{path}:{number}: no record: longer than {MAX_RECORD_BYTES} bytes")
                    continue
                if not line.strip():
                    continue
                try:
                    records.append(decode(line))
                except ValueError as error:
                    torn = "torn" if not line.endswith(b"\n") else "no record"
                    problems.append(f"{path}:{number}: {torn}: {error}")
    except OSError as error:
        raise ResultsError(f"The journal {path} can't be read: {error.strerror}.") from error
    return Journal(records=tuple(records), problems=tuple(problems))


def _skip_line(file: BinaryIO) -> None:
    """Read on to the end of a line, in pieces: it may be as long as the file."""
    while (piece := file.readline(MAX_RECORD_BYTES)) and not piece.endswith(b"\n"):
        pass

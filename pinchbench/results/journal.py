"""The journal: append-only truth of a run; a writer that loses nothing and a reader that survives anything."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import EndOfStream, WouldBlock, to_thread

from pinchbench.errors import ResultsError
from pinchbench.results.attempts import trial_attempts
from pinchbench.results.records import (
    GradeGiven,
    Record,
    RunFinished,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialStarted,
    decode,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO, Self

    from anyio.streams.memory import MemoryObjectReceiveStream

    from pinchbench.model import Grade, Outcome, TrialKey

MAX_RECORD_BYTES = 8 * 1024 * 1024  # a grade with 500 long names of criteria stays below it
MAX_GROUP = 256  # records that one fsync makes durable


class JournalWriter:
    """Appends records and makes them durable. A context manager that owns the open file; one writer a journal."""

    def __init__(self, path: Path, *, go_on: bool = False) -> None:
        """Create the journal, or `go_on` with one that exists.

        Raises ResultsError when it can't be opened, is there already (or is not), or another process writes it.
        """
        self._path = path
        flags = os.O_APPEND | os.O_CLOEXEC | (os.O_RDWR if go_on else os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise ResultsError(f"The journal {path} can't be opened: {error.strerror}.") from error
        try:
            self._own()
            if go_on:
                self._seal()
        except BaseException:
            os.close(self._fd)
            raise

    def _own(self) -> None:
        """Take the lock that goes with the open file: the system lets go of it when this process ends, however."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResultsError(f"Another pinchbench-async is writing the run {self._path.parent}.") from error
        except OSError:
            pass  # a file system without locks: the user must see to it that nobody else writes

    def _seal(self) -> None:
        """End a last line that was torn when its writer died, so that the next record has a line of its own."""
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")

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
    def attempts(self) -> tuple[Outcome, ...]:
        """Every outcome in the order in which they were written."""
        return tuple(record.outcome for record in self.records if isinstance(record, TrialFinished))

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcome that counts of each trial that has one, in the order in which they were written."""
        return tuple(attempts.counting for attempts in trial_attempts(self.records).values())

    @property
    def grades(self) -> dict[TrialKey, Grade]:
        """The grade that counts of each trial that has one: the latest of the attempt that counts."""
        counting = {outcome.key: outcome.attempt for outcome in self.outcomes}
        given = self.attempt_grades
        return {key: grade for (key, attempt), grade in given.items() if counting.get(key, attempt) == attempt}

    @property
    def attempt_grades(self) -> dict[tuple[TrialKey, int], Grade]:
        """The latest grade of each attempt.

        But where the task is the same, no failure to grade takes away a score that was there: an endpoint's bad day, or
        a workspace that has gone since, says nothing against it.
        """
        latest: dict[tuple[TrialKey, int], Grade] = {}
        for grade in (record.grade for record in self.records if isinstance(record, GradeGiven)):
            before = latest.get((grade.key, grade.attempt))
            keeps = before is not None and before.score is not None and before.digest == grade.digest
            if grade.score is not None or not keeps:
                latest[grade.key, grade.attempt] = grade
        return latest

    @property
    def started(self) -> RunStarted | None:
        """The first record, if it is whole."""
        return next((record for record in self.records if isinstance(record, RunStarted)), None)

    @property
    def resumed(self) -> tuple[RunResumed, ...]:
        """Each time the run was resumed."""
        return tuple(record for record in self.records if isinstance(record, RunResumed))

    @property
    def finished(self) -> RunFinished | None:
        """How the run ended; None when the last runner died."""
        for record in reversed(self.records):
            match record:
                case RunFinished():
                    return record
                case RunStarted() | RunResumed() | TrialStarted() | TrialFinished():
                    return None
                case _:
                    continue
        return None


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

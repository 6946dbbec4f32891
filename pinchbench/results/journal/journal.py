"""The journal of a run: its writer, which makes records durable in groups, and its reader."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from anyio import EndOfStream, WouldBlock, to_thread

from pinchbench.errors import AlteredRunError, ResultsError
from pinchbench.files.folders import sync_folder
from pinchbench.results.journal.recovery import MAX_RECORD_BYTES, Chain, Link, link_before, read_lines, seal
from pinchbench.results.records import Record, encode
from pinchbench.results.run_state import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from anyio.streams.memory import MemoryObjectReceiveStream


@contextmanager
def collector_paused(*, stays: bool = False) -> Iterator[None]:
    """Make many objects without Python's cyclic garbage collector, which takes half the time of reading a large run.

    Records and what is made of them hold no references in circles, so that there is nothing for it to find. `stays`:
    what was made is kept for long, and the collector leaves it aside from then on. So it does with what is unreachable
    at the end, and is never freed: not for what is done again and again. May be used by several threads at once; the
    collector runs again when the first of them is done. Where it was off before, it stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if stays:
            gc.freeze()
        if was_on:
            gc.enable()


MAX_GROUP = 4096  # records that one fsync makes durable: with 16 producers at full speed, that costs a few per cent
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class JournalWriter:
    """Appends records and makes them durable. A context manager that owns the open file; one writer per journal."""

    def __init__(self, path: Path, *, go_on: bool = False) -> None:
        """Create the journal, or with `go_on` continue it where it exists: a runner can die before its first record.

        Raises:
            ResultsError: if it can't be opened or locked, already exists, or another process writes it.
            AlteredRunError: if its contents were changed.
        """
        self._path = path
        self._refusal = ""  # why writing is refused from now on
        self._safe = self._end = 0  # bytes acknowledged, and bytes written
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | (0 if go_on else os.O_EXCL)
        try:
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise ResultsError(f"The journal {path} can't be opened: {error.strerror}.") from error
        try:
            self._lock()
            try:
                self._check_place()
                self._end_torn_line()
                self._link = self._last_link()
            except OSError as error:
                raise self._failure(error) from error
            sync_folder(path.parent)
        except BaseException:
            os.close(self._fd)
            raise

    def _lock(self) -> None:
        """Lock the open file: the system releases the lock when this process ends, however it ends."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResultsError(f"Another pinchbench-async is writing the run {self._path.parent}.") from error
        except OSError as error:
            raise ResultsError(
                f"The file system of {self._path.parent} has no locks ({error.strerror}), so two runners could write"
                " the same run. Use --output-dir to name a folder on another file system."
            ) from error

    def _end_torn_line(self) -> None:
        """End a line that was torn when its writer died, so that the next record starts a new line."""
        self._end = os.fstat(self._fd).st_size
        if self._end and os.pread(self._fd, 1, self._end - 1) != b"\n":
            self._write(b"\n")
        self._safe = self._end

    def _last_link(self) -> Link:
        """Return the last link of the file's chain. A journal of an older release has none: the chain begins here."""
        chain = Chain()
        if differences := [one.difference for one in read_lines(self._path, chain) if one.difference]:
            raise AlteredRunError.of(differences, run=self._path.parent)
        return chain.last or link_before(self._path, self._end)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._refusal = self._refusal or f"The journal {self._path} can't be written: it is closed."
        fd, self._fd = self._fd, -1  # the number may soon belong to another file
        with suppress(OSError):  # everything acknowledged is on the disk
            os.close(fd)

    def append(self, records: Sequence[Record]) -> None:
        """Write records and return when they are durable and visible to readers. Blocks; costs one `fsync`.

        Raises ResultsError if they can't be written, for example because the disk is full, or if the journal was moved
        or replaced; what was acknowledged before is safe. From then on nothing more is written, since a later success
        would hide the gap; nor is an `fsync` retried, since the system may have dropped what it could not write.
        """
        if self._refusal:
            raise ResultsError(self._refusal)
        lines, link = [], self._link
        for record in records:
            line, link = seal(encode(record).removesuffix(b"\n"), link)
            lines.append(line + b"\n")
        if any(len(line) > MAX_RECORD_BYTES for line in lines):
            raise ResultsError(f"A record for the journal {self._path} is longer than {MAX_RECORD_BYTES} bytes.")
        try:
            self._check_owner()
            self._check_place()  # what happens once the folder is gone is not about the trials
            try:
                self._write(b"".join(lines))
                os.fsync(self._fd)
            except BaseException:
                self._take_back()
                raise
            self._check_place()
        except OSError as error:
            failure = self._failure(error)
            self._refusal = str(failure)
            raise failure from error
        except BaseException as error:
            self._refusal = str(error) or f"The writing of the journal {self._path} was broken off."
            raise
        self._safe, self._link = self._end, link

    def _write(self, data: bytes) -> None:
        """Write all of it; Python itself retries after a signal."""
        rest = memoryview(data)
        while rest:
            written = os.write(self._fd, rest)
            if not written:
                raise OSError(errno.EIO, "nothing was taken")
            rest = rest[written:]
            self._end += written

    def _take_back(self) -> None:
        """Truncate what was not acknowledged, unless another process has appended to it. A torn tail is harmless."""
        with suppress(OSError):
            if os.fstat(self._fd).st_size == self._end:
                os.ftruncate(self._fd, self._safe)

    def _check_owner(self) -> None:
        """Raise ResultsError if another process has written the journal."""
        if os.fstat(self._fd).st_size != self._end:
            raise ResultsError(
                f"The journal {self._path} was changed by somebody else while it was being written; "
                "nothing more is written to it."
            )

    def _check_place(self) -> None:
        """Raise ResultsError if the path no longer names the open file."""
        held = os.fstat(self._fd)
        if not stat.S_ISREG(held.st_mode):
            raise ResultsError(f"The journal {self._path} is no regular file.")
        try:
            named = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            named = None
        if not held.st_nlink or named is None or (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino):
            raise ResultsError(
                f"The journal {self._path} was deleted, moved or replaced while it was being written; nothing more is "
                f"written to it. If it was moved, put it back: `pinchbench-async resume {self._path.parent}` goes on."
            )

    def _failure(self, error: OSError) -> ResultsError:
        once = "there is space" if error.errno in NO_SPACE else "it can be written"
        return ResultsError(
            f"The journal {self._path} can't be written ({error.strerror}); what it held before is safe. "
            f"`pinchbench-async resume {self._path.parent}` goes on once {once}."
        )


def is_written(path: Path) -> bool:
    """Whether a runner writes a journal; nothing is changed. Blocks briefly. Raises OSError if it can't be opened."""
    # a shared lock, held for microseconds: the least obstacle to a runner that starts at this moment
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # a file system without locks, on which no run is made
    finally:
        os.close(fd)
    return False


async def write_records(
    records: MemoryObjectReceiveStream[Record],
    append: Callable[[Sequence[Record]], None],
    written: Callable[[Record], None],
) -> None:
    """Write all records of the stream until its end; call `written` with each record once it is durable.

    Records that queued up meanwhile are written as one group. Owns the stream. Raises what `append` raises; `append` is
    a journal's, blocks, and is called in a thread. Run it where no signal cancels it: it ends when the senders have
    closed.
    """
    with records:
        async for first in records:
            group = [first]
            try:
                while len(group) < MAX_GROUP:
                    group.append(records.receive_nowait())
            except (WouldBlock, EndOfStream):
                pass
            await to_thread.run_sync(append, group)
            for record in group:
                written(record)


@dataclass(frozen=True, kw_only=True, slots=True)
class Journal:
    """The contents of a journal: its whole records in order, the resulting state, and a sentence for every other line.

    `differences` lists the lines that were changed or moved. `digests` are those of the chain: the last is the
    journal's own, and the first covers an older release's records, which have none. They are empty if no line has one.
    """

    records: tuple[Record, ...]
    state: RunState
    problems: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """How many of its records are chained."""
        return max(0, len(self.digests) - 1)


def refuse_ways_out(folder: Path, evidence: Iterable[str] = ()) -> None:
    """Raise ResultsError if a part of a run's folder leads out of it: somebody else may have made the folder. Blocks.

    Looked at are the folders of trials, and the paths of `evidence` as the journal states them. Files are never opened
    through a link anyway.
    """
    for stated in evidence:
        if stated and (stated.startswith("/") or ".." in stated.split("/")):
            raise ResultsError(f"The journal of {folder} states evidence outside of it: {stated}.")
    trials = folder / "trials"
    if trials.is_symlink():
        raise ResultsError(f"{trials} is a link, and none is followed in a run's folder: remove it.")
    waiting = [trials] if trials.is_dir() else []
    try:
        for place in waiting:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_symlink() and entry.is_dir():
                        raise ResultsError(
                            f"{entry.path} is a link, and none is followed in a run's folder: remove it."
                        )
                    if place == trials and entry.is_dir():
                        waiting.append(trials / entry.name)
    except OSError as error:
        raise ResultsError(f"{error.filename} can't be read: {error.strerror}.") from error


@collector_paused()
def read_journal(path: Path, *, created_at: float = inf) -> Journal:
    """Read a journal, in whatever state its writer left it. Blocks.

    A torn line and any other invalid record are skipped and reported in `problems`. `created_at` is that of `RunState`.
    Raises ResultsError if the file can't be read at all.
    """
    chain = Chain()
    lines = list(read_lines(path, chain))
    records = tuple(line.record for line in lines if line.record is not None)
    state = RunState.of(records, created_at=created_at)
    refuse_ways_out(path.parent, (outcome.evidence for outcome in state.attempts))
    return Journal(
        records=records,
        state=state,
        problems=tuple(line.problem for line in lines if line.problem),
        differences=tuple(line.difference for line in lines if line.difference),
        digests=tuple(chain.digests),
    )

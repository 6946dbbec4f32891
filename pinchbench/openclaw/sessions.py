"""OpenClaw's session stores, JSONL files and SQLite, and one for sessions that are in either.

The methods of all three are the same, as `AnyStore` describes them. An event is a raw JSON line without its newline.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import zstandard
from anyio import current_time, to_thread

from pinchbench.files.beneath import is_regular, link_regular, open_regular
from pinchbench.files.folders import remove_folder
from pinchbench.process.follow import Follower, LineSplitter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# A few compressed rows of a database can expand to gigabytes, and the transcript is compared with the wire as parsed
# JSON, of which each byte may take 30 of memory (`[[],[],…]`). Conversations with dozens of screenshots fit.
MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024
MAX_EVENT_BYTES = 8 * 1024 * 1024  # larger than any picture; a longer event is copied, but counts as damaged
HEAD_BYTES = 16 * 1024  # how much of a longer event is returned: enough to identify it
READ_BYTES = 256 * 1024
LOOKS_AT_ONCE = 40  # reads of 256 KiB per poll within an unfinished line: together more than `MAX_EVENT_BYTES`
ROWS_AT_ONCE = 200
PAGE_BYTES = 1024 * 1024  # events per page, unless a single one is longer: a few rows can expand to gigabytes
MAX_STEPS = 200_000_000  # SQLite VM instructions per page, some seconds: a view may produce endless rows
GLANCE_STEPS = 100_000  # SQLite VM instructions, 1 to 2 ms
GLANCE_BYTES = 8 * 1024 * 1024  # size of a WAL that is in memory and limits the newly added data; OpenClaw's is 4 MiB
CACHE_KIB = 256  # page cache per connection: reads need few pages, and SQLite's default is 2 MiB
GLANCE_READ_BYTES = 16 * 1024  # after a larger read, the next one runs in a thread
BUSY_S = 2.0  # how long a look waits for a writer's lock, while there will be another one
LAST_BUSY_S = 60.0  # how long the last reader waits: a gateway that goes on may hold a lock for 20 s
# Errors of the machine (no descriptors or memory, a failing disk, a lock that is never released): the session exists,
# but can't be read.
MACHINE_ERRORS = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
)
PRIMARY_CODE = 0xFF  # the part of an extended result code that is the primary result code
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # an error message may quote undecodable text of a damaged schema
DATABASE_FILES = ("", "-wal", "-shm", "-journal")
SETTLE_S = 1.0  # a commit makes the WAL grow before readers can see it: at most the duration of an fsync


class TranscriptLimitError(OSError):
    """The agent's sessions are larger than what is kept of them."""

    def __init__(self) -> None:
        """Say what the limit is."""
        super().__init__(f"the sessions hold more than {MAX_TRANSCRIPT_BYTES // 1024**2} MiB")


Copy: TypeAlias = "Callable[[bytes], object]"
SessionStore: TypeAlias = "JsonlStore | SqliteStore | AnyStore"


class JsonlStore:
    """A session as OpenClaw up to 2026.7 stores it: one file, with one event per line."""

    def __init__(self, path: Path, *, within: Path | None = None) -> None:
        """`path` need not exist yet. No link is followed below `within`, by default its folder."""
        self._path = path
        self._within = within
        self._follower = Follower(path, within=within)
        self._splitter = _splitter()

    async def poll(self) -> list[bytes]:
        """Return the lines completed since the last poll. Continues to read within a long line."""
        for _ in range(LOOKS_AT_ONCE):
            data = await self._follower.read()
            lines = self._splitter.feed(data)
            if lines or not data:
                return lines
        return []

    def lines(self, copy: Copy | None = None) -> Iterator[bytes] | None:
        """Iterate over the whole file, including an unfinished last line."""
        there = is_regular(self._path, within=self._within)
        return read_lines(self._path, copy, within=self._within) if there else None

    async def close(self) -> None:
        """Close the followed file."""
        await self._follower.aclose()


def read_lines(path: Path, copy: Copy | None = None, *, within: Path | None = None) -> Iterator[bytes]:
    """Iterate over the lines of a transcript file, as in `AnyStore.lines`. Blocks. Raises OSError."""
    splitter = _splitter()
    with open_regular(path, within=within) as file:
        while chunk := file.read(READ_BYTES):
            if copy is not None:
                copy(chunk)
            yield from splitter.feed(chunk)
    if (last := splitter.finish()) is not None:
        if copy is not None:
            copy(b"\n")
        yield last


def _splitter() -> LineSplitter:
    return LineSplitter(max_line_bytes=MAX_EVENT_BYTES, head_bytes=HEAD_BYTES)


class _Row(NamedTuple):
    seq: int
    event: bytes

    @property
    def head(self) -> bytes:
        return self.event[:HEAD_BYTES] if len(self.event) > MAX_EVENT_BYTES else self.event


class SqliteStore:
    """A session as OpenClaw since 2026.8 stores it: the table `transcript_events`, with one event per row.

    The database is opened read-only. No transaction is open between reads, so that the agent's own writes and
    checkpoints are not blocked. The connection stays open while the database changes, since opening it takes thirty
    times as long as a read.
    """

    def __init__(
        self, database: Path, session_id: str, *, within: Path | None = None, links: Path | None = None
    ) -> None:
        """`database` need not exist yet. No link is followed below `within`, by default its folder.

        `links` is a folder that the agent can't reach, on the same file system, which is made and removed: SQLite opens
        files by their names, and there nobody can put anything else in their place meanwhile.
        """
        self._database = database
        self._session_id = session_id
        self._within = within or database.parent
        self._links = links
        self._seen = -1
        self._stamp: tuple[int, ...] = ()
        self._changed_at = 0.0
        self._settled = False
        self._is_behind = False
        self._kept: sqlite3.Connection | None = None
        self._kept_files: tuple[int, ...] = ()
        self._is_torn = False  # a killed writer's journal is there, which only a writer would roll back

    async def poll(self) -> list[bytes]:
        """Return the rows added since the last poll. Costs two `stat` calls if the database has not changed."""
        stamp = (*_stat(self._database), *_stat(f"{self._database}-wal"))
        if not any(stamp[:3]):
            return []  # the agent has no database yet
        if stamp != self._stamp:
            self._stamp, self._changed_at, self._settled = stamp, current_time(), False
        if self._settled:
            return []
        still_s = current_time() - self._changed_at
        rows = None if self._is_behind else self._glance()
        if rows is None:
            rows = await to_thread.run_sync(self._look, self._seen)
        if rows is None:
            return []
        self._settled = not rows and still_s > SETTLE_S
        if self._settled:
            self._let_go()
        if rows:
            self._seen = rows[-1].seq
        # After a large read there may be more: the next one runs in a thread.
        self._is_behind = sum(len(row.event) for row in rows) > GLANCE_READ_BYTES
        return [row.head for row in rows]

    def lines(self, copy: Copy | None = None) -> Iterator[bytes] | None:
        """Iterate over all rows, read in pages of `ROWS_AT_ONCE` or `PAGE_BYTES`.

        Raises TranscriptLimitError for an event that is larger than what is kept of all, and another OSError if the
        database becomes unreadable in between, or can't be opened because of the machine.
        """
        first = self._fetch(-1)
        return self._pages(first, copy) if first else None

    def _pages(self, rows: list[_Row] | None, copy: Copy | None) -> Iterator[bytes]:
        after = -1
        while rows:
            for row in rows:
                if copy is not None:
                    copy(row.event)
                    copy(b"\n")
                yield row.head
                after = row.seq
            rows = self._fetch(after)
            if rows is None:
                raise OSError(f"{self._database} could not be read to its end")

    async def close(self) -> None:
        """Close the database connection."""
        self._let_go()
        if self._links is not None and self._links.is_dir():
            remove_folder(self._links)

    def _let_go(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def _files(self) -> tuple[int, ...]:
        """Return the identities of the files that an open connection depends on.

        These include the shared-memory file, which other processes can replace or truncate.
        """
        shared, _, size = _stat(f"{self._database}-shm")
        return self._stamp[0], shared, size

    def _glance(self) -> list[_Row] | None:
        """Read the new rows without a thread, which would be ten times slower.

        Just committed rows are in memory. Returns None if the read may take longer or fails.
        """
        if self._kept is None or not 0 < self._stamp[-1] <= GLANCE_BYTES or self._files() != self._kept_files:
            return None
        try:
            return _page(self._kept, self._session_id, self._seen)
        except UNREADABLE:
            return None

    def _look(self, after: int) -> list[_Row] | None:
        """Open the database anew, read the rows after `after`, and keep the connection. Blocks.

        Returns None if the database can't be read now.
        """
        self._let_go()
        if not is_regular(self._database, within=self._within):
            return []
        files = self._files()
        try:
            with ExitStack() as stack:
                database = stack.enter_context(closing(self._open()))
                rows = _page(database, self._session_id, after)
                database.execute("PRAGMA busy_timeout = 0")
                database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
                database.set_progress_handler(lambda: 1, GLANCE_STEPS)
                stack.pop_all()
        except UNREADABLE:
            # being created, migrated or checkpointed, or another release's schema: the next poll tries again
            return None
        self._kept, self._kept_files = database, files
        return rows

    def _fetch(self, after: int) -> list[_Row] | None:
        if not is_regular(self._database, within=self._within):
            return []
        try:
            with closing(self._open(busy_s=LAST_BUSY_S)) as database:
                return _page(database, self._session_id, after, most_bytes=MAX_TRANSCRIPT_BYTES)
        except sqlite3.DataError as error:
            raise TranscriptLimitError from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
            if code in MACHINE_ERRORS:
                raise OSError(f"{self._database} can't be read: {error}") from error
            if code == sqlite3.SQLITE_READONLY and not self._is_torn:
                self._is_torn = True
                return self._fetch(after)
            return None
        except UnicodeDecodeError:
            return None

    def _place(self) -> Path:
        """Return where the database can be opened by SQLite."""
        if self._links is None:
            return self._database
        self._links.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError):  # a file system without hard links
            for suffix in DATABASE_FILES:
                name = f"{self._database.name}{suffix}"
                link_regular(self._database.with_name(name), self._links / name, within=self._within)
            return self._links / self._database.name
        return self._database

    def _open(self, *, busy_s: float | None = None) -> sqlite3.Connection:
        # of a torn database the file as it is: a journal may be the agent's, and to roll it back can delete any file
        uri = f"{self._place().as_uri()}?mode=ro{'&immutable=1' if self._is_torn else ''}"
        # reads never overlap, but may run in different threads
        timeout_s = BUSY_S if busy_s is None else busy_s
        database = sqlite3.connect(uri, uri=True, timeout=timeout_s, check_same_thread=False)
        database.text_factory = bytes  # invalid UTF-8 must not make the whole session unreadable
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TRANSCRIPT_BYTES)
        database.set_progress_handler(lambda: 1, MAX_STEPS)
        return database


def _stat(path: Path | str) -> tuple[int, int, int]:
    try:
        info = os.lstat(path)  # takes microseconds, called ten times a second per slot
    except OSError:
        return 0, 0, 0
    if not stat.S_ISREG(info.st_mode):
        return 0, 0, 0
    return info.st_ino, info.st_mtime_ns, info.st_size


NEXT = """SELECT seq, event_json, event_zstd FROM transcript_events
WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"""


def _page(
    database: sqlite3.Connection, session_id: str, after: int, *, most_bytes: int = MAX_EVENT_BYTES
) -> list[_Row]:
    """Return the next rows, about `PAGE_BYTES` of them; a packed one is cut when it has more than `most_bytes`."""
    page: list[_Row] = []
    held_bytes = 0
    with closing(database.execute(NEXT, (session_id, after, ROWS_AT_ONCE))) as rows:
        for seq, text, packed in rows:
            page.append(_Row(seq, _event(text, packed, most_bytes)))
            held_bytes += len(page[-1].event)
            if held_bytes >= PAGE_BYTES:
                break
    return page


def _event(text: object, packed: object, most_bytes: int) -> bytes:
    data = text if isinstance(text, bytes) else b""
    if not isinstance(text, bytes) and isinstance(packed, bytes):
        data = packed
        with suppress(zstandard.ZstdError):
            # a stream, because `decompress` trusts the size that a frame declares
            data = zstandard.ZstdDecompressor().stream_reader(packed).read(most_bytes + 1)
    # One event must be one line. JSON may span several, but its strings can't contain a raw newline.
    return data.replace(b"\n", b" ")


class AnyStore:
    """A session in either of the two stores.

    Which one an agent uses is detected from the files that exist, not from the release.
    """

    def __init__(self, state_dir: Path, agent_id: str, session_id: str, *, links: Path | None = None) -> None:
        """Use the session of `agent_id` below OpenClaw's `state_dir`; nothing is opened yet.

        No link is followed there. For `links` see `SqliteStore`.
        """
        agent = state_dir / "agents" / agent_id
        self.kind = ""  # `jsonl` or `sqlite`, once `lines` has found the session
        self._lock = agent / "sessions" / f"{session_id}.jsonl.lock"
        self._stores: dict[str, JsonlStore | SqliteStore] = {
            "jsonl": JsonlStore(agent / "sessions" / f"{session_id}.jsonl", within=state_dir),
            "sqlite": SqliteStore(
                agent / "agent" / "openclaw-agent.sqlite",
                session_id,
                within=state_dir,
                links=None if links is None else links / hashlib.sha256(session_id.encode()).hexdigest()[:32],
            ),
        }
        self._followed: tuple[JsonlStore | SqliteStore, ...] = tuple(self._stores.values())

    async def poll(self) -> list[bytes]:
        """Return the events added since the last poll; no event is lost on cancellation.

        After the first events, only their store is polled.
        """
        for store in self._followed:
            if lines := await store.poll():
                self._followed = (store,)
                return lines
        return []

    def is_locked(self) -> bool:
        """Return whether OpenClaw has locked a session that it stores in a file. Costs one `stat` call.

        2026.6.5 locks it about 20 ms before it calls the model, and writes the prompt only with the first reply
        (measured).
        """
        return _stat(self._lock)[0] != 0

    def lines(self, copy: Copy | None = None) -> Iterator[bytes] | None:
        """Iterate over all events from the beginning, and set `kind`; None if neither store has the session. Blocks.

        `copy` is called with each event in full, and with a newline. Of an event longer than `MAX_EVENT_BYTES`, only
        the first `HEAD_BYTES` are yielded, so that memory use stays bounded.
        """
        for kind, store in self._stores.items():
            if (lines := store.lines(copy)) is not None:
                self.kind = kind
                return lines
        return None

    async def close(self) -> None:
        """Close open files."""
        for store in self._stores.values():
            await store.close()

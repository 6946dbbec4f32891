"""Session stores of OpenClaw, JSONL files and SQLite, behind one Protocol."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import zstandard
from anyio import current_time, to_thread

from pinchbench.process.follow import Follower
from pinchbench.process.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_EVENT_BYTES = 64 * 1024 * 1024  # of one event; what is longer is cut and counted as damage
READ_BYTES = 1024 * 1024
ROWS_AT_ONCE = 200
PAGE_BYTES = 8 * 1024 * 1024  # of events, unless one alone is longer: a few rows may stand for gigabytes
MAX_STEPS = 200_000_000  # of SQLite's machine for one page, some seconds: a view may have rows without end
BUSY_S = 2.0  # how long a reader waits for a writer's lock
SETTLE_S = 1.0  # a commit makes the WAL grow before readers can see it, an fsync later at most


class SessionStore(Protocol):
    """Where one session's events lie. Events are raw JSON lines without a newline."""

    async def poll(self) -> list[bytes]:
        """Return what is new since the last poll; empty when nothing is. Cancellation loses nothing."""

    def lines(self) -> Iterator[bytes] | None:
        """Read all events from the beginning, None when the session is not in this store. Blocks."""

    async def close(self) -> None:
        """Let go of open files."""


class JsonlStore:
    """A session as OpenClaw up to 2026.7 keeps it: one file, one event a line."""

    def __init__(self, path: Path) -> None:
        """`path` need not exist yet."""
        self._path = path
        self._follower = Follower(path)
        self._splitter = LineSplitter(max_line_bytes=MAX_EVENT_BYTES)

    async def poll(self) -> list[bytes]:
        """Return the lines finished since the last poll."""
        return [line.data for line in self._splitter.feed(await self._follower.read())]

    def lines(self) -> Iterator[bytes] | None:
        """Read the whole file in bounded memory; its unfinished last line included."""
        return self._read() if self._path.is_file() else None

    def _read(self) -> Iterator[bytes]:
        splitter = LineSplitter(max_line_bytes=MAX_EVENT_BYTES)
        with self._path.open("rb") as file:
            while chunk := file.read(READ_BYTES):
                yield from (line.data for line in splitter.feed(chunk))
        if (last := splitter.finish()) is not None:
            yield last.data

    async def close(self) -> None:
        """Close the followed file."""
        await self._follower.__aexit__(None, None, None)


class SqliteStore:
    """A session as OpenClaw from 2026.8 on keeps it: rows of `transcript_events`, one event a row.

    Opened read-only for each look, so that the agent's own writing and checkpoints are never in the way.
    """

    def __init__(self, database: Path, session_id: str) -> None:
        """`database` need not exist yet."""
        self._database = database
        self._session_id = session_id
        self._seen = -1
        self._stamp: tuple[int, ...] = ()
        self._changed_at = 0.0
        self._settled = False

    async def poll(self) -> list[bytes]:
        """Return the rows added since the last poll. A look at a database that has been still costs two `stat`s."""
        stamp = self._files()
        if stamp != self._stamp:
            self._stamp, self._changed_at, self._settled = stamp, current_time(), False
        if self._settled:
            return []
        still_s = current_time() - self._changed_at
        rows = await to_thread.run_sync(self._fetch, self._seen)
        if rows is None:
            return []
        self._settled = not rows and still_s > SETTLE_S
        if rows:
            self._seen = rows[-1][0]
        return [event for _, event in rows]

    def lines(self) -> Iterator[bytes] | None:
        """Read all rows, some hundred or some megabytes at a time. Raises OSError when only a part can be read."""
        first = self._fetch(-1)
        return self._pages(first) if first else None

    def _pages(self, rows: list[tuple[int, bytes]] | None) -> Iterator[bytes]:
        while rows:
            yield from (event for _, event in rows)
            rows = self._fetch(rows[-1][0])
            if rows is None:
                raise OSError(f"{self._database} could not be read to its end")

    async def close(self) -> None:
        """Nothing is held open between looks."""

    def _files(self) -> tuple[int, ...]:
        stamp: list[int] = []
        for path in (self._database, f"{self._database}-wal"):
            try:
                info = os.stat(path)  # noqa: PTH116 - microseconds, called ten times a second and slot
            except OSError:
                stamp += [0, 0]
            else:
                stamp += [info.st_mtime_ns, info.st_size]
        return tuple(stamp)

    def _fetch(self, after: int) -> list[tuple[int, bytes]] | None:
        if not self._database.is_file():
            return []
        try:
            with closing(sqlite3.connect(f"{self._database.as_uri()}?mode=ro", uri=True, timeout=BUSY_S)) as database:
                database.text_factory = bytes  # text that is no UTF-8 must not hide the whole session
                database.set_progress_handler(lambda: 1, MAX_STEPS)
                rows = database.execute(
                    "SELECT seq, event_json, event_zstd FROM transcript_events"
                    " WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                    (self._session_id, after, ROWS_AT_ONCE),
                )
                return _page(rows)
        except sqlite3.Error:
            # being created, migrated or checkpointed, or another release's table: the next look tells
            return None


def _page(rows: Iterable[tuple[int, object, object]]) -> list[tuple[int, bytes]]:
    page: list[tuple[int, bytes]] = []
    held_bytes = 0
    for seq, text, packed in rows:
        page.append((seq, _event(text, packed)))
        held_bytes += len(page[-1][1])
        if held_bytes >= PAGE_BYTES:
            break
    return page


def _event(text: object, packed: object) -> bytes:
    data = text if isinstance(text, bytes) else _unpacked(packed) if isinstance(packed, bytes) else b""
    # one event is one line: JSON may be written on several, its strings can't hold a raw newline
    return data[:MAX_EVENT_BYTES].replace(b"\n", b" ")


def _unpacked(packed: bytes) -> bytes:
    try:
        # a stream, because `decompress` believes whatever size a frame states
        return zstandard.ZstdDecompressor().stream_reader(packed).read(MAX_EVENT_BYTES)
    except zstandard.ZstdError:
        return packed


class AnyStore:
    """Whichever of the two stores an agent turns out to use for a session.

    Which one is decided by what is there, never by the release's number.
    """

    def __init__(self, state_dir: Path, agent_id: str, session_id: str) -> None:
        """Look for the session of `agent_id` under OpenClaw's `state_dir`."""
        agent = state_dir / "agents" / agent_id
        self._stores: dict[str, SessionStore] = {
            "jsonl": JsonlStore(agent / "sessions" / f"{session_id}.jsonl"),
            "sqlite": SqliteStore(agent / "agent" / "openclaw-agent.sqlite", session_id),
        }

    async def poll(self) -> list[bytes]:
        """Return what is new in either store."""
        for store in self._stores.values():
            if lines := await store.poll():
                return lines
        return []

    def lines(self) -> Iterator[bytes] | None:
        """Read all events; None when neither store knows the session."""
        return next((lines for store in self._stores.values() if (lines := store.lines()) is not None), None)

    def kind(self) -> str:
        """`jsonl`, `sqlite`, or empty while the session is in neither."""
        return next((kind for kind, store in self._stores.items() if store.lines() is not None), "")

    async def close(self) -> None:
        """Let go of open files."""
        for store in self._stores.values():
            await store.close()

"""The sessions that a user's OpenClaw has stored, read without writing anything to its state."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.errors import ConfigError
from pinchbench.files.beneath import open_regular
from pinchbench.openclaw.sessions import JsonlStore, SessionStore, SqliteStore
from pinchbench.transcript_lines import Event, parse_line

if TYPE_CHECKING:
    from collections.abc import Iterator


DATABASE = "openclaw-agent.sqlite"
MAX_DATABASE_BYTES = 4 * 1024**3  # a copy of it is made
MAX_SESSION_BYTES = 32 * 1024 * 1024  # events; a session with dozens of screenshots is smaller
MAX_SESSIONS = 20_000  # of an agent
COPY_TRIES = 3  # OpenClaw may write while its database is being copied
# Files next to transcripts that are no transcripts: trajectories, and copies that OpenClaw sets aside.
_TRANSCRIPT = re.compile(r"(?P<id>[\w-]{1,200})\.jsonl")


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSession:
    """A session's events. `problem` says why they are not all that there were; `events` is empty then."""

    agent: str
    session_id: str
    events: tuple[Event, ...] = ()
    problem: str = ""


def stored_sessions(state: Path, *, agent: str = "", since: float = 0.0) -> Iterator[StoredSession]:
    """Yield the sessions of all agents, or of one, in either store, one agent after the other. Blocks.

    `since` is in seconds since the epoch: files that have not changed since are skipped. A database is copied into a
    private temporary folder first, because SQLite creates files next to a database that it only reads. No link is
    followed below `state`. Raises ConfigError if there is no such state folder, or no such agent.
    """
    agents = state / "agents"
    try:
        names = sorted(entry.name for entry in os.scandir(agents) if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        raise ConfigError(
            f"{state} holds no agents of OpenClaw ({error.strerror}). Name its folder with --state."
        ) from error
    if agent and agent not in names:
        raise ConfigError(f"{state} has no agent {agent!r}. There are: {', '.join(names) or 'none'}.")
    for name in [agent] if agent else names:
        yield from _of_files(state, name, since)
        yield from _of_database(state, name)


def _of_files(state: Path, agent: str, since: float) -> Iterator[StoredSession]:
    folder = state / "agents" / agent / "sessions"
    try:
        entries = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return
    found = [(match["id"], entry) for entry in entries if (match := _TRANSCRIPT.fullmatch(entry.name))]
    for session_id, entry in sorted(found, key=lambda one: one[0])[:MAX_SESSIONS]:
        if entry.stat(follow_symlinks=False).st_mtime >= since:
            yield _read(JsonlStore(Path(entry.path), within=state), agent, session_id)


def _of_database(state: Path, agent: str) -> Iterator[StoredSession]:
    database = state / "agents" / agent / "agent" / DATABASE
    with tempfile.TemporaryDirectory(prefix="pinchbench-history-") as folder:
        copy = Path(folder) / DATABASE
        try:
            _copy_unchanged(database, copy, state)
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = bytes
                query = "SELECT DISTINCT session_id FROM transcript_events LIMIT ?"
                names = [row[0] for row in connection.execute(query, (MAX_SESSIONS,))]
        except FileNotFoundError:
            return
        except (OSError, sqlite3.Error) as error:
            problem = f"its database can't be read: {getattr(error, 'strerror', None) or error}"
            yield StoredSession(agent=agent, session_id=DATABASE, problem=problem)
            return
        for name in sorted(name.decode("utf-8", "replace") for name in names if isinstance(name, bytes)):
            yield _read(SqliteStore(copy, name), agent, name)


def _copy_unchanged(database: Path, copy: Path, state: Path) -> None:
    """Copy a database and its log, and start again if they change meanwhile. Raises OSError."""
    for _ in range(COPY_TRIES):
        before = _stamp(database)
        if sum(size for _, size in before) > MAX_DATABASE_BYTES:
            raise OSError(f"it is larger than {MAX_DATABASE_BYTES // 1024**3} GiB")
        _copy_files(database, copy, state)
        if _stamp(database) == before:
            break


def _stamp(database: Path) -> list[tuple[int, int]]:
    infos = [path.lstat() for path in (database, Path(f"{database}-wal")) if path.exists()]
    return [(info.st_mtime_ns, info.st_size) for info in infos]


def _copy_files(database: Path, copy: Path, state: Path) -> None:
    for suffix in ("", "-wal"):
        try:
            with (
                open_regular(Path(f"{database}{suffix}"), within=state) as source,
                Path(f"{copy}{suffix}").open("wb") as target,
            ):
                shutil.copyfileobj(source, target)
        except FileNotFoundError:
            if not suffix:
                raise


def _read(store: SessionStore, agent: str, session_id: str) -> StoredSession:
    events: list[Event] = []
    left_bytes = MAX_SESSION_BYTES
    problem = ""
    try:
        for line in store.lines() or ():
            left_bytes -= len(line)
            if left_bytes < 0:
                problem = f"it is larger than {MAX_SESSION_BYTES // 1024**2} MiB"
                break
            events += parse_line(line).events
    except OSError as error:
        problem = f"it can't be read: {error.strerror or error}"
    return StoredSession(agent=agent, session_id=session_id, events=() if problem else tuple(events), problem=problem)

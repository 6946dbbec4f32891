"""Both session stores, as real files: growing, locked, torn, absent."""

import json
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from anyio import CancelScope, fail_after

from fake_openclaw import EVENTS_SCHEMA
from pinchbench.openclaw.sessions import (
    ROWS_AT_ONCE,
    AnyStore,
    JsonlStore,
    SessionStore,
    SqliteStore,
    TranscriptLimitError,
    _Row,
    read_lines,
)

EVENT = b'{"type":"message","text":"\xe2\x80\xa8 \xc3\xa9"}'


@contextmanager
def new_database(path: Path, *, wal: bool = True) -> Iterator[sqlite3.Connection]:
    """A writer that keeps its database open, as the real one does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        if wal:
            writer.execute("PRAGMA journal_mode=WAL")
        writer.execute(EVENTS_SCHEMA)
        yield writer


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with new_database(tmp_path / "sessions.sqlite") as writer:
        yield writer


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """The session in that database."""
    return SqliteStore(tmp_path / "sessions.sqlite", "s")


def add(writer: sqlite3.Connection, seq: int, event: bytes | str | None, packed: bytes | None = None) -> None:
    text = event.decode() if isinstance(event, bytes) else event
    writer.execute("INSERT INTO transcript_events VALUES ('s', ?, ?, ?, 0)", (seq, text, packed))


def every(store: SessionStore) -> list[bytes] | None:
    lines = store.lines()
    return None if lines is None else list(lines)


async def poll_for(store: SessionStore, count: int) -> list[bytes]:
    """Poll until so many events have come."""
    found: list[bytes] = []
    with fail_after(60):
        while len(found) < count:
            found += await store.poll()
    return found


async def poll_all(store: SessionStore, count: int) -> list[bytes]:
    """Poll until so many events have come, and no more."""
    found = await poll_for(store, count)
    await store.close()
    return found


def copied(store: SessionStore) -> bytes:
    """What is kept as evidence."""
    copy = BytesIO()
    for _ in store.lines(copy.write) or ():
        pass
    return copy.getvalue()


async def test_a_jsonl_file_is_followed_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = JsonlStore(path)
    assert await store.poll() == []
    assert store.lines() is None
    with path.open("ab", buffering=0) as file:
        file.write(EVENT + b"\n" + EVENT[:10])
        assert await store.poll() == [EVENT]
        assert await store.poll() == []
        assert every(store) == [EVENT, EVENT[:10]]
        file.write(EVENT[10:] + b"\nlast")
        assert await store.poll() == [EVENT]
    assert every(store) == [EVENT, EVENT, b"last"]
    await store.close()


async def test_a_cancelled_poll_loses_nothing_and_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\n")
    store = JsonlStore(path)
    lines: list[bytes] = []
    with CancelScope() as scope:
        scope.cancel()
        lines += await store.poll()
    assert lines == [b"one"]
    assert await store.poll() == []
    await store.close()


async def test_rows_are_seen_while_the_writer_keeps_its_database_open(
    database: sqlite3.Connection, store: SqliteStore
) -> None:
    assert await store.poll() == []
    assert store.lines() is None
    expected: list[bytes] = []
    for number in range(5):
        add(database, number, f'{{"n":{number}}}')
        expected.append(f'{{"n":{number}}}'.encode())
        assert await poll_for(store, 1) == expected[-1:]
    assert every(store) == expected
    add(database, 5, EVENT)
    database.execute("INSERT INTO transcript_events VALUES ('other', 6, '{}', NULL, 0)")
    assert await poll_for(store, 1) == [EVENT]
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert await store.poll() == []
    await store.close()


async def test_packed_rows_are_unpacked_and_what_is_no_event_is_kept(
    database: sqlite3.Connection, store: SqliteStore
) -> None:
    add(database, 0, None, zstandard.ZstdCompressor().compress(EVENT))
    stream = zstandard.ZstdCompressor().compressobj()  # a frame that does not say how long its text is
    add(database, 1, None, stream.compress(EVENT * 100) + stream.flush())
    add(database, 2, None, b"not zstd")
    add(database, 3, None, None)
    assert await poll_all(store, 4) == every(store) == [EVENT, EVENT * 100, b"not zstd", b""]
    assert copied(store) == EVENT + b"\n" + EVENT * 100 + b"\nnot zstd\n\n"


async def test_few_rows_that_stand_for_much_are_never_held_all_at_once(
    database: sqlite3.Connection, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.openclaw.sessions.PAGE_BYTES", 2_500)
    packed = zstandard.ZstdCompressor().compress(b"0" * 1_000)
    for number in range(9):
        add(database, number, *(("0" * 1_000, None) if number % 2 else (None, packed)))
    assert [len(row.event) for row in store._fetch(-1) or ()] == [1_000] * 3
    assert await poll_all(store, 9) == every(store) == [b"0" * 1_000] * 9


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that an event reaches soon."""
    monkeypatch.setattr("pinchbench.openclaw.sessions.MAX_EVENT_BYTES", 1_000)
    monkeypatch.setattr("pinchbench.openclaw.sessions.HEAD_BYTES", 5)
    monkeypatch.setattr("pinchbench.openclaw.sessions.READ_BYTES", 300)
    monkeypatch.setattr("pinchbench.openclaw.sessions.MAX_TRANSCRIPT_BYTES", 50_000)


LONG = b"head" + b"x" * 5_000
PACKED = zstandard.ZstdCompressor().compress(LONG)
NOISE = random.Random(1).randbytes(5_000).replace(b"\n", b"")  # no zstd, and none shorter


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("last", [b"", b"last"])
async def test_of_a_line_that_is_too_long_the_head_is_read_and_all_is_kept(tmp_path: Path, last: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"first\n" + LONG + b"\nthird\n" + last)
    store = JsonlStore(path)
    assert await poll_all(store, 3) == [b"first", LONG[:5], b"third"]
    assert every(store) == [b"first", LONG[:5], b"third", *filter(None, [last])]
    assert copied(store) == path.read_bytes() + (b"\n" if last else b"")
    path.write_bytes(copied(store))
    assert list(read_lines(path)) == every(store)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("event", "packed", "whole"),
    [
        (LONG[:10] + b"\n" + LONG[10:], None, LONG[:10] + b" " + LONG[10:]),
        (None, PACKED, LONG),
        (None, zstandard.ZstdCompressor().compress(NOISE), NOISE),
        (None, NOISE, NOISE),
        (None, zstandard.ZstdCompressor().compress(b"0" * 1_000_000), b"0" * 50_001),
    ],
    ids=["text", "packed short", "packed long", "no zstd", "bomb"],
)
async def test_of_an_event_that_is_too_long_the_head_is_read_and_all_is_kept(
    tmp_path: Path, event: bytes | None, packed: bytes | None, whole: bytes
) -> None:
    path = tmp_path / "long.sqlite"
    with new_database(path) as writer:
        add(writer, 0, "first")
        store = SqliteStore(path, "s")
        assert await poll_for(store, 1) == [b"first"]
        add(writer, 1, event, packed)
        add(writer, 2, "third")
        heads = [b"first", whole[:5], b"third"]
        assert await poll_all(store, 2) == heads[1:]
        assert every(store) == heads
        assert copied(store) == b"first\n" + whole + b"\nthird\n"


@pytest.mark.usefixtures("short")
async def test_an_event_that_is_larger_than_what_is_kept_of_all_is_named_so(
    database: sqlite3.Connection, store: SqliteStore
) -> None:
    add(database, 0, "first")
    add(database, 1, "x" * 50_001)
    assert await store.poll() == []
    with pytest.raises(TranscriptLimitError):
        every(store)
    await store.close()


async def test_a_database_that_changes_stays_open_and_is_opened_anew_when_it_is_another(
    tmp_path: Path, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.sqlite"
    store = SqliteStore(path, "s")
    add(database, 0, "one")
    assert await poll_for(store, 1) == [b"one"]
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", None)
        for number in range(1, 4):
            add(database, number, str(number))
            assert await poll_for(store, 1) == [str(number).encode()]
            assert not database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]  # nobody reads
            add(database, 10 * number, "later")
            database.execute("DELETE FROM transcript_events WHERE event_json = 'later'")
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink()
    with new_database(path) as other:
        add(other, 7, "seven")
        assert await poll_for(store, 1) == [b"seven"]
        add(other, 8, "eight")
        assert await poll_for(store, 1) == [b"eight"]
    await store.close()


async def test_memory_that_was_cut_behind_our_back_is_not_read(tmp_path: Path, database: sqlite3.Connection) -> None:
    add(database, 0, EVENT)
    copy = tmp_path / "copy.sqlite"  # which nobody else in this process has open
    for suffix in ("", "-wal", "-shm"):
        shutil.copyfile(tmp_path / f"sessions.sqlite{suffix}", f"{copy}{suffix}")
    store = SqliteStore(copy, "s")
    assert await store.poll() == [EVENT]
    assert store._glance() == []
    os.truncate(f"{copy}-shm", 0)
    assert store._glance() is None
    assert await store.poll() == []
    await store.close()


async def test_many_rows_come_in_order_by_either_way(database: sqlite3.Connection, store: SqliteStore) -> None:
    count = 2 * ROWS_AT_ONCE + 7
    database.execute("BEGIN")
    for number in range(count):
        add(database, number * 2, str(number))
    database.execute("COMMIT")
    expected = [str(number).encode() for number in range(count)]
    assert await poll_all(store, count) == expected
    assert every(store) == expected


@pytest.mark.parametrize("content", [b"", b"this is no database", None])
async def test_a_database_without_the_table_holds_no_session(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.sqlite"
    if content is None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE transcript_events (something_else)")
    else:
        path.write_bytes(content)
    store = SqliteStore(path, "s")
    assert await store.poll() == []
    assert store.lines() is None


async def test_rows_behind_a_lock_are_seen_when_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BUSY_S", "LAST_BUSY_S"):
        monkeypatch.setattr(f"pinchbench.openclaw.sessions.{name}", 0.01)
    path = tmp_path / "locked.sqlite"
    with new_database(path, wal=False) as writer:  # not WAL: readers have to wait
        add(writer, 0, EVENT)
        writer.execute("BEGIN EXCLUSIVE")
        store = SqliteStore(path, "s")
        assert await store.poll() == []
        with pytest.raises(OSError, match="locked"):  # it is not one that is elsewhere
            store.lines()
        writer.execute("ROLLBACK")  # the file stays as it was
        assert await store.poll() == [EVENT]
        assert every(store) == [EVENT]
        await store.close()


def test_a_lock_that_outlasts_a_turn_is_waited_for_when_the_transcript_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.openclaw.sessions.BUSY_S", 0.0)  # of a look at a running agent's
    path = tmp_path / "locked.sqlite"
    is_locked, is_read = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN EXCLUSIVE")
            is_locked.set()
            is_read.wait(0.3)  # much longer than a look waits
            writer.execute("ROLLBACK")

    with new_database(path, wal=False) as writer:
        add(writer, 0, EVENT)
    holder = threading.Thread(target=hold)
    holder.start()
    try:
        is_locked.wait(60)
        assert every(SqliteStore(path, "s")) == [EVENT]
    finally:
        is_read.set()
        holder.join()


def test_what_a_killed_agent_left_in_a_rollback_journal_hides_no_session(tmp_path: Path) -> None:
    path, left = tmp_path / "openclaw.sqlite", tmp_path / "left"
    left.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")  # so that what is not committed is in the file
        writer.execute(EVENTS_SCHEMA)
        for number in range(20):
            add(writer, number, EVENT)
        writer.execute("BEGIN")
        for number in range(20, 200):
            add(writer, number, f'{{"n":"{"x" * 900}"}}')
        for file in (path, path.with_name(f"{path.name}-journal")):
            shutil.copy(file, left)
        writer.execute("ROLLBACK")

    assert (every(SqliteStore(left / path.name, "s")) or [])[:20] == [EVENT] * 20


@pytest.mark.parametrize("own", range(2))
async def test_a_session_whose_file_has_a_second_name_is_read_to_its_end(tmp_path: Path, own: int) -> None:
    place = tmp_path / "state" / OWN[own]
    place.parent.mkdir(parents=True)
    os.link(_another_session(tmp_path / "backup") / place.name, place)
    store = AnyStore(tmp_path / "state", "bench", "s", links=tmp_path / "links")

    assert await store.poll() == [EVENT]
    assert copied(store) == EVENT + b"\n"
    await store.close()


def test_a_database_that_the_machine_can_not_open_is_no_missing_session(
    monkeypatch: pytest.MonkeyPatch, database: sqlite3.Connection, store: SqliteStore
) -> None:
    add(database, 0, EVENT)

    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", refuse)
        with pytest.raises(OSError, match="unable to open"):
            store.lines()
    assert every(store) == [EVENT]


async def test_a_commit_that_readers_see_later_than_its_bytes_is_not_missed(
    database: sqlite3.Connection, store: SqliteStore
) -> None:
    # A commit writes the WAL first and lets readers see it then: what a look shows may be older than the file's size.
    add(database, 0, EVENT)
    look, held = store._look, [True]

    def late(after: int) -> list[_Row] | None:
        return [] if held and held.pop() else look(after)

    store._look = late  # type: ignore[method-assign]
    assert await store.poll() == []
    assert await store.poll() == [EVENT]
    await store.close()


async def test_a_database_that_is_still_is_not_opened_again(
    database: sqlite3.Connection, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.openclaw.sessions.SETTLE_S", -1.0)
    add(database, 0, EVENT)
    assert await store.poll() == [EVENT]
    assert await store.poll() == []
    monkeypatch.setattr(sqlite3, "connect", None)
    assert await store.poll() == []


async def test_whichever_store_is_there_is_used(tmp_path: Path) -> None:
    agent = tmp_path / "agents" / "bench"
    absent = AnyStore(tmp_path, "bench", "s")
    assert await absent.poll() == []
    assert (absent.lines(), absent.kind) == (None, "")
    (agent / "agent").mkdir(parents=True)
    with new_database(agent / "agent" / "openclaw-agent.sqlite", wal=False) as writer:
        assert absent.kind == ""
        add(writer, 0, json.dumps({"from": "sqlite"}))
    assert (await poll_for(absent, 1), every(absent), absent.kind) == (
        [b'{"from": "sqlite"}'],
        [b'{"from": "sqlite"}'],
        "sqlite",
    )
    (agent / "sessions").mkdir()
    (agent / "sessions" / "s.jsonl").write_bytes(b'{"from": "jsonl"}\n')
    store = AnyStore(tmp_path, "bench", "s")
    assert (await store.poll(), every(store), store.kind) == ([b'{"from": "jsonl"}'], [b'{"from": "jsonl"}'], "jsonl")
    await store.close()
    await absent.close()


OWN = "agents/bench/agent/openclaw-agent.sqlite", "agents/bench/sessions/s.jsonl"


def _another_session(place: Path) -> Path:
    """Write a session that its agent must not read."""
    place.mkdir()
    (place / "s.jsonl").write_bytes(EVENT + b"\n")
    with new_database(place / "openclaw-agent.sqlite", wal=False) as writer:
        add(writer, 0, EVENT)
    return place


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("put", ["link", "folder", "pipe", "environment"])
async def test_what_an_agent_puts_in_a_sessions_place_is_no_session(tmp_path: Path, own: str, put: str) -> None:
    state = tmp_path / "home" / "state"
    place = state / own
    place.parent.parent.mkdir(parents=True)
    other = _another_session(tmp_path / "other")
    if put == "folder":
        place.parent.symlink_to(other)
    else:
        place.parent.mkdir()
    match put:
        case "link":
            place.symlink_to(other / place.name)
        case "environment":
            place.symlink_to("/proc/self/environ")
        case "pipe":
            os.mkfifo(place)
    store = AnyStore(state, "bench", "s", links=tmp_path / "links")
    with fail_after(60):
        assert await store.poll() == []
        assert (store.lines(), store.kind) == (None, "")
        await store.close()


async def test_a_database_is_read_through_links_that_nobody_else_can_change(tmp_path: Path) -> None:
    state = tmp_path / "state"
    place = state / OWN[0]
    place.parent.mkdir(parents=True)
    store = AnyStore(state, "bench", "s", links=tmp_path / "links")
    with new_database(place) as writer:
        add(writer, 0, EVENT)
        assert await poll_for(store, 1) == [EVENT]
        add(writer, 1, EVENT)
        assert await poll_for(store, 1) == [EVENT]
    with closing(sqlite3.connect(place, isolation_level=None)) as writer:  # the next turn, with a new log
        add(writer, 2, EVENT)
        assert await poll_for(store, 1) == [EVENT]
        assert every(store) == [EVENT] * 3
    await store.close()
    assert list((tmp_path / "links").iterdir()) == []

"""Transcripts and the stores they lie in, in any state: events, damage that is counted, memory that stays flat."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from fake_openclaw import EVENTS_SCHEMA
from fuzz.examples import examples_of
from fuzz.mutation import (
    BYTE_CHANGES,
    DEPTHS,
    HOSTILE_BYTES,
    HOSTILE_TEXTS,
    Change,
    change_bytes,
    data,
    encoded,
    json_texts,
    to_text,
)
from judge_questions import blocks_of, mark_of
from made_tasks import made_task
from pinchbench.grading.judge.prompt import ask
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.openclaw import sessions
from pinchbench.openclaw.sessions import AnyStore, JsonlStore, SqliteStore
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader, describe
from pinchbench.process.follow import LineSplitter
from pinchbench.results.records import TrialFinished, decode, encode
from pinchbench.transcript_lines import parse_line

USAGE = {"input": 80, "output": 10, "cacheRead": 20, "cacheWrite": 0, "totalTokens": 110, "cost": {"total": 0.003}}
ASSISTANT = {"role": "assistant", "provider": "mock", "model": "m1", "usage": USAGE}


def message(number: int, role: str, content: object, **more: object) -> dict[str, object]:
    inner = (ASSISTANT if role == "assistant" else {"role": role}) | more | {"content": content}
    return {"type": "message", "id": f"a{number}", "timestamp": "t", "message": inner}


def text(said: str) -> list[object]:
    return [{"type": "text", "text": said}]


CALL = {"type": "toolCall", "id": "c1", "name": "write", "arguments": {"path": "a.txt", "content": "x"}}
EVENTS: list[object] = [
    {"type": "session", "version": 3, "id": "s", "timestamp": "2026-06-01T10:00:00.000Z", "cwd": "/w"},
    {"type": "model_change", "id": "a1", "parentId": None, "timestamp": "t", "provider": "mock", "modelId": "m1"},
    message(2, "user", text("Do it."), timestamp=1750000000000),
    message(3, "user", "Continue where you left off"),
    message(4, "assistant", [{"type": "thinking", "thinking": "hm"}, CALL], stopReason="toolUse"),
    message(5, "toolResult", "ok", toolCallId="c1", toolName="write", isError=False),
    message(6, "assistant", text("Done. 🦀"), stopReason="stop"),
    message(7, "assistant", [], stopReason="error", errorMessage="429 slow down"),
]
LINES = [json.dumps(event, ensure_ascii=False).encode() for event in EVENTS]
SPLICED = LINES[2][:40] + LINES[4] + LINES[6]
LINE = st.one_of(encoded(json_texts(EVENTS)), data([*LINES, SPLICED]))
FILE = st.lists(LINE, max_size=5).map(b"\n".join)
TASK = made_task()


def check_facts(facts: TranscriptFacts, lines: int) -> None:
    usage = facts.usage
    counts = (
        usage.requests,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    assert all(
        count >= 0 for count in (*counts, usage.total_tokens, facts.events, facts.tool_calls, facts.user_messages)
    )
    assert usage.cost_usd >= 0
    assert facts.damaged <= lines
    # all of it goes to terminals and into files
    "".join((*facts.models, facts.final_text, facts.error)).encode()


def read(lines: Iterable[bytes]) -> TranscriptFacts:
    reader = TranscriptReader()
    fed = list(lines)
    for line in fed:
        for event in reader.feed(line):
            assert isinstance(event, dict)
            describe(event).encode()
    check_facts(reader.facts, len(fed))
    return reader.facts


@given(LINE)
@examples_of("transcript line")
def test_a_line_is_events_and_what_is_no_event_is_kept_as_text(line: bytes) -> None:
    parsed = parse_line(line)
    pieces = [str(event["raw"]) for event in parsed.events if event.keys() == {"raw", "parse_error"}]
    assert parsed.damaged or len(parsed.events) <= 1
    assert not parsed.damaged or sum(map(len, pieces)) <= len(line.decode("utf-8", "replace"))
    assert not parsed.damaged or len(parsed.events) <= 2 * 64 + 1
    if not line.strip():
        assert parsed.events == ()
    read([line])


@given(FILE)
@example(to_text(message(1, "assistant", text("\ud800"), provider="\ud800")).encode())
@example(b'{"raw": "\\ud800", "parse_error": "x"}')
@examples_of("transcript")
def test_any_transcript_is_counted_and_can_be_shown_to_a_judge(text: bytes) -> None:
    lines = text.split(b"\n")
    read(lines)
    question = ask(TASK, (event for line in lines for event in parse_line(line).events), ())
    for shown in (question.system, question.material, *question.cut):
        shown.encode()
    assert "transcript" in blocks_of(question)
    assert question.material.count(f"{mark_of(question)} BEGIN") == question.material.count(f"{mark_of(question)} END")


@given(st.integers(0, len(EVENTS) - 1), st.sampled_from(DEPTHS), st.sampled_from(["{", "[", '{"message":{"content":']))
@examples_of("deep transcript")
def test_no_nesting_is_too_deep(number: int, depth: int, opening: str) -> None:
    line = to_text(EVENTS[number])[:-1] + ',"deep":' + opening * depth
    read([line.encode(), *LINES])
    whole = to_text(
        {"type": "message", "timestamp": "t", "message": {"role": "assistant", "provider": f"deep@{depth}"}}
    )
    read([whole.encode(), *LINES])


@given(FILE)
@example(b"\n".join([LINES[6].replace(b"0.003", b"1.7e308")] * 2))
@examples_of("numbers of a transcript")
def test_what_a_transcript_counts_comes_back_from_the_journal(text: bytes) -> None:
    facts = read(text.split(b"\n"))
    outcome = Outcome(
        key=TrialKey(task_id="t", repetition=1),
        reason=Reason.COMPLETED,
        digest="d",
        usage=facts.usage,
        models=facts.models,
        note=facts.error,
        transcript_length=facts.events,
        damaged_lines=facts.damaged,
    )
    assert decode(encode(TrialFinished(outcome=outcome))) == TrialFinished(outcome=outcome)


@given(
    st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([b"\n", b"\r\n", b"\xe2\x80\xa8"])), max_size=12),
    st.integers(1, 40),
)
@examples_of("lines")
def test_lines_are_the_same_however_the_bytes_come(chunks: list[bytes], most: int) -> None:
    splitter = LineSplitter(max_line_bytes=most)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    last = splitter.finish()
    expected = b"".join(chunks).split(b"\n")
    *whole, rest = [part[:most] for part in expected]
    assert lines == whole
    assert (last or b"") == rest


async def poll_all(store: AnyStore | JsonlStore | SqliteStore) -> list[bytes]:
    found: list[bytes] = []
    while lines := await store.poll():
        found += lines
    await store.close()
    return found


@given(FILE)
@examples_of("jsonl store")
def test_a_jsonl_store_gives_every_byte_of_any_file_line_by_line(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(text)
    lines = list(JsonlStore(path).lines() or ())
    assert b"\n".join(lines) == text.removesuffix(b"\n")
    polled = anyio.run(poll_all, JsonlStore(path))
    assert polled == text.split(b"\n")[:-1]
    read(lines)


PACKER = zstandard.ZstdCompressor(level=1)
BOMB = PACKER.compress(b"\0" * 3_000_000) + b"tail"
PACKED = data([*map(PACKER.compress, LINES), PACKER.compress(LINES[0])[:-3], BOMB])
CELL = st.one_of(
    st.none(),
    LINE,
    PACKED,
    LINE.map(lambda line: line.decode("utf-8", "replace")),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.just(BOMB),
)
SEQ = st.one_of(
    st.integers(0, 500),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text("ab1.", max_size=3),
    st.binary(max_size=3),
)
ROW = st.tuples(st.sampled_from(["s", "other", "S"]), SEQ, CELL, CELL, st.integers(0, 3))
LOOSE_SCHEMA = "CREATE TABLE transcript_events (session_id, seq, event_json, event_zstd, created_at)"
OTHER_SCHEMAS = (
    "CREATE TABLE transcript_events (session_id, seq, event_json)",
    "CREATE TABLE transcript_event (session_id, seq, event_json, event_zstd)",
    # rows without end
    """CREATE VIEW transcript_events AS WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n)
    SELECT 's' AS session_id, seq, '{}' AS event_json, NULL AS event_zstd FROM n""",
)


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that small examples reach, too."""
    monkeypatch.setattr(sessions, "MAX_EVENT_BYTES", 100_000)
    monkeypatch.setattr(sessions, "PAGE_BYTES", 150_000)
    monkeypatch.setattr(sessions, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(sessions, "MAX_STEPS", 200_000)
    monkeypatch.setattr(sessions, "BUSY_S", 0.0)
    monkeypatch.setattr(sessions, "LAST_BUSY_S", 0.0)


def check_lines(store: SqliteStore) -> list[bytes]:
    try:
        lines = list(store.lines() or ())
    except OSError:
        return []
    assert all(b"\n" not in line and len(line) <= 100_000 for line in lines)
    read(lines)
    return lines


@given(
    schema=st.sampled_from([EVENTS_SCHEMA, EVENTS_SCHEMA, LOOSE_SCHEMA, *OTHER_SCHEMAS]),
    rows=st.lists(ROW, max_size=8),
    is_locked=st.booleans(),
)
@examples_of("sqlite store")
@pytest.mark.usefixtures("tight")
def test_a_database_may_hold_any_values_and_rows_without_end(
    tmp_path: Path, schema: str, rows: list[tuple[object, ...]], is_locked: bool
) -> None:
    path = tmp_path / "hostile.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=MEMORY")
        writer.execute("PRAGMA synchronous=OFF")
        writer.execute(schema)
        written = 0
        if schema in (EVENTS_SCHEMA, LOOSE_SCHEMA):
            for row in rows:
                written += writer.execute(
                    "INSERT OR IGNORE INTO transcript_events VALUES (?, ?, ?, ?, ?)", row
                ).rowcount
        store = SqliteStore(path, "s")
        lines = check_lines(store)
        assert len(lines) <= written
        if schema == EVENTS_SCHEMA:
            numbers = (
                "SELECT count(*) FROM transcript_events WHERE session_id = 's' AND typeof(seq) = 'integer' AND seq >= 0"
            )
            assert len(lines) >= writer.execute(numbers).fetchone()[0]
        if is_locked:
            writer.execute("BEGIN EXCLUSIVE")
            assert check_lines(store) == []


def make_database(path: Path, journal_mode: str) -> bytes:
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA page_size=512")
        writer.execute(f"PRAGMA journal_mode={journal_mode}")
        writer.execute(EVENTS_SCHEMA)
        for seq, line in enumerate([*LINES, *LINES]):
            cells = (None, PACKER.compress(line)) if seq % 3 else (line.decode(), None)
            writer.execute("INSERT INTO transcript_events VALUES ('s', ?, ?, ?, 0)", (seq, *cells))
    return path.read_bytes()


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("databases")
    return [make_database(folder / mode, mode) for mode in ("DELETE", "WAL")]


@given(st.integers(0, 3), st.integers(0, 3), BYTE_CHANGES)
@examples_of("sqlite file")
@pytest.mark.usefixtures("tight")
def test_a_damaged_database_gives_events_or_none_or_says_that_it_ends_early(
    tmp_path: Path, databases: list[bytes], which: int, donor: int, changes: list[Change]
) -> None:
    path = tmp_path / "damaged.sqlite"
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    corpus = [*databases, b"SQLite format 3\0", b""]
    path.write_bytes(change_bytes(corpus[which], changes, corpus[donor]))
    store = SqliteStore(path, "s")
    check_lines(store)
    anyio.run(poll_all, store)


def test_the_hostile_texts_and_bytes_hold_what_they_are_for() -> None:
    assert {"\x1b", "\x9b", "\u202e", "\ud800"} <= set("".join(HOSTILE_TEXTS))
    assert b"\xff\xfe" in HOSTILE_BYTES

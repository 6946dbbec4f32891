"""The log of a gateway, read once for all its agents, with each record assigned to the turn that it belongs to."""

from __future__ import annotations

import json
import re
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from anyio import Lock, move_on_after

from pinchbench.process.follow import CLOSE_LIMIT_S, Follower
from pinchbench.process.lines import LineSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
    from pathlib import Path

MAX_RECORD_BYTES = 64 * 1024  # the longest record of 2026.9.6 is 4 KiB (measured)
KEPT_BYTES = 256 * 1024  # per trial, about 1000 records; a turn of 2026.9.6 writes about ten, a retry five (measured)
LOOKS = 2  # reads of 256 KiB per poll: an agent can write to the log too, and must not delay the others
UNCLAIMED = 1000  # records kept until a session claims them, usually within 125 ms

_RUN = re.compile(r"\brunId=([\w-]+)")
# OpenClaw adds event names and digests to the message; the provider's own message is put last, as on stderr
_FIELDS_LEFT_OUT = frozenset({"event", "tags", "rawErrorHash", "rawErrorPreview"})


@dataclass(frozen=True, kw_only=True, slots=True)
class LogRecord:
    """One record of the log.

    Attributes:
        at: when it was written, in seconds since the epoch; 0 if unknown.
        text: the record in the format that OpenClaw uses on stderr.
        line: the record as in the file.
        run_id: identifies a turn; may be empty.
        trace_id: identifies a request to the gateway, such as a turn; may be empty. 2026.9.6 writes both ids, 2026.6.5
            only `run_id`.
    """

    at: float
    text: str
    line: str
    run_id: str = ""
    trace_id: str = ""


def parse_record(line: bytes) -> LogRecord | None:
    """Parse one line of the log; return None if it isn't a record."""
    text = line.decode("utf-8", "replace")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(message := record.get("message"), str):
        return None
    stamp = str(record.get("time") or "")
    # the arguments of the logging call are members with their numbers as names
    fields = next((value for key, value in record.items() if key.isdigit() and isinstance(value, dict)), {})
    run_id = fields.get("runId") or next(iter(_RUN.findall(message)), "")
    return LogRecord(
        at=_seconds(stamp),
        text=f"{stamp} [{_subsystem(record)}] {_words(message, fields)}",
        line=text,
        run_id=str(run_id),
        trace_id=str(record.get("traceId") or ""),
    )


def _seconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def _subsystem(record: Mapping[str, object]) -> str:
    meta = record.get("_meta")
    name = meta.get("name") if isinstance(meta, dict) else ""
    try:
        named = json.loads(str(name))
    except (ValueError, RecursionError):
        return str(name)
    return str(named.get("subsystem") or named.get("module")) if isinstance(named, dict) else str(name)


def _words(message: str, fields: Mapping[str, object]) -> str:
    """Return the message and its fields as one line, as on stderr."""
    shown = {name: value for name, value in fields.items() if name not in _FIELDS_LEFT_OUT}
    if error := shown.pop("error", None):
        shown["error"] = error
    if raw := fields.get("rawErrorPreview"):
        shown["rawError"] = raw
    told = " ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in shown.items()
    )
    return " ".join((f"{message}: {told}" if told else message).split())


class LogPart:
    """The last records of one trial, as text of about `KEPT_BYTES` at most."""

    def __init__(self) -> None:
        """Start empty."""
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._left_out = 0

    def add(self, record: LogRecord) -> None:
        """Add a record, and drop the oldest ones if there are too many."""
        self._lines.append(record.text)
        self._bytes += len(record.text)
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._lines.popleft())
            self._left_out += 1

    @property
    def text(self) -> str:
        """The kept records, one per line; empty if there were none."""
        head = f"… {self._left_out} earlier records are left out\n" if self._left_out else ""
        return head + "".join(f"{line}\n" for line in self._lines)


@dataclass(slots=True)
class Listener:
    """A receiver of the records of some sessions. `take` is called on the event loop and must not block."""

    take: Callable[[LogRecord], None]
    log: GatewayLog
    sessions: list[re.Pattern[str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # of turns and traces

    def expect_session(self, session_id: str) -> None:
        """Expect records that contain this session id."""
        self.sessions.append(re.compile(rf"(?<![\w-]){re.escape(session_id)}(?![\w-])"))

    def expect_run(self, run_id: str) -> None:
        """Expect records of this turn, including those that were read before the turn was known."""
        if run_id not in self.ids:
            self.ids.add(run_id)
            self.log.claim_again()

    def owns(self, record: LogRecord) -> bool:
        """Return whether a record belongs to one of the expected sessions or turns."""
        if record.run_id in self.ids or record.trace_id in self.ids:
            return True
        return any(session.search(record.line) for session in self.sessions)


class GatewayLog:
    """Reads a gateway's log for all trials that run turns in it: a poll by any of them delivers records to all.

    The file may be missing or replaced. It is open only while there are listeners.
    """

    def __init__(self, path: Path, *, from_byte: int = 0) -> None:
        """Start at offset `from_byte` of the file, without opening it yet."""
        self._follower = Follower(path, from_byte=from_byte)
        self._splitter = LineSplitter(max_line_bytes=MAX_RECORD_BYTES)
        self._listeners: list[Listener] = []
        self._unclaimed: deque[LogRecord] = deque(maxlen=UNCLAIMED)
        self._reading = Lock()

    @asynccontextmanager
    async def listening(self, take: Callable[[LogRecord], None]) -> AsyncGenerator[Listener]:
        """Register a listener for the block: `take` receives the records that it expects during each poll."""
        listener = Listener(take=take, log=self)
        self._listeners.append(listener)
        try:
            yield listener
        finally:
            self._listeners.remove(listener)
            if not self._listeners:
                with move_on_after(CLOSE_LIMIT_S, shield=True):
                    await self._follower.close()

    @property
    def failure(self) -> OSError | None:
        """The error of the last read, if the machine caused it (see `Follower`)."""
        return self._follower.failure

    async def poll(self) -> None:
        """Read new records and pass each one to its listener."""
        async with self._reading:
            for _ in range(LOOKS):
                if not (data := await self._follower.read()):
                    return
                for line in self._splitter.feed(data):
                    record = parse_record(line.data)
                    if record is None or self._claimed(record):
                        continue
                    if record.run_id or record.trace_id:  # records without ids can't be claimed later
                        self._unclaimed.append(record)

    def claim_again(self) -> None:
        """Offer the unclaimed records to the listeners again."""
        waiting = list(self._unclaimed)
        self._unclaimed.clear()
        self._unclaimed.extend(self._left_of(waiting))

    def _left_of(self, waiting: list[LogRecord]) -> Iterator[LogRecord]:
        """Yield the records that stay unclaimed.

        A claimed record may add a trace id that earlier records belong to, so the search repeats until none is claimed.
        """
        while waiting:
            left = [record for record in waiting if not self._claimed(record)]
            if len(left) == len(waiting):
                yield from left
                return
            waiting = left

    def _claimed(self, record: LogRecord) -> bool:
        for listener in self._listeners:
            if listener.owns(record):
                listener.ids |= {record.run_id, record.trace_id} - {""}
                listener.take(record)
                return True
        return False

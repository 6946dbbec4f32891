"""What a trial's turns have come to so far, and who wants to know."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.openclaw.complaints import ComplaintReader
from pinchbench.openclaw.gateway_log import LogPart
from pinchbench.openclaw.task_result import LastTurn
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader, asks_model, describe, run_of
from pinchbench.process.supervise import EndReason
from pinchbench.results.transcript_lines import written_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pinchbench.model import Usage
    from pinchbench.openclaw.complaints import Retry
    from pinchbench.openclaw.gateway_log import Listener, LogRecord
    from pinchbench.openclaw.sessions import AnyStore
    from pinchbench.process.supervise import ProcessEnd

WAITING = "waiting for the model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Who wants to know while a trial runs. Calls are made on the event loop and must return at once.

    `activity` gets one line on what the agent does or waits for, and the usage of the trial so far; `output` gets the name
    of the stream (`stdout`, `stderr`) and a line. `rate_limited` is called for each model call that the provider
    refused as too many, also while OpenClaw tries again by itself; `retrying` for each call that OpenClaw will make again.
    """

    activity: Callable[[str, Usage], None] | None = None
    output: Callable[[str, str], None] | None = None
    rate_limited: Callable[[], None] | None = None
    retrying: Callable[[Retry], None] | None = None


@dataclass(slots=True)
class Session:
    """One session of the trial, followed live across its turns. `begun`: the model was asked for the first time."""

    id: str
    store: AnyStore
    reader: TranscriptReader = field(default_factory=TranscriptReader)
    begun: bool = False


@dataclass(slots=True)
class Progress:
    """What the turns of a trial have come to so far.

    `before` is what the transcript of the running turn's session said before it; `answered_at` the clock time of its
    final answer, while that is the last word. `complaints` are those of the running turn; `refused` counts the calls that
    earlier turns complained of as too many, `told` those that the watcher has heard of. `log` is the trial's part of its
    gateway's log, which comes through `listener`; None without a gateway.
    """

    watch: Watch
    complaints: ComplaintReader = field(default_factory=ComplaintReader)
    refused: int = 0
    told: int = 0
    ends: list[ProcessEnd] = field(default_factory=list)
    ran: list[float] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    before: TranscriptFacts = TranscriptFacts()
    answered_at: float | None = None
    lingered: bool = False
    log: LogPart = field(default_factory=LogPart)
    listener: Listener | None = None

    def begin_session(self, session_id: str, store: AnyStore) -> None:
        """Take a session that begins with the next turn."""
        self.sessions.append(Session(session_id, store))
        if self.listener is not None:
            self.listener.expect_session(session_id)

    def begin_turn(self) -> None:
        """Forget what only the turn before is about."""
        self.before, self.answered_at, self.lingered = self.sessions[-1].reader.facts, None, False
        self.refused += self.complaints.rate_limits
        self.complaints = ComplaintReader()

    def output(self, path: Path, line: str) -> None:
        """Take a line of stdout or stderr."""
        if path.stem == "stderr":
            with self._hearing():
                self.complaints.feed(line, time.time())
        if self.watch.output is not None:
            self.watch.output(path.stem, line)

    def logged(self, record: LogRecord) -> None:
        """Take a record of the gateway's log."""
        self.log.add(record)
        with self._hearing():
            self.complaints.feed_log(record.text, record.at)

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        """Tell the watcher of what the block adds to the complaints."""
        complaints = self.complaints
        refused, retry = complaints.rate_limits, complaints.retry
        yield
        if complaints.rate_limits > refused:
            self._tell()
        if complaints.retry is not None and complaints.retry is not retry and self.watch.retrying is not None:
            self.watch.retrying(complaints.retry)

    def event(self, session: Session, line: bytes) -> None:
        """Take a line of the transcript."""
        reader = session.reader
        calls, refused = reader.usage.requests, reader.rate_limits
        events = reader.feed(line)
        if reader.usage.requests > calls:
            self.complaints.answered(written_at(events[-1]))
        if reader.rate_limits > refused:
            self._tell()
        for event in events:
            if self.listener is not None and (run_id := run_of(event)):
                self.listener.expect_run(run_id)
            what = describe(event) or (WAITING if asks_model(event) else "")
            if what and self.watch.activity is not None:
                self.watch.activity(what, self.usage())

    async def read_on(self, session: Session) -> int:
        """Take what is new in a session. Return how many bytes that was, newlines included."""
        lines = await session.store.poll()
        if not session.begun and (lines or session.store.is_locked()):
            session.begun = True
            if not lines and self.watch.activity is not None:
                self.watch.activity(WAITING, self.usage())
        for line in lines:
            self.event(session, line)
        return sum(map(len, lines)) + len(lines)

    def usage(self) -> Usage:
        """What all sessions have used so far."""
        first, *others = (session.reader.usage for session in self.sessions)
        return sum(others, first)

    def rate_limits(self) -> int:
        """How many calls were refused as too many.

        Of one that OpenClaw gave up on, transcript and stderr both tell; of one that it retried, only stderr does, and
        nobody but the transcript where a gateway makes the calls.
        """
        written = sum(session.reader.rate_limits for session in self.sessions)
        return max(written, self.refused + self.complaints.rate_limits)

    def _tell(self) -> None:
        count = self.rate_limits()
        for _ in range(count - self.told):
            if self.watch.rate_limited is not None:
                self.watch.rate_limited()
        self.told = max(self.told, count)

    def note(self, end: ProcessEnd, began: float) -> None:
        """Take the end of a turn that began at this clock time."""
        # an agent that was waited for after its answer has not worked meanwhile
        waited = self.answered_at is not None and end.reason in (EndReason.STOPPED, EndReason.TIMED_OUT)
        self.ran.append((self.answered_at or began) - began if waited else end.ran_s)
        self.ends.append(end)

    def ran_s(self) -> float:
        """How many seconds the agent has worked."""
        return sum(self.ran)

    def answered(self, facts: TranscriptFacts) -> bool:
        """Whether the running turn, and not an earlier one, ends in an answer."""
        return facts.answered and facts.user_messages > self.before.user_messages

    def last_turn(self, facts: TranscriptFacts | None) -> LastTurn:
        """What `facts`, those of the last session, say about its last turn; None: it has no transcript."""
        if facts is None:
            return LastTurn(found=False)
        return LastTurn(
            found=True,
            asked=facts.user_messages - self.before.user_messages,
            calls=facts.usage.requests - self.before.usage.requests,
            answered=self.answered(facts),
        )

    def tools(self) -> frozenset[str]:
        """The names of all tools that were called."""
        return frozenset().union(*(session.reader.facts.tools for session in self.sessions))

    def finished(self) -> bool:
        """Whether the last turn's process has come to its end by itself, and well, and all it did could be read."""
        read = all(one.reader.facts.events and not one.reader.facts.damaged for one in self.sessions)
        ended = bool(self.ends) and self.ends[-1].reason is EndReason.EXITED and self.ends[-1].exit_code == 0
        return ended and read

    def goes_on(self) -> bool:
        """Whether the last turn ended so that the next one makes sense."""
        last = self.ends[-1]
        return self.lingered or (last.reason is EndReason.EXITED and last.exit_code == 0)

"""The progress of a trial's turns, and the callbacks that report it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.openclaw.complaints import ComplaintReader
from pinchbench.openclaw.homes.gateway_log import LogPart
from pinchbench.openclaw.task_result import LastTurn
from pinchbench.openclaw.transcript import TranscriptFacts, TranscriptReader, asks_model, describe, run_of
from pinchbench.process.supervise import EndReason, never_held
from pinchbench.transcript.lines import written_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pinchbench.model.task import Turn
    from pinchbench.model.usage import Usage
    from pinchbench.openclaw.complaints import Retry
    from pinchbench.openclaw.homes.gateway_log import Listener, LogRecord
    from pinchbench.openclaw.sessions import AnyStore
    from pinchbench.process.supervise import ProcessEnd

WAITING = "waiting for the model"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgressCallbacks:
    """Callbacks for the progress of a trial. They are called on the event loop and must not block.

    Attributes:
        activity: called with a line about what the agent is doing or waiting for, and the trial's usage so far.
        output: called with the name of the stream (`stdout` or `stderr`) and a line.
        rate_limited: called for each model call that the provider rejected as too many requests, including calls that
            OpenClaw retries itself.
        retrying: called for each call that OpenClaw is about to retry.
    """

    activity: Callable[[str, Usage], None] | None = None
    output: Callable[[str, str], None] | None = None
    rate_limited: Callable[[], None] | None = None
    retrying: Callable[[Retry], None] | None = None


@dataclass(slots=True)
class Session:
    """One session of the trial, read live across its turns. `begun` is true once the model was first called."""

    id: str
    store: AnyStore
    reader: TranscriptReader = field(default_factory=TranscriptReader)
    begun: bool = False


@dataclass(slots=True)
class Progress:
    """The state of a trial's turns so far.

    Attributes:
        callbacks: the callbacks to call.
        held_s: returns for how many seconds the trial has waited for others so far.
        complaints: the errors that the running turn has reported.
        refused: the number of rate-limited calls that earlier turns reported.
        told: the number of rate-limited calls that `callbacks` was notified of.
        ends: how the processes of the finished turns ended.
        ran: the working time of each finished turn, in seconds.
        before: the facts of the current session's transcript before the running turn.
        answered_at: the event loop time of the running turn's final answer; None if there is none, or if more followed.
        lingered: whether the agent was stopped because it had answered but did not exit.
        log: the trial's part of the gateway's log.
        listener: receives the records of the gateway's log; None without a gateway.
    """

    callbacks: ProgressCallbacks
    held_s: Callable[[], float] = never_held
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
        """Add a session that begins with the next turn."""
        self.sessions.append(Session(session_id, store))
        if self.listener is not None:
            self.listener.expect_session(session_id)

    def expects(self, turn: Turn) -> bool:
        """Return whether the gate of a further turn holds, after what the model has said in all sessions."""
        replies = sum(session.reader.facts.replies for session in self.sessions)
        return turn.gate is None or turn.gate.holds(replies, self.last_answer())

    def last_answer(self) -> str:
        """Return the answer with which the last session ends; empty if it does not end with one."""
        facts = self.sessions[-1].reader.facts
        return facts.final_text if facts.answered else ""

    def has_answer(self) -> bool:
        """Return whether the running turn ends with an answer."""
        return self.answered(self.sessions[-1].reader.facts)

    def begin_turn(self) -> None:
        """Reset the state of the previous turn."""
        self.before, self.answered_at, self.lingered = self.sessions[-1].reader.facts, None, False
        self.refused += self.complaints.rate_limits
        self.complaints = ComplaintReader()

    def output(self, path: Path, line: str) -> None:
        """Process a line of stdout or stderr."""
        if path.stem == "stderr":
            with self._hearing():
                self.complaints.feed(line, time.time())
        if self.callbacks.output is not None:
            self.callbacks.output(path.stem, line)

    def logged(self, record: LogRecord) -> None:
        """Process a record of the gateway's log."""
        self.log.add(record)
        with self._hearing():
            self.complaints.feed_log(record.text, record.at)

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        """Notify the callbacks of rate limits and retries that the block adds to the complaints."""
        complaints = self.complaints
        refused, retry = complaints.rate_limits, complaints.retry
        yield
        if complaints.rate_limits > refused:
            self._tell()
        if complaints.retry is not None and complaints.retry is not retry and self.callbacks.retrying is not None:
            self.callbacks.retrying(complaints.retry)

    def event(self, session: Session, line: bytes) -> None:
        """Process a line of the transcript."""
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
            if what and self.callbacks.activity is not None:
                self.callbacks.activity(what, self.usage())

    async def read_on(self, session: Session) -> int:
        """Process the new events of a session. Return their size in bytes, including newlines."""
        lines = await session.store.poll()
        if not session.begun and (lines or session.store.is_locked()):
            session.begun = True
            if not lines and self.callbacks.activity is not None:
                self.callbacks.activity(WAITING, self.usage())
        for line in lines:
            self.event(session, line)
        return sum(map(len, lines)) + len(lines)

    def usage(self) -> Usage:
        """Return the usage of all sessions so far."""
        first, *others = (session.reader.usage for session in self.sessions)
        return sum(others, first)

    def rate_limits(self) -> int:
        """Return how many calls the provider rejected as too many requests.

        A call that OpenClaw gave up on is reported in both the transcript and stderr, one that it retried only on
        stderr. If a gateway makes the calls, stderr reports neither.
        """
        written = sum(session.reader.rate_limits for session in self.sessions)
        return max(written, self.refused + self.complaints.rate_limits)

    def _tell(self) -> None:
        count = self.rate_limits()
        for _ in range(count - self.told):
            if self.callbacks.rate_limited is not None:
                self.callbacks.rate_limited()
        self.told = max(self.told, count)

    def note(self, end: ProcessEnd, began: float, *, held_s: float = 0.0) -> None:
        """Record the end of a turn that began at the event loop time `began`, and waited for others for `held_s`."""
        # the time in which a process did not exit after its answer is not working time
        waited = self.answered_at is not None and end.reason in (EndReason.STOPPED, EndReason.TIMED_OUT)
        ran_s = (self.answered_at or began) - began if waited else end.ran_s
        self.ran.append(max(0.0, ran_s - held_s))
        self.ends.append(end)

    def ran_s(self) -> float:
        """Return how long the agent has worked, in seconds."""
        return sum(self.ran)

    def answered(self, facts: TranscriptFacts) -> bool:
        """Return whether the running turn, not an earlier one, ends with an answer."""
        return facts.answered and facts.user_messages > self.before.user_messages

    def last_turn(self, facts: TranscriptFacts | None) -> LastTurn:
        """Return the facts of the last turn from those of the last session, which are None without a transcript."""
        if facts is None:
            return LastTurn(found=False)
        return LastTurn(
            found=True,
            asked=facts.user_messages - self.before.user_messages,
            calls=facts.usage.requests - self.before.usage.requests,
            answered=self.answered(facts),
        )

    def tools(self) -> frozenset[str]:
        """Return the names of all tools that were called."""
        return frozenset().union(*(session.reader.facts.tools for session in self.sessions))

    def finished(self) -> bool:
        """Return whether the last turn's process exited with code 0 and all transcripts were read undamaged."""
        read = all(one.reader.facts.events and not one.reader.facts.damaged for one in self.sessions)
        ended = bool(self.ends) and self.ends[-1].reason is EndReason.EXITED and self.ends[-1].exit_code == 0
        return ended and read

    def goes_on(self) -> bool:
        """Return whether the last turn ended in a way that allows the next one to run."""
        last = self.ends[-1]
        return self.lingered or (last.reason is EndReason.EXITED and last.exit_code == 0)

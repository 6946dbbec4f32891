"""The sessions of a trial's turns: their progress, the events that report it, and their export at the end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.openclaw.sessions import MAX_TRANSCRIPT_BYTES, TranscriptLimitError
from pinchbench.openclaw.task_result import LastTurn
from pinchbench.openclaw.transcript import ComplaintReader, TranscriptFacts, TranscriptReader, asks_model, describe
from pinchbench.process.spec import EndReason
from pinchbench.process.supervise import never_held
from pinchbench.transcripts import parts_of, written_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.model.task import Turn
    from pinchbench.model.trial import TrialEvents
    from pinchbench.model.usage import Usage
    from pinchbench.openclaw.sessions import AnyStore
    from pinchbench.process.spec import ProcessEnd
    from pinchbench.results.evidence_files import Evidence
    from pinchbench.transcript_lines import Event

SUBAGENT = ":subagent:"  # in the keys of their sessions
WAITING = "waiting for the model"


@dataclass(slots=True)
class Session:
    """One session of the trial, read live across its turns. `begun` is true once the model was first called.

    `key` is OpenClaw's name for its conversation, where a gateway has reported it.
    """

    id: str
    store: AnyStore
    reader: TranscriptReader = field(default_factory=TranscriptReader)
    begun: bool = False
    key: str = ""


@dataclass(slots=True)
class Progress:
    """The state of a trial's turns so far.

    Attributes:
        events: receives what is seen.
        held_s: returns for how many seconds the wire has held all requests of the trial so far.
        now: returns the simulated time as a text; None with the real clock.
        running: the tool calls whose results have not come, each by its session and its id.
        complaints: the errors that the running turn has reported.
        refused: the number of rate-limited calls that earlier turns reported.
        reported_limits: the number of rate-limited calls that were reported to `events`.
        ends: how the processes of the finished turns ended.
        ran_s: how long the agent has worked in finished turns, in seconds.
        before: the facts of the current session's transcript before the running turn.
        answered_at: the event loop time of the running turn's final answer; None if there is none, or if more followed.
        lingered: whether the agent was stopped because it had answered but did not exit.
        changed: what turns have changed of OpenClaw's settings.
    """

    events: TrialEvents
    held_s: Callable[[], float] = never_held
    now: Callable[[], str] | None = None
    running: set[tuple[str, str]] = field(default_factory=set)
    _held_at_call_s: float = 0.0
    _held_in_calls_s: float = 0.0
    complaints: ComplaintReader = field(default_factory=ComplaintReader)
    refused: int = 0
    reported_limits: int = 0
    ends: list[ProcessEnd] = field(default_factory=list)
    ran_s: float = 0.0
    sessions: list[Session] = field(default_factory=list)
    before: TranscriptFacts = TranscriptFacts()
    answered_at: float | None = None
    lingered: bool = False
    changed: tuple[str, ...] = ()

    def waited_s(self) -> float:
        """Return for how many seconds the trial has waited for others so far: time in which a tool ran is its own."""
        return (self._held_at_call_s if self.running else self.held_s()) - self._held_in_calls_s

    def _follow_tools(self, session: Session, event: Event) -> None:
        """Take note of the tool calls and results in an event.

        What the model says next ends all earlier calls, those of a gateway's other sessions excepted.
        """
        message = event.get("message")
        if not isinstance(message, dict):
            return
        others = {call for call in self.running if session.key and call[0] != session.id}
        match message.get("role"):
            case "assistant":
                calls = (part for part in parts_of(message) if part.get("type") == "toolCall")
                running = others | {(session.id, str(part.get("id"))) for part in calls}
            case "toolResult":
                running = self.running - {(session.id, str(message.get("toolCallId")))}
            case "user":
                running = others
            case _:
                return
        held_s = self.held_s()
        if self.running:
            self._held_in_calls_s += held_s - self._held_at_call_s
        self.running, self._held_at_call_s = running, held_s

    def begin_session(self, session_id: str, store: AnyStore, *, key: str = "") -> None:
        """Add a session that begins with the next turn, or in a gateway has begun."""
        self.sessions.append(Session(session_id, store, key=key))

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
        self.refused += self.complaints.complaints.rate_limits
        self.complaints = ComplaintReader()

    def output(self, path: Path, line: str) -> None:
        """Process a line of stdout or stderr, and report a rate limit or a retry that stderr is about."""
        if path.stem == "stderr":
            reader, retry = self.complaints, self.complaints.retry
            reader.feed(line, time.time())
            self._report_limits()
            if reader.retry is not None and reader.retry is not retry:
                self.events.waits(str(reader.retry), reader.retry.delay_s)
        if self.events.wants_output:
            self.events.output(path.stem, line)

    def event(self, session: Session, line: bytes) -> None:
        """Process a line of the transcript."""
        reader = session.reader
        calls = reader.facts.usage.requests
        events = reader.feed(line)
        if reader.facts.usage.requests > calls:
            self.complaints.answered(written_at(events[-1]))
        self._report_limits()
        for event in events:
            self._follow_tools(session, event)
            if what := describe(event) or (WAITING if asks_model(event) else ""):
                self.show(what)

    def show(self, what: str) -> None:
        """Report what the agent does, with the simulated time."""
        self.events.activity(f"{self.now()} {what}" if self.now is not None else what, self.usage())

    async def read_on(self, session: Session) -> int:
        """Process the new events of a session. Return their size in bytes, including newlines."""
        lines = await session.store.poll()
        if not session.begun and (lines or session.store.is_locked()):
            session.begun = True
            if not lines:
                self.show(WAITING)
        for line in lines:
            self.event(session, line)
        return sum(map(len, lines)) + len(lines)

    def usage(self) -> Usage:
        """Return the usage of all sessions so far."""
        first, *others = (session.reader.facts.usage for session in self.sessions)
        return sum(others, first)

    def rate_limits(self) -> int:
        """Return how many calls the provider rejected as too many requests.

        A call that OpenClaw gave up on is reported in both the transcript and stderr, one that it retried only on
        stderr. If the user's gateway makes the calls, stderr reports neither.
        """
        written = sum(session.reader.facts.rate_limits for session in self.sessions)
        return max(written, self.refused + self.complaints.complaints.rate_limits)

    def _report_limits(self) -> None:
        count = self.rate_limits()
        for _ in range(count - self.reported_limits):
            self.events.rate_limited()
        self.reported_limits = max(self.reported_limits, count)

    def note(self, end: ProcessEnd, began: float, *, held_s: float = 0.0) -> None:
        """Record the end of a turn that began at the event loop time `began`, and waited for others for `held_s`."""
        # the time in which a process did not exit after its answer is not working time
        waited = self.answered_at is not None and end.reason in (EndReason.STOPPED, EndReason.TIMED_OUT)
        ran_s = (self.answered_at or began) - began if waited else end.ran_s
        self.ran_s += max(0.0, ran_s - held_s)
        self.ends.append(end)

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

    def together(self, facts: TranscriptFacts) -> TranscriptFacts:
        """Return the facts of sessions that ran side by side, of which the last one in the file is not the latest.

        An error counts if one of them ends with it, except a sub-agent's: its parent goes on.
        """
        own = [session for session in self.sessions if SUBAGENT not in session.key]
        errors = (session.reader.facts.error for session in own)
        return replace(facts, error=next(filter(None, errors), ""))

    def whole(self, end: ProcessEnd) -> LastTurn:
        """Return the facts of a gateway's trial as those of one turn, which has no answer if its time was up."""
        facts = [session.reader.facts for session in self.sessions]
        return LastTurn(
            found=any(one.events for one in facts),
            asked=sum(one.user_messages for one in facts),
            calls=sum(one.usage.requests for one in facts),
            answered=end.reason is not EndReason.TIMED_OUT and any(one.answered for one in facts),
        )

    def goes_on(self) -> bool:
        """Return whether the last turn ended in a way that allows the next one to run."""
        last = self.ends[-1]
        return self.lingered or (last.reason is EndReason.EXITED and last.exit_code == 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """The result of exporting a trial's sessions.

    Attributes:
        facts: the facts of all sessions.
        last_session: the facts of the last session; None if it has no transcript.
        store: the kind of store, as in `AnyStore.kind`.
        elsewhere: the folder in which OpenClaw worked, if that was not the workspace.
    """

    facts: TranscriptFacts
    last_session: TranscriptFacts | None = None
    store: str = ""
    elsewhere: str = ""


def export_sessions(sessions: list[Session], files: Evidence, seen_as: Path) -> Export | OSError:
    """Write the transcript of all sessions to one file, unchanged line by line, and extract its facts. Blocks.

    OpenClaw sees the workspace as `seen_as`.
    An OSError is returned, not raised: the trial has run, and its other results must not be lost.
    """
    whole, last, kind = TranscriptReader(), None, ""
    try:
        # Always a new file: an agent that knows the path could create a link there, or a pipe that blocks forever.
        files.transcript.unlink(missing_ok=True)
        with files.transcript.open("xb") as file:

            def copy(data: bytes) -> None:
                if file.tell() + len(data) > MAX_TRANSCRIPT_BYTES:
                    raise TranscriptLimitError
                file.write(data)

            for session in sessions:
                last = None
                if (lines := session.store.lines(copy)) is None:
                    continue
                kind = session.store.kind
                last = TranscriptReader()
                for line in lines:
                    whole.feed(line)
                    last.feed(line)
        if not kind:
            files.transcript.unlink()
    except OSError as error:
        return error
    # the first one of each session, as it was read before the agent could write another one there
    cwds = tuple(cwd for session in sessions for cwd in session.reader.facts.cwds[:1])
    return Export(
        facts=whole.facts,
        last_session=last.facts if last is not None else None,
        store=kind,
        elsewhere=_elsewhere(cwds, seen_as),
    )


def _elsewhere(cwds: tuple[str, ...], workspace: Path) -> str:
    """Return the first recorded working directory that is not the workspace; empty if there is none."""
    said = (cwd for cwd in cwds if cwd != str(workspace))  # cheaper than resolving links
    return next((cwd for cwd in said if not _is_same(cwd, workspace)), "")


def _is_same(cwd: str, workspace: Path) -> bool:
    try:
        return Path(cwd).resolve() == workspace.resolve()
    except (OSError, RuntimeError, ValueError):
        return False  # circular links or a NUL: the agent can write such a line too

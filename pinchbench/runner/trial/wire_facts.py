"""What the wire says of an attempt: while it runs, and when it has ended from the recording."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, assert_never

from anyio import current_time

from pinchbench.model.ending import Reason
from pinchbench.model.facts import Finding, ReplayFacts
from pinchbench.model.usage import Usage
from pinchbench.openclaw.sessions import read_lines
from pinchbench.openclaw.transcript import TranscriptReader
from pinchbench.transcript_lines import Event, parse_line
from pinchbench.wire import wire_messages
from pinchbench.wire.agent_thread import Thread, read_thread
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.exchange_facts import ReadExchange, read_all
from pinchbench.wire.measure import DIGITS, Measurements, measure
from pinchbench.wire.protocols.encoding import READABLE, encoding_of
from pinchbench.wire.provider_fault import situation_of
from pinchbench.wire.recording import RecordingReader
from pinchbench.wire.witnessed_transcript import witnessed_transcript

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialEvents
    from pinchbench.results.evidence_files import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class WireReading:
    """What a recording says."""

    found: Measurements  # what the calls measure
    replay: ReplayFacts | None = None  # how its requests compare with those it replays; None without a replay
    findings: tuple[Finding, ...] = ()  # how OpenClaw's store differs from the transcript
    # how many events the transcript has, and `tool_calls` how many calls; None if it is the store's own
    events: int | None = None
    tool_calls: int = 0


def read_wire(evidence: Evidence, session_ids: Collection[str] = (), replayed: Path | None = None) -> WireReading:
    """Read the recording of an attempt, and make its transcript what the wire saw of these sessions. Blocks.

    The transcript that OpenClaw stored is kept as `store`. Where the wire saw no conversation, or a reply that it can't
    decompress, nothing is written.
    `replayed` is the recording of the attempt that was replayed.

    Raises OSError if a file can't be read or written.
    """
    exchanges = tuple(RecordingReader(evidence.wire))
    read = read_all(exchanges)
    replay = _replay_facts(exchanges, RecordingReader(replayed)) if replayed is not None else None
    reading = WireReading(found=measure(read), replay=replay)
    thread = read_thread(read, session_ids)
    is_readable = all(encoding_of(one.reply_headers) in ("", *READABLE) for one in exchanges)
    return _witness(evidence, thread, reading) if thread.steps and is_readable else reading


def _witness(evidence: Evidence, thread: Thread, reading: WireReading) -> WireReading:
    stored: list[Event] = []
    if evidence.transcript.is_file():
        stored = [event for line in read_lines(evidence.transcript) for event in parse_line(line).events]
        evidence.transcript.rename(evidence.store)
    seen = witnessed_transcript(thread, stored)
    with evidence.transcript.open("xb") as file:
        file.writelines(_line(event) for event in seen.events)
    reader = TranscriptReader()  # as graders will: of a very long event only the beginning is read
    for line in read_lines(evidence.transcript):
        reader.feed(line)
    return replace(reading, findings=seen.findings, events=reader.facts.events, tool_calls=reader.facts.tool_calls)


def _line(event: Event) -> bytes:
    try:
        return f"{json.dumps(event, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return f"{json.dumps(event)}\n".encode()


CAUSABLE = frozenset(
    {Reason.NO_TRANSCRIPT, Reason.MODEL_FALLBACK, Reason.EVIDENCE_LOST, Reason.AGENT_NOT_STARTED, Reason.DISK_FULL}
)
"""What OpenClaw's files and output say, which an agent can delete, edit or print."""


def not_excused(outcome: Outcome, found: Measurements, *, is_ours: bool = False) -> Outcome:
    """Return the outcome of an attempt whose end nothing excuses that the agent could have caused (pure).

    Once the model has replied, such a failure would be a retry, and the best of several attempts is better than one.
    The attempt counts as its process ended, and graders read what the wire saw. `is_ours` is as in `TaskResult`.
    """
    reason, code = outcome.reason, outcome.exit_code  # None if the process of the last turn did not start
    is_causable = reason in CAUSABLE or (reason is Reason.NO_MODEL_CALL and code not in (None, 0))
    if is_ours or not is_causable or not found.last or (code is None and not outcome.timed_out):
        return outcome
    by_code = Reason.COMPLETED if code == 0 else Reason.NONZERO_EXIT
    counted = Reason.TIMED_OUT if outcome.timed_out else by_code
    return replace(outcome, reason=counted, note=f"{outcome.note} ({reason.value} by OpenClaw's files alone)")


JUDGED = frozenset(
    {Reason.PROVIDER_ERROR, Reason.MODEL_ERROR, Reason.NONZERO_EXIT, Reason.TIMED_OUT, Reason.NO_MODEL_CALL}
)
"""What OpenClaw says of a failed call, or hides: the wire decides whose doing it is."""
MOST_START = 0.25  # of a trial's limit: on a quiet machine, the start takes 5 s of the 60 s of the shortest one
LATE = "lower --concurrency, or raise --timeout-multiplier"
SILENCE_S = 60.0  # OpenClaw gives up a silent stream after 120 s; less is no failure of the provider


def witnessed(outcome: Outcome, found: Measurements, *, turn: int, is_concurrent: bool = False) -> tuple[Reason, str]:
    """Return the reason of an attempt's end, and its note, as the wire saw the calls (pure).

    A complete reply that OpenClaw could not use is the model's doing, whatever OpenClaw, or who forged its words, says;
    and only a failure that the wire saw is one of the provider, and earns a retry. An attempt without a call, or whose
    reason is not one of `JUDGED`, keeps it. Prompts that the server truncated say nothing about the model at all.

    `outcome` is by OpenClaw's files and output. `found` are the calls, and `turn` is the index of the last turn that
    was begun. `is_concurrent`: several sessions called the model side by side.
    """
    reason, note, timed_out = outcome.reason, outcome.note, outcome.timed_out
    if found.truncated_to and (reason.is_valid or reason in JUDGED):
        return Reason.PROMPT_TRUNCATED, f"of each long prompt, the server read at most {found.truncated_to:,} tokens"
    # where several sessions called, the last call need not be that of the one that failed
    situations = (situation_of(failure.error, failure.exchange.status) for failure in found.failed)
    is_seen = is_concurrent and reason is Reason.PROVIDER_ERROR and not all(one.is_models for one in situations)
    if reason not in JUDGED or not found.facts.calls or is_seen:
        return reason, note
    if not found.last:
        silence = f"not one byte of a reply came to {found.facts.calls} requests"
        return (Reason.NO_REPLY if timed_out else Reason.PROVIDER_ERROR), silence
    failure = found.last_failure
    if failure is not None and (failure.error or failure.exchange.end is not ExchangeEnd.CLIENT_LEFT):
        return _after_failure(outcome, failure)
    is_silent = found.silent_s >= SILENCE_S and not timed_out
    if (reason is Reason.PROVIDER_ERROR and not is_silent) or (
        reason is Reason.NO_MODEL_CALL and found.last_turn == turn
    ):
        said = "the model's reply had no end" if failure else "the model had replied completely"
        return (Reason.TIMED_OUT if timed_out else Reason.MODEL_ERROR), f"{note} ({said})"
    return reason, note


def with_start(outcome: Outcome, found: Measurements) -> Outcome:
    """Return the outcome with how long OpenClaw's own start took, which its note names if that made it late (pure)."""
    if outcome.wire is None or not found.facts.calls:
        return outcome
    start_s = round(max(0.0, found.first_at - outcome.started_at - outcome.setup_s), DIGITS)
    note = outcome.note
    if outcome.reason is Reason.TIMED_OUT and start_s > MOST_START * outcome.timeout_s:
        note = (
            f"{note}{'; ' if note else ''}OpenClaw's own start took {start_s:.0f} of {outcome.timeout_s:.0f} s: {LATE}"
        )
    return replace(outcome, wire=replace(outcome.wire, start_s=start_s), note=note)


def _after_failure(outcome: Outcome, failure: ReadExchange) -> tuple[Reason, str]:
    reason, note, code = outcome.reason, outcome.note, failure.exchange.status
    situation = situation_of(failure.error, code)
    status = f"{code} " if code >= HTTPStatus.BAD_REQUEST else ""
    said = f"{status}{failure.error or 'the reply had no end'}"
    if failure.exchange.end is ExchangeEnd.NOT_REACHED or not situation.is_models:
        late = " (still so when the time was up)" if outcome.timed_out else ""
        if reason is not Reason.PROVIDER_ERROR:
            return Reason.PROVIDER_ERROR, f"{said}{late}"
        is_told = status or failure.error in note or note.rstrip(".") in failure.error
        return reason, note if is_told else f"{note} ({failure.error})"  # such as of "Connection error."
    if reason in (Reason.TIMED_OUT, Reason.MODEL_ERROR):
        return reason, note
    return Reason.MODEL_ERROR, note if reason is Reason.PROVIDER_ERROR else f"{situation.name}: {said}"


def _replay_facts(exchanges: Sequence[Exchange], recorded: Iterable[Exchange]) -> ReplayFacts:
    notes = [(one.number, one.divergence) for one in exchanges if one.divergence and not one.divergence.repeated]
    served = {one.served for one in exchanges if one.served is not None}
    refused = [one for one in exchanges if one.served is None and one.end is ExchangeEnd.NOT_REACHED and one.divergence]
    return ReplayFacts(
        served=sum(one.served is not None for one in exchanges),
        live=sum(one.served is None for one in exchanges) - len(refused),
        refused=len(refused),
        divergences=len(notes),
        unused=sum(one.number not in served for one in recorded),
        first=f"request {notes[0][0]}: {notes[0][1].summary}" if notes else "",
    )


MAX_REFUSED = 200  # a trial can name any number of them


class TrialMeter:
    """Sums up the usage of a running trial, and the time in which it waited for nothing but the wire's queue."""

    def __init__(self, events: TrialEvents) -> None:
        """Report to `events` when the usage grows, and each call without a complete reply: OpenClaw may hide those."""
        self._events = events
        self._usage = Usage()
        self.refused: dict[str, None] = {}  # the hosts with which the wire did not connect it
        self.refused_requests: dict[str, None] = {}  # the endpoints and models for which no request was passed on
        self.exceeded = ""  # what it used too much of, so that the wire answers it no more
        self.turn = 0  # the index of the turn that was begun last
        self._held_s = 0.0
        self._held_since: float | None = None

    def held_s(self) -> float:
        """Return for how many seconds the wire has held all requests of the trial back."""
        return self._held_s + (current_time() - self._held_since if self._held_since is not None else 0.0)

    def take(self, event: wire_messages.WireEvent) -> None:
        """Take an event about the trial."""
        match event:
            case wire_messages.CallUsed():
                self._usage += event.usage
                self._events.used(self._usage)
            case wire_messages.Held(is_held=True):
                self._held_since = current_time()
            case wire_messages.Held():
                self._held_s, self._held_since = self.held_s(), None
            case wire_messages.CallFailed():
                status = f"was answered with {event.status}" if event.status else "got no reply"
                self._events.waits(f"model call {event.number} {status}", 0.0)
            case wire_messages.DestinationRefused():
                _keep(self.refused, event.host)
            case wire_messages.RequestRefused():
                _keep(self.refused_requests, event.what)
            case wire_messages.LimitExceeded():
                self.exceeded = event.used
            case wire_messages.PaceChanged():
                pass
            case _:
                assert_never(event)


def _keep(names: dict[str, None], name: str) -> None:
    if len(names) < MAX_REFUSED:
        names[name] = None

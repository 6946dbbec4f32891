"""What OpenClaw reports of a turn: the events of its session, and errors on stderr (pure)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pinchbench.model.usage import Usage
from pinchbench.transcript_lines import Event, parse_line, writable
from pinchbench.transcripts import INTERNAL_PROVIDER, parts_of, text_of, usage_of

if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_WORDS = 500  # characters of one error: a provider may reply with a whole page

# Measured on 2026.6.5 and 2026.9.6: one such line for each failed model call, immediately, even while OpenClaw retries
# without recording anything in the transcript. `error` is its message for users, `rawError` the provider's own message.
_FAILED_CALL = re.compile(r"embedded run agent end: .*?isError=true.*? error=(.*?)(?: rawError=(.*))?$")
# Measured on 2026.9.6; 2026.6.5 does not retry in this way.
_RETRY = re.compile(r"\bsame-model retry (\d+)/(\d+) .*?reason=(\w+): delayMs=(\d+)")
_STATUS = re.compile(r"(?:HTTP )?([45]\d\d)\b")
# OpenClaw's own limit on a silent stream: the model did not reply, and the provider did not fail
_SILENCE = re.compile(r"LLM idle timeout|no response from model|model idle timeout", re.IGNORECASE)
_NO_CONNECTION = re.compile(r"\[model-fetch\] error .*?(?:causeCode|code)=(E[A-Z_]+|UND_ERR_[A-Z_]+)")
# 2026.9.6 reports that the connection is closed or not reachable and exits with code 1. 2026.6.5 runs the turn again
# without a gateway, in the same session, or after its own time limit in another one (all but the last measured).
_GATEWAY = re.compile(
    r"^EMBEDDED FALLBACK: |^Gateway agent call connection closed|^Gateway not reachable|gateway closed \(\d"
    r"|\bgateway (?:connect failed|timeout after|[\w.]+ requires credentials)|gateway.credentials.required",
    re.IGNORECASE,
)
# Measured on 2026.9.6: a turn that was not run, be it an automation's or the answer to a message. Nothing in an
# automation's transcript says so. A trial has one process of OpenClaw's: the other owner is one of its own workers. The
# whole beginning of the line is compared, since what the agent's commands print can be in a line of OpenClaw's.
_LOCKED = re.compile(r"^(?:\S+ )?\[diagnostic\] lane task error: .*?error=\"(another OpenClaw process owns [\w-]+)\"")
_OTHER_SESSION = re.compile(r"^EMBEDDED FALLBACK: .*fresh session")
# Messages of Node and SQLite. Output of the agent's commands is excluded: they may write to /dev/full.
_FULL = re.compile(r"ENOSPC: |EDQUOT: |\[Errno (?:28|122)\]|database or disk is full|SQLITE_FULL")
# What a line says that explains why OpenClaw ended, and lines that never do: its log's troubles, Node's stack traces.
_TELLING = re.compile(
    r"\b(?:error|not (?:supported|found|allowed|valid)|unsupported|unknown|invalid|unexpected|can(?:no|')t|unable"
    r"|failed|denied|refused|missing|no such)\b",
    re.IGNORECASE,
)
_NOISE = re.compile(r"\[openclaw\] log file|^at |^\(node:\d+\)|^\(Use `node |^Node\.js v\d|^[}\]]$")
_TOOL = re.compile(r"\[tools?\b|\[exec\b")

_TOO_MANY = re.compile(r"\b429\b|rate.?limit|too many requests|overloaded", re.IGNORECASE)
# Providers also return 429 for an account without credit; only for too many requests do they say when to retry.
_NO_CREDIT = re.compile(
    r"insufficient.{0,20}(quota|credit|balance|funds)|exceeded your current quota|billing.{0,3}(hard|not.active|error)",
    re.IGNORECASE,
)
_BY_TIME = re.compile(r"per.?(second|minute|min\b|hour|day)|retry.?(in|after)\b", re.IGNORECASE)


def is_rate_limit(words: str) -> bool:
    """Return whether a provider's error is about too many requests, not about an account without credit."""
    if _TOO_MANY.search(words) is None:
        return False
    return _NO_CREDIT.search(words) is None or _BY_TIME.search(words) is not None


def is_silence(words: str) -> bool:
    """Return whether OpenClaw ended a call itself because the model was silent for too long."""
    return _SILENCE.search(words) is not None


def names_full_disk(words: str) -> bool:
    """Return whether an error of OpenClaw is about a full file system."""
    return _FULL.search(words) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """A call that OpenClaw is about to retry, `delay_s` seconds after it announced it.

    `why` is an HTTP status or OpenClaw's name of the reason.
    """

    number: int
    of: int
    delay_s: float
    why: str

    def __str__(self) -> str:
        """Return text such as `429, retry 4 of 9`."""
        return f"{self.why}, retry {self.number} of {self.of}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaints:
    """The errors that one turn has reported, in OpenClaw's words and at most `MAX_WORDS` long; empty if none.

    Attributes:
        provider: the error of the last failed model call, until a later one succeeds.
        rate_limits: the number of failed calls with too many requests.
        gateway: the error of the connection to the gateway.
        other_session: whether OpenClaw ran the turn without the gateway, in a session with an unknown id.
        locked: the error of a turn that OpenClaw did not run because its own state was locked.
        full_disk: the error about a full file system.
        telling_line: the last line that looks like an error, without one the last that is not blank.
    """

    provider: str = ""
    rate_limits: int = 0
    gateway: str = ""
    other_session: bool = False
    locked: str = ""
    full_disk: str = ""
    telling_line: str = ""


class ComplaintReader:
    """Reads a turn's stderr line by line; `complaints` and `retry` are up to date after each line.

    Attributes:
        retry: the retry that OpenClaw is currently waiting for; None if there is none.
    """

    def __init__(self) -> None:
        """Start without any lines."""
        self.complaints = Complaints()
        self.retry: Retry | None = None
        self._connection = ""
        self._failed_at = 0.0
        self._tells = False

    def feed(self, line: str, at: float = 0.0) -> None:
        """Process one line of stderr that was read at the time `at`, in seconds since the epoch."""
        said = line.strip()[:MAX_WORDS]
        if not said:
            return
        tells = _TELLING.search(said) is not None
        if not _NOISE.search(said) and (tells or not self._tells):
            self._tells = tells
            self._set(telling_line=said)
        self._feed_call(line, at)
        if _GATEWAY.search(line):
            gateway = f"{self.complaints.gateway} {said}".strip()[:MAX_WORDS]
            is_other = self.complaints.other_session or _OTHER_SESSION.search(line) is not None
            self._set(gateway=gateway, other_session=is_other)
        if locked := _LOCKED.search(line):
            self._set(locked=locked[1])
        if not _TOOL.match(line) and names_full_disk(line):
            self._set(full_disk=said)

    def _set(self, **changes: Any) -> None:  # noqa: ANN401 - of fields of different types
        self.complaints = replace(self.complaints, **changes)

    def _feed_call(self, line: str, at: float) -> None:
        if call := _FAILED_CALL.search(line):
            words = (call[2] or call[1]).strip()
            cause = f" ({self._connection})" if self._connection and self._connection not in words else ""
            rate_limits = self.complaints.rate_limits + is_rate_limit(words)
            self._set(provider=f"{words[:MAX_WORDS]}{cause}", rate_limits=rate_limits)
            self._connection = ""
            self._failed_at = math.floor(at * 1000) / 1000  # in milliseconds, like OpenClaw's timestamps
        elif connection := _NO_CONNECTION.search(line):
            self._connection = connection[1]
        elif retry := _RETRY.search(line):
            status = _STATUS.match(self.complaints.provider)
            why = status[1] if status else retry[3].replace("_", " ")
            self.retry = Retry(number=int(retry[1]), of=int(retry[2]), delay_s=int(retry[4]) / 1000, why=why)

    def answered(self, at: float) -> None:
        """Record that a model call succeeded at the time `at`, which clears earlier errors of the provider.

        Times are compared because transcript and stderr are read concurrently, in no particular order.
        """
        if at >= self._failed_at:
            self._connection, self.retry = "", None
            self._set(provider="")


MAX_CWDS = 20
FALLBACK_NOTE = "Continue where you left off"  # OpenClaw's message to the next model when it falls back
UNFINISHED = frozenset({"toolUse", "error", "aborted"})  # stop reasons of messages that are not a final answer


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptFacts:
    """The facts extracted from a transcript.

    Attributes:
        events: the number of events, including unparsed lines.
        damaged: the number of lines that could not be read completely.
        models: the distinct models that replied, as `provider/model`, in order of their first reply.
        replies: the number of the model's messages, without errors.
        answered: whether the last message is a final answer.
        fallback: whether OpenClaw switched to another model.
        error: the last provider error; empty if a later call succeeded.
        rate_limits: the number of provider errors about too many requests.
        cwds: the working directories that the transcript records, at most `MAX_CWDS`.
    """

    events: int = 0
    damaged: int = 0
    usage: Usage = Usage()
    models: tuple[str, ...] = ()
    tool_calls: int = 0
    user_messages: int = 0
    replies: int = 0
    final_text: str = ""
    answered: bool = False
    fallback: bool = False
    error: str = ""
    rate_limits: int = 0
    cwds: tuple[str, ...] = ()


class TranscriptReader:
    """Reads a transcript line by line; `facts` is up to date after each line. Memory use is bounded."""

    def __init__(self) -> None:
        """Start without any lines."""
        self.facts = TranscriptFacts()

    def feed(self, line: bytes) -> tuple[Event, ...]:
        """Process one line and return its events."""
        parsed = parse_line(line)
        facts = self.facts
        self._set(events=facts.events + len(parsed.events), damaged=facts.damaged + parsed.damaged)
        for event in parsed.events:
            message = event.get("message")
            if event.get("type") == "message" and isinstance(message, dict):
                self._message(message)
            elif event.get("type") == "session":
                cwd, cwds = writable(str(event.get("cwd") or "")), self.facts.cwds
                if cwd and cwd not in cwds and len(cwds) < MAX_CWDS:
                    self._set(cwds=(*cwds, cwd))
        return parsed.events

    def _set(self, **changes: Any) -> None:  # noqa: ANN401 - of fields of different types
        self.facts = replace(self.facts, **changes)

    def _message(self, message: Mapping[str, object]) -> None:
        facts = self.facts
        match message.get("role"):
            case "user":
                fallback = facts.fallback or FALLBACK_NOTE in text_of(message)
                self._set(user_messages=facts.user_messages + 1, answered=False, fallback=fallback)
            case "toolResult":
                self._set(answered=False)
            case "assistant" if message.get("provider") != INTERNAL_PROVIDER:
                self._assistant(message)

    def _assistant(self, message: Mapping[str, object]) -> None:
        facts, stop = self.facts, message.get("stopReason")
        calls = sum(part.get("type") == "toolCall" for part in parts_of(message))
        answered = calls == 0 and str(stop) not in UNFINISHED
        self._set(tool_calls=facts.tool_calls + calls, answered=answered)
        if stop == "error":
            error = writable(str(message.get("errorMessage") or "the provider answered with an error"))
            said = " ".join(map(str, (error, message.get("errorCode") or "", message.get("errorType") or "")))
            self._set(error=error, rate_limits=facts.rate_limits + is_rate_limit(said))
            return
        models = tuple(dict.fromkeys((*facts.models, writable(f"{message.get('provider')}/{message.get('model')}"))))
        self._set(
            error="",
            replies=facts.replies + 1,
            final_text=text_of(message) if answered else facts.final_text,
            usage=facts.usage + usage_of(message.get("usage")),
            models=models,
            fallback=facts.fallback or len(models) > 1,
        )


def asks_model(event: Mapping[str, object]) -> bool:
    """Return whether a reply of the model follows this event."""
    message = event.get("message")
    return isinstance(message, dict) and message.get("role") in ("user", "toolResult")


def describe(event: Mapping[str, object]) -> str:
    """Describe what the agent is doing, as text for one line; empty if the event does not show it."""
    message = event.get("message")
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return ""
    for part in parts_of(message):
        if part.get("type") == "toolCall":
            arguments = part.get("arguments")
            values = arguments.values() if isinstance(arguments, dict) else ()
            first = next((str(value) for value in values if isinstance(value, str)), "")
            return writable(f"{part.get('name')} {first}".strip())
    return text_of(message)

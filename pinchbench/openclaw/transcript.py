"""Extracts usage, tool calls, the answer and damaged lines from a session's events (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model.usage import Usage
from pinchbench.openclaw.complaints import is_rate_limit
from pinchbench.transcript_lines import parse_line, writable
from pinchbench.transcripts import INTERNAL_PROVIDER, parts_of, text_of, usage_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.transcript_lines import Event

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
        self._events = 0
        self._damaged = 0
        self._usage = Usage()
        self._models: list[str] = []
        self._tool_calls = 0
        self._user_messages = 0
        self._replies = 0
        self._final_text = ""
        self._answered = False
        self._fallback = False
        self._error = ""
        self._rate_limits = 0
        self._cwds: list[str] = []

    @property
    def facts(self) -> TranscriptFacts:
        """The facts of all lines so far."""
        return TranscriptFacts(
            events=self._events,
            damaged=self._damaged,
            usage=self._usage,
            models=tuple(self._models),
            tool_calls=self._tool_calls,
            user_messages=self._user_messages,
            replies=self._replies,
            final_text=self._final_text,
            answered=self._answered,
            fallback=self._fallback or len(self._models) > 1,
            error=self._error,
            rate_limits=self._rate_limits,
            cwds=tuple(self._cwds),
        )

    @property
    def usage(self) -> Usage:
        """The usage of all calls so far, as in `facts`, but cheap enough to read after each line."""
        return self._usage

    @property
    def rate_limits(self) -> int:
        """The number of errors about too many requests so far, as in `facts`, but cheaper."""
        return self._rate_limits

    def feed(self, line: bytes) -> tuple[Event, ...]:
        """Process one line and return its events."""
        parsed = parse_line(line)
        self._damaged += parsed.damaged
        for event in parsed.events:
            self._events += 1
            message = event.get("message")
            if event.get("type") == "message" and isinstance(message, dict):
                self._message(message)
            elif event.get("type") == "session":
                self._session(writable(str(event.get("cwd") or "")))
        return parsed.events

    def _session(self, cwd: str) -> None:
        if cwd and cwd not in self._cwds and len(self._cwds) < MAX_CWDS:
            self._cwds.append(cwd)

    def _message(self, message: Mapping[str, object]) -> None:
        match message.get("role"):
            case "user":
                self._user_messages += 1
                self._answered = False
                self._fallback = self._fallback or FALLBACK_NOTE in text_of(message)
            case "toolResult":
                self._answered = False
            case "assistant":
                self._assistant(message)

    def _assistant(self, message: Mapping[str, object]) -> None:
        if message.get("provider") == INTERNAL_PROVIDER:
            return
        stop = message.get("stopReason")
        calls = sum(part.get("type") == "toolCall" for part in parts_of(message))
        self._tool_calls += calls
        self._answered = calls == 0 and str(stop) not in UNFINISHED
        if stop == "error":
            self._error = writable(str(message.get("errorMessage") or "the provider answered with an error"))
            said = (self._error, message.get("errorCode") or "", message.get("errorType") or "")
            self._rate_limits += is_rate_limit(" ".join(map(str, said)))
            return
        self._error = ""
        self._replies += 1
        if self._answered:
            self._final_text = text_of(message)
        self._usage += usage_of(message.get("usage"))
        model = writable(f"{message.get('provider')}/{message.get('model')}")
        if model not in self._models:
            self._models.append(model)


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

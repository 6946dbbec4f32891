"""Extracts usage, tool calls, the answer and damaged lines from a session's events (pure)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
                self._session(writable(str(event.get("cwd") or "")))
        return parsed.events

    def _set(self, **changes: Any) -> None:  # noqa: ANN401 - of fields of different types
        self.facts = replace(self.facts, **changes)

    def _session(self, cwd: str) -> None:
        cwds = self.facts.cwds
        if cwd and cwd not in cwds and len(cwds) < MAX_CWDS:
            self._set(cwds=(*cwds, cwd))

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

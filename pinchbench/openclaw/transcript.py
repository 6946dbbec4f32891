"""Events of a session into usage, tool calls, answer and damage (pure)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from pinchbench.model import Usage
from pinchbench.openclaw.complaints import is_rate_limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Event: TypeAlias = dict[str, object]

RECORD_START = '{"type"'
MAX_RESYNCS = 64  # tries to find a record inside a damaged line: bounds the work on hostile input
INTERNAL_PROVIDER = "openclaw"  # assistant messages that OpenClaw writes itself (delivery mirrors, notices)
MAX_CWDS = 20
MAX_TOOLS = 200  # distinct names; a model may make up as many as it likes
MAX_AMOUNT = 2.0**53  # of tokens or dollars: sums of hostile numbers stay numbers
FALLBACK_NOTE = "Continue where you left off"  # what OpenClaw tells the next model when it falls back
UNFINISHED = frozenset({"toolUse", "error", "aborted"})  # stop reasons after which no final answer stands


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedLine:
    """The events of one transcript line: one when all is well. Raw pieces stand as `{"raw", "parse_error"}`."""

    events: tuple[Event, ...]
    damaged: bool = False


def parse_line(line: bytes) -> ParsedLine:
    """Read one line of a transcript, whatever state it is in.

    A torn line, or two records spliced onto one, is searched for whole records; what is left over is kept
    as `{"raw": text, "parse_error": why}` in its place. Blank lines hold no events. Never raises.
    """
    text = line.decode("utf-8", "replace").strip()
    if not text:
        return ParsedLine(events=())
    value, problem = _decode(text)
    if isinstance(value, dict):
        return ParsedLine(events=(value,))
    return ParsedLine(events=tuple(_resynchronise(text, problem)), damaged=True)


def _decode(text: str) -> tuple[object, str]:
    try:
        return json.loads(text), "not a JSON object"
    except (ValueError, RecursionError) as error:
        return None, str(error)


def _resynchronise(text: str, problem: str) -> Iterator[Event]:
    decoder = json.JSONDecoder()
    kept = 0  # everything before this place has been given out
    at = text.find(RECORD_START)
    for _ in range(MAX_RESYNCS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        # parts inside a torn record begin with "type" too; only whole records have a time as well
        if isinstance(value, dict) and isinstance(value.get("timestamp"), str):
            if text[kept:at].strip():
                yield {"raw": text[kept:at], "parse_error": problem}
            yield value
            kept = end
        else:
            end = at + 1
        at = text.find(RECORD_START, end)
    if text[kept:].strip():
        yield {"raw": text[kept:], "parse_error": problem}


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptFacts:
    """What a transcript says, counted.

    `events` counts events and raw pieces, `damaged` the lines that could not be read whole. `models` are the
    distinct `provider/model` that answered, in order. `answered` is true when the last message is a final
    answer. `error` is the last provider error, empty once a later call succeeded. `rate_limits` counts the provider
    errors that were about too many requests. `tools` are the names of the tools that were called, the first
    `MAX_TOOLS` of them; `cwds` are the places where OpenClaw says that the sessions work, as far as it says so.
    """

    events: int = 0
    damaged: int = 0
    usage: Usage = Usage()
    models: tuple[str, ...] = ()
    tool_calls: int = 0
    user_messages: int = 0
    final_text: str = ""
    answered: bool = False
    fallback: bool = False
    error: str = ""
    rate_limits: int = 0
    tools: frozenset[str] = frozenset()
    cwds: tuple[str, ...] = ()


class TranscriptReader:
    """Takes the lines of a transcript one after another; `facts` is true after each. Memory stays flat."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._events = 0
        self._damaged = 0
        self._usage = Usage()
        self._models: list[str] = []
        self._tool_calls = 0
        self._user_messages = 0
        self._final_text = ""
        self._answered = False
        self._fallback = False
        self._error = ""
        self._rate_limits = 0
        self._tools: set[str] = set()
        self._cwds: list[str] = []

    @property
    def facts(self) -> TranscriptFacts:
        """All that is known so far."""
        return TranscriptFacts(
            events=self._events,
            damaged=self._damaged,
            usage=self._usage,
            models=tuple(self._models),
            tool_calls=self._tool_calls,
            user_messages=self._user_messages,
            final_text=self._final_text,
            answered=self._answered,
            fallback=self._fallback or len(self._models) > 1,
            error=self._error,
            rate_limits=self._rate_limits,
            tools=frozenset(self._tools),
            cwds=tuple(self._cwds),
        )

    @property
    def usage(self) -> Usage:
        """What all calls so far have used; as in `facts`, for those who ask after each line."""
        return self._usage

    @property
    def rate_limits(self) -> int:
        """The same for the errors about too many requests."""
        return self._rate_limits

    def feed(self, line: bytes) -> tuple[Event, ...]:
        """Take one line, return its events."""
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
        named = [str(part.get("name")) for part in parts_of(message) if part.get("type") == "toolCall"]
        calls = len(named)
        self._tool_calls += calls
        if len(self._tools) < MAX_TOOLS:
            self._tools.update(named[:MAX_TOOLS])
        self._answered = calls == 0 and str(stop) not in UNFINISHED
        if stop == "error":
            self._error = writable(str(message.get("errorMessage") or "the provider answered with an error"))
            said = (self._error, message.get("errorCode") or "", message.get("errorType") or "")
            self._rate_limits += is_rate_limit(" ".join(map(str, said)))
            return
        self._error = ""
        if self._answered:
            self._final_text = text_of(message)
        self._usage += _usage(message.get("usage"))
        model = writable(f"{message.get('provider')}/{message.get('model')}")
        if model not in self._models:
            self._models.append(model)


def _usage(value: object) -> Usage:
    usage = value if isinstance(value, dict) else {}
    cost = usage.get("cost")
    return Usage(
        requests=1,
        input_tokens=_count(usage.get("input")),
        output_tokens=_count(usage.get("output")),
        cache_read_tokens=_count(usage.get("cacheRead")),
        cache_write_tokens=_count(usage.get("cacheWrite")),
        total_tokens=_count(usage.get("totalTokens")),
        cost_usd=_amount(cost.get("total") if isinstance(cost, dict) else None),
    )


def _amount(value: object) -> float:
    if value is None:  # most often
        return 0.0
    try:
        number = float(value) if isinstance(value, (int, float)) else 0.0
    except OverflowError:
        return 0.0
    return min(number, MAX_AMOUNT) if number >= 0 else 0.0


def _count(value: object) -> int:
    return int(_amount(value))


def parts_of(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The content parts of a message; a plain string counts as one text part (newer releases write those)."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def text_of(message: Mapping[str, object]) -> str:
    """The text parts of a message, joined by newlines."""
    return writable("\n".join(str(part.get("text", "")) for part in parts_of(message) if part.get("type") == "text"))


def writable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON may hold and no file or terminal takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def describe(event: Mapping[str, object]) -> str:
    """One line that says what the agent is doing; empty when the event says nothing about that."""
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


def written_at(event: Mapping[str, object]) -> float:
    """When OpenClaw wrote an event, in seconds since the epoch; infinite when it does not say."""
    try:
        return datetime.fromisoformat(str(event.get("timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return float("inf")

"""The messages and tool calls of a transcript as a conversation (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.json_values import amount_at, count_at, object_at
from pinchbench.model.usage import Usage
from pinchbench.transcript_lines import Event, parse_line, writable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO


INTERNAL_PROVIDER = "openclaw"  # assistant messages that OpenClaw writes itself (delivery mirrors, notices)


def parts_of(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the content parts of a message; a plain string counts as one text part (newer releases write those)."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def text_of(message: Mapping[str, object]) -> str:
    """Return the text parts of a message, joined by newlines."""
    return writable("\n".join(str(part.get("text", "")) for part in parts_of(message) if part.get("type") == "text"))


def usage_of(value: object) -> Usage:
    """Return the tokens and the cost of one model call, as its message states them; invalid numbers are ignored."""
    return Usage(
        requests=1,
        input_tokens=count_at(value, "input"),
        output_tokens=count_at(value, "output"),
        cache_read_tokens=count_at(value, "cacheRead"),
        cache_write_tokens=count_at(value, "cacheWrite"),
        total_tokens=count_at(value, "totalTokens"),
        cost_usd=amount_at(object_at(value, "cost"), "total") or 0.0,
    )


def written_at(event: Mapping[str, object]) -> float:
    """Return when OpenClaw wrote an event, in seconds since the epoch; infinity if it has no time."""
    try:
        return datetime.fromisoformat(str(event.get("timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return float("inf")


MAX_LINE_BYTES = 32 * 1024 * 1024  # a longer line is truncated
SHOWN_BYTES = 1000


class Role(StrEnum):
    """The sender of a message. `NOTE` is a line that is not a valid record, kept verbatim."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A tool call by the model. `arguments` is JSON, whatever the model wrote."""

    id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a session, in the order of the transcript.

    `at` is in seconds since the epoch (UTC), None if the transcript has no time. `thinking` is the model's own
    reasoning, if the provider returns it. For a model's message, `usage` is that of the call, `model` its
    `provider/model`, `stop` its stop reason and `error` the provider's error. A tool's message answers `call_id`, and
    `images` are those that it has, in Base64. `session` numbers the sessions of the transcript from 1; a new session
    begins where a turn asks for one.
    """

    role: Role
    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""
    is_error: bool = False
    images: tuple[str, ...] = ()
    model: str = ""
    usage: Usage = Usage()
    stop: str = ""
    error: str = ""
    at: float | None = None
    session: int = 1


def read_conversation(transcript: Path) -> tuple[Message, ...]:
    """Read a `transcript.jsonl`, even if damaged. Blocks. A missing transcript has no messages.

    Raises ResultsError if it can't be read.
    """
    try:
        with open_regular(transcript) as file:
            return tuple(conversation(_events(file)))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ResultsError(f"The transcript {transcript} can't be read: {error.strerror}.") from error


def _events(file: BinaryIO) -> Iterator[Event]:
    while line := file.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield from parse_line(line).events
            continue
        yield {"raw": line[:SHOWN_BYTES].decode("utf-8", "replace"), "parse_error": "too long to be shown"}
        while line and not line.endswith(b"\n"):  # the rest of the line
            line = file.readline(MAX_LINE_BYTES)


def conversation(events: Iterable[Event]) -> Iterator[Message]:
    """Yield the messages among the events of a transcript, without OpenClaw's internal ones. Pure."""
    ids: set[str] = set()  # of the sessions so far, by their headers
    for event in events:
        session = max(1, len(ids))
        if "raw" in event and "parse_error" in event:
            yield Message(role=Role.NOTE, text=writable(str(event["raw"])), session=session)
            continue
        if event.get("type") == "session":
            ids.add(str(event.get("id")))
            continue
        message = event.get("message")
        if event.get("type") != "message" or not isinstance(message, dict):
            continue
        written = written_at(event)
        at = written if math.isfinite(written) else None
        match message.get("role"):
            case "user":
                yield Message(role=Role.USER, text=text_of(message), at=at, session=session)
            case "assistant" if message.get("provider") != INTERNAL_PROVIDER:
                yield _assistant(message, at, session)
            case "toolResult":
                yield Message(
                    role=Role.TOOL,
                    text=text_of(message),
                    call_id=_word(message.get("toolCallId")),
                    tool=_word(message.get("toolName")),
                    is_error=message.get("isError") is True,
                    images=tuple(
                        data
                        for part in parts_of(message)
                        if part.get("type") == "image" and isinstance(data := part.get("data"), str)
                    ),
                    at=at,
                    session=session,
                )
            case _:
                continue


def _assistant(message: Mapping[str, object], at: float | None, session: int) -> Message:
    parts = parts_of(message)
    stop = _word(message.get("stopReason"))
    return Message(
        role=Role.ASSISTANT,
        text=text_of(message),
        thinking=writable("\n".join(_word(part.get("thinking")) for part in parts if part.get("type") == "thinking")),
        calls=tuple(_call(part) for part in parts if part.get("type") == "toolCall"),
        model=writable(f"{_word(message.get('provider'))}/{_word(message.get('model'))}"),
        usage=usage_of(message.get("usage")),
        stop=stop,
        error=_word(message.get("errorMessage")) if stop == "error" else "",
        at=at,
        session=session,
    )


def _call(part: Mapping[str, object]) -> ToolCall:
    arguments = part.get("arguments")
    if isinstance(arguments, str):  # some providers return the text that the model wrote
        try:
            arguments = decode_json(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):  # an unpaired surrogate can't be decoded
            arguments = {"text": writable(str(arguments))}
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"value": arguments}
    return ToolCall(id=_word(part.get("id")), name=_word(part.get("name")), arguments=arguments)


def _word(value: object) -> str:
    return "" if value is None else writable(str(value))

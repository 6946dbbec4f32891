"""The lines of a transcript and of a chat, even damaged ones (pure).

Standard library only, and little of it: each check's process imports this.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Event: TypeAlias = dict[str, object]

RECORD_START = '{"type"'
MAX_RESYNCS = 64  # attempts to find a record in a damaged line: bounds the work on hostile input


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedLine:
    """The events of one transcript line, normally one. Text that can't be parsed becomes `{"raw", "parse_error"}`."""

    events: tuple[Event, ...]
    damaged: bool = False


def parse_line(line: bytes) -> ParsedLine:
    """Parse one line of a transcript, even a damaged one.

    A torn line, or two records joined on one line, is searched for whole records; what remains is kept as `{"raw":
    text, "parse_error": why}` in its place. Blank lines hold no events. Never raises.
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
    kept = 0  # everything before this position has been returned
    at = text.find(RECORD_START)
    for _ in range(MAX_RESYNCS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        # parts inside a torn record also begin with "type"; only whole records have a timestamp as well
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


def chat_messages(lines: Iterable[bytes]) -> Iterator[Event]:
    """Yield the messages of a kept chat: `at`, `from`, `to` and `text`, all of them texts, and a list `media` of names.

    A line that is no JSON object is left out. Never raises.
    """
    for line in lines:
        value, _ = _decode(line.decode("utf-8", "replace"))
        if isinstance(value, dict):
            media = value.get("media")
            yield {
                **{key: str(value.get(key) or "") for key in ("at", "from", "to", "text")},
                "media": [str(name) for name in media] if isinstance(media, list) else [],
            }


def writable(text: str) -> str:
    """Replace unpaired surrogates, which JSON may contain but no file or terminal accepts."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

"""Texts within streamed replies, also where several events have pieces of them (pure)."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The keys under which events have the pieces of what a model writes, in all protocols.
PIECES = (
    b"content text delta arguments partial_json thinking reasoning reasoning_content reasoning_text refusal"
).split()
# The text at each of these keys, never matched twice in the same place: the time is linear whatever the input. Looking
# for one literal key at a time is ten times as fast as looking for all of them.
FIELDS = {
    b'"%s"' % name: re.compile(rb'"%s"\s*+:\s*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"' % name, re.DOTALL) for name in PIECES
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """Where a text was found: the start and the end of each of its pieces, in their order."""

    text: bytes
    places: tuple[tuple[int, int], ...]


def occurrences(data: bytes, texts: Sequence[bytes]) -> Iterator[Occurrence]:
    """Yield where texts are that a model wrote token by token: each event has a few characters of them.

    The values of one key, such as `content`, are joined over all events and searched.

    Args:
        data: The body of a reply: JSON, or events with JSON.
        texts: What is searched, as JSON writes it. Not empty ones.
    """
    for name, field in FIELDS.items():
        if not texts or name not in data:
            continue
        joined = b"".join(field.findall(data))
        found = [text for text in texts if text in joined]
        if found:
            spans = [match.span(1) for match in field.finditer(data)]
            starts = [0, *accumulate(end - start for start, end in spans)]
            for text in found:
                at = joined.find(text)
                while at >= 0:
                    yield Occurrence(text=text, places=tuple(_places(at, at + len(text), spans, starts)))
                    at = joined.find(text, at + len(text))


def substituted(data: bytes, texts: Mapping[bytes, bytes]) -> bytes:
    """Return the body of a reply with other texts in place of some; of texts that overlap, the longest is replaced.

    Args:
        data: As in `occurrences`.
        texts: What is replaced, with its replacement, both as JSON writes them.
    """
    edits: dict[tuple[int, int], bytes] = {}
    taken: list[tuple[int, int]] = []
    for text in sorted(filter(None, texts), key=len, reverse=True):
        whole = (Occurrence(text=text, places=(found.span(),)) for found in re.finditer(re.escape(text), data))
        for occurrence in (*whole, *occurrences(data, [text])):
            if any(start < end_ and start_ < end for start, end in occurrence.places for start_, end_ in taken):
                continue
            taken.extend(occurrence.places)
            for index, place in enumerate(occurrence.places):
                edits[place] = texts[text] if index == 0 else b""
    parts: list[bytes] = []
    at = 0
    for (start, end), text in sorted(edits.items()):
        parts += [data[at:start], text]
        at = end
    return b"".join([*parts, data[at:]])


def _places(start: int, end: int, spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the places in the data of a place in the joined texts."""
    index = bisect_right(starts, start) - 1
    while start < end:
        size = min(end, starts[index + 1]) - start
        if size:
            place = spans[index][0] + start - starts[index]
            yield place, place + size
        start += size
        index += 1

"""The JSON values that stand in a judge's reply, whatever stands around them (pure)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import json5

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

REPLY_CHARS = 200_000  # head and tail of a longer reply are read
MAX_OBJECTS = 2_000  # places where an object may begin; of more, the last ones are tried
STRICT_CHARS = 4_000_000  # read in vain before the search for objects is given up: bounds the work on hostile replies
LOOSE_CHARS = 8_000  # the same for JSON5, whose reader takes about 0.1 ms a character

_THOUGHT = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_FENCED_FROM = re.compile(r"(?P<marks>`{3,}|~{3,})[\w+-]*")


class Members(dict[str, object]):
    """An object of a reply. `pairs` has its members as they stand there, those too whose key comes again."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Iterable[tuple[str, object]]) -> None:
        """As JSON readers do, take the last member under each key."""
        self.pairs = tuple(pairs)
        super().__init__(self.pairs)


def members_of(value: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """All members of an object, a key that comes twice included."""
    return value.pairs if isinstance(value, Members) else tuple(value.items())


# judges write raw line breaks into their strings
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=Members)
# An object that begins like one; lists only where they hold objects.
_OPENING = re.compile(r"""\{(?=\s{0,100}["'\w/])|\[(?=\s{0,100}\{)""")
_SYNTAX = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_SPEAKS_OF_SCORES = re.compile("total|score|overall|rating|grade", re.IGNORECASE)
THOUGHT_ALOUD = "What the judge thought aloud was left out."
TORN_CHARS = 400  # of something that never closes: enough to see what it was going to be


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A value that stands in a reply from `start` to `stop`, None for something like a verdict that can't be read.

    What never closes stops at the reply's end. `torn` says so, and of a value that it stands behind such a thing, so
    it may be a part of that.
    """

    value: object
    start: int
    stop: int
    surrounded: bool
    loose: bool = False
    torn: bool = False


def without_thinking(text: str, remarks: list[str]) -> str:
    """Take away what a judge thought aloud before it answered: nothing in it counts. Without an end it is all thought."""
    at = 0
    while (opening := _THOUGHT.match(text, at)) is not None:
        end = _THOUGHT_ENDS.search(text, opening.end())
        at = end.end() if end else len(text)
    if at:
        remarks.append(THOUGHT_ALOUD)
    return text[at:]


def without_unopened_thinking(text: str, remarks: list[str]) -> str:
    """Take away what stands before the end of thinking alone, as some servers send it; not for one that is quoted."""
    ends = list(_THOUGHT_ENDS.finditer(text))
    if not ends:
        return text
    quoted = [(found.start, found.stop) for found in find_objects(text, loose=False) if found.value is not None]
    quoted += [(fence.start, fence.stop) for fence in find_fences(text) if fence.closed]
    for end in reversed(ends[-MAX_OBJECTS:]):
        if not any(start < end.start() < stop for start, stop in quoted) and text[end.start() - 1 : end.start()] != "`":
            if THOUGHT_ALOUD not in remarks:
                remarks.append(THOUGHT_ALOUD)
            return text[end.end() :]
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Fence:
    """Code between two lines of marks: from `start` to `stop` with them, its content from `inner_start` to `inner_stop`.

    One that is not `closed` goes on to the end.
    """

    start: int
    stop: int
    inner_start: int
    inner_stop: int
    closed: bool


def find_fences(text: str) -> list[Fence]:
    """Find all fences in their order."""
    fences: list[Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line["marks"].startswith(opened["marks"]) and not line["info"].strip():
            fences.append(_fence(opened, line.start(), line.end(), closed=True))
            opened = None
    if opened is not None:
        fences.append(_fence(opened, len(text), len(text), closed=False))
    return fences


def _fence(opened: re.Match[str], inner_stop: int, stop: int, *, closed: bool) -> Fence:
    inner_start = min(opened.end() + 1, inner_stop)
    return Fence(start=opened.start(), stop=stop, inner_start=inner_start, inner_stop=inner_stop, closed=closed)


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """What is left of a text without the parts from each start to its stop."""
    kept: list[str] = []
    at = 0
    for start, stop in sorted(spans):
        kept.append(text[at : max(start, at)])
        at = max(stop, at)
    return "".join((*kept, text[at:]))


def is_whole(text: str, found: Found) -> bool:
    """Whether a value is all that a reply consists of, but for one fence around it."""
    before, behind = text[: found.start].strip(), text[found.stop :].strip()
    fence = _FENCED_FROM.fullmatch(before)
    return (not before and not behind) or (fence is not None and behind == fence["marks"])


def unquoted(text: str, remarks: list[str]) -> str:
    """Take a reply that is one JSON string, maybe in a fence, for what it holds."""
    whole = text.strip()
    if fence := _FENCED_FROM.match(whole):
        whole = whole[fence.end() :].removesuffix(fence["marks"]).strip()
    if not whole.startswith('"'):
        return text
    try:
        value = _DECODER.decode(whole)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, str):
        return text
    remarks.append("The reply was a JSON string that holds the verdict.")
    return value


def bounded(text: str, remarks: list[str]) -> str:
    """Keep the head and the tail of a reply that is too long to be read."""
    if len(text) <= REPLY_CHARS:
        return text
    remarks.append(f"Of the reply's {len(text)} characters only the first and the last were read.")
    half = REPLY_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def find_objects(text: str, *, loose: bool = True) -> Iterator[Found]:
    """Find the outermost objects, and lists of objects, in their order; `loose` tries JSON5 where it is no JSON."""
    whole = text.strip()
    places = [match.start() for match in _OPENING.finditer(text)]
    ends = _ends(text)
    torn = len(places) > MAX_OBJECTS
    strict_left, loose_left = STRICT_CHARS, LOOSE_CHARS if loose else 0
    behind = 0
    for place in places[-MAX_OBJECTS:]:
        if place < behind:
            continue
        if strict_left <= 0:
            # Too tangled to go on, and the verdict may be yet to come.
            yield Found(value=None, start=place, stop=len(text), surrounded=True, torn=True)
            return
        value, stop = _strict(text, place)
        is_loose = False
        if value is None:
            strict_left -= stop - place
            stop = ends.get(place, place + TORN_CHARS)
            torn = torn or place not in ends
            if place in ends and stop - place <= loose_left:
                loose_left -= stop - place
                value, is_loose = _loose(text[place:stop]), True
        # What can't be read as a whole is not read in pieces: a part is not what the judge said.
        if value is not None or place in ends:
            behind = stop
        if value is not None or _SPEAKS_OF_SCORES.search(text, place, stop):
            surrounded = stop - place < len(whole)
            end = stop if value is not None or place in ends else len(text)
            yield Found(value=value, start=place, stop=end, surrounded=surrounded, loose=is_loose, torn=torn)


def _strict(text: str, place: int) -> tuple[object, int]:
    """Read JSON from here: the value and where it ends, or None and how far the reader came."""
    try:
        return _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        return None, max(error.pos, place + 1)
    except (ValueError, RecursionError):  # a number of thousands of digits; nested too deep
        return None, place + STRICT_CHARS // 64


def _loose(text: str) -> object:
    try:
        value: object = json5.loads(text, strict=False, object_pairs_hook=Members)
    except (ValueError, RecursionError):
        return None
    return value


def _ends(text: str) -> dict[int, int]:
    """Where each bracket that has a partner ends. Quotes count inside of brackets only: outside they are prose."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    quoted = False
    for match in _SYNTAX.finditer(text):
        mark = match[0]
        if mark == '"':
            quoted = bool(opened) and not quoted
        elif quoted or mark[0] == "\\":
            continue
        elif mark in "{[":
            opened.append(match.start())
        elif opened and text[opened[-1]] == ("{" if mark == "}" else "["):
            ends[opened.pop()] = match.end()
    return ends


def holds_json(text: str) -> bool:
    """Whether something in a text begins like an object."""
    return _OPENING.search(text) is not None

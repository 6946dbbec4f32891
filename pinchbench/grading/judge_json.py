"""The JSON values that stand in a judge's reply, whatever stands around them (pure)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import json5

if TYPE_CHECKING:
    from collections.abc import Iterator

REPLY_CHARS = 200_000  # head and tail of a longer reply are read
MAX_OBJECTS = 2_000  # places where an object may begin; of more, the last ones are tried
STRICT_CHARS = 4_000_000  # read in vain before the search for objects is given up: bounds the work on hostile replies
LOOSE_CHARS = 8_000  # the same for JSON5, whose reader takes about 0.1 ms a character

_THINK = re.compile(r"<(?P<end>/?)think(?:ing)?>", re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # judges write raw line breaks into their strings
# An object that begins like one; lists only where they hold objects.
_OPENING = re.compile(r"""\{(?=\s{0,100}["'\w/])|\[(?=\s{0,100}\{)""")
_SYNTAX = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_SPEAKS_OF_SCORES = re.compile("total|score|overall|rating|grade", re.IGNORECASE)
TORN_CHARS = 400  # of something that never closes: enough to see what it was going to be


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A value that stands in a reply, None for something like a verdict that can't be read.

    `torn` says that it stands behind something that never closes, so it may be a part of that.
    """

    value: object
    surrounded: bool
    loose: bool = False
    torn: bool = False


def without_thinking(text: str, remarks: list[str]) -> str:
    """Take away what a judge thought aloud: nothing in it counts. Without an end, or a beginning, it is all thought."""
    if not _THINK.search(text):
        return text
    try:
        _DECODER.decode(text.strip()[:REPLY_CHARS])
    except (ValueError, RecursionError):
        pass
    else:
        return text  # then the marks stand in its strings
    kept, depth, at = [], 0, 0
    for tag in _THINK.finditer(text):
        if not tag["end"]:
            if depth == 0:
                kept.append(text[at : tag.start()])
            depth += 1
        elif depth > 0:
            depth -= 1
        else:
            kept.clear()  # some servers send the end only
        at = tag.end()
    if at:
        remarks.append("What the judge thought aloud was left out.")
    if depth == 0:
        kept.append(text[at:])
    return "\n".join(kept)


def bounded(text: str, remarks: list[str]) -> str:
    """Keep the head and the tail of a reply that is too long to be read."""
    if len(text) <= REPLY_CHARS:
        return text
    remarks.append(f"Of the reply's {len(text)} characters only the first and the last were read.")
    half = REPLY_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def find_objects(text: str) -> Iterator[Found]:
    """Find the outermost objects, and lists of objects, in their order."""
    whole = text.strip()
    places = [match.start() for match in _OPENING.finditer(text)]
    ends = _ends(text)
    torn = len(places) > MAX_OBJECTS
    strict_left, loose_left = STRICT_CHARS, LOOSE_CHARS
    behind = 0
    for place in places[-MAX_OBJECTS:]:
        if place < behind:
            continue
        if strict_left <= 0:
            # Too tangled to go on, and the verdict may be yet to come.
            yield Found(value=None, surrounded=True, torn=True)
            return
        value, stop = _strict(text, place)
        loose = False
        if value is None:
            strict_left -= stop - place
            stop = ends.get(place, place + TORN_CHARS)
            torn = torn or place not in ends
            if place in ends and stop - place <= loose_left:
                loose_left -= stop - place
                value, loose = _loose(text[place:stop]), True
        # What can't be read as a whole is not read in pieces: a part is not what the judge said.
        if value is not None or place in ends:
            behind = stop
        if value is not None or _SPEAKS_OF_SCORES.search(text, place, stop):
            yield Found(value=value, surrounded=stop - place < len(whole), loose=loose, torn=torn)


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
        value: object = json5.loads(text, strict=False)
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

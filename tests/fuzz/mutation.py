"""Valid documents made hostile: cut, doubled, spliced, and with junk in the worst places."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import AnyStr

from hypothesis import strategies as st

MAX_SIZE = 200_000  # of a document that grows by doubling
PLACES = 2**16  # a place in a document is a share of its length

HOSTILE_TEXTS = (
    "",
    "\0",
    "\x1b[2J\x1b]52;c;cm0=\x07",
    "\x9b31m",
    "\u202etxt.exe\u2066",
    *"\u061c\u2028\u2029\ud800\ufeff\U0010ffff٣\"'{}\\\r\n\t",
    "\udfff\ud800",
    "ﬀ" * 50,
    "e\u0301" * 50,
    "x" * 2_000,
    "../../../etc/passwd",
    "~/x",
    "C:\\x",
    "%s{}{0}$HOME`id`",
    "</think>",
    "```",
    "---",
    "- " * 200,
    "&a [*a]",
    "<<: *a",
    "!!python/object:os.system x",
    "9" * 5_000,
    "1e999",
    "-1",
    "NaN",
    "0x1f",
    "1_000",
    "12:30:45",
    "2026-01-01",
    "null",
    "[" * 300,
    '{"a":' * 300,
    "\\ud800",
    "\r\n\r\n",
    "\x0b\x0c\x1c\x85",
    ": ",
    " #",
    "|\n",
    "> ",
    "100%",
    "8/10",
    "total: 0.5",
    '{"total": 1, "scores": {}}',
    '{"type"',
    '{"type":"message","timestamp":"x"}',
)
HOSTILE_BYTES = (
    b"",
    b"\0",
    b"\0" * 4096,
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x80" * 9,
    b"\n",
    b"\xf4\x90\x80\x80",
)

# what stands for nesting deeper than a JSON writer goes, until the text is made
_DEEP = "deep@"
_DEEP_MARK = re.compile(rf'"{_DEEP}(\d+)"')
DEPTHS = (5, 60, 300, 900, 960, 985, 1_000, 20_000)
HOSTILE_NUMBERS: tuple[object, ...] = (
    0,
    -1,
    -0.0,
    0.1,
    1,
    2,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    10**30,
    10**400,
    -(10**400),
    1.7e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
)
HOSTILE_SHAPES: tuple[object, ...] = (None, True, False, [], {}, [None], [[]], [{}], {"": None}, {"type": "text"})


class Edit(StrEnum):
    """What is done to a part of a document."""

    DELETE = "delete"
    DOUBLE = "double"
    INSERT = "insert"
    REPLACE = "replace"
    TRUNCATE = "truncate"
    SPLICE = "splice"
    MOVE = "move"
    WORD = "word"
    DELETE_LINE = "delete line"
    DOUBLE_LINE = "double line"
    SWAP_LINES = "swap lines"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One edit: where it begins and how far it goes, where else it takes something from, and the junk."""

    edit: Edit
    at: int
    size: int
    other: int
    junk: str | bytes


def _changes(junk: st.SearchStrategy[str] | st.SearchStrategy[bytes]) -> st.SearchStrategy[list[Change]]:
    one = st.builds(
        Change,
        edit=st.sampled_from(Edit),
        at=st.integers(0, PLACES - 1),
        size=st.one_of(st.integers(0, 8), st.integers(0, 400)),
        other=st.integers(0, PLACES - 1),
        junk=junk,
    )
    return st.lists(one, max_size=5)


TEXT_CHANGES = _changes(st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(max_size=6)))
BYTE_CHANGES = _changes(st.one_of(st.sampled_from(HOSTILE_BYTES), st.binary(max_size=6)))


def _place(share: int, length: int) -> int:
    return share * (length + 1) // PLACES


def _apply(document: AnyStr, change: Change, donor: AnyStr, *, junk: AnyStr, newline: AnyStr) -> AnyStr:
    if change.edit in (Edit.DELETE_LINE, Edit.DOUBLE_LINE, Edit.SWAP_LINES):
        return newline.join(_apply_to_lines(document.split(newline), change))
    start = _place(change.at, len(document))
    stop = min(len(document), start + change.size)
    if change.edit is Edit.WORD:
        start, stop = _word(document, start)
    head, part, tail = document[:start], document[start:stop], document[stop:]
    place, other = _place(change.other, len(donor)), _place(change.other, len(head))
    results = {
        Edit.DELETE: head + tail,
        Edit.DOUBLE: head + part * 3 + tail,
        Edit.INSERT: head + junk + part + tail,
        Edit.REPLACE: head + junk + tail,
        Edit.WORD: head + junk + tail,
        Edit.TRUNCATE: head,
        Edit.SPLICE: head + donor[place : place + 4 * change.size] + tail,
        Edit.MOVE: head[:other] + part + head[other:] + tail,
    }
    return results[change.edit]


def _apply_to_lines(lines: list[AnyStr], change: Change) -> list[AnyStr]:
    line, other = _place(change.at, len(lines) - 1), _place(change.other, len(lines) - 1)
    match change.edit:
        case Edit.DELETE_LINE:
            return lines[:line] + lines[line + 1 :]
        case Edit.DOUBLE_LINE:
            return lines[: line + 1] + lines[line:]
        case _:
            lines[line], lines[other] = lines[other], lines[line]
            return lines


def _word(document: str | bytes, start: int) -> tuple[int, int]:
    """Where the next word is; the end where there is none."""
    found = _TEXT_WORD.search(document, start) if isinstance(document, str) else _BYTE_WORD.search(document, start)
    return found.span() if found is not None else (len(document), len(document))


def change_text(text: str, changes: Sequence[Change], donor: str = "") -> str:
    """Make the changes one after another."""
    for change in changes:
        text = _apply(text, change, donor, junk=str(change.junk), newline="\n")[:MAX_SIZE]
    return text


def change_bytes(data: bytes, changes: Sequence[Change], donor: bytes = b"") -> bytes:
    """Make the changes one after another."""
    for change in changes:
        junk = change.junk if isinstance(change.junk, bytes) else b""
        data = _apply(data, change, donor, junk=junk, newline=b"\n")[:MAX_SIZE]
    return data


_TEXT_WORD = re.compile(r"[\w.-]+")
_BYTE_WORD = re.compile(rb"[\w.-]+")


def texts(corpus: Sequence[str]) -> st.SearchStrategy[str]:
    """Texts of a corpus with some changes."""
    document = st.sampled_from(corpus)
    return st.builds(change_text, document, TEXT_CHANGES, donor=document)


def data(corpus: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Files of a corpus with some changes."""
    document = st.sampled_from(corpus)
    return st.builds(change_bytes, document, BYTE_CHANGES, donor=document)


# -- JSON ------------------------------------------------------------------------------------------------------------

_KEYS = st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(max_size=4))
_VALUES = st.one_of(
    st.sampled_from(HOSTILE_NUMBERS),
    st.sampled_from(HOSTILE_SHAPES),
    st.sampled_from(HOSTILE_TEXTS),
    st.sampled_from([f"{_DEEP}{depth}" for depth in DEPTHS]),
    st.integers() | st.floats() | st.text(max_size=5),
)


class Graft(StrEnum):
    """What is done to a value inside of a document."""

    REPLACE = "replace"
    DELETE = "delete"
    RENAME = "rename"
    WRAP = "wrap"
    ADD = "add"


_GRAFTS = st.lists(
    st.tuples(st.sampled_from(Graft), st.integers(0, PLACES - 1), _VALUES, _KEYS),
    max_size=4,
)


def _copy(value: object, visit: Callable[[object, int], object], counter: list[int]) -> object:
    number, counter[0] = counter[0], counter[0] + 1
    copied: object = value
    if isinstance(value, dict):
        copied = {key: _copy(inner, visit, counter) for key, inner in value.items()}
    elif isinstance(value, list):
        copied = [_copy(inner, visit, counter) for inner in value]
    return visit(copied, number)


def _graft_members(members: dict[str, object], kind: Graft, share: int, new: object, key: str) -> object:
    names = list(members)
    chosen = names[_place(share, len(names) - 1)]
    match kind:
        case Graft.DELETE:
            return {name: inner for name, inner in members.items() if name != chosen}
        case Graft.RENAME:
            return {key if name == chosen else name: inner for name, inner in members.items()}
        case Graft.ADD:
            return {**members, key: new}
        case Graft.WRAP:
            return {key: members}
        case Graft.REPLACE:
            return new


def _graft(value: object, kind: Graft, share: int, new: object, key: str) -> object:
    counter = [0]
    _copy(value, lambda one, _: one, counter)
    target = _place(share, counter[0] - 1)

    def visit(one: object, number: int) -> object:
        if number != target:
            return one
        if isinstance(one, dict) and one:
            return _graft_members(one, kind, share, new, key)
        if isinstance(one, list) and one:
            whole = {Graft.DELETE: one[1:], Graft.RENAME: [*one, *one], Graft.ADD: [*one, new], Graft.WRAP: [one]}
            return whole.get(kind, new)
        return {key: one} if kind is Graft.WRAP else new

    return _copy(value, visit, [0])


def to_text(value: object) -> str:
    """JSON, with as much nesting as the marks in it ask for."""
    text = json.dumps(value)
    return _DEEP_MARK.sub(lambda found: "[" * int(found[1]) + "]" * int(found[1]), text)


def _grown(value: object, grafts: Sequence[tuple[Graft, int, object, str]]) -> object:
    for kind, share, new, key in grafts:
        value = _graft(value, kind, share, new, key)
    return value


def values(corpus: Sequence[object]) -> st.SearchStrategy[object]:
    """JSON values of a corpus with parts taken out, renamed, wrapped, and replaced by the worst that JSON can hold."""
    return st.builds(_grown, st.sampled_from(corpus), _GRAFTS)


def json_texts(corpus: Sequence[object]) -> st.SearchStrategy[str]:
    """The same as text; half of it is damaged as text as well."""
    whole = values(corpus).map(to_text)
    return st.one_of(
        whole, st.builds(change_text, whole, TEXT_CHANGES, donor=st.sampled_from([to_text(one) for one in corpus]))
    )


def encoded(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """Texts as bytes; some with bytes that are no UTF-8."""
    whole = strategy.map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(whole, st.builds(change_bytes, whole, BYTE_CHANGES))

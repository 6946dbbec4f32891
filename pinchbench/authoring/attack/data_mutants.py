"""Mistakes in data and texts: the smallest that a check should notice, in each format (pure)."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from random import Random


PROSE_WORDS = 4  # a text of so many words is prose: it can be said in other words
DIGITS = re.compile(r"\d+")


class MutantKind(StrEnum):
    """What is wrong with a mutant."""

    MISSING = "missing"
    EMPTY = "empty"
    FOLDER = "folder"
    CUT = "cut"
    STALE = "stale"
    NOT_DONE = "not_done"
    DROPPED = "dropped"
    REPEATED = "repeated"
    OFF_BY_ONE = "off_by_one"
    NEGATED = "negated"
    SWAPPED = "swapped"
    PROGRAM = "program"
    ANSWER = "answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class TextMutant:
    """A text with one mistake in it; `detail` says which, and is unique in the text."""

    kind: MutantKind
    detail: str
    text: str


def is_prose(value: object) -> bool:
    """Return whether a value can be said in other words, so that a check can't ask for these."""
    return isinstance(value, str) and len(value.split()) >= PROSE_WORDS


def off_by_one(value: str) -> str | None:
    """Return a value with its last number raised by one; None if it has none. `9` becomes `10`, `2026-03-01` the 02.

    Of a decimal number the whole part is raised: its last digit may be within what a check tolerates as rounding.
    """
    if number := re.fullmatch(r"(\D*?-?)(\d+)([.,]\d+\D*)", value.strip()):
        return f"{number[1]}{int(number[2]) + 1}{number[3]}"
    found = list(DIGITS.finditer(value))
    if not found:
        return None
    digits = found[-1]
    raised = str(int(digits[0]) + 1).zfill(len(digits[0]))
    return f"{value[: digits.start()]}{raised}{value[digits.end() :]}"


STATEMENT = re.compile(  # where one begins: a paragraph, a point of a list, a line with a label, the next sentence
    r"((?:\A|\n\s*\n|\n(?=\s*(?:[-*+>]|\d+[.)]|\**\w[\w -]{,30}:)\s)|(?<=[.!?])\s)\s*(?:[-*+>]+\s+|\d+[.)]\s+)?)"
    r"(?=[*\"]*\w)"
)
DENIAL = "It is not true that "


def negated(text: str) -> str:
    """Return a text that denies each of its sentences and points, in the same words and with the same numbers.

    Headings, tables and code stay as they are.
    """
    return STATEMENT.sub(rf"\1{DENIAL}", text)


NUMBER = re.compile(r"\d+(?:[.,:-]\d+)*")
MIN_DIGITS = 2  # a single digit may stand for anything: the number of a list, a chapter


def prose_mutants(text: str, code: str) -> Iterator[TextMutant]:
    """Return mutants of a text: all of it denied, and each number that the check's code names wrong wherever it is.

    Others are not for the check to verify: a text may say more than was asked.
    """
    yield TextMutant(kind=MutantKind.NEGATED, detail="negated", text=negated(text))
    named = set(NUMBER.findall(code))
    for number in dict.fromkeys(NUMBER.findall(text)):
        if sum(map(str.isdigit, number)) >= MIN_DIGITS and number in named:
            changed = re.sub(rf"(?<!\d){re.escape(number)}(?!\d)", off_by_one(number) or "", text)
            yield TextMutant(kind=MutantKind.OFF_BY_ONE, detail=f"{number} off by one everywhere", text=changed)


Path: TypeAlias = "tuple[str | int, ...]"
PER_SHAPE = 2  # mutants of one kind in the values that differ only in the places of lists


def record_mutants(text: str, rng: Random, *, free: Container[str] = ()) -> Iterator[TextMutant]:
    """Return mutants of a JSON text: keys and items dropped, items repeated, values off by one, swapped or negated.

    The order of a list is never changed: it may have none. What is at the keys `free` stays as it is.
    """
    try:
        root = json.loads(text)
    except (ValueError, RecursionError):
        return
    groups: dict[tuple[MutantKind, Path], list[TextMutant]] = {}
    for kind, path, detail, value in _changes(root):
        if any(part in free for part in path if isinstance(part, str)):
            continue
        shape = tuple("*" if isinstance(part, int) else part for part in path)
        mutant = TextMutant(kind=kind, detail=detail, text=f"{json.dumps(value, indent=2)}\n")
        groups.setdefault((kind, shape), []).append(mutant)
    for group in groups.values():
        yield from rng.sample(group, min(PER_SHAPE, len(group)))


def _changes(root: object) -> Iterator[tuple[MutantKind, Path, str, object]]:
    for path, value in walk(root):
        name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        match value:
            case dict():
                for key in value:
                    yield MutantKind.DROPPED, (*path, key), f"{name}.{key} dropped", _without(root, path, key)
                yield from _swaps(root, path, name, value)
            case list():
                for place in range(len(value)):
                    yield MutantKind.DROPPED, (*path, place), f"{name}[{place}] dropped", _without(root, path, place)
                    if not isinstance(value[place], dict):  # a list of names may stand for the set of them
                        continue
                    twice = [*value[: place + 1], *value[place:]]
                    yield MutantKind.REPEATED, path, f"{name}[{place}] repeated", _with(root, path, twice)
            case bool():
                yield MutantKind.OFF_BY_ONE, path, f"{name} negated", _with(root, path, not value)
            case int() | float():
                yield MutantKind.OFF_BY_ONE, path, f"{name} off by one", _with(root, path, value + 1)
            case str() if not is_prose(value) and (other := off_by_one(value)) is not None:
                yield MutantKind.OFF_BY_ONE, path, f"{name} off by one", _with(root, path, other)
            case _:
                pass


def _swaps(
    root: object, path: Path, name: str, value: dict[str, object]
) -> Iterator[tuple[MutantKind, Path, str, object]]:
    """Swap each value with the next one of its type under the same parent."""
    keys = list(value)
    for place, one in enumerate(keys):
        for other in keys[place + 1 :]:
            first, second = value[one], value[other]
            if type(first) is type(second) and first != second and not is_prose(first) and not is_prose(second):
                swapped = _with(root, path, {**value, one: second, other: first})
                yield MutantKind.SWAPPED, (*path, one), f"{name}.{one} and .{other} swapped", swapped
                break


def walk(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield a JSON value and all that is in it, each with its path."""
    yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from walk(child, (*path, key))


def _with(root: object, path: Path, value: object) -> object:
    if not path:
        return value
    changed = copy.deepcopy(root)
    _parent(changed, path)[path[-1]] = value
    return changed


def _without(root: object, path: Path, key: str | int) -> object:
    changed = copy.deepcopy(root)
    del _parent(changed, (*path, key))[key]
    return changed


def _parent(root: object, path: Path) -> dict[str | int, object]:
    for part in path[:-1]:
        root = root[part]  # type: ignore[index]  # the path comes from walking the same value
    return root  # type: ignore[return-value]  # the parent of a value is a container


ROWS_DROPPED = 3


def table_mutants(text: str, rng: Random) -> Iterator[TextMutant]:
    """Return mutants of a CSV file with a header: rows dropped and repeated, and in each column one wrong value."""
    rows = list(csv.reader(io.StringIO(text)))
    if len(rows) < 2 or not rows[0]:  # noqa: PLR2004 - a header and a row
        return
    body = range(1, len(rows))
    for number in sorted(rng.sample(body, min(ROWS_DROPPED, len(body)))):
        rest = [row for place, row in enumerate(rows) if place != number]
        yield TextMutant(kind=MutantKind.DROPPED, detail=f"row {number} dropped", text=_written(rest))
    number = rng.choice(body)
    repeated = [*rows[: number + 1], *rows[number:]]
    yield TextMutant(kind=MutantKind.REPEATED, detail=f"row {number} repeated", text=_written(repeated))
    for column, name in enumerate(rows[0]):
        yield from _column_mutants(rows, column, name, rng)


def _column_mutants(rows: Sequence[Sequence[str]], column: int, name: str, rng: Random) -> Iterator[TextMutant]:
    cells = {
        number: row[column]
        for number, row in enumerate(rows)
        if number and column < len(row) and row[column].strip() and not is_prose(row[column])
    }
    order = rng.sample(sorted(cells), len(cells))
    for number in order:
        if raised := off_by_one(cells[number]):
            text = _with_cells(rows, column, {number: raised})
            yield TextMutant(kind=MutantKind.OFF_BY_ONE, detail=f"row {number}, {name} off by one", text=text)
            break
    if not column or not order:  # the first column holds the rows' names: swapped there, the rows would be others
        return
    first = order[0]
    for second in order[1:]:
        if cells[first].strip().lower() != cells[second].strip().lower():
            text = _with_cells(rows, column, {first: cells[second], second: cells[first]})
            yield TextMutant(kind=MutantKind.SWAPPED, detail=f"rows {first} and {second}, {name} swapped", text=text)
            break


def _with_cells(rows: Sequence[Sequence[str]], column: int, cells: dict[int, str]) -> str:
    return _written(
        [
            [*row[:column], cells[number], *row[column + 1 :]] if number in cells else row
            for number, row in enumerate(rows)
        ]
    )


def _written(rows: Sequence[Sequence[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


# properties that an author may choose freely, or leave out
FREE = frozenset({"UID", "DTSTAMP", "CREATED", "LAST-MODIFIED", "SEQUENCE", "STATUS", "TRANSP", "CLASS", "PRIORITY",
                  "ACTION", "DESCRIPTION"})  # fmt: skip
EVENT = re.compile(r"^BEGIN:VEVENT\r?\n.*?^END:VEVENT\r?\n?", re.MULTILINE | re.DOTALL)
PROPERTY = re.compile(r"^([A-Z-]+)([^:\r\n]*:)([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)", re.MULTILINE)


def calendar_mutants(text: str, rng: Random) -> Iterator[TextMutant]:
    """Return mutants of a calendar: events dropped and repeated, and in one or two events each property changed."""
    events = list(EVENT.finditer(text))
    for number, event in enumerate(events, 1):
        rest = text[: event.start()] + text[event.end() :]
        yield TextMutant(kind=MutantKind.DROPPED, detail=f"event {number} dropped", text=rest)
    for number in sorted(rng.sample(range(len(events)), min(2, len(events)))):
        yield from _event_mutants(text, events[number], number + 1)


def _event_mutants(text: str, event: re.Match[str], number: int) -> Iterator[TextMutant]:
    for found in PROPERTY.finditer(text, event.start(), event.end()):
        name, middle, value = found.groups()
        if name in FREE | {"BEGIN", "END"}:
            continue
        detail = f"event {number}, line {text.count(chr(10), 0, found.start()) + 1}, {name}"
        if not is_prose(value) and (other := off_by_one(value.removesuffix("Z"))) is not None:
            utc = "Z" if value.endswith("Z") else ""
            changed = f"{text[: found.start()]}{name}{middle}{_later(other, value)}{utc}{text[found.end() :]}"
            yield TextMutant(kind=MutantKind.OFF_BY_ONE, detail=f"{detail} off by one", text=changed)
        rest = text[: found.start()] + text[found.end() :].lstrip("\r\n")
        yield TextMutant(kind=MutantKind.DROPPED, detail=f"{detail} dropped", text=rest)


def _later(raised: str, value: str) -> str:
    """Return a time that is later by an hour, whose last second would be within any tolerance; else `raised`."""
    moment = re.fullmatch(r"(\d{8}T)(\d\d)(\d{4})Z?", value)
    return f"{moment[1]}{(int(moment[2]) + 1) % 24:02}{moment[3]}" if moment else raised

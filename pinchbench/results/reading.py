"""The lines of a journal, in whatever state its writer's death left them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.results.records import Record, RegradeStarted, RunResumed, RunStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

R = TypeVar("R")

MAX_RECORD_BYTES = 8 * 1024 * 1024  # a grade with 500 long names of criteria stays below it
PIECE_BYTES = 128 * 1024  # what stays in a processor's cache: 1 MiB takes a third longer (measured)
MAX_SPLICED = 1000  # records that are looked for on one line; more are not the work of writers that died
MAX_SHOWN_KIND = 40  # characters of a record's kind in a sentence
BEGINNING = re.compile(rb'\{"type":')  # of a record; inside of one the quotes would be escaped
RUNNERS = frozenset((RunStarted, RunResumed, RegradeStarted))  # the first record of each
KINDS = frozenset(kind.__struct_config__.tag for kind in get_args(Record))


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece(Generic[R]):
    """The whole records of some lines, the byte at which the line of each begins, and a sentence for what is wrong."""

    records: Sequence[R]
    at: Sequence[int]
    problems: Sequence[str] = ()


def read_pieces(path: Path, decode: Callable[[bytes], R]) -> Iterator[Piece[R]]:
    """Read all that a journal holds, some lines at a time. Blocks.

    `decode` makes a record of bytes, or raises ValueError. A torn last line, and whatever else is no record, gives none,
    and so does a line that is there twice; a whole record behind a torn one is found. Raises ResultsError when the file
    can't be read.
    """
    try:
        with path.open("rb") as file:
            yield from _pieces(file, path, decode)
    except OSError as error:
        raise ResultsError(f"The journal {path} can't be read: {error.strerror}.") from error


def read_again(path: Path, places: Iterable[int], decode: Callable[[bytes], R]) -> Iterator[Sequence[R]]:
    """The whole records of each line that begins at one of these bytes. Blocks. Raises ResultsError as `read_pieces`."""
    places = list(places)
    if not places:
        return
    try:
        with path.open("rb") as file:
            for at in places:
                file.seek(at)
                _, line, nuls = next(_lines(file), (at, b"", 0))
                yield _read_line(line, nuls, decode)[0]
    except OSError as error:
        raise ResultsError(f"The journal {path} can't be read: {error.strerror}.") from error


def _pieces(file: BinaryIO, path: Path, decode: Callable[[bytes], R]) -> Iterator[Piece[R]]:
    # Of the lines since a runner began; another one may write the same again. That among 300 000 two differ and have the
    # same 64 bits is a chance of three in a billion.
    seen: set[int] = set()
    number = 0
    while data := file.read(PIECE_BYTES):
        begin = file.tell() - len(data)
        end = begin + data.rfind(b"\n") + 1
        lines = data[: end - begin].split(b"\n")[:-1]
        if plain := _plain(lines, begin, decode, seen):
            yield plain
            number += len(lines)
            file.seek(end)
            continue
        file.seek(begin)
        records: list[R] = []
        places: list[int] = []
        problems: list[str] = []
        for at, line, nuls in _lines(file):
            number += 1
            found, problem = _read_line(line, nuls, decode)
            which = hash(line.strip(b"\0\n"))
            if found and which in seen:
                found, problem = [], "the same as a line before"
            if not RUNNERS.isdisjoint(map(type, found)):
                seen.clear()
            seen.add(which)
            records += found
            places += [at] * len(found)
            if problem:
                problems.append(f"{path}:{number}: {problem}")
            if file.tell() >= end:
                break
        yield Piece(records=records, at=places, problems=problems)


def _plain(lines: Sequence[bytes], begin: int, decode: Callable[[bytes], R], seen: set[int]) -> Piece[R] | None:
    """The records of lines that are nothing but one record each, none of them the first of a runner; else None.

    Adds them to `seen`. Nearly all lines of a long journal go this way, so it takes few steps a line.
    """
    try:
        records = list(map(decode, lines))
    except ValueError:
        return None
    which = set(map(hash, lines))
    if not lines or len(which) < len(lines) or not which.isdisjoint(seen) or not RUNNERS.isdisjoint(map(type, records)):
        return None
    seen |= which
    return Piece(records=records, at=list(accumulate((len(line) + 1 for line in lines[:-1]), initial=begin)))


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes, int]]:
    """Where each line begins, the line without the NUL bytes before it, and their number.

    A power cut leaves any number of them. A line that is too long for a record is cut.
    """
    nuls = 0
    begin = end = file.tell()
    for piece in iter(partial(file.readline, MAX_RECORD_BYTES), b""):
        begin, end = end, end + len(piece)
        line = piece.lstrip(b"\0")
        nuls += len(piece) - len(line)
        if not line:
            continue
        if not line.endswith(b"\n"):
            line += file.readline(MAX_RECORD_BYTES - len(line))
            if _is_too_long(line):
                _skip_line(file)
            end = file.tell()
        yield begin, line, nuls
        nuls = 0
    if nuls:
        yield begin, b"", nuls


def _is_too_long(line: bytes) -> bool:
    return len(line) >= MAX_RECORD_BYTES and not line.endswith(b"\n")


def _skip_line(file: BinaryIO) -> None:
    """Read on to the end of a line, in pieces: it may be as long as the file."""
    while (piece := file.readline(MAX_RECORD_BYTES)) and not piece.endswith(b"\n"):
        pass


def _read_line(line: bytes, nuls: int, decode: Callable[[bytes], R]) -> tuple[Sequence[R], str]:
    """The records of a line, and what else is wrong with it. More than one, or a torn one first, was never sealed."""
    whole = line.rstrip(b"\0\n")
    nuls += len(line.rstrip(b"\n")) - len(whole)
    problem = f"torn: {nuls} NUL bytes" if nuls else ""
    if _is_too_long(line):
        return [], problem or f"no record: longer than {MAX_RECORD_BYTES} bytes"
    if not whole.strip():
        return [], problem
    try:
        return [decode(whole)], problem
    except ValueError as error:
        problem = problem or _what_is_wrong(line, error)
    starts = [match.start() for match in BEGINNING.finditer(whole)][-MAX_SPLICED:]
    found: list[R] = []
    for start, end in pairwise([*starts, len(whole)]):
        with suppress(ValueError):
            found.append(decode(whole[start:end]))
    if found:
        problem += f"; whole records on the same line, which are kept: {len(found)}"
    return found, problem


def _what_is_wrong(line: bytes, error: ValueError) -> str:
    with suppress(ValueError, RecursionError):
        kind = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("type", b"")
        if (name := msgspec.json.decode(kind, type=str)) not in KINDS:
            return f"no record: of a kind that this release does not know: {name[:MAX_SHOWN_KIND]!a}"
    is_cut = line.startswith(b"{") and not line.endswith(b"}\n")
    torn = is_cut or "truncated" in str(error) or not line.endswith(b"\n")
    return f"{'torn' if torn else 'no record'}: {error}"

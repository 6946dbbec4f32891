"""The lines of a journal: their chain of digests, and how they are read in whatever state the writer left them.

A line ends with its number and a digest of the previous line's digest and its own bytes. Nothing in it is secret:
rewriting all lines from the changed one on produces a valid chain. A copy of the last digest elsewhere, such as in the
aggregate, protects against that.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, get_args

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.results.records import Record, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO


DIGEST_LENGTH = 32  # hexadecimal digits: 128 bits of a SHA-256
SEAL = re.compile(rb',"seq":([1-9][0-9]{0,14}),"chain":"([0-9a-f]{32})"\}\Z')


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A position in a chain: a line's number, counted from 1, and its digest. Number 0 is before the first line."""

    number: int
    digest: str


def seal(line: bytes, last: Link) -> tuple[bytes, Link]:
    """Return a line with its number and digest added, and its position.

    The line is a non-empty JSON object without a newline.
    """
    numbered = line[:-1] + b',"seq":%d' % (last.number + 1)
    digest = _digest(last.digest, numbered)
    return numbered + b',"chain":"%s"}' % digest.encode(), Link(number=last.number + 1, digest=digest)


@dataclass(slots=True)
class Chain:
    """Checks the lines of a journal in order.

    Attributes:
        last: the position of the last chained line; None until there is one.
        digests: the digest of the position before the first chained line, and of each line from there on.
    """

    last: Link | None = None
    digests: list[str] = field(default_factory=list)

    def check(self, line: bytes, before: Callable[[], Link]) -> str:
        """Return what is wrong with a line, given without its newline; empty if it is as it was written.

        `before` returns the position before the first chained line, where it is called. The lines before that one were
        written by an older release and can't be checked individually.
        """
        found = SEAL.search(line)
        if found is None:
            return "" if self.last is None else "it has no number and digest, so this program did not write it"
        if self.last is None:
            self.last = before()
            self.digests.append(self.last.digest)
        expected = self.last
        number, stated = int(found[1]), found[2].decode()
        self.last = Link(number=number, digest=stated)
        self.digests.append(stated)
        if number != expected.number + 1:
            return _gap(number, expected.number)
        if stated != _digest(expected.digest, line[: found.start(2) - len(',"chain":"')]):
            before_it = ", or what stands before it is not" if number == 1 else ""
            return f"record {number} is not as it was written{before_it}"
        return ""


def _gap(number: int, last: int) -> str:
    if number <= last:
        return f"record {number} follows record {last}: lines were repeated or put in another order"
    missing = f"record {last + 1} is" if number == last + 2 else f"records {last + 1} to {number - 1} are"
    return f"{missing} missing or damaged: record {number} follows record {last}"


def _digest(before: str, line: bytes) -> str:
    return hashlib.sha256(before.encode() + line).hexdigest()[:DIGEST_LENGTH]


MAX_RECORD_BYTES = 8 * 1024 * 1024  # a grade with 500 criteria with long names stays below it
COPY_BYTES = 1024 * 1024
MAX_SHOWN_KIND = 40  # characters of a record's kind in a sentence
KINDS = frozenset(kind.__struct_config__.tag for kind in get_args(Record))


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of a journal: its record, if it is whole, and what is wrong with it.

    `problem` is damage that a writer's death, a full disk or a power cut explains; `difference` is damage that they do
    not explain: the line was changed or moved.
    """

    record: Record | None
    problem: str = ""
    difference: str = ""


def read_lines(path: Path, chain: Chain) -> Iterator[Line]:
    """Read a journal line by line and check each line with `chain`. Blocks.

    A torn line, like any other invalid one, has no record; a writer that continues begins a new line. Raises
    ResultsError if the file can't be read.
    """
    try:
        with open_regular(path) as file:
            yield from _read(file, path, chain)
    except OSError as error:
        raise ResultsError(f"The journal {path} can't be read: {error.strerror}.") from error


def _read(file: BinaryIO, path: Path, chain: Chain) -> Iterator[Line]:
    for number, (at, line, nuls) in enumerate(_lines(file), start=1):
        whole = line.rstrip(b"\0\n")
        record, problem = _read_line(line, whole, nuls)
        difference = ""
        if record is not None:
            difference = chain.check(whole, partial(link_before, path, at))
        elif SEAL.search(line.rstrip(b"\n")):  # a torn line has lost its end
            difference = "it is not a record, although it is complete"
        where = f"{path}:{number}: "
        yield Line(record=record, problem=problem and where + problem, difference=difference and where + difference)


def link_before(path: Path, end: int) -> Link:
    """Return the position before the first line of a chain: it covers the first `end` bytes of the file.

    Blocks. Raises OSError.
    """
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while end and (data := file.read(min(end, COPY_BYTES))):
            digest.update(data)
            end -= len(data)
    return Link(number=0, digest=digest.hexdigest()[:DIGEST_LENGTH])


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes, int]]:
    """Yield each line's offset, its bytes without leading NUL bytes, and the number of those.

    A power cut can leave any number of NUL bytes. A line too long for a record is truncated.
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
    """Read to the end of a line in pieces: it may be as long as the file."""
    while (piece := file.readline(MAX_RECORD_BYTES)) and not piece.endswith(b"\n"):
        pass


def _read_line(line: bytes, whole: bytes, nuls: int) -> tuple[Record | None, str]:
    """Return the record of a line, which is `whole` without NUL bytes at its end, and what is wrong with it."""
    nuls += len(line.rstrip(b"\n")) - len(whole)
    problem = f"torn: {nuls} NUL bytes" if nuls else ""
    if _is_too_long(line):
        return None, problem or f"no record: longer than {MAX_RECORD_BYTES} bytes"
    if not whole.strip():
        return None, problem
    try:
        return decode(whole), problem
    except ValueError as error:
        return None, problem or _what_is_wrong(line, error)


def _what_is_wrong(line: bytes, error: ValueError) -> str:
    with suppress(ValueError, RecursionError):
        kind = decode_json(line, dict[str, msgspec.Raw]).get("type", b"")
        if (name := decode_json(kind, str)) not in KINDS:
            return f"no record: of a kind that this release does not know: {name[:MAX_SHOWN_KIND]!a}"
    is_cut = line.startswith(b"{") and not line.endswith(b"}\n")
    torn = is_cut or "truncated" in str(error) or not line.endswith(b"\n")
    return f"{'torn' if torn else 'no record'}: {error}"

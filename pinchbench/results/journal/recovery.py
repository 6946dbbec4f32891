"""Read the lines of a journal, in whatever state its writer left them."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.results.journal.chain import SEAL
from pinchbench.results.journal.records import Record, RegradeStarted, RunResumed, RunStarted, decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from pinchbench.results.journal.chain import Chain

MAX_RECORD_BYTES = 8 * 1024 * 1024  # a grade with 500 criteria with long names stays below it
COPY_BYTES = 1024 * 1024
MAX_SPLICED = 1000  # records to look for on one line; more were not caused by writers that died
MAX_SHOWN_KIND = 40  # characters of a record's kind in a sentence
BEGINNING = re.compile(rb'\{"type":')  # of a record; within one, the quotes would be escaped
RUNNERS = frozenset((RunStarted, RunResumed, RegradeStarted))  # the first record that each runner writes
KINDS = frozenset(kind.__struct_config__.tag for kind in get_args(Record))


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of a journal: its whole records, nearly always one, and what is wrong with it.

    `problem` is damage that a writer's death, a full disk or a power cut explains; `difference` is damage that they do
    not explain: the line was changed or moved.
    """

    records: Sequence[Record]
    problem: str = ""
    difference: str = ""


def read_lines(path: Path, chain: Chain) -> Iterator[Line]:
    """Read a journal line by line and check each line with `chain`. Blocks.

    A torn last line and any other invalid record give no records, and neither does a repeated line; a whole record
    after a torn one is found. Raises ResultsError if the file can't be read.
    """
    try:
        with path.open("rb") as file:
            yield from _read(file, path, chain)
    except OSError as error:
        raise ResultsError(f"The journal {path} can't be read: {error.strerror}.") from error


def _read(file: BinaryIO, path: Path, chain: Chain) -> Iterator[Line]:
    # Hashes of the lines since a runner started; another one may write the same lines again. With 300 000 different
    # lines, the chance that two have the same 64 bits is three in a billion.
    seen: set[int] = set()
    for number, (at, line, nuls) in enumerate(_lines(file), start=1):
        found, problem = _read_line(line, nuls)
        before = partial(digest_before, path, at)
        difference = next(filter(None, [chain.check(raw, before) for _, raw in found]), "")
        which = hash(line.strip(b"\0\n"))
        if found and which in seen:
            found, problem = [], "the same as a line before"
        if not RUNNERS.isdisjoint(type(record) for record, _ in found):
            seen.clear()
        seen.add(which)
        if not found and SEAL.search(line.rstrip(b"\n")):  # a torn line has lost its end
            difference = difference or "it is no record, although it is whole"
        where = f"{path}:{number}: "
        yield Line(
            records=[record for record, _ in found],
            problem=where + problem if problem else "",
            difference=where + difference if difference else "",
        )


def digest_before(path: Path, end: int) -> bytes:
    """Return the SHA-256 of the first `end` bytes of a file. Blocks. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while end and (data := file.read(min(end, COPY_BYTES))):
            digest.update(data)
            end -= len(data)
    return digest.digest()


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


def _read_line(line: bytes, nuls: int) -> tuple[list[tuple[Record, bytes]], str]:
    """Return a line's records with their bytes, and what else is wrong with it.

    A line with several records, or with a torn one first, is never sealed.
    """
    whole = line.rstrip(b"\0\n")
    nuls += len(line.rstrip(b"\n")) - len(whole)
    problem = f"torn: {nuls} NUL bytes" if nuls else ""
    if _is_too_long(line):
        return [], problem or f"no record: longer than {MAX_RECORD_BYTES} bytes"
    if not whole.strip():
        return [], problem
    try:
        return [(decode(whole), whole)], problem
    except ValueError as error:
        problem = problem or _what_is_wrong(line, error)
    starts = [match.start() for match in BEGINNING.finditer(whole)][-MAX_SPLICED:]
    found: list[tuple[Record, bytes]] = []
    for start, end in pairwise([*starts, len(whole)]):
        with suppress(ValueError):
            found.append((decode(whole[start:end]), whole[start:end]))
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

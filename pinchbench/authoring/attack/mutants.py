"""The mutants of a solution's workspace: the same files with one thing wrong (pure)."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from random import Random
from typing import TYPE_CHECKING

from pinchbench.authoring.attack.data_mutants import (
    MutantKind,
    TextMutant,
    calendar_mutants,
    prose_mutants,
    record_mutants,
    table_mutants,
)
from pinchbench.authoring.attack.program_mutants import python_mutants, shell_mutants, sql_mutants
from pinchbench.authoring.attack.workspace_files import NoFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.authoring.attack.workspace_files import Content

FOR_PEOPLE = frozenset({".md", ".txt"})
UNUSABLE = frozenset({MutantKind.EMPTY, MutantKind.FOLDER})  # no better than a file that is missing


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """Changes to the solution's workspace, around `path`, and None or another last answer.

    `record` is another file of the evidence and what it says instead.
    """

    path: str
    kind: MutantKind
    detail: str
    changes: Mapping[str, Content] = field(default_factory=dict)
    answer: str | None = None
    record: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """What is wrong, unique in a task."""
        return f"{self.path}: {self.detail}"


def file_mutants(path: str, content: bytes, before: bytes | None, *, code: str | None, seed: str) -> list[Mutant]:
    """Return the mutants of one result; `before` is what was given in its place, `code` the check's.

    Without `code`, texts for people are a judge's to read: they have no mistakes inside.

    Which rows and values are changed depends on `seed`, and on nothing else.
    """
    rng = Random(f"{seed} {path}")  # noqa: S311 - not for secrets
    found = [
        one
        for one in _whole(path, content, before)
        if one.kind is not MutantKind.CUT or code is not None or PurePosixPath(path).suffix not in FOR_PEOPLE
    ]
    try:
        text = content.decode("utf-8-sig")
        old = None if before is None else before.decode("utf-8-sig")
    except UnicodeDecodeError:
        return found
    inner = _inside(path, text, old, code, rng)
    seen = {text}
    for one in inner:
        if one.text not in seen and one.text.split() != text.split():  # another layout is no mistake
            seen.add(one.text)
            changes: dict[str, Content] = {path: one.text.encode()}
            found.append(Mutant(path=path, kind=one.kind, detail=one.detail, changes=changes))
    return found


def _whole(path: str, content: bytes, before: bytes | None) -> Iterator[Mutant]:
    contents: dict[MutantKind, Content] = {
        MutantKind.MISSING: NoFile.ABSENT,
        MutantKind.EMPTY: b"",
        MutantKind.FOLDER: NoFile.FOLDER,
    }
    if before is not None:
        contents[MutantKind.STALE] = before
    half = content[: len(content) // 2]
    if half and half.split() != content.split():  # another layout is no mistake
        contents[MutantKind.CUT] = half
    for kind, new in contents.items():
        if new != content:
            yield Mutant(path=path, kind=kind, detail=kind.value, changes={path: new})


def _inside(path: str, text: str, old: str | None, code: str | None, rng: Random) -> Iterator[TextMutant]:
    changed = None
    if old is not None:
        undone = list(_undone(old, text))
        changed = {line + 1 for lines, _ in undone for line in lines}
        yield from (one for _, one in undone)
    match PurePosixPath(path).suffix.lower():
        case ".py":
            yield from python_mutants(text, changed)
        case _ if old is not None:  # what the solution did not write is not its result
            return
        case ".csv":
            yield from table_mutants(text, rng)
        case ".json":
            yield from record_mutants(text, rng)
        case ".ics":
            yield from calendar_mutants(text, rng)
        case ".sql":
            yield from sql_mutants(text)
        case ".sh":
            yield from shell_mutants(text)
        case _ if code is not None:
            yield from prose_mutants(text, code)
        case _:
            pass


def _undone(old: str, new: str) -> Iterator[tuple[range, TextMutant]]:
    """Take back each change to a given file; with its lines, counted from 0."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for tag, first, last, start, end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            text = "".join([*after[:start], *before[first:last], *after[end:]])
            mutant = TextMutant(kind=MutantKind.NOT_DONE, detail=f"line {start + 1} as it was", text=text)
            yield range(start, end), mutant


def choose(mutants: Sequence[Mutant], limit: int, *, seed: str) -> list[Mutant]:
    """Return at most `limit` mutants, of as many files and kinds as possible, in the order given."""
    rng = Random(seed)  # noqa: S311 - not for secrets
    groups: dict[tuple[str, MutantKind], list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault((mutant.path, mutant.kind), []).append(mutant)
    order = list(groups.values())
    for group in order:
        rng.shuffle(group)
    rng.shuffle(order)
    chosen: set[str] = set()
    while len(chosen) < limit and any(order):
        for group in order:
            if group and len(chosen) < limit:
                chosen.add(group.pop().name)
    return [mutant for mutant in mutants if mutant.name in chosen]

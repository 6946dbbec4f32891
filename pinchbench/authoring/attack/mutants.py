"""The mutants of a solution's workspace: the same files with one thing wrong, programs among them (pure)."""

from __future__ import annotations

import ast
import difflib
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
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
from pinchbench.authoring.attack.workspace_files import Content, NoFile

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence


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


COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is",
               "in": "not in", "not in": "in"}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "*"}
OPERATOR = re.compile(rb"[\s()]*?([a-z]+(?:\s+[a-z]+)?|[-<>=!+*/%]+)[\s(]*")  # between two operands
SQL_WORDS = {"DESC": "ASC", "LEFT JOIN": "JOIN", "DISTINCT": "", "MAX": "MIN", "MIN": "MAX", "SUM": "COUNT",
             "AND": "OR"}  # fmt: skip
SQL_TOKEN = re.compile(
    r"'[^']*'|--[^\n]*|\b\d+\b|<=|>=|<>|<|>|\b(?:LEFT\s+JOIN|DESC|DISTINCT|MAX|MIN|SUM|AND)\b", re.IGNORECASE
)
SHELL_TOKEN = re.compile(r"(?<![\w$/.-])\d+(?![\w/.])|(?<= )-(?:eq|ne|lt|le|gt|ge|d|f|L|e|n|z)(?= )|&&|\|\|")
SHELL_WORDS = {"-eq": "-ne", "-ne": "-eq", "-lt": "-le", "-le": "-lt", "-gt": "-ge", "-ge": "-gt", "-d": "-f",
               "-f": "-d", "-L": "-d", "-e": "-d", "-n": "-z", "-z": "-n", "&&": "||", "||": "&&"}  # fmt: skip


def python_mutants(text: str, lines: Container[int] | None = None) -> Iterator[TextMutant]:
    """Return mutants of a Python program: operators, numbers and truth values changed, results withheld.

    With `lines`, only of these (counted from 1). None for a text that is no Python program.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    source = _Source(text)
    for node in ast.walk(tree):
        for edit in _edits(node, source):
            line, column = source.place(edit.first)
            if lines is None or line in lines:
                changed = (source.data[: edit.first] + edit.new.encode() + source.data[edit.last :]).decode()
                detail = f"line {line}:{column}, {edit.old} to {edit.new}"
                yield TextMutant(kind=MutantKind.PROGRAM, detail=detail, text=changed)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Edit:
    """Bytes of a program, from `first` to before `last`, and what to write in their place."""

    first: int
    last: int
    old: str
    new: str


class _Source:
    """A program's bytes, in which its syntax tree counts columns."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self._starts = [0]
        for line in self.data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, node: ast.expr) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def operator(self, left: ast.expr, right: ast.expr, known: Mapping[str, str]) -> Iterator[_Edit]:
        first = self.end(left)
        found = OPERATOR.fullmatch(self.data[first : self.start(right)])
        if found and (old := " ".join(found[1].decode().split())) in known:
            yield _Edit(first=first + found.start(1), last=first + found.end(1), old=old, new=known[old])

    def whole(self, node: ast.expr, old: str, new: str) -> _Edit:
        return _Edit(first=self.start(node), last=self.end(node), old=old, new=new)


def _edits(node: ast.AST, source: _Source) -> Iterator[_Edit]:
    match node:
        case ast.Compare():
            for left, right in pairwise([node.left, *node.comparators]):
                yield from source.operator(left, right, COMPARISONS)
        case ast.BinOp() if not isinstance(node.left, ast.Constant) or not isinstance(node.left.value, str):
            yield from source.operator(node.left, node.right, ARITHMETIC)
        case ast.BoolOp():
            for left, right in pairwise(node.values):
                yield from source.operator(left, right, {"and": "or", "or": "and"})
        case ast.Constant(value=bool() as value):
            yield source.whole(node, str(value), str(not value))
        case ast.Constant(value=int() as value):
            yield source.whole(node, str(value), str(value + 1))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield source.whole(value, "the result", "None")
        case _:
            pass


def sql_mutants(text: str) -> Iterator[TextMutant]:
    """Return mutants of an SQL query: operators, numbers and keywords changed."""
    yield from _token_mutants(text, SQL_TOKEN, {"<=": "<", ">=": ">", "<": "<=", ">": ">=", "<>": "=", **SQL_WORDS})


def shell_mutants(text: str) -> Iterator[TextMutant]:
    """Return mutants of a shell script: tests, numbers and connectives changed. Comments are left alone."""
    for mutant in _token_mutants(text, SHELL_TOKEN, SHELL_WORDS):
        line = int(mutant.detail.split()[1].partition(":")[0])
        if not text.split("\n")[line - 1].lstrip().startswith("#"):
            yield mutant


def _token_mutants(text: str, tokens: re.Pattern[str], words: dict[str, str]) -> Iterator[TextMutant]:
    for found in tokens.finditer(text):
        old = " ".join(found[0].split())
        new = str(int(old) + 1) if old.isdecimal() else words.get(old.upper() if old.isalpha() or " " in old else old)
        if new is None:
            continue
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        changed = f"{text[: found.start()]}{new}{text[found.end() :]}"
        detail = f"line {line}:{column}, {old} to {new or 'nothing'}"
        yield TextMutant(kind=MutantKind.PROGRAM, detail=detail, text=changed)

"""Mistakes in programs (pure)."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pinchbench.authoring.attack.data_mutants import MutantKind, TextMutant

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping


COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not", "is not": "is",
               "in": "not in", "not in": "in"}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "*"}
OPERATOR = re.compile(rb"[\s()]*?([a-z]+(?:\s+[a-z]+)?|[-<>=!+*/%]+)[\s(]*")  # between two operands
SQL_WORDS = {
    "DESC": "ASC",
    "LEFT JOIN": "JOIN",
    "DISTINCT": "",
    "MAX": "MIN",
    "MIN": "MAX",
    "SUM": "COUNT",
    "AND": "OR",
}
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

"""Worked solutions of tasks, written as the tool calls an agent would make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from pinchbench.errors import SuiteError
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SOLUTIONS = "solutions"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolStep:
    """One tool call: the tool's name in OpenClaw and its arguments, JSON-able."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class SolutionTurn:
    """What an agent does in one turn, and what it answers at the end of it."""

    steps: tuple[ToolStep, ...]
    answer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Solution:
    """One entry for each turn of the task."""

    turns: tuple[SolutionTurn, ...]


def load_solution(root: Path, task_id: str) -> Solution | None:
    """Return the solution a tasks folder has for a task, None if it has none.

    Raises:
        SuiteError: the file is there but can't be read or used.
    """
    path = root / SOLUTIONS / f"{task_id}.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"The solution {path} can't be read: {error}.") from error
    return parse_solution(text, path=path)


def parse_solution(text: str, *, path: Path) -> Solution:
    """Read a solution. Top-level keys other than `turns` are ignored.

    Raises:
        SuiteError: the text is no solution; the message begins with `path:line:`.
    """
    return _SolutionReader(path).read(text)


class _SolutionReader:
    """Reads one solution; the first problem ends it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, text: str) -> Solution:
        try:
            root = read_yaml(text.removeprefix("\ufeff"))
        except YamlTextError as error:
            self._fail(error.line, error.reason)
        turns = root.fields.get("turns") if root and root.fields else None
        if turns is None or not turns.items:
            self._fail(root.line if root else 1, "a solution needs a list of `turns`")
        return Solution(turns=tuple(self._turn(item) for item in turns.items))

    def _fail(self, line: int, reason: str) -> NoReturn:
        raise SuiteError(f"{self._path}:{line}: {reason}")

    def _turn(self, node: YamlNode) -> SolutionTurn:
        fields = node.fields or {}
        answer, steps = fields.get("answer"), fields.get("steps")
        if answer is None or answer.text is None:
            self._fail(node.line, "a turn needs an `answer`, a text")
        if steps is None or steps.is_null:
            return SolutionTurn(steps=(), answer=answer.text)
        if steps.items is None:
            self._fail(steps.line, "`steps` must be a list")
        return SolutionTurn(steps=tuple(self._step(item) for item in steps.items), answer=answer.text)

    def _step(self, node: YamlNode) -> ToolStep:
        fields = node.fields or {}
        tool, args = fields.get("tool"), fields.get("args")
        if tool is None or not tool.text:
            self._fail(node.line, "a step needs a `tool`, a text")
        if args is None or args.is_null:
            return ToolStep(tool=tool.text)
        if not isinstance(args.value, dict):
            self._fail(args.line, "`args` must map names to values")
        return ToolStep(tool=tool.text, args=args.value)

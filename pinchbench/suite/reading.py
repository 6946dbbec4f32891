"""What the readers of task formats share: text files of bounded size, typed values, problems, and what they return."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task import PINCHBENCH_RULE, LoadedSuite, ScoreRule, Suite, TaskProblem
from pinchbench.suite.fixtures import FixtureError, fixture_hash, refuse_unkept, relative_path
from pinchbench.suite.yaml_nodes import YamlNode, YamlTextError, misspelt, read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from pinchbench.model.task import Task

CHECK_ALONE = {"automated": 1.0, "llm_judge": 0.0}  # the weights of a task without a judge
TASK_TOML = "task.toml"  # of the formats with a folder for each task


class BrokenTaskError(Exception):
    """A task file has problems; `problems` holds all of them, at least one, sorted by line."""

    def __init__(self, problems: Iterable[TaskProblem]) -> None:
        """Keep the problems, sorted by line."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def at(cls, path: Path, line: int, reason: str) -> BrokenTaskError:
        """Return the error of one problem."""
        return cls([TaskProblem(path=path, line=line, reason=reason)])


# Far larger than any real task, and small enough to read at once.
MAX_TASK_FILE_BYTES = 4 * 1024 * 1024


def read_bounded(path: Path) -> bytes:
    """Return what a file of a suite holds. Raises BrokenTaskError if it can't be read or is too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TASK_FILE_BYTES + 1)
    except OSError as error:
        raise BrokenTaskError.at(path, 1, f"the file can't be read: {error.strerror}") from error
    if len(data) > MAX_TASK_FILE_BYTES:
        raise BrokenTaskError.at(path, 1, f"the file is larger than {MAX_TASK_FILE_BYTES // 1024**2} MiB")
    return data


def decoded(data: bytes, path: Path) -> str:
    """Return UTF-8 data as text, without a byte order mark.

    Raises BrokenTaskError, with the line, if it is something else or holds NUL.
    """
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenTaskError.at(path, line, "the file is not UTF-8 text") from error
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        raise BrokenTaskError.at(path, line, "the file holds a NUL character, which no message to an agent can hold")
    return text


def yaml_root(text: str, path: Path, *, first_line: int = 1, what: str = "it", or_nothing: bool = False) -> YamlNode:
    """Return the mapping that a YAML text is, with `or_nothing` a null for an empty text.

    Raises BrokenTaskError, with the file's line, for anything else.
    """
    try:
        root = read_yaml(text.removeprefix("\ufeff"))
    except YamlTextError as error:
        raise BrokenTaskError.at(path, first_line + error.line - 1, error.reason) from error
    if or_nothing and (root is None or root.is_null):
        return YamlNode(line=first_line, value=None)
    if root is None or root.fields is None:
        raise BrokenTaskError.at(path, first_line, f"{what} must hold `key: value` lines")
    return root


_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def read_toml(path: Path) -> Mapping[str, YamlNode]:
    """Return the values of a TOML file as nodes, with the lines of their keys. Blocks. Raises BrokenTaskError."""
    text = decoded(read_bounded(path), path)
    try:
        return _toml_fields(tomllib.loads(text), text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise BrokenTaskError.at(path, line, f"not valid TOML: {_LINE.sub('', str(error)).strip()}") from error


def _toml_fields(table: dict[str, Any], text: str) -> dict[str, YamlNode]:
    """Return the nodes of a table. Texts alone have a text; a list has its value, not nodes for its items."""
    return {
        key: YamlNode(
            line=_line_of(text, key),
            value=value,
            text=value if isinstance(value, str) else None,
            fields=_toml_fields(value, text) if isinstance(value, dict) else None,
        )
        for key, value in table.items()
    }


def _line_of(text: str, key: str) -> int:
    """Return the line, from 1, on which a TOML text sets a key; 1 if no line begins with it."""
    found = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldReader:
    """Reads the values of one file, and collects its problems. A null counts as a missing value.

    `first_line` is the file's line on which its YAML begins, and the line of problems with missing values.
    """

    path: Path
    first_line: int = 1
    problems: list[TaskProblem] = field(default_factory=list)

    def line(self, node: YamlNode | None) -> int:
        """Return the file's line of a value."""
        return self.first_line + (node.line - 1 if node else 0)

    def problem(self, place: YamlNode | int | None, reason: str) -> None:
        """Add a problem on a line of the file, or on that of a value."""
        line = place if isinstance(place, int) else self.line(place)
        self.problems.append(TaskProblem(path=self.path, line=line, reason=reason))

    def refuse(self) -> None:
        """Raise BrokenTaskError if there are problems."""
        if self.problems:
            raise BrokenTaskError(self.problems)

    def problem_in(self, path: Path, line: int, reason: str) -> None:
        """Add a problem on a line of another file of the task."""
        self.problems.append(TaskProblem(path=path, line=line, reason=reason))

    def file_text(self, path: Path) -> str:
        """Return the text of another file of the task; one that can't be read is empty, and a problem."""
        try:
            return decoded(read_bounded(path), path)
        except BrokenTaskError as error:
            self.problems.extend(error.problems)
            return ""

    def instruction(self, path: Path) -> str:
        """Return the text of a file with the task's prompt; without words it is a problem."""
        text = self.file_text(path).strip()
        if not text:
            self.problem_in(path, 1, "there is no instruction")
        return text

    def digest(self, parts: Iterable[tuple[str, Path]], *, own: bytes = b"") -> str:
        """Return a SHA-256 over a task's own data, and files and folders with their names, in hexadecimal. Blocks.

        What can't be hashed is a problem, as is more than is kept of a workspace.
        """
        total, named = hashlib.sha256(own), list(parts)
        try:
            refuse_unkept(path for _, path in named)
            for name, path in named:
                total.update((name.encode() + b"\0" if name else b"") + fixture_hash(path))
        except FixtureError as error:
            self.problem(1, str(error))
        return total.hexdigest()

    def mapping(self, node: YamlNode, what: str, *, known: Collection[str]) -> Mapping[str, YamlNode]:
        """Return the values of a mapping that are not null; a key that is not known is a problem."""
        if node.fields is None:
            self.problem(node, f"{what} must be a mapping")
            return {}
        meant = dict(misspelt(node.fields, known=known))
        for key, value in node.fields.items():
            if key not in known:
                hint = f"did you mean `{meant[key]}`?" if key in meant else f"there are {', '.join(known)}"
                self.problem(value, f"`{key[:80]}` of {what} is not known: {hint}")
        return {key: value for key, value in node.fields.items() if key in known and not value.is_null}

    def items(self, fields: Mapping[str, YamlNode], key: str) -> tuple[YamlNode, ...]:
        """Return the items of a list; none if it is missing."""
        node = fields.get(key)
        if node is None:
            return ()
        if node.items is None and node.fields != {}:
            self.problem(node, f"`{key}` must be a list")
        return node.items or ()

    def text(self, fields: Mapping[str, YamlNode], key: str, default: str = "") -> str:
        """Return a text as written; numbers and dates are texts too."""
        node = fields.get(key)
        if node is None:
            return default
        if node.text is None:
            self.problem(node, f"`{key}` must be text")
        return node.text or ""

    def texts(self, fields: Mapping[str, YamlNode], key: str) -> tuple[str, ...]:
        """Return a list of texts; none if it is missing."""
        for item in (found := self.items(fields, key)):
            if item.text is None:
                self.problem(item, f"`{key}` must be a list of texts")
        return tuple(item.text for item in found if item.text is not None)

    def flag(self, fields: Mapping[str, YamlNode], key: str, *, default: bool) -> bool:
        """Return true or false."""
        node = fields.get(key)
        if node is None:
            return default
        if not isinstance(node.value, bool):
            self.problem(node, f"`{key}` must be true or false")
        return node.value is True

    def whole(self, fields: Mapping[str, YamlNode], key: str, default: int, *, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, also one in quotes."""
        if (node := fields.get(key)) is None:
            return default
        number = number_of(node)
        if number is None or number != int(number) or not low <= number <= high:
            self.problem(node, f"`{key}` must be a whole number from {low} to {high}")
            return default
        return int(number)

    def above_zero(
        self, fields: Mapping[str, YamlNode], key: str, default: float, *, high: float, unit: str = ""
    ) -> float:
        """Return a number above 0 and at most `high`, also one in quotes."""
        if (node := fields.get(key)) is None:
            return default
        number = number_of(node)
        if number is None or not 0 < number <= high:
            self.problem(node, f"`{key}` must be a number{unit} above 0 and at most {high:.0f}")
            return default
        return number

    def place(self, node: YamlNode, key: str) -> str:
        """Return the relative path that a value is; empty for a problem."""
        if node.text is None:
            self.problem(node, f"`{key}` must be text")
            return ""
        try:
            return relative_path(node.text)
        except ValueError as error:
            self.problem(node, f"`{key}` {node.text[:200]!r} {error}")
            return ""

    def pattern(self, fields: Mapping[str, YamlNode], key: str) -> str:
        """Return a regular expression; empty if it is missing."""
        pattern = self.text(fields, key)
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            self.problem(fields[key], f"`{key}` is not a regular expression: {error}")
        return pattern

    def env(self, fields: Mapping[str, YamlNode]) -> dict[str, str]:
        """Return the variables of `env`."""
        if (node := fields.get("env")) is None:
            return {}
        values = {name: child.text for name, child in (node.fields or {}).items() if child.text is not None}
        if node.fields is None or len(values) < len(node.fields):
            self.problem(node, "`env` must map names to texts")
        return values


def plain_value(value: object) -> object:
    """Return a value that JSON has, such as a date as text."""
    return value if isinstance(value, str | int | float | bool) else str(value)


def number_of(node: YamlNode) -> float | None:
    """Return a finite number, also one in quotes; None for everything else."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float | str):
        return None
    try:
        number = float(node.value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskDialect:
    """A format of Markdown task files.

    Attributes:
        format: its name.
        rule: how its tasks are scored.
        id_is_stem: whether a task's id is its file's name without `.md`, whatever its head says.
        has_own_assets: whether sources are looked for in `assets/<task id>` first.
        refuses_misspelt_weights: whether a misspelt key of `grading_weights` is a problem; else that part has its
            default weight.
        has_fixed_workspace: whether its tasks may state the workspace's path.
    """

    format: SuiteFormat
    rule: ScoreRule
    id_is_stem: bool = False
    has_own_assets: bool = False
    refuses_misspelt_weights: bool = True
    has_fixed_workspace: bool = False


PINCHBENCH = TaskDialect(format=SuiteFormat.PINCHBENCH, rule=PINCHBENCH_RULE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadTasks:
    """The tasks of a suite, and the problems of its files, as they are read one after another."""

    tasks: dict[str, Task] = field(default_factory=dict)  # by id in small letters: ids become folder names
    problems: list[TaskProblem] = field(default_factory=list)

    def add(self, read: Callable[[], Task], path: Path, line: int = 1) -> bool:
        """Read a task that is stated on a line of a file, and return whether it is one; else that is a problem."""
        try:
            task = read()
        except BrokenTaskError as error:
            self.problems.extend(error.problems)
            return False
        if (twin := self.tasks.setdefault(task.task_id.lower(), task)) is not task:
            reason = f"the id {task.task_id!r} is already taken by {twin.path}"
            self.problems.append(TaskProblem(path=path, line=line, reason=reason))
        return twin is task

    def suite(self, root: Path, suite_format: SuiteFormat, note: str = "") -> LoadedSuite:
        """Return the suite of these tasks, by their ids."""
        tasks = tuple(sorted(self.tasks.values(), key=lambda task: task.task_id))
        suite = Suite(root=root, tasks=tasks, format=suite_format)
        return LoadedSuite(suite=suite, problems=tuple(self.problems), note=note)

"""What the readers of task formats share: text files of bounded size, typed values, problems, and what they return."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task import PINCHBENCH_RULE, ScoreRule, Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from pinchbench.model.task import Task
    from pinchbench.suite.solution import Solution
    from pinchbench.suite.yaml_nodes import YamlNode


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskProblem:
    """Why a file of a suite can't be used. `line` counts from 1."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        """Return `path:line: reason`, which editors and terminals can link to."""
        return f"{self.path}:{self.line}: {self.reason}"


class BrokenTaskError(Exception):
    """A task file has problems; `problems` holds all of them, at least one, sorted by line."""

    def __init__(self, problems: Iterable[TaskProblem]) -> None:
        """Keep the problems, sorted by line."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))


# Far larger than any real task, and small enough to read at once.
MAX_TASK_FILE_BYTES = 4 * 1024 * 1024


def read_bounded(path: Path) -> bytes:
    """Return what a file of a suite holds. Raises BrokenTaskError if it can't be read or is too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TASK_FILE_BYTES + 1)
    except OSError as error:
        reason = f"the file can't be read: {error.strerror}"
        raise BrokenTaskError([TaskProblem(path=path, line=1, reason=reason)]) from error
    if len(data) > MAX_TASK_FILE_BYTES:
        reason = f"the file is larger than {MAX_TASK_FILE_BYTES // 1024**2} MiB"
        raise BrokenTaskError([TaskProblem(path=path, line=1, reason=reason)])
    return data


def decoded(data: bytes, path: Path) -> str:
    """Return UTF-8 data as text. Raises BrokenTaskError, with the line, if it is something else or holds NUL."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenTaskError([TaskProblem(path=path, line=line, reason="the file is not UTF-8 text")]) from error
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        reason = "the file holds a NUL character, which no message to an agent can hold"
        raise BrokenTaskError([TaskProblem(path=path, line=line, reason=reason)])
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFolder:
    """The folder of one task, and the problems that were found in its files."""

    path: Path
    problems: list[TaskProblem] = field(default_factory=list)

    def problem(self, path: Path, line: int, reason: str) -> None:
        """Add a problem."""
        self.problems.append(TaskProblem(path=path, line=line, reason=reason))

    def text(self, name: str) -> str:
        """Return the text of a file in the folder; one that can't be read is empty, and a problem."""
        path = self.path / name
        try:
            return decoded(read_bounded(path), path)
        except BrokenTaskError as error:
            self.problems.extend(error.problems)
            return ""


_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a TOML file holds, and its text. Blocks. Raises BrokenTaskError, with the line."""
    text = decoded(read_bounded(path), path)
    try:
        return tomllib.loads(text), text
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        reason = f"not valid TOML: {_LINE.sub('', str(error)).strip()}"
        raise BrokenTaskError([TaskProblem(path=path, line=line, reason=reason)]) from error


def line_of(text: str, key: str) -> int:
    """Return the line, from 1, on which a TOML text sets a key; 1 if no line begins with it."""
    found = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldReader:
    """Reads the values of one file, and collects its problems. A null counts as a missing value."""

    path: Path
    problems: list[TaskProblem] = field(default_factory=list)

    def problem(self, place: YamlNode | int, reason: str) -> None:
        """Add a problem on the line of a value."""
        line = place if isinstance(place, int) else place.line
        self.problems.append(TaskProblem(path=self.path, line=line, reason=reason))

    def mapping(self, node: YamlNode, what: str, *, known: Collection[str]) -> Mapping[str, YamlNode]:
        """Return the values of a mapping that are not null; a key that is not known is a problem."""
        if node.fields is None:
            self.problem(node, f"{what} must be a mapping")
            return {}
        for key, value in node.fields.items():
            if key not in known:
                self.problem(value, f"`{key[:80]}` of {what} is not known")
        return {key: value for key, value in node.fields.items() if key in known and not value.is_null}

    def items(self, fields: Mapping[str, YamlNode], key: str) -> tuple[YamlNode, ...]:
        """Return the items of a list; none if it is missing."""
        node = fields.get(key)
        if node is None:
            return ()
        if node.items is None:
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
        """Return a whole number from `low` to `high`."""
        node = fields.get(key)
        if node is None:
            return default
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.problem(node, f"`{key}` must be a whole number from {low} to {high}")
            return default
        return value


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
class LoadedSuite:
    """A suite, the problems of excluded files, and a note for the user.

    The note names task files that are not among the suite's tasks, and what is known to differ from the suite's own
    runner; it is empty without either.
    """

    suite: Suite
    problems: tuple[TaskProblem, ...] = ()
    note: str = ""


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


class SuiteReader(Protocol):
    """Reads one format: files in, tasks out. Each task that it can't represent is a problem with file and line."""

    @property
    def format(self) -> SuiteFormat:
        """The format that it reads."""

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds tasks of this format. Blocks. Raises OSError."""

    def read(self, folder: Path) -> LoadedSuite:
        """Read a folder that it recognises. Blocks. Raises OSError if the folder can't be listed."""

    def solution(self, suite: Suite, task: Task) -> Solution | None:
        """Return the worked solution of a task, None without one. Blocks. Raises SuiteError if it can't be used."""

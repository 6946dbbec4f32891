"""claw-bench: a folder for each task, with a set-up script, tests of pytest and a solution."""

from __future__ import annotations

import ast
import hashlib
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinchbench.defaults import SuiteFormat
from pinchbench.model import WORKSPACE_MARK, GradingType, Suite, Task, Turn, WorkspaceFile
from pinchbench.score_rule import ScoreRule
from pinchbench.suite.fixtures import FixtureError, fixture_hash
from pinchbench.suite.parse import MAX_TIMEOUT_S, BrokenTaskError, TaskProblem, id_problem
from pinchbench.suite.reader import LoadedSuite
from pinchbench.suite.solution import ANY_SCORE, Solution, SolutionTurn, ToolStep
from pinchbench.suite.task_text import decoded, read_bounded
from pinchbench.suite.toml_text import line_of, read_toml
from pinchbench.task_programs import PytestVerifier, SetupScript

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULE = ScoreRule(
    text="claw-bench: the weights of the tests that passed as a share of all, 2 for a test without a weight, as the "
    "suite documents it; its own runner in fact counts every test alike"
)
DEFAULT_WEIGHT = 2.0
DEFAULT_TIMEOUT_S = 300.0
SETUP_LIMIT_S = 30.0
VERIFIER_LIMIT_S = 300.0
SETUP, DATA, INSTRUCTION = "environment/setup.sh", "environment/data", "instruction.md"
VERIFIER, SOLUTION, CONFTEST = "verifier/test_output.py", "solution/solve.sh", "conftest.py"
PREAMBLE = (
    f"Your workspace is the folder {WORKSPACE_MARK}. Read and write the files of this task there, and leave no others."
)
# Modules that tests of the suite import and that are not part of Python. Without one of them a test would fail, and
# the agent would be blamed.
PACKAGES = {"numpy": "numpy", "pandas": "pandas", "scipy": "scipy", "statsmodels": "statsmodels", "yaml": "pyyaml"}
_WORKSPACE = re.compile(r"(?<![\w-])(?:\./|/)?workspace/")


class ClawBenchReader:
    """Reads the folder of all domains, or that of one domain."""

    format = SuiteFormat.CLAW_BENCH

    def recognises(self, folder: Path) -> bool:
        """Return whether there is a task with tests. Blocks. Raises OSError."""
        return any((path / VERIFIER).is_file() for path in _task_folders(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Read every task. Blocks. Raises OSError if the folder can't be listed."""
        problems: list[TaskProblem] = []
        tasks: dict[str, Task] = {}
        for path in _task_folders(folder):
            reader = _TaskReader(path.resolve())
            try:
                task = reader.read()
            except BrokenTaskError as error:
                problems.extend(error.problems)
                continue
            twin = tasks.get(task.task_id.lower())
            if twin is not None:
                reason = f"the id {task.task_id!r} is already taken by {twin.path}"
                problems.append(TaskProblem(path=path / "task.toml", line=1, reason=reason))
            else:
                tasks[task.task_id.lower()] = task
        in_order = tuple(sorted(tasks.values(), key=lambda task: task.task_id))
        return LoadedSuite(suite=Suite(root=folder, tasks=in_order, format=self.format), problems=tuple(problems))

    def solution(self, suite: Suite, task: Task) -> Solution | None:
        """Return a turn that runs the solution in a copy of the task's folder; it need not earn every point."""
        del suite
        if task.path is None or not (task.path.parent / SOLUTION).is_file():
            return None
        folder = task.path.parent
        command = (
            f'work=$PWD; copy=$(mktemp -d) && cp -R {shlex.quote(str(folder))}/. "$copy" && cd "$copy" && '
            f'bash {SOLUTION} "$work"; cd "$work"; rm -rf "$copy"'
        )
        turn = SolutionTurn(steps=(ToolStep(tool="exec", args={"command": command}),), answer="Done.")
        return Solution(turns=(turn,), check=ANY_SCORE, idle_check=ANY_SCORE, reads=(folder,))


def _task_folders(folder: Path) -> list[Path]:
    """Return the folders of tasks in a folder of domains, else in that of one domain; without `_schema`."""
    for pattern in ("*/*/task.toml", "*/task.toml"):
        found = [path.parent for path in folder.glob(pattern) if not path.parts[-3].startswith("_")]
        if found:
            return sorted(path for path in found if not path.name.startswith("_"))
    return []


@dataclass(frozen=True, kw_only=True, slots=True)
class _Facts:
    """What `task.toml` says of a task, and the problems with it."""

    task_id: str
    name: str
    domain: str
    timeout_s: float
    values: dict[str, Any]


class _TaskReader:
    """Reads one task's folder and collects all its problems."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._toml = folder / "task.toml"
        self._problems: list[TaskProblem] = []

    def read(self) -> Task:
        """Return the task. Raises BrokenTaskError."""
        facts = self._facts()
        prompt = self._text(INSTRUCTION).strip()
        if not prompt:
            self._problem(self._folder / INSTRUCTION, 1, "there is no instruction")
        needs = self._modules()
        if not (self._folder / SETUP).is_file():
            self._problem(self._toml, 1, f"{SETUP} is missing")
        root = self._root()
        digest = self._digest(root)
        if self._problems:
            raise BrokenTaskError(self._problems)
        text = f"{PREAMBLE}\n\n{_WORKSPACE.sub(f'{WORKSPACE_MARK}/', prompt)}"
        return Task(
            task_id=facts.task_id,
            name=facts.name,
            category=facts.domain,
            grading_type=GradingType.AUTOMATED,
            prompt=text,
            turns=(Turn(prompt=text, names_workspace=True),),
            timeout_s=facts.timeout_s,
            workspace_files=tuple(self._data()),
            grading_weights={"automated": 1.0, "llm_judge": 0.0},
            prerequisites=tuple(f"python:{PACKAGES[name]}" for name in needs),
            frontmatter=facts.values,
            path=self._toml,
            digest=digest,
            rule=RULE,
            setup=SetupScript(folder=self._folder, script=SETUP, limit_s=SETUP_LIMIT_S),
            verifier=PytestVerifier(
                file=self._folder / VERIFIER,
                root=root,
                limit_s=VERIFIER_LIMIT_S,
                default_weight=DEFAULT_WEIGHT,
                needs=needs,
            ),
        )

    def _problem(self, path: Path, line: int, reason: str) -> None:
        self._problems.append(TaskProblem(path=path, line=line, reason=reason))

    def _text(self, name: str) -> str:
        path = self._folder / name
        try:
            return decoded(read_bounded(path), path)
        except BrokenTaskError as error:
            self._problems.extend(error.problems)
            return ""

    def _facts(self) -> _Facts:
        """Read `task.toml`, whose keys may stand in a table `[task]`; the id is the folder's name then."""
        data, text = read_toml(self._toml)
        table = data.get("task")
        values: dict[str, Any] = table if isinstance(table, dict) else data
        task_id = self._folder.name if values is table else self._string(values, "id", text)
        if reason := id_problem(task_id):
            self._problem(self._toml, line_of(text, "id"), reason)
        timeout = values.get("timeout", DEFAULT_TIMEOUT_S)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT_S:
            reason = f"`timeout` must be a number above 0 and at most {MAX_TIMEOUT_S:.0f}"
            self._problem(self._toml, line_of(text, "timeout"), reason)
            timeout = DEFAULT_TIMEOUT_S
        return _Facts(
            task_id=task_id,
            name=self._string(values, "title", text) or task_id,
            domain=self._string(values, "domain", text) or self._folder.parent.name,
            timeout_s=float(timeout),
            values={
                key: value if isinstance(value, str | int | float | bool) else str(value)
                for key, value in values.items()
            },
        )

    def _string(self, values: dict[str, Any], key: str, text: str) -> str:
        value = values.get(key, "")
        if not isinstance(value, str):
            self._problem(self._toml, line_of(text, key), f"`{key}` must be text")
            return ""
        return value.strip()

    def _modules(self) -> tuple[str, ...]:
        """Return which of `PACKAGES` the tests import; tests that are not valid Python are a problem."""
        try:
            tree = ast.parse(self._text(VERIFIER))
        except SyntaxError as error:
            reason = f"the tests are not valid Python: {error.msg}"
            self._problem(self._folder / VERIFIER, error.lineno or 1, reason)
            return ()
        except (ValueError, RecursionError, MemoryError):
            self._problem(self._folder / VERIFIER, 1, "the tests are not valid Python")
            return ()
        return tuple(sorted({name for node in ast.walk(tree) for name in _imported(node) if name in PACKAGES}))

    def _root(self) -> Path:
        """Return the folder of `conftest.py`, from which the tests get their workspace."""
        for folder in (self._folder.parent.parent, self._folder.parent):
            if (folder / CONFTEST).is_file():
                return folder
        places = f"{self._folder.parent.parent} or {self._folder.parent}"
        self._problem(self._folder / VERIFIER, 1, f"its tests need {CONFTEST}, which is not in {places}")
        return self._folder

    def _data(self) -> Iterator[WorkspaceFile]:
        folder = self._folder / DATA
        if folder.is_dir():
            yield from (WorkspaceFile(dest=path.name, source=path) for path in sorted(folder.iterdir()))

    def _digest(self, root: Path) -> str:
        """Return a digest of all that a trial depends on: not of the solution."""
        total = hashlib.sha256()
        for path in (
            *(self._folder / name for name in ("task.toml", INSTRUCTION, "environment", "verifier")),
            root / CONFTEST,
        ):
            try:
                if path.exists():
                    total.update(path.name.encode() + b"\0" + fixture_hash(path))
            except FixtureError as error:
                self._problem(self._toml, 1, str(error))
        return total.hexdigest()


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the packages that a statement imports, by their first names."""
    match node:
        case ast.Import():
            yield from (alias.name.partition(".")[0] for alias in node.names)
        case ast.ImportFrom() if node.module and not node.level:
            yield node.module.partition(".")[0]

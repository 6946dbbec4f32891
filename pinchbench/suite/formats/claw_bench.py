"""claw-bench: a folder for each task, with a set-up script, tests of pytest and a solution."""

from __future__ import annotations

import ast
import hashlib
import re
import shlex
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task import WORKSPACE_MARK, GradingType, ScoreRule, Suite, Task, Turn, WorkspaceFile
from pinchbench.model.task_programs import PytestVerifier, SetupScript
from pinchbench.suite.check_code import needed_modules
from pinchbench.suite.fixtures import FixtureError, fixture_hash
from pinchbench.suite.parse import MAX_TIMEOUT_S, id_problem
from pinchbench.suite.reading import (
    BrokenTaskError,
    LoadedSuite,
    ReadTasks,
    TaskFolder,
    decoded,
    line_of,
    read_bounded,
    read_toml,
)
from pinchbench.suite.solution import ANY_SCORE, Solution, SolutionTurn, ToolStep

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
PYTEST = "pytest"
NESTED_QUOTES = (3, 12)  # the Python since which an f-string may have its own quotes in its braces
WORKSPACE_VARIABLES = ("CLAW_WORKSPACE", "WORKSPACE")  # from which tests without the option get the workspace's path
_WORKSPACE = re.compile(r"(?<![\w-])(?:\./|/)?workspace/")


class ClawBenchReader:
    """Reads the folder of all domains, or that of one domain."""

    format = SuiteFormat.CLAW_BENCH

    def recognises(self, folder: Path) -> bool:
        """Return whether there is a task with tests. Blocks. Raises OSError."""
        return any((path / VERIFIER).is_file() for path in _task_folders(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Read every task. Blocks. Raises OSError if the folder can't be listed."""
        found = ReadTasks()
        for path in _task_folders(folder):
            found.add(_TaskReader(path.resolve()).read, path / "task.toml")
        return found.suite(folder, self.format)

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
        self._source = TaskFolder(path=folder)
        self._versions: tuple[str, ...] = ()  # of Python, as a prerequisite

    def read(self) -> Task:
        """Return the task. Raises BrokenTaskError."""
        facts = self._facts()
        prompt = self._source.text(INSTRUCTION).strip()
        if not prompt:
            self._source.problem(self._folder / INSTRUCTION, 1, "there is no instruction")
        needs = self._examine_tests()
        has_setup = (self._folder / SETUP).is_file()
        root = self._root()
        files = tuple(self._data())
        digest = self._digest(root)
        if self._source.problems:
            raise BrokenTaskError(self._source.problems)
        text = f"{PREAMBLE}\n\n{_WORKSPACE.sub(f'{WORKSPACE_MARK}/', prompt)}"
        return Task(
            task_id=facts.task_id,
            name=facts.name,
            category=facts.domain,
            grading_type=GradingType.AUTOMATED,
            prompt=text,
            turns=(Turn(prompt=text, names_workspace=True),),
            timeout_s=facts.timeout_s,
            workspace_files=files,
            grading_weights={"automated": 1.0, "llm_judge": 0.0},
            prerequisites=(*self._versions, *(f"module:{name}" for name in needs)),
            frontmatter=facts.values,
            path=self._toml,
            digest=digest,
            rule=RULE,
            setup=SetupScript(folder=self._folder, script=SETUP, limit_s=SETUP_LIMIT_S) if has_setup else None,
            verifier=PytestVerifier(
                file=self._folder / VERIFIER,
                root=root,
                limit_s=VERIFIER_LIMIT_S,
                default_weight=DEFAULT_WEIGHT,
                needs=needs,
                beside=(self._folder / "environment",),
                workspace_variables=WORKSPACE_VARIABLES,
            ),
        )

    def _facts(self) -> _Facts:
        """Read `task.toml`, whose keys may stand in a table `[task]`; an id in there is the folder's name."""
        data, text = read_toml(self._toml)
        table = data.get("task")
        values: dict[str, Any] = {**table, **data} if isinstance(table, dict) else dict(data)
        values.pop("task", None)
        task_id = self._string(data, "id", text) if "id" in data else self._folder.name
        if reason := id_problem(task_id):
            self._source.problem(self._toml, line_of(text, "id"), reason)
        timeout = values.get("timeout", DEFAULT_TIMEOUT_S)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MAX_TIMEOUT_S:
            reason = f"`timeout` must be a number above 0 and at most {MAX_TIMEOUT_S:.0f}"
            self._source.problem(self._toml, line_of(text, "timeout"), reason)
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
            self._source.problem(self._toml, line_of(text, key), f"`{key}` must be text")
            return ""
        return value.strip()

    def _examine_tests(self) -> tuple[str, ...]:
        """Return the modules that the tests need apart from Python's own.

        Tests that can't be run, or weighed, are a problem. Those that are written for a later Python are not examined.
        """
        path = self._folder / VERIFIER
        tree = self._parsed(path, "the tests are")
        if tree is None:
            return ()
        nodes = tuple(ast.walk(tree))
        if not any(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in nodes):
            self._source.problem(path, 1, "it holds no tests")
        for node in nodes:
            if isinstance(node, ast.Call) and (reason := _bad_weight(node)):
                self._source.problem(path, node.lineno, reason)
        own = {one.stem for one in path.parent.iterdir()}
        return tuple(sorted({PYTEST, *needed_modules(decoded(read_bounded(path), path), own=own)}))

    def _parsed(self, path: Path, subject: str) -> ast.Module | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as for an invalid escape in a regular expression
                return ast.parse(decoded(read_bounded(path), path))
        except BrokenTaskError as error:
            self._source.problems.extend(error.problems)
        except SyntaxError as error:
            if sys.version_info < NESTED_QUOTES and error.msg.startswith("f-string"):
                self._versions = ("python-version:{}.{}".format(*NESTED_QUOTES),)
            else:
                self._source.problem(path, error.lineno or 1, f"{subject} not valid Python: {error.msg}")
        except (ValueError, RecursionError, MemoryError):
            self._source.problem(path, 1, f"{subject} not valid Python")
        return None

    def _root(self) -> Path:
        """Return the folder of `conftest.py`, from which the tests get their workspace."""
        for folder in (self._folder.parent.parent, self._folder.parent):
            if (folder / CONFTEST).is_file():
                self._examine_conftest(folder / CONFTEST)
                return folder
        places = f"{self._folder.parent.parent} or {self._folder.parent}"
        self._source.problem(self._folder / VERIFIER, 1, f"its tests need {CONFTEST}, which is not in {places}")
        return self._folder

    def _examine_conftest(self, path: Path) -> None:
        tree = self._parsed(path, "what its tests need is")
        if tree is not None and not any(_adds_workspace(node) for node in ast.walk(tree)):
            self._source.problem(path, 1, "it does not give the tests their workspace: it adds no option --workspace")

    def _data(self) -> Iterator[WorkspaceFile]:
        folder = self._folder / DATA
        if folder.exists() and not folder.is_dir():
            self._source.problem(folder, 1, "it must be a folder, whose content is copied into the workspace")
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
                self._source.problem(self._toml, 1, str(error))
        return total.hexdigest()


def _adds_workspace(node: ast.AST) -> bool:
    """Whether a call adds the option by which tests get their workspace."""
    match node:
        case ast.Call(func=ast.Attribute(attr="addoption"), args=args):
            return any(isinstance(one, ast.Constant) and one.value == "--workspace" for one in args)
        case _:
            return False


def _bad_weight(call: ast.Call) -> str:
    """Return why a marker `weight(n)` can't be used; empty if it can, or if the call is another."""
    match call.func:
        case ast.Attribute(attr="weight", value=ast.Attribute(attr="mark")):
            pass
        case _:
            return ""
    match call.args:
        case [ast.Constant(value=bool() | str() | bytes() | None), *_] | [ast.UnaryOp(op=ast.USub()), *_]:
            return "the weight of a test must be a number of at least 0"
        case []:
            return "the marker `weight` needs a number"
        case _:
            return ""

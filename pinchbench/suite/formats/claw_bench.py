"""claw-bench: a folder for each task, with a set-up script, tests of pytest and a solution."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import warnings
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model.task import WORKSPACE_MARK, GradingType, LoadedSuite, ScoreRule, Suite, Task, Turn, WorkspaceFile
from pinchbench.model.task_programs import PytestVerifier, SetupScript
from pinchbench.suite.check_code import needed_modules
from pinchbench.suite.parse import MAX_TIMEOUT_S, id_problem
from pinchbench.suite.reading import CHECK_ALONE, TASK_TOML, FieldReader, ReadTasks, plain_value, read_toml
from pinchbench.suite.solution import Solution, command_solution
from pinchbench.suite.yaml_nodes import YamlNode, misspelt, other_limits, setup_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


RULE = ScoreRule(
    text="claw-bench: the weights of the tests that passed as a share of all, 2 for a test without a weight, as the "
    "suite documents it; its own runner in fact counts every test alike"
)
READ_KEYS = ("id", "title", "domain", "timeout")
OTHER_KEYS = frozenset(  # of the suite's schema, which say nothing about how a trial is run or graded
    {"track", "level", "description", "capabilities", "required_actions", "skills_allowed", "tags", "capability_types"}
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
NAMED_KEYS = 10  # in a note
NESTED_QUOTES = (3, 12)  # the Python since which an f-string may have its own quotes in its braces
# From which tests without the option, and solutions without an argument, get the workspace's path.
WORKSPACE_VARIABLES = (
    *("CLAW_WORKSPACE", "WORKSPACE", "WORKSPACE_DIR", "WORKSPACE_PATH", "WORKSPACE_ROOT"),
    *("OPENCLAW_WORKSPACE", "TASK_WORKSPACE"),
)
_NAMES = "|".join(WORKSPACE_VARIABLES)
_WORKSPACE = re.compile(rf"(?<![\w-])(?:\./|/)?workspace/|\$(?:(?:{_NAMES})\b|\{{(?:{_NAMES})\}})/?")


def recognises(folder: Path) -> bool:
    """Return whether there is a task with tests. Blocks. Raises OSError."""
    return any((path / VERIFIER).is_file() for path in _task_folders(folder))


def read(folder: Path) -> LoadedSuite:
    """Read the tasks of all domains, or of one. Blocks. Raises OSError if the folder can't be listed."""
    found = ReadTasks()
    for path in _task_folders(folder):
        found.add(_TaskReader(path.resolve()).read, path / TASK_TOML)
    stated = {key for task in found.tasks.values() for key in task.frontmatter}
    unknown = ", ".join(f"`{key[:80]}`" for key in sorted(stated - OTHER_KEYS - {*READ_KEYS})[:NAMED_KEYS])
    note = f"{TASK_TOML} has keys that are not known, and are ignored: {unknown}." if unknown else ""
    return found.suite(folder, SuiteFormat.CLAW_BENCH, note)


def solution(_suite: Suite, task: Task) -> Solution | None:
    """Return a turn that runs the solution in a copy of the task's folder; it need not earn every point."""
    if task.path is None or not (task.path.parent / SOLUTION).is_file():
        return None
    folder = task.path.parent
    variables = " ".join(f'{name}="$work"' for name in WORKSPACE_VARIABLES)
    command = (
        f'work=$PWD; copy=$(mktemp -d) && cp -R {shlex.quote(str(folder))}/. "$copy" && cd "$copy" && '
        f'{variables} bash {SOLUTION} "$work"; cd "$work"; rm -rf "$copy"'
    )
    return command_solution(command, reads=folder)


def _task_folders(folder: Path) -> list[Path]:
    """Return the folders of tasks in a folder of domains, else in that of one domain; without `_schema`."""
    for pattern in ("*/*/task.toml", "*/task.toml"):
        found = [path.parent for path in folder.glob(pattern) if not path.parts[-3].startswith("_")]
        if found:
            return sorted(path for path in found if not path.name.startswith("_"))
    return []


class _TaskReader:
    """Reads one task's folder and collects all its problems."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fields = FieldReader(path=folder / TASK_TOML)
        self._versions: tuple[str, ...] = ()  # of Python, as a prerequisite

    def read(self) -> Task:
        """Return the task, whose keys may stand in a table `[task]`; an id in there is the folder's name.

        Raises BrokenTaskError.
        """
        fields = self._fields
        top = read_toml(fields.path)
        values = {**(top["task"].fields or {}), **top} if "task" in top else dict(top)
        values.pop("task", None)
        _refuse_unknown(fields, values)
        task_id = fields.text(top, "id").strip() if "id" in top else self._folder.name
        if reason := id_problem(task_id):
            fields.problem(top.get("id"), reason)
        timeout_s = fields.above_zero(values, "timeout", DEFAULT_TIMEOUT_S, high=MAX_TIMEOUT_S)
        prompt = fields.instruction(self._folder / INSTRUCTION)
        needs = self._examine_tests()
        root = self._root()
        text = f"{PREAMBLE}\n\n{_WORKSPACE.sub(f'{WORKSPACE_MARK}/', prompt)}"
        stated = (self._folder / name for name in (TASK_TOML, INSTRUCTION, "environment", "verifier"))
        task = Task(
            task_id=task_id,
            name=fields.text(values, "title").strip() or task_id,
            category=fields.text(values, "domain").strip() or self._folder.parent.name,
            grading_type=GradingType.AUTOMATED,
            prompt=text,
            turns=(Turn(prompt=text, names_workspace=True),),
            timeout_s=timeout_s,
            workspace_files=tuple(self._data()),
            grading_weights=CHECK_ALONE,
            prerequisites=(*self._versions, *(f"module:{name}" for name in needs)),
            frontmatter={key: plain_value(node.value) for key, node in values.items()},
            path=fields.path,
            digest=fields.digest((path.name, path) for path in (*stated, root / CONFTEST) if path.exists()),
            rule=RULE,
            setup=SetupScript(folder=self._folder, script=SETUP, limit_s=SETUP_LIMIT_S)
            if (self._folder / SETUP).is_file()
            else None,
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
        fields.refuse()
        return task

    def _examine_tests(self) -> tuple[str, ...]:
        """Return the modules that the tests need apart from Python's own.

        Tests that can't be run, or weighed, are a problem. Those that are written for a later Python are not examined.
        """
        path = self._folder / VERIFIER
        text = self._fields.file_text(path)
        tree = self._parsed(path, text, "the tests are")
        if tree is None:
            return ()
        nodes = tuple(ast.walk(tree))
        if not any(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in nodes):
            self._fields.problem_in(path, 1, "it holds no tests")
        for node in nodes:
            if isinstance(node, ast.Call) and (reason := _bad_weight(node)):
                self._fields.problem_in(path, node.lineno, reason)
        own = {one.stem for one in path.parent.iterdir()}
        return tuple(sorted({PYTEST, *needed_modules(text, own=own)}))

    def _parsed(self, path: Path, text: str, subject: str) -> ast.Module | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as for an invalid escape in a regular expression
                return ast.parse(text)
        except SyntaxError as error:
            if sys.version_info < NESTED_QUOTES and error.msg.startswith("f-string"):
                self._versions = ("python-version:{}.{}".format(*NESTED_QUOTES),)
            else:
                self._fields.problem_in(path, error.lineno or 1, f"{subject} not valid Python: {error.msg}")
        except (ValueError, RecursionError, MemoryError):
            self._fields.problem_in(path, 1, f"{subject} not valid Python")
        return None

    def _root(self) -> Path:
        """Return the folder of `conftest.py`, from which the tests get their workspace."""
        for folder in (self._folder.parent.parent, self._folder.parent):
            if (folder / CONFTEST).is_file():
                self._examine_conftest(folder / CONFTEST)
                return folder
        places = f"{self._folder.parent.parent} or {self._folder.parent}"
        self._fields.problem_in(self._folder / VERIFIER, 1, f"its tests need {CONFTEST}, which is not in {places}")
        return self._folder

    def _examine_conftest(self, path: Path) -> None:
        tree = self._parsed(path, self._fields.file_text(path), "what its tests need is")
        if tree is not None and not any(_adds_workspace(node) for node in ast.walk(tree)):
            self._fields.problem_in(
                path, 1, "it does not give the tests their workspace: it adds no option --workspace"
            )

    def _data(self) -> Iterator[WorkspaceFile]:
        folder = self._folder / DATA
        if folder.exists() and not folder.is_dir():
            self._fields.problem_in(folder, 1, "it must be a folder, whose content is copied into the workspace")
        if folder.is_dir():
            yield from (WorkspaceFile(dest=path.name, source=path) for path in sorted(folder.iterdir()))


def _refuse_unknown(fields: FieldReader, values: Mapping[str, YamlNode]) -> None:
    """Report keys that are not known, and that look like a known one, state a limit, or ask for set-up."""
    others = {key: node for key, node in values.items() if key not in OTHER_KEYS}
    reasons = {
        key: f"`{key}` has no meaning here: did you mean `{meant}`?" for key, meant in misspelt(others, known=READ_KEYS)
    }
    unknown = {key: node.value for key, node in others.items() if key not in READ_KEYS}
    for key in unknown.keys() & {*other_limits(unknown), "timeout_seconds"}:
        reasons.setdefault(key, f"`{key}` has no meaning here: state the limit as `timeout`")
    for key in setup_keys(unknown):
        reasons.setdefault(key, f"`{key}` is not known, and could matter")
    for key, reason in reasons.items():
        fields.problem(values[key if key in values else key.partition(".")[0]], reason)


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

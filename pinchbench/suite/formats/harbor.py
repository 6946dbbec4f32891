"""Harbor, and LiveClawBench: a folder for each task. Those that need a container are refused, with what needs it."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pinchbench.defaults import SuiteFormat
from pinchbench.model.score_rule import ScoreRule
from pinchbench.model.task import GradingType, Suite, Task, Turn, WorkspaceFile
from pinchbench.model.task_programs import RewardVerifier
from pinchbench.suite.fixtures import FixtureError, fixture_hash
from pinchbench.suite.formats.dockerfile import Image, read_dockerfile
from pinchbench.suite.formats.harbor_config import read_config
from pinchbench.suite.imports import imported_modules
from pinchbench.suite.parse import MAX_TIMEOUT_S, BrokenTaskError, TaskProblem, id_problem
from pinchbench.suite.reader import LoadedSuite
from pinchbench.suite.solution import ANY_SCORE, Solution, SolutionTurn, ToolStep
from pinchbench.suite.stated_path import stated_path_problem
from pinchbench.suite.task_text import TaskFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULE = ScoreRule(
    text="Harbor: the number `reward` that the tests write to reward.json, or without that file to reward.txt; a trial"
    " whose tests write none has no score"
)
DOCKERFILE, TESTS, SOLUTION, INSTRUCTION = "environment/Dockerfile", "tests", "solution/solve.sh", "instruction.md"
COMPOSE = ("environment/docker-compose.yaml", "environment/docker-compose.yml")
TEXT_SUFFIXES = frozenset({".sh", ".py", ".bash"})
# What tests do to get programs from the network, which checks don't have.
_INSTALLS = re.compile(
    r"(?:^|[\s;&|(])(apt(?:-get)?|apk|yum|dnf|brew|curl|wget|uvx?|conda|npm|npx|docker|(?:python3? -m )?pip3?) "
    r"|git clone",
    re.MULTILINE,
)
_STEPS_OF_TESTS = re.compile(r"/(?:solution|tests|logs)\b")
PYTEST = "pytest"  # the Python of this program has it


class HarborReader:
    """Reads the folder of all tasks."""

    format = SuiteFormat.HARBOR

    def recognises(self, folder: Path) -> bool:
        """Return whether there is a task with tests or steps. Blocks. Raises OSError."""
        return any(_task_folders(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Read every task that needs no container. Blocks. Raises OSError if the folder can't be listed."""
        problems: list[TaskProblem] = []
        tasks: dict[str, Task] = {}
        for path in _task_folders(folder):
            try:
                task = _TaskReader(path.resolve()).read()
            except BrokenTaskError as error:
                problems.extend(error.problems)
                continue
            if (twin := tasks.setdefault(task.task_id.lower(), task)) is not task:
                reason = f"the id {task.task_id!r} is already taken by {twin.path}"
                problems.append(TaskProblem(path=path / "task.toml", line=1, reason=reason))
        in_order = tuple(sorted(tasks.values(), key=lambda task: task.task_id))
        return LoadedSuite(suite=Suite(root=folder, tasks=in_order, format=self.format), problems=tuple(problems))

    def solution(self, suite: Suite, task: Task) -> Solution | None:
        """Return a turn that runs the solution; None for one that names paths of a container. Blocks."""
        del suite
        if task.path is None or not (script := task.path.parent / SOLUTION).is_file():
            return None
        if _STEPS_OF_TESTS.search(script.read_text(encoding="utf-8", errors="replace")):
            return None
        step = ToolStep(tool="exec", args={"command": f"cd {task.workspace_path} && bash '{script}'"})
        return Solution(
            turns=(SolutionTurn(steps=(step,), answer="Done."),),
            check=ANY_SCORE,
            idle_check=ANY_SCORE,
            reads=(script.parent,),
        )


def _task_folders(folder: Path) -> list[Path]:
    found = sorted(path.parent for path in folder.glob("*/task.toml"))
    return [path for path in found if (path / "tests" / "test.sh").is_file() or (path / "steps").is_dir()]


class _TaskReader:
    """Reads one task's folder and collects all its problems."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._source = TaskFolder(path=folder)

    def read(self) -> Task:
        """Return the task. Raises BrokenTaskError."""
        config = read_config(self._folder / "task.toml", self._source.problem)
        task_id = config.name or self._folder.name
        if reason := id_problem(task_id):
            self._source.problem(self._folder / "task.toml", 1, reason)
        image = self._image()
        workdir = PurePosixPath(config.workdir) if config.workdir else image.workdir
        if reason := stated_path_problem(str(workdir)):
            self._source.problem(self._folder / DOCKERFILE, 1, f"its working directory is {workdir}: {reason}")
        prompt = self._source.text(INSTRUCTION).strip()
        if not prompt:
            self._source.problem(self._folder / INSTRUCTION, 1, "there is no instruction")
        files = tuple(self._files(image, workdir))
        needs = self._examine_tests()
        digest = self._digest()
        if self._source.problems:
            raise BrokenTaskError(self._source.problems)
        return Task(
            task_id=task_id,
            name=task_id,
            category=config.category,
            grading_type=GradingType.AUTOMATED,
            prompt=prompt,
            turns=(Turn(prompt=prompt),),
            timeout_s=config.agent_limit_s or MAX_TIMEOUT_S,
            workspace_files=files,
            grading_weights={"automated": 1.0, "llm_judge": 0.0},
            prerequisites=tuple(f"module:{name}" for name in needs),
            network=config.network,
            frontmatter=config.metadata,
            path=self._folder / "task.toml",
            digest=digest,
            rule=RULE,
            verifier=RewardVerifier(
                folder=self._folder / TESTS, script="test.sh", limit_s=config.verifier_limit_s, env=config.verifier_env
            ),
            workspace_path=str(workdir),
            env={**image.env, **config.env},
        )

    def _image(self) -> Image:
        for name in (*COMPOSE, "environment/.dockerignore"):
            if (self._folder / name).exists():
                what = "several containers" if name in COMPOSE else "a build that leaves files out"
                self._source.problem(self._folder / name, 1, f"it needs {what}")
        image = read_dockerfile(self._source.text(DOCKERFILE))
        for line, reason in image.problems:
            self._source.problem(self._folder / DOCKERFILE, line, reason)
        return image

    def _files(self, image: Image, workdir: PurePosixPath) -> Iterator[WorkspaceFile]:
        context = (self._folder / "environment").resolve()
        for copy in image.copies:
            for name in copy.sources:
                source = (context / name.lstrip("/")).resolve()
                if not source.is_relative_to(context) or not source.exists():
                    self._source.problem(self._folder / DOCKERFILE, copy.line, f"the source {name!r} is missing")
                elif not copy.dest.is_relative_to(workdir) or ".." in copy.dest.parts:
                    reason = f"it needs files in {copy.dest}, outside its working directory {workdir}"
                    self._source.problem(self._folder / DOCKERFILE, copy.line, reason)
                elif source.is_dir():
                    for inner in sorted(source.iterdir()):
                        yield WorkspaceFile(dest=str((copy.dest / inner.name).relative_to(workdir)), source=inner)
                elif copy.is_into or copy.dest == workdir:
                    yield WorkspaceFile(dest=str((copy.dest / source.name).relative_to(workdir)), source=source)
                else:
                    yield WorkspaceFile(dest=str(copy.dest.relative_to(workdir)), source=source)

    def _examine_tests(self) -> tuple[str, ...]:
        """Return the modules that the tests need beside Python's own; what they would download is a problem."""
        folder = self._folder / TESTS
        scripts = sorted(path for path in folder.rglob("*") if path.suffix in TEXT_SUFFIXES and path.is_file())
        own = {path.stem for path in scripts} | {path.name for path in folder.rglob("*") if path.is_dir()}
        needs: set[str] = set()
        for path in scripts:
            text = self._source.text(str(path.relative_to(self._folder)))
            if path.suffix == ".py":
                needs |= self._imports(path, text)
            elif found := _INSTALLS.search(text):
                line = text.count("\n", 0, found.start(1) if found[1] else found.start()) + 1
                reason = f"its tests use {(found[1] or 'git clone').strip()}, and tests have no network here"
                self._source.problem(path, line, reason)
        return tuple(sorted(needs - own - sys.stdlib_module_names - {PYTEST}))

    def _imports(self, path: Path, text: str) -> set[str]:
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError) as error:
            self._source.problem(path, getattr(error, "lineno", 1) or 1, "the tests are not valid Python")
            return set()
        return set(imported_modules(nodes))

    def _digest(self) -> str:
        """Return a digest of all that a trial depends on: not of the solution."""
        total = hashlib.sha256()
        for name in ("task.toml", INSTRUCTION, "environment", TESTS):
            try:
                total.update(name.encode() + b"\0" + fixture_hash(self._folder / name))
            except FixtureError as error:
                self._source.problem(self._folder / "task.toml", 1, str(error))
        return total.hexdigest()

"""Harbor, and LiveClawBench: a folder for each task. Those that need a container are refused, with what needs it."""

from __future__ import annotations

import ast
import hashlib
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pinchbench.config.run_config import check_variables
from pinchbench.defaults import SuiteFormat
from pinchbench.errors import ConfigError
from pinchbench.model.task import GradingType, ScoreRule, Suite, Task, Turn, WorkspaceFile
from pinchbench.model.task_programs import RewardVerifier
from pinchbench.suite.check_code import needed_modules
from pinchbench.suite.fixtures import FixtureError, fixture_hash, stated_path_problem
from pinchbench.suite.formats.dockerfile import Image, read_dockerfile
from pinchbench.suite.parse import MAX_TIMEOUT_S, id_problem
from pinchbench.suite.reading import BrokenTaskError, LoadedSuite, ReadTasks, TaskFolder, line_of, read_toml
from pinchbench.suite.solution import ANY_SCORE, Solution, SolutionTurn, ToolStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


VERIFIER_LIMIT_S = 600.0
UNCATEGORIZED = "uncategorized"
# By table: the keys that are read, and those that have no meaning without a container.
_KNOWN = {
    "agent": {"timeout_sec", "user"},
    "verifier": {"timeout_sec", "user", "env", "environment_mode"},
    "environment": {
        *("build_timeout_sec", "cpus", "memory", "memory_mb", "storage", "storage_mb"),
        *("docker_image", "gpus", "mcp_servers", "healthcheck", "env", "workdir", "network_mode", "allow_internet"),
    },
}


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborConfig:
    """What `task.toml` says. `agent_limit_s` is 0 without a limit; `name` is empty where the folder's counts."""

    name: str = ""
    category: str = UNCATEGORIZED
    agent_limit_s: float = 0.0
    verifier_limit_s: float = VERIFIER_LIMIT_S
    workdir: str = ""
    network: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, object] = field(default_factory=dict)


def read_config(path: Path, problem: Callable[[Path, int, str], None]) -> HarborConfig:
    """Read it; `problem` is called with file, line and reason. Blocks. Raises BrokenTaskError if it is no TOML."""
    values, text = read_toml(path)
    return _Reader(values, text, lambda key, reason: problem(path, line_of(text, key), reason)).read()


class _Reader:
    def __init__(self, values: Mapping[str, Any], text: str, problem: Callable[[str, str], None]) -> None:
        self._values = values
        self._text = text
        self._problem = problem

    def read(self) -> HarborConfig:
        agent, verifier, environment = (self._table(name) for name in _KNOWN)
        self._refuse_containers(environment, verifier)
        for table in (agent, verifier):
            if table.get("user") not in (None, "root"):
                self._problem("user", "it needs a user of its own (`user`)")
        metadata = self._table("metadata")
        return HarborConfig(
            name=self._string(self._table("task"), "name").rpartition("/")[2],
            category=self._string(metadata, "category") or self._string(metadata, "domain") or UNCATEGORIZED,
            agent_limit_s=self._limit(agent, 0.0),
            verifier_limit_s=self._limit(verifier, VERIFIER_LIMIT_S),
            workdir=self._string(environment, "workdir"),
            network=self._network(environment),
            env=self._env(environment),
            verifier_env=self._env(verifier),
            metadata={
                key: value if isinstance(value, str | int | float | bool) else str(value)
                for key, value in metadata.items()
            },
        )

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self._values.get(name, {})
        if not isinstance(table, dict):
            self._problem(name, f"`{name}` must be a table")
            return {}
        for key in table.keys() - _KNOWN.get(name, table.keys()):
            if table[key] not in ("", [], {}):  # which say what leaving the key out says
                self._problem(key, f"`{key}` of [{name}] is not known, and could matter")
        return table

    def _refuse_containers(self, environment: Mapping[str, Any], verifier: Mapping[str, Any]) -> None:
        mode = verifier.get("environment_mode", "shared")
        needs = (
            ("docker_image", "an image", environment.get("docker_image")),
            ("gpus", "graphics processors", environment.get("gpus")),
            ("mcp_servers", "MCP servers", environment.get("mcp_servers")),
            ("healthcheck", "a service that is up before the agent starts", environment.get("healthcheck")),
            ("environment_mode", "a second environment for its tests", mode != "shared"),
            ("steps", "several steps, each with tests of its own", self._values.get("steps")),
        )
        for key, what, is_set in needs:
            if is_set:
                self._problem(key, f"it needs {what} (`{key}`)")

    def _string(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            self._problem(key, f"`{key}` must be text")
            return ""
        return value.strip()

    def _limit(self, table: Mapping[str, Any], otherwise: float) -> float:
        value = table.get("timeout_sec", otherwise)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or (value != otherwise and not 0 < value <= MAX_TIMEOUT_S):
            self._problem("timeout_sec", f"`timeout_sec` must be a number above 0 and at most {MAX_TIMEOUT_S:.0f}")
            return otherwise
        return float(value)

    def _network(self, environment: Mapping[str, Any]) -> bool:
        mode, allowed = environment.get("network_mode"), environment.get("allow_internet")
        if mode not in (None, "public", "no-network"):
            self._problem("network_mode", "it needs a network with a list of allowed hosts (`network_mode`)")
        if not isinstance(allowed, bool | None):
            self._problem("allow_internet", "`allow_internet` must be true or false")
        return mode == "public" if mode is not None else allowed is not False

    def _env(self, table: Mapping[str, Any]) -> dict[str, str]:
        env = table.get("env", {})
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            self._problem("env", "`env` must be a table of texts")
            return {}
        for name, value in env.items():
            if "${" in value:
                self._problem(
                    name, f"the variable {name} takes its value from the user's environment, which is not supported"
                )
        try:
            check_variables(env, model="", passed=())
        except ConfigError as error:
            self._problem(next(iter(env)), str(error).removeprefix("--env "))
        return env


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
PYTEST = "pytest"


class HarborReader:
    """Reads the folder of all tasks."""

    format = SuiteFormat.HARBOR

    def recognises(self, folder: Path) -> bool:
        """Return whether there is a task with tests or steps. Blocks. Raises OSError."""
        return any(_task_folders(folder))

    def read(self, folder: Path) -> LoadedSuite:
        """Read every task that needs no container. Blocks. Raises OSError if the folder can't be listed."""
        found = ReadTasks()
        for path in _task_folders(folder):
            found.add(_TaskReader(path.resolve()).read, path / "task.toml")
        return found.suite(folder, self.format)

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
        """Return the modules that the tests need apart from Python's own; what they would download is a problem."""
        folder = self._folder / TESTS
        scripts = sorted(path for path in folder.rglob("*") if path.suffix in TEXT_SUFFIXES and path.is_file())
        own = {path.stem for path in scripts} | {path.name for path in folder.rglob("*") if path.is_dir()}
        needs: set[str] = set()
        for path in scripts:
            text = self._source.text(str(path.relative_to(self._folder)))
            if PYTEST in text:
                needs.add(PYTEST)
            if path.suffix == ".py":
                needs |= self._imports(path, text, own)
            elif found := _INSTALLS.search(text):
                line = text.count("\n", 0, found.start(1) if found[1] else found.start()) + 1
                reason = f"its tests use {(found[1] or 'git clone').strip()}, and tests have no network here"
                self._source.problem(path, line, reason)
        return tuple(sorted(needs - own - sys.stdlib_module_names))

    def _imports(self, path: Path, text: str, own: set[str]) -> set[str]:
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            self._source.problem(path, getattr(error, "lineno", 1) or 1, "the tests are not valid Python")
            return set()
        return set(needed_modules(text, own=own))

    def _digest(self) -> str:
        """Return a digest of all that a trial depends on: not of the solution."""
        total = hashlib.sha256()
        for name in ("task.toml", INSTRUCTION, "environment", TESTS):
            try:
                total.update(name.encode() + b"\0" + fixture_hash(self._folder / name))
            except FixtureError as error:
                self._source.problem(self._folder / "task.toml", 1, str(error))
        return total.hexdigest()

"""Harbor, and LiveClawBench: a folder for each task. Those that need a container are refused, with what needs it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pinchbench.config.run_config import check_variables
from pinchbench.defaults import SuiteFormat
from pinchbench.errors import ConfigError
from pinchbench.model.task import GradingType, LoadedSuite, ScoreRule, Suite, Task, Turn, WorkspaceFile
from pinchbench.model.task_programs import RewardVerifier
from pinchbench.sandbox.sandbox_spec import stated_path_problem
from pinchbench.suite.check_code import needed_modules
from pinchbench.suite.formats.dockerfile import Image, read_dockerfile
from pinchbench.suite.parse import MAX_TIMEOUT_S, id_problem
from pinchbench.suite.reading import CHECK_ALONE, TASK_TOML, FieldReader, ReadTasks, plain_value, read_toml
from pinchbench.suite.solution import Solution, command_solution
from pinchbench.suite.yaml_nodes import YamlNode, setup_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


VERIFIER_LIMIT_S = 600.0
UNCATEGORIZED = "uncategorized"
# By table: the keys that are read, and those that have no meaning without a container.
_KNOWN = {
    "agent": {"timeout_sec", "user", "network_mode"},
    "verifier": {"timeout_sec", "user", "env", "environment_mode", "network_mode"},
    "environment": {
        *("os", "build_timeout_sec", "cpus", "memory", "memory_mb", "storage", "storage_mb"),
        *("docker_image", "gpus", "mcp_servers", "healthcheck", "env", "workdir", "network_mode", "allow_internet"),
    },
}


# At the top: what is read, and what describes a task or its files; a table or a set-up of another name could matter.
_TOP = frozenset(
    {
        *(*_KNOWN, "task", "metadata", "steps", "schema_version", "version", "source", "solution", "artifacts"),
        *("multi_step_reward_strategy", "multi_step_reward_mode"),
    }
)


def _refuse_unknown(fields: FieldReader, top: Mapping[str, YamlNode]) -> None:
    asked = {*setup_keys({key: node.value for key, node in top.items()}, _TOP)}
    for key, node in top.items():
        is_table = isinstance(node.value, dict | list) and node.value
        if key not in _TOP and (is_table or key in asked):
            fields.problem(node, f"`{key}` is not known, and could matter")


def _table(fields: FieldReader, top: Mapping[str, YamlNode], name: str) -> Mapping[str, YamlNode]:
    node = top.get(name)
    if node is not None and node.fields is None:
        fields.problem(node, f"`{name}` must be a table")
    table = {} if node is None else node.fields or {}
    for key in table.keys() - _KNOWN.get(name, table.keys()):
        if table[key].value not in ("", [], {}):  # which say what leaving the key out says
            fields.problem(table[key], f"`{key}` of [{name}] is not known, and could matter")
    return table


def _refuse_containers(
    fields: FieldReader,
    top: Mapping[str, YamlNode],
    environment: Mapping[str, YamlNode],
    agent: Mapping[str, YamlNode],
    verifier: Mapping[str, YamlNode],
) -> None:
    for table in (agent, verifier):
        if (user := table.get("user")) is not None and user.value != "root":
            fields.problem(user, "it needs a user of its own (`user`)")
    usual = {"environment_mode": "shared", "os": "linux"}
    for table, key, what in (
        (environment, "os", "another operating system"),
        (environment, "docker_image", "an image"),
        (environment, "gpus", "graphics processors"),
        (environment, "mcp_servers", "MCP servers"),
        (environment, "healthcheck", "a service that is up before the agent starts"),
        (verifier, "environment_mode", "a second environment for its tests"),
        (top, "steps", "several steps, each with tests of its own"),
    ):
        node = table.get(key)
        if node is not None and node.value and node.value != usual.get(key):
            fields.problem(node, f"it needs {what} (`{key}`)")


def _network(fields: FieldReader, *tables: Mapping[str, YamlNode]) -> bool:
    """Return whether agents have the network, of the tables environment, agent and verifier: the agent's mode wins."""
    modes = [table.get("network_mode") for table in tables]
    for mode in modes:
        if mode is not None and mode.value not in ("public", "no-network"):
            fields.problem(mode, "it needs a network with a list of allowed hosts (`network_mode`)")
    allowed = fields.flag(tables[0], "allow_internet", default=True)
    mode = modes[1] or modes[0]
    return allowed if mode is None else mode.value == "public"


def _env(fields: FieldReader, table: Mapping[str, YamlNode]) -> dict[str, str]:
    env = fields.env(table)
    nodes = table["env"].fields or {} if env else {}
    for name, value in env.items():
        if "${" in value:
            reason = f"the variable {name} takes its value from the user's environment, which is not supported"
            fields.problem(nodes[name], reason)
    try:
        check_variables(env, model="", passed=())
    except ConfigError as error:
        fields.problem(next(iter(nodes.values())), str(error).removeprefix("--env "))
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


def recognises(folder: Path) -> bool:
    """Return whether there is a task with tests or steps. Blocks. Raises OSError."""
    return any(_task_folders(folder))


def read(folder: Path) -> LoadedSuite:
    """Read every task that needs no container. Blocks. Raises OSError if the folder can't be listed."""
    found = ReadTasks()
    for path in _task_folders(folder):
        found.add(_TaskReader(path.resolve()).read, path / TASK_TOML)
    return found.suite(folder, SuiteFormat.HARBOR)


def solution(_suite: Suite, task: Task) -> Solution | None:
    """Return a turn that runs the solution; None for one that names paths of a container. Blocks."""
    if task.path is None or not (script := task.path.parent / SOLUTION).is_file():
        return None
    if _STEPS_OF_TESTS.search(script.read_text(encoding="utf-8", errors="replace")):
        return None
    return command_solution(f"cd {task.workspace_path} && bash '{script}'", reads=script.parent)


def _task_folders(folder: Path) -> list[Path]:
    found = sorted(path.parent for path in folder.glob("*/task.toml"))
    return [path for path in found if (path / "tests" / "test.sh").is_file() or (path / "steps").is_dir()]


class _TaskReader:
    """Reads one task's folder and collects all its problems."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fields = FieldReader(path=folder / TASK_TOML)

    def read(self) -> Task:
        """Return the task. Raises BrokenTaskError."""
        fields = self._fields
        top = read_toml(fields.path)
        _refuse_unknown(fields, top)
        agent, verifier, environment = (_table(fields, top, name) for name in _KNOWN)
        _refuse_containers(fields, top, environment, agent, verifier)
        metadata = _table(fields, top, "metadata")
        category = fields.text(metadata, "category").strip() or fields.text(metadata, "domain").strip()
        task_id = fields.text(_table(fields, top, "task"), "name").strip().rpartition("/")[2] or self._folder.name
        if reason := id_problem(task_id):
            fields.problem(1, reason)
        image = self._image()
        workdir = PurePosixPath(fields.text(environment, "workdir").strip() or image.workdir)
        if reason := stated_path_problem(str(workdir)):
            fields.problem_in(self._folder / DOCKERFILE, 1, f"its working directory is {workdir}: {reason}")
        prompt = fields.instruction(self._folder / INSTRUCTION)
        stated = (TASK_TOML, INSTRUCTION, "environment", TESTS)
        task = Task(
            task_id=task_id,
            name=task_id,
            category=category or UNCATEGORIZED,
            grading_type=GradingType.AUTOMATED,
            prompt=prompt,
            turns=(Turn(prompt=prompt),),
            timeout_s=fields.above_zero(agent, "timeout_sec", MAX_TIMEOUT_S, high=MAX_TIMEOUT_S),
            workspace_files=tuple(self._files(image, workdir)),
            grading_weights=CHECK_ALONE,
            prerequisites=tuple(f"module:{name}" for name in self._examine_tests()),
            network=_network(fields, environment, agent, verifier),
            frontmatter={key: plain_value(node.value) for key, node in metadata.items()},
            path=fields.path,
            digest=fields.digest((name, self._folder / name) for name in stated),
            rule=RULE,
            verifier=RewardVerifier(
                folder=self._folder / TESTS,
                script="test.sh",
                limit_s=fields.above_zero(verifier, "timeout_sec", VERIFIER_LIMIT_S, high=MAX_TIMEOUT_S),
                env=_env(fields, verifier),
            ),
            workspace_path=str(workdir),
            env={**image.env, **_env(fields, environment)},
        )
        fields.refuse()
        return task

    def _image(self) -> Image:
        for name in (*COMPOSE, "environment/.dockerignore"):
            if (self._folder / name).exists():
                what = "several containers" if name in COMPOSE else "a build that leaves files out"
                self._fields.problem_in(self._folder / name, 1, f"it needs {what}")
        image = read_dockerfile(self._fields.file_text(self._folder / DOCKERFILE))
        for line, reason in image.problems:
            self._fields.problem_in(self._folder / DOCKERFILE, line, reason)
        return image

    def _files(self, image: Image, workdir: PurePosixPath) -> Iterator[WorkspaceFile]:
        context = (self._folder / "environment").resolve()
        for copy in image.copies:
            for name in copy.sources:
                source = (context / name.lstrip("/")).resolve()
                if not source.is_relative_to(context) or not source.exists():
                    self._fields.problem_in(self._folder / DOCKERFILE, copy.line, f"the source {name!r} is missing")
                elif not copy.dest.is_relative_to(workdir) or ".." in copy.dest.parts:
                    reason = f"it needs files in {copy.dest}, outside its working directory {workdir}"
                    self._fields.problem_in(self._folder / DOCKERFILE, copy.line, reason)
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
            text = self._fields.file_text(path)
            if PYTEST in text:
                needs.add(PYTEST)
            if path.suffix == ".py":
                needs |= self._imports(path, text, own)
            elif found := _INSTALLS.search(text):
                line = text.count("\n", 0, found.start(1) if found[1] else found.start()) + 1
                reason = f"its tests use {(found[1] or 'git clone').strip()}, and tests have no network here"
                self._fields.problem_in(path, line, reason)
        return tuple(sorted(needs - own - sys.stdlib_module_names))

    def _imports(self, path: Path, text: str, own: set[str]) -> set[str]:
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            self._fields.problem_in(path, getattr(error, "lineno", 1) or 1, "the tests are not valid Python")
            return set()
        return set(needed_modules(text, own=own))

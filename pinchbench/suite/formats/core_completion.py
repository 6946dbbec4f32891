"""What a task of clawbench Core must have come to: assertions on files and commands, and the files that they need."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pinchbench.model.task import WORKSPACE_MARK
from pinchbench.model.task_programs import AssertionsVerifier, CommandAssertion, FileAssertion
from pinchbench.suite.check_code import imported_modules
from pinchbench.suite.fixtures import relative_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.suite.reading import FieldReader
    from pinchbench.suite.yaml_nodes import YamlNode

OF_RUNNER = "stands for a service, or something else of the suite's own runner"
# Names of services, and others that the suite's runner fills in.
RUNNER_MARK = re.compile(r"\{(?:(?:\w+_)?(?:port|url|node_path)|repo_root|task_id|model|prompt_variant)\}")
DEFAULT_LIMIT_S, MAX_LIMIT_S = 60, 3600
COMPLETION = {
    "files": "",
    "execution_checks": "",
    "memory": "its check searches the gateway's memory",
    "session": "its check asks the gateway for a session",
    "cron": "its check asks the gateway for scheduled jobs",
    "gateway_assertions": "its check asks the gateway",
}
FILE = ("path", "exists", "content_contains", "content_not_contains", "content_matches", "min_size_bytes")
COMMAND = (
    *("name", "command", "cwd", "env", "timeout_seconds", "shell", "expected_exit_code"),
    *("stdout_contains", "stdout_not_contains", "stderr_contains", "stdout_matches", "stderr_matches"),
    *("expected_stdout", "expected_stdout_file", "expected_json", "expected_json_file"),
)
PYTEST, PYTHON = "pytest", ("python", "python3")  # those of the Python that runs this program
_VERIFIER = re.compile(r"[._]?verif", re.IGNORECASE)
_TEST = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
# What configures pytest; of these, the first are its alone, so that no agent has to change them.
_PYTEST_FILES = frozenset({"pytest.ini", ".pytest.ini"})
_SHARED_FILES = frozenset({"pyproject.toml", "tox.ini", "setup.cfg"})
_BROWSER = re.compile(r"playwright|selenium|puppeteer|chromium", re.IGNORECASE)
_NEXT_COMMAND = re.compile(r"&&|\|\||[;|\n]")
_PROGRAM = re.compile(r"[A-Za-z][\w.+-]*")
_OF_SHELL = frozenset(
    (
        *("case", "cd", "command", "do", "done", "echo", "elif", "else", "esac", "eval", "exec", "exit", "export"),
        *("false", "fi", "for", "if", "printf", "read", "return", "set", "shift", "test", "then", "time", "trap"),
        *("true", "type", "umask", "unset", "until", "wait", "while"),
    )
)


def read_completion(
    fields: FieldReader, top: Mapping[str, YamlNode], root: YamlNode, assets: Mapping[str, Path], *, writes_tests: bool
) -> tuple[AssertionsVerifier, tuple[str, ...]]:
    """Return what a task's `completion` asserts, and prerequisites; what can't be examined here is a problem.

    `assets` are the files of the task's packs by their places in the workspace. `writes_tests`: tests among them are
    for the agent to change, and are not restored.
    """
    node = top.get("completion", root)
    values = fields.mapping(node, "`completion`", known=COMPLETION) if "completion" in top else {}
    for key, value in values.items():
        if COMPLETION[key] and value.value not in ([], {}):
            fields.problem(value, COMPLETION[key])
    files = tuple(_file(fields, item) for item in fields.items(values, "files"))
    nodes = fields.items(values, "execution_checks")
    commands = tuple(_command(fields, item, assets) for item in nodes)
    if not fields.problems and not (files or commands):
        fields.problem(node, "it asserts nothing: every agent would have the score 1")
    runs_tests = any(PYTEST in one.command for one in commands) and not writes_tests
    scripts: dict[str, str] = {}
    tests: dict[str, str] = {}
    for place, path in assets.items():
        name = PurePosixPath(place).name
        if _VERIFIER.match(name):
            scripts[place] = _script(fields, path)
        elif runs_tests and (_TEST.fullmatch(name) or name in _PYTEST_FILES):
            tests[place] = _script(fields, path)
    restored = _restored(assets, commands, {**scripts, **tests})
    programs = {program for one in commands for program in programs_of(one.command, of_shell=one.shell)}
    needs = _modules(assets, scripts) | ({PYTEST} if any(PYTEST in one.command for one in commands) else set())
    if options := _pytest_options(assets) if runs_tests else "":
        commands = tuple(replace(one, env={"PYTEST_ADDOPTS": options, **one.env}) for one in commands)
    verifier = AssertionsVerifier(files=files, commands=commands, kept=tuple(restored))
    return verifier, (*(f"cli:{one}" for one in sorted(programs)), *(f"module:{one}" for one in sorted(needs)))


def _file(fields: FieldReader, node: YamlNode) -> FileAssertion:
    values = fields.mapping(node, "an assertion on a file", known=FILE)
    return FileAssertion(
        path=read_place(fields, values, "path", node),
        exists=fields.flag(values, "exists", default=True),
        contains=fields.texts(values, "content_contains"),
        lacks=fields.texts(values, "content_not_contains"),
        matches=fields.pattern(values, "content_matches"),
        min_bytes=fields.whole(values, "min_size_bytes", 0, low=0, high=2**40),
    )


def _command(fields: FieldReader, node: YamlNode, assets: Mapping[str, Path]) -> CommandAssertion:
    values = fields.mapping(node, "an execution check", known=COMMAND)
    command = fields.text(values, "command").strip()
    if not command:
        fields.problem(node, "an execution check needs a `command`")
    if found := RUNNER_MARK.search(command):
        fields.problem(values["command"], f"{found[0]} {OF_RUNNER}")
    if _BROWSER.search(command):
        fields.problem(values["command"], "its check needs a browser")
    shell = fields.flag(values, "shell", default=True)
    if not shell:
        try:
            shlex.split(command)
        except ValueError as error:
            fields.problem(values["command"], f"`command` can't be split into words: {error}")
    expected = values.get("expected_json")
    return CommandAssertion(
        name=fields.text(values, "name") or command,
        command=command,
        cwd=read_place(fields, values, "cwd", node),
        env=read_env(fields, values, {}),
        limit_s=float(fields.whole(values, "timeout_seconds", DEFAULT_LIMIT_S, low=1, high=MAX_LIMIT_S)),
        shell=shell,
        exit_code=fields.whole(values, "expected_exit_code", 0, low=-255, high=255),
        stdout_contains=fields.texts(values, "stdout_contains"),
        stdout_lacks=fields.texts(values, "stdout_not_contains"),
        stderr_contains=fields.texts(values, "stderr_contains"),
        stdout_matches=fields.pattern(values, "stdout_matches"),
        stderr_matches=fields.pattern(values, "stderr_matches"),
        stdout=fields.text(values, "expected_stdout") if "expected_stdout" in values else None,
        stdout_file=_expected_file(fields, values, "expected_stdout_file", assets),
        stdout_json=None if expected is None else json.dumps(expected.value),
        stdout_json_file=_expected_file(fields, values, "expected_json_file", assets),
    )


def filled(text: str, marks: Mapping[str, str]) -> str:
    """Return a text with what its marks stand for."""
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def read_place(fields: FieldReader, values: Mapping[str, YamlNode], key: str, node: YamlNode) -> str:
    """Return a path in the workspace, which may be stated with its mark; a missing `cwd` is the workspace itself."""
    text = fields.text(values, key, "." if key == "cwd" else "").removeprefix(f"{WORKSPACE_MARK}/")
    if key == "cwd" and text in (".", "./", "", WORKSPACE_MARK):
        return "."
    try:
        return relative_path(text)
    except ValueError as error:
        fields.problem(values.get(key, node), f"`{key}` {error}")
        return "."


def read_env(fields: FieldReader, values: Mapping[str, YamlNode], marks: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an `env`, in which `marks` are filled in."""
    texts = {name: filled(text, marks) for name, text in fields.env(values).items()}
    for text in texts.values():
        if found := RUNNER_MARK.search(text):
            fields.problem(values["env"], f"{found[0]} {OF_RUNNER}")
    return texts


def _expected_file(fields: FieldReader, values: Mapping[str, YamlNode], key: str, assets: Mapping[str, Path]) -> str:
    """Return the place of a file with an expected output, which must be in a pack: else it would be the agent's."""
    if key not in values:
        return ""
    place = read_place(fields, values, key, values[key])
    if (source := assets.get(place)) is None:
        fields.problem(values[key], f"`{key}`: no pack has the file {place}")
    elif key == "expected_json_file":
        try:
            json.loads(fields.file_text(source))
        except (ValueError, RecursionError):
            fields.problem(values[key], f"`{key}`: {place} is not JSON")
    return place


def _pytest_options(assets: Mapping[str, Path]) -> str:
    """Return options by which pytest reads no configuration, and no fixtures, that the agent alone can have written."""
    names = {PurePosixPath(place).name for place in assets}
    options = []
    if not names & (_PYTEST_FILES | _SHARED_FILES):
        options += ["-c", os.devnull, f"--rootdir={WORKSPACE_MARK}"]
    if "conftest.py" not in names:
        options.append("--noconftest")
    return " ".join(options)


def _script(fields: FieldReader, path: Path) -> str:
    """Return the text of a script of the check; one that needs a browser is a problem."""
    text = fields.file_text(path)
    if found := _BROWSER.search(text):
        line = text.count("\n", 0, found.start()) + 1
        fields.problem_in(path, line, "its check needs a browser")
    return text


def _restored(
    assets: Mapping[str, Path], commands: tuple[CommandAssertion, ...], scripts: Mapping[str, str]
) -> list[str]:
    """Return the files of the packs that the check needs as they were: its scripts, and the answers that they name."""
    stated = {name for one in commands for name in (one.stdout_file, one.stdout_json_file) if name}
    named = {
        place
        for place in assets
        if _is_answer(place) and any(PurePosixPath(place).name in text for text in scripts.values())
    }
    return sorted({*scripts, *named, *stated} & assets.keys())


def _is_answer(place: str) -> bool:
    """Return whether a place is one of answers: hidden, or in a folder `expected`."""
    parts = PurePosixPath(place).parts
    return "expected" in parts[:-1] or any(part.startswith(".") for part in parts)


def programs_of(command: str, *, of_shell: bool = True) -> Iterator[str]:
    """Yield the programs that a command names, without the shell's own words and those that are always there."""
    for part in _NEXT_COMMAND.split(command) if of_shell else [command]:
        words = part.split()
        while words and "=" in words[0]:
            del words[0]
        if words and _PROGRAM.fullmatch(words[0]) and words[0] not in (*_OF_SHELL, *PYTHON, PYTEST):
            yield words[0]


def _modules(assets: Mapping[str, Path], scripts: Mapping[str, str]) -> set[str]:
    """Return the modules that scripts import apart from Python's own and those of the workspace."""
    own = {PurePosixPath(part).stem for place in assets for part in PurePosixPath(place).parts}
    found: set[str] = set()
    for place, text in scripts.items():
        if place.endswith(".py"):
            with suppress(SyntaxError, ValueError, RecursionError):
                found |= set(imported_modules(ast.parse(text).body))
    return found - own - sys.stdlib_module_names

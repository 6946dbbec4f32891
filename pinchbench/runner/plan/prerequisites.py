"""Whether this machine has what tasks need: each prerequisite is looked for once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.model.task import GradingType, Task
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.trial_clock import PACKAGE, find_libfaketime
from pinchbench.suite.prerequisite import Kind, Prerequisite, parse_prerequisite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


PYTHON_LIMIT_S = 20.0  # a Python starts in 20 ms; a loaded machine or a network disk multiplies that
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# below the folder of a version: of Playwright, whose names have changed
PLAYWRIGHTS = ("chromium-*/chrome-linux*/chrome", "chromium_headless_shell-*/chrome-*/*headless*shell")
CLOCK = Prerequisite(text="clock", kind=Kind.CLOCK, name=PACKAGE)
BROWSER = Prerequisite(text="browser", kind=Kind.BROWSER, name="Chromium (apt install chromium) or Google Chrome")
SHIM_BYTES = 8192  # of a program that may be a script of a package manager
_MODULE_IS_MISSING = """\
import importlib.metadata, importlib.util, sys
name = sys.argv[1]
try:
    importlib.metadata.version(name)
except importlib.metadata.PackageNotFoundError:
    sys.exit(importlib.util.find_spec(name.replace("-", "_")) is None)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingPrerequisites:
    """What of a task's prerequisites this machine lacks, and what can't be checked."""

    missing: tuple[Prerequisite, ...] = ()
    unchecked: tuple[Prerequisite, ...] = ()

    def state_of(self, one: Prerequisite) -> str:
        """Whether a prerequisite of the task is there, in words."""
        if one in self.missing:
            return "missing"
        return "can't be checked" if one in self.unchecked else "found"

    @property
    def sentence(self) -> str:
        """What is missing, in words; empty where nothing is."""
        *others, last = (*map(str, self.missing),) or ("",)
        names = f"{', '.join(others)} and {last}" if others else last
        return f"{names} {'are' if others else 'is'} missing" if names else ""


def examine_tasks(
    tasks: Iterable[Task],
    *,
    openclaw: str | None = None,
    env: Mapping[str, str] | None = None,
    in_openclaw: bool = True,
) -> dict[str, MissingPrerequisites]:
    """Look for what tasks need, by task id; tasks without prerequisites are left out. Blocks.

    A task with a check needs a program on the PATH that the check inherits; one that only a judge grades may also have
    the Node that the agent gets from a managed OpenClaw. `openclaw` is the choice of `--openclaw`. What a task's clock
    and browser take is needed where it is run `in_openclaw`.
    """
    env = os.environ if env is None else env
    inherited = env.get("PATH", os.defpath)
    is_there = cache(partial(_is_there, env=env))
    needs: dict[str, MissingPrerequisites] = {}
    for task in tasks:
        needed = [*map(parse_prerequisite, task.prerequisites), *(_of_world(task) if in_openclaw else ())]
        if not needed:
            continue
        path = _agents_path(inherited, openclaw) if task.grading_type is GradingType.LLM_JUDGE else inherited
        found = {one: is_there(one, path) for one in needed}
        needs[task.task_id] = MissingPrerequisites(
            missing=tuple(one for one, has in found.items() if has is False),
            unchecked=tuple(one for one, has in found.items() if has is None),
        )
    return needs


def _of_world(task: Task) -> Iterator[Prerequisite]:
    if task.starts_at is not None:
        yield CLOCK
    if Ability.BROWSER in task.abilities:
        yield BROWSER


def _agents_path(inherited: str, openclaw: str | None) -> str:
    from pinchbench.openclaw.install import node_folders  # noqa: PLC0415 - few tasks need it, and all commands are to start fast

    return os.pathsep.join([*map(str, node_folders(openclaw)), inherited])


def _is_there(one: Prerequisite, path: str, env: Mapping[str, str]) -> bool | None:
    """Return whether this machine has something; None where that is unknown."""
    match one.kind:
        case Kind.PROGRAM:
            return shutil.which(one.name, path=path) is not None
        case Kind.NPM:
            return _has_npm_package(one.name, path, env.get("NODE_PATH", ""))
        case Kind.PYTHON:
            return _has_python_package(one.name, path, env)
        case Kind.PYTHON_VERSION | Kind.MODULE | Kind.CLOCK:
            return _is_here(one)
        case Kind.VARIABLE | Kind.BROWSER:
            return bool(env.get(one.name) if one.kind is Kind.VARIABLE else find_browser(env))
        case Kind.SERVER | Kind.UNKNOWN:
            return False if one.kind is Kind.SERVER else None


def find_browser(env: Mapping[str, str]) -> Path | None:
    """Return the program of a Chromium, the system's or else Playwright's newest; None if there is none. Blocks."""
    on_path = (shutil.which(name, path=env.get("PATH")) for name in BROWSERS)
    if found := next(filter(None, on_path), None):
        return Path(found)
    cache = Path(env.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return next((one for pattern in PLAYWRIGHTS for one in sorted(cache.glob(pattern), reverse=True)), None)


def _is_here(one: Prerequisite) -> bool:
    """Whether the Python of this program, which runs the checks, has a module, is new enough, or finds libfaketime."""
    if one.kind is Kind.CLOCK:
        return find_libfaketime() is not None
    if one.kind is Kind.MODULE:
        return importlib.util.find_spec(one.name) is not None
    return sys.version_info[:2] >= tuple(map(int, one.name.split(".")))


def _has_npm_package(name: str, path: str, node_path: str) -> bool:
    """Return whether a package is installed globally, next to a folder of PATH, in NODE_PATH, or by a link."""
    folders = [Path(one) for one in node_path.split(os.pathsep) if one]
    for one in filter(None, path.split(os.pathsep)):
        folders += [Path(one).parent / "lib" / "node_modules", Path(one).parent]
        if Path(one).name == ".bin":  # of a folder that npm has installed packages into
            folders.append(Path(one).parent)
    if any((folder / name / "package.json").is_file() for folder in folders):
        return True
    program = shutil.which(name.rpartition("/")[2], path=path)
    return program is not None and _leads_to(Path(program), f"node_modules/{name}/")


def _leads_to(program: Path, package: str) -> bool:
    with suppress(OSError, RuntimeError):
        if package in f"{program.resolve()}":
            return True
        with program.open("rb") as file:
            return package.encode() in file.read(SHIM_BYTES)
    return False


def _has_python_package(name: str, path: str, env: Mapping[str, str]) -> bool | None:
    """Whether the `python3` of PATH has a package, by the name it is installed or imported by."""
    python = shutil.which("python3", path=path)
    if python is None:
        return False
    try:
        done = subprocess.run(
            [python, "-c", _MODULE_IS_MISSING, name],
            cwd="/",
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PYTHON_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode == 0

"""Assertions on the files of a workspace and on commands in it, examined in a check's process."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinchbench.files.workspace import clear_place
from pinchbench.grading.check_verifier import Rewards
from pinchbench.model.task import WORKSPACE_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_BYTES = 4 * 1024 * 1024  # of an output or a file that is looked into
SHOWN = 2000  # characters of an output in the log
_FLAGS = re.MULTILINE | re.DOTALL


class _NotSoError(Exception):
    """An assertion does not hold; the message says why."""


def run_assertions(verifier: Mapping[str, Any], workspace: str) -> Rewards:
    """Examine all assertions; `verifier` is an `AssertionsVerifier` as JSON values. What fails is printed."""
    place = Path(workspace)
    kept = {name: (place / name).read_bytes() for name in verifier["kept"]}
    folders = {".", *(one["cwd"] for one in verifier["commands"])}

    def run(one: Mapping[str, Any]) -> None:
        _restore(place, kept)
        _remove_hooks(place, folders)
        _examine_command(one, place)

    examine: list[tuple[str, Callable[[], None]]] = [
        *((f"file {one['path']}", partial(_examine_file, one, place)) for one in verifier["files"]),
        *((one["name"], partial(run, one)) for one in verifier["commands"]),
    ]
    points: dict[str, float] = {}
    for name, holds in examine:
        free = name if name not in points else f"{name} ({len(points) + 1})"
        try:
            holds()
        except (_NotSoError, OSError) as error:
            print(f"[{free}] {error}", flush=True)  # noqa: T201 - into the check's log
            points[free] = 0.0
        else:
            points[free] = 1.0
    return Rewards(score=sum(points.values()) / len(points), points=points)


def _restore(workspace: Path, kept: Mapping[str, bytes]) -> None:
    for name, data in kept.items():
        place = workspace / name
        if place.is_symlink() or not place.is_file() or place.read_bytes() != data:
            clear_place(workspace, name).write_bytes(data)


def _remove_hooks(workspace: Path, folders: set[str]) -> None:
    """Remove what every Python would run at its start, as the folders are in `PYTHONPATH`: it could end with code 0."""
    for folder in filter(partial(_is_inside, workspace), (workspace / name for name in folders)):
        for path in folder.glob("sitecustomize*"):
            print(f"[{path.name}] removed: Python would run it before each script", flush=True)  # noqa: T201 - as below
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _examine_file(one: Mapping[str, Any], workspace: Path) -> None:
    path = workspace / one["path"]
    is_there = _is_inside(workspace, path) and path.is_file()
    if is_there is not one["exists"]:
        raise _NotSoError("the file is there" if is_there else "the file is missing")
    if not is_there:
        return
    if path.stat().st_size < one["min_bytes"]:
        raise _NotSoError(f"the file has less than {one['min_bytes']} bytes")
    _examine_text("the file", _read(path), one["contains"], one["lacks"], one["matches"], workspace)


def _examine_command(one: Mapping[str, Any], workspace: Path) -> None:
    # read before the command, which may run the agent's code: that could write its own output into them
    text, value = (
        _read(workspace / name) if (name := one[key]) else None for key in ("stdout_file", "stdout_json_file")
    )
    said = _run(one, workspace)
    print(f"[{one['name']}] {said.stdout[-SHOWN:]}{said.stderr[-SHOWN:]}", flush=True)  # noqa: T201 - stdout is the check's log
    if said.returncode != one["exit_code"]:
        raise _NotSoError(f"the exit code is {said.returncode}, not {one['exit_code']}")
    _examine_text(
        "the output", said.stdout, one["stdout_contains"], one["stdout_lacks"], one["stdout_matches"], workspace
    )
    _examine_text("stderr", said.stderr, one["stderr_contains"], (), one["stderr_matches"], workspace)
    if one["stdout"] is not None and said.stdout.strip() != _filled(one["stdout"], workspace).strip():
        raise _NotSoError("the output is not the expected text")
    if text is not None and said.stdout.strip() != text.strip():
        raise _NotSoError(f"the output is not that of {one['stdout_file']}")
    if one["stdout_json"] is not None and _json(said.stdout) != json.loads(_filled(one["stdout_json"], workspace)):
        raise _NotSoError("the output is not the expected JSON value")
    if value is not None and _json(said.stdout) != json.loads(value):
        raise _NotSoError(f"the output is not the JSON value of {one['stdout_json_file']}")


def _examine_text(  # noqa: PLR0917 - what is expected of one text
    what: str, text: str, contains: list[str], lacks: list[str] | tuple[()], matches: str, workspace: Path
) -> None:
    for token in contains:
        if _filled(token, workspace) not in text:
            raise _NotSoError(f"{what} does not contain {token!r}")
    for token in lacks:
        if _filled(token, workspace) in text:
            raise _NotSoError(f"{what} contains {token!r}")
    if matches and re.search(_filled(matches, workspace), text, _FLAGS) is None:
        raise _NotSoError(f"{what} does not match {matches!r}")


def _run(one: Mapping[str, Any], workspace: Path) -> subprocess.CompletedProcess[str]:
    """Run a command, with its output in files: what it leaves running could hold pipes open."""
    cwd = workspace / one["cwd"]
    if not (_is_inside(workspace, cwd) and cwd.is_dir()):
        raise _NotSoError(f"there is no folder {one['cwd']}")
    if one["shell"]:
        argv = ["sh", "-c", one["command"].replace(WORKSPACE_MARK, shlex.quote(str(workspace)))]
    else:
        argv = [_filled(word, workspace) for word in shlex.split(one["command"])]
    env = _environment(one, cwd, workspace)
    outputs = [Path(os.environ["TMPDIR"], name) for name in ("stdout", "stderr")]
    with outputs[0].open("wb") as stdout, outputs[1].open("wb") as stderr:
        try:
            process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
            )
        except OSError as error:
            raise _NotSoError(f"the command can't be started: {error.strerror}") from None
        try:
            code = process.wait(one["limit_s"])
        except subprocess.TimeoutExpired:
            raise _NotSoError(f"the command took longer than {one['limit_s']:g} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return subprocess.CompletedProcess(argv, code, _read(outputs[0]), _read(outputs[1]))


def _environment(one: Mapping[str, Any], cwd: Path, workspace: Path) -> dict[str, str]:
    own = {name: _filled(value, workspace) for name, value in one["env"].items()}
    return {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # what happens to be installed has no influence
        **own,
        "PYTHONUNBUFFERED": "1",
        "PYTHONNOUSERSITE": "1",
        "PATH": f"{Path(sys.executable).parent}:{own.get('PATH', os.environ['PATH'])}",  # the Python that has pytest
        "PYTHONPATH": ":".join(filter(None, (str(cwd), str(workspace), own.get("PYTHONPATH", "")))),
    }


def _is_inside(workspace: Path, path: Path) -> bool:
    """Return whether a path is in the workspace, wherever links lead."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace))  # a loop of links is no error


def _filled(text: str, workspace: Path) -> str:
    return text.replace(WORKSPACE_MARK, str(workspace))


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _NotSoError("the output is not JSON") from None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise _NotSoError(f"{path.name} can't be read: {error.strerror}") from None

"""What a run adds to its agents: whether it can be used, its digests, and the files of workspaces. Blocks."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.errors import ConfigError
from pinchbench.model.task import Task, WorkspaceFile
from pinchbench.redaction import known_secrets, secrets_in
from pinchbench.suite.fixtures import FixtureError, fixture_hash, refuse_unkept, relative_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pinchbench.config.run_config import RunConfig

WHOLE = "."  # the place of a folder whose content goes into the workspace itself


def check_additions(config: RunConfig) -> None:
    """Raise ConfigError if skills or workspace files can't be read, or if settings or variables hold keys."""
    addition_digests(config)
    if config.skills is not None and next(config.skills.rglob("SKILL.md"), None) is None:
        raise ConfigError(f"--skills {config.skills} has no SKILL.md in any of its folders.")
    if secrets_in(config.openclaw_config):
        raise ConfigError(
            "--openclaw-config holds what looks like a key: put it into a variable, write ${NAME} in its place, and"
            " name the variable with --pass-env."
        )
    for name, value in config.env.items():
        if known_secrets({name: value}):
            raise ConfigError(
                f"--env {name} looks like a key, which would stand in the results: set the variable yourself, and name"
                f" it with --pass-env {name}."
            )


def addition_digests(config: RunConfig) -> dict[str, str]:
    """Return a SHA-256 of the content of each folder of files that a run adds, by the option's name.

    Raises ConfigError if something can't be read, or is a link that leads out of its folder.
    """
    found = {}
    if config.skills is not None:
        if not config.skills.is_dir():
            raise ConfigError(f"--skills {config.skills} is not a folder.")
        found["skills"] = _digest(config.skills, option="--skills").hex()
    if config.workspace_files:
        found["workspace_files"] = files_digest(config.workspace_files)
    return found


def files_digest(files: Mapping[str, str]) -> str:
    """Return a SHA-256 of workspace files and their places. Raises ConfigError as `addition_digests`."""
    total = hashlib.sha256()
    for place, source in sorted(files.items()):
        total.update(hashlib.sha256(place.encode()).digest())
        total.update(_digest(Path(source), option="--workspace-files"))
    return total.hexdigest()


def _digest(path: Path, *, option: str) -> bytes:
    try:
        refuse_unkept([path])
        return fixture_hash(path)
    except FixtureError as error:
        raise ConfigError(f"{option}: {error}.") from error


def with_workspace_files(tasks: Iterable[Task], files: Mapping[str, str]) -> tuple[Task, ...]:
    """Return the tasks, whose workspaces have these files too; see `RunConfig.workspace_files`.

    For all that follows they are given to the agent, not written by it.

    Raises ConfigError if they can't be read, or if one is in the place of a task's own.
    """
    added = tuple(one for place, source in files.items() for one in _expanded(place, Path(source)))
    return tuple(_with_files(task, added) for task in tasks) if added else tuple(tasks)


def _with_files(task: Task, added: tuple[WorkspaceFile, ...]) -> Task:
    taken = {place for one in task.workspace_files for place in _places(one)}
    for one in added:
        parts = one.dest.split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if clash := next((place for place in taken if place in above or place.startswith(f"{one.dest}/")), None):
            raise ConfigError(
                f"--workspace-files: {one.dest} is in the place of {clash}, which {task.task_id} brings; leave one of"
                " them out, or choose other tasks with --suite."
            )
    return replace(task, workspace_files=(*task.workspace_files, *added))


def _expanded(place: str, source: Path) -> Iterator[WorkspaceFile]:
    """Yield the files of a source with their places. Raises ConfigError."""
    if place != WHOLE:
        try:
            place = relative_path(place)
        except ValueError as error:
            raise ConfigError(f"--workspace-files: the place {place!r} {error}.") from error
    if source.is_dir():
        head = "" if place == WHOLE else f"{place}/"
        for path in sorted(source.rglob("*")):
            if path.is_file():
                yield WorkspaceFile(dest=f"{head}{path.relative_to(source).as_posix()}", source=path, of_run=True)
    elif place == WHOLE:
        raise ConfigError(f"--workspace-files {source} is not a folder.")
    elif not source.is_file():
        raise ConfigError(f"--workspace-files: {source} does not exist.")
    else:
        yield WorkspaceFile(dest=place, source=source, of_run=True)


def _places(file: WorkspaceFile) -> Iterator[str]:
    if file.source is not None and file.source.is_dir():
        inside = (path for path in file.source.rglob("*") if path.is_file())
        yield from (f"{file.dest}/{path.relative_to(file.source).as_posix()}" for path in inside)
    else:
        yield file.dest

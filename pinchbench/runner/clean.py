"""Old workspaces and runs: which there are, what they take, and their removal."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.files.folders import disk_bytes, remove_folder
from pinchbench.results.journal.lock import held, is_written
from pinchbench.results.paths import RunFiles
from pinchbench.runner.run_folders import is_in_use, own_homes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# what `new_run_id` makes, at the end of a folder's name
_RUN_ID = re.compile(r"(?P<at>\d{8}-\d{6})-[0-9a-f]{4}")
_RUN_NAME = re.compile(rf"[A-Za-z0-9_-]+_{_RUN_ID.pattern}")
_OTHER_WORK = re.compile(
    r"(?:regrade|agent|tasks|doctor)-\w{8}"
)  # folders of work outside a run, which removes them itself


class Kind(StrEnum):
    """What can be removed."""

    WORKSPACE = "workspace"
    RUN = "run"


@dataclass(frozen=True, kw_only=True, slots=True)
class Removable:
    """A folder of ours. `at`: when it was last at work, in seconds since the epoch. `in_use`: somebody works in it."""

    kind: Kind
    path: Path
    at: float
    size_bytes: int
    in_use: bool

    @property
    def files(self) -> RunFiles:
        """Where the files of a run lie."""
        return RunFiles(output_dir=self.path.parent, name=self.path.name)


def find_workspaces(run_root: Path) -> tuple[Removable, ...]:
    """Yield the workspaces of runs below a run root, the oldest first; other folders are ignored. Blocks."""
    found = (path for path in _folders(run_root) if _RUN_ID.fullmatch(path.name) or _OTHER_WORK.fullmatch(path.name))
    return _by_age(
        Removable(
            kind=Kind.WORKSPACE, path=path, at=_last_work(path), size_bytes=disk_bytes(path), in_use=is_in_use(path)
        )
        for path in found
    )


def find_runs(output_dir: Path) -> tuple[Removable, ...]:
    """The runs of an output folder, the oldest first. Blocks."""
    return _by_age(
        _run(RunFiles(output_dir=output_dir, name=path.name)) for path in _folders(output_dir) if is_run(path)
    )


def one_run(files: RunFiles) -> Removable:
    """A run that was named. Blocks. Raises ResultsError when its folder is not what a runner has made."""
    if not is_run(files.folder):
        raise ResultsError(f"{files.folder} is not removed: it is not a folder that a run has made.")
    return _run(files)


def is_run(folder: Path) -> bool:
    """Whether a folder is a run: no link, the user's own, named as runs are, with a run's two first files in it."""
    files = RunFiles(output_dir=folder.parent, name=folder.name)
    return (
        _RUN_NAME.fullmatch(folder.name) is not None
        and _is_own(folder, stat.S_ISDIR)
        and _is_own(files.provenance, stat.S_ISREG)
        and _is_own(files.journal, stat.S_ISREG)
    )


def remove(one: Removable) -> str:
    """Remove a workspace, or a run with its results file; return why something is left, or nothing. Blocks.

    Nobody can begin to work in it meanwhile. Links are removed, not followed.
    """
    try:
        return _remove_workspace(one.path) if one.kind is Kind.WORKSPACE else _remove_run(one.files)
    except ResultsError as error:
        return str(error)
    except OSError as error:
        return f"{one.path} can't be removed: {error.strerror}."


def _remove_workspace(path: Path) -> str:
    if not _is_own(path, stat.S_ISDIR):
        return f"{path} is no longer a folder of yours."
    owner = own_homes(path)
    try:
        return remove_folder(path)
    finally:
        os.close(owner)


def _remove_run(files: RunFiles) -> str:
    if not is_run(files.folder):
        return f"{files.folder} is no longer a run."
    with held(files.journal):
        if not (left := remove_folder(files.folder)):
            files.aggregate.unlink(missing_ok=True)
    return left


def _run(files: RunFiles) -> Removable:
    try:
        in_use = is_written(files.journal)
    except OSError:
        in_use = True
    return Removable(
        kind=Kind.RUN,
        path=files.folder,
        at=max(_last_work(files.folder), _changed_at(files.journal)),
        size_bytes=disk_bytes(files.folder) + disk_bytes(files.aggregate),
        in_use=in_use,
    )


def _folders(above: Path) -> Iterator[Path]:
    """The user's own folders in one, without links; nothing where there is none."""
    with suppress(OSError):
        yield from (path for path in sorted(above.iterdir()) if _is_own(path, stat.S_ISDIR))


def _is_own(path: Path, is_kind: Callable[[int], bool]) -> bool:
    try:
        info = path.lstat()
    except OSError:
        return False
    return is_kind(info.st_mode) and info.st_uid == os.getuid()


def _last_work(folder: Path) -> float:
    """When a run began by its name, or when something was last made or removed in its folder, if that was later."""
    began = _RUN_ID.search(folder.name)
    named = 0.0
    if began is not None:
        with suppress(ValueError):
            named = datetime.strptime(began["at"], "%Y%m%d-%H%M%S").replace(tzinfo=UTC).timestamp()
    return max(named, _changed_at(folder))


def _changed_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _by_age(found: Iterator[Removable]) -> tuple[Removable, ...]:
    return tuple(sorted(found, key=lambda one: (one.at, one.path)))

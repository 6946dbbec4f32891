"""Workspaces: a private folder a trial, with the task's files in it and nothing else."""

from __future__ import annotations

import os
import shutil
import stat
from itertools import count
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pinchbench.model import WorkspaceFile


def private_folder(path: Path) -> Path:
    """Make a folder, parents included, that only this user can look into; return it. One that exists stays as it is.

    Raises ResultsError when it can't be made, is a file or a link, or belongs to somebody else: another user could have
    planted it in a shared place such as /tmp. That place itself will do: in a sticky folder of root's, nobody can
    touch the private folder that a run makes.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        info = path.lstat()
        if not stat.S_ISDIR(info.st_mode):
            raise ResultsError(f"{path} is not a folder; remove it or name another with --run-root.")
        is_shared_place = info.st_uid == 0 and info.st_mode & stat.S_ISVTX
        if info.st_uid != os.getuid() and not is_shared_place:
            raise ResultsError(f"{path} belongs to another user; name another folder with --run-root.")
    except OSError as error:
        raise ResultsError(f"{path} can't be made or used: {error.strerror}.") from error
    return path


def fill_workspace(path: Path, files: Iterable[WorkspaceFile]) -> None:
    """Make a clean workspace and put the task's files into it. Blocks.

    Something that is there already is kept aside beside it. Raises OSError when a file can't be written or read.
    """
    if path.exists() or path.is_symlink():
        path.rename(next(other for n in count(1) if not (other := path.with_name(f".{path.name}.before-{n}")).exists()))
    path.mkdir(mode=0o700, parents=True)
    for file in files:
        target = path / file.dest
        # before anything is made: the parents, and the place itself, may be links that a copied folder brought
        if not target.resolve().is_relative_to(path.resolve()):
            raise OSError(f"{file.dest} would leave the workspace through a link")
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.content is not None:
            target.write_text(file.content, encoding="utf-8", newline="")
        elif file.source is not None and file.source.is_dir():
            shutil.copytree(file.source, target, symlinks=True, dirs_exist_ok=True)
        elif file.source is not None:
            shutil.copy(file.source, target)

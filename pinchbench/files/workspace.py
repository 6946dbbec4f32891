"""Workspaces: a private folder a trial, with the task's files in it and nothing else."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pinchbench.files.folders import remove_folder, set_aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pinchbench.model.task import WorkspaceFile


def fill_workspace(path: Path, files: Iterable[WorkspaceFile]) -> None:
    """Make a clean workspace and put the task's files into it. Blocks.

    Something that is there already is kept next to it. Raises OSError when a file can't be written or read, and
    ResultsError when what is there can't be kept aside.
    """
    set_aside(path)
    path.mkdir(mode=0o700, parents=True)
    copy_files(path, files)


def copy_files(path: Path, files: Iterable[WorkspaceFile]) -> None:
    """Put files into a workspace, over what is there. Blocks. Raises OSError when one can't be written or read."""
    for file in files:
        target = path / file.dest
        # before anything is made: the parents, and the place itself, may be links that a copied folder brought
        if not target.resolve().is_relative_to(path.resolve()):
            raise OSError(f"{file.dest} would leave the workspace through a link")
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.content is not None:
            target.write_text(file.content, encoding="utf-8", newline="")
        elif file.source is not None and file.source.is_dir():
            shutil.copytree(file.source, target, symlinks=True, dirs_exist_ok=True, copy_function=_copy_over)
        elif file.source is not None:
            _copy_over(file.source, target, copy=shutil.copy)


def _copy_over(
    source: str | Path, target: str | Path, *, copy: Callable[[str | Path, str | Path], object] = shutil.copy2
) -> None:
    """Copy a file also over one that can't be written, such as an object of Git."""
    if os.path.lexists(target) and not os.access(target, os.W_OK):
        os.unlink(target)  # noqa: PTH108 - `copytree` gives texts
    copy(source, target)


def replace_files(path: Path, files: Iterable[WorkspaceFile]) -> None:
    """Put files into a workspace in place of whatever is there, be it a link or a folder, or a link above. Blocks.

    Raises OSError when something can't be removed, written or read.
    """
    files = tuple(files)
    for file in files:
        clear_place(path, file.dest)
    copy_files(path, files)


def clear_place(path: Path, dest: str) -> Path:
    """Return the place `dest` in a workspace, with nothing there and folders alone above it. Blocks. Raises OSError."""
    target = path / dest
    above = reversed(target.relative_to(path).parents[:-1])
    for place in (*(path / one for one in above), target):
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
    if target.exists():
        remove_folder(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


@contextmanager
def unnamed(workspace: Path) -> Iterator[None]:
    """Give a workspace's folder a random name while the block lasts, and put a link in its place.

    What is mounted in a sandbox can be read there by its real name, which would be that of the task. If this process is
    killed meanwhile, the link remains and leads to the folder. Blocks for the time of two renames. Raises OSError.
    """
    folder = workspace.with_name(f".{secrets.token_hex(8)}")
    workspace.rename(folder)
    try:
        workspace.symlink_to(folder.name)
        yield
    finally:
        workspace.unlink(missing_ok=True)
        folder.rename(workspace)

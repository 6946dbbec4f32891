"""Folders of our own: private to the user, and gone when they are removed, whatever somebody has put into them."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


def remove_folder(folder: Path, *, last: str = "") -> str:
    """Remove a folder however deep it is and whatever its permissions; return why something is left, or nothing. Blocks.

    What can't be removed does not keep the rest. The entry `last` goes only when all others have gone. A folder that is
    not there is removed already. Never raises OSError, nor for the depth: what lies deeper is brought up first, so that
    no path gets too long and no number of levels is too much.
    """
    prefix, numbers = f"up-{secrets.token_hex(8)}-", count()
    problems: list[str] = []

    def empty(at: Path) -> Iterator[Path]:
        """Remove the files of a folder; give out its folders, from where they can be reached."""
        with os.scandir(at) as listing:
            for entry in listing:
                path = at / entry.name
                if at == folder and entry.name == last:
                    continue
                with _noted(problems):
                    if not entry.is_dir(follow_symlinks=False):
                        path.unlink()
                        continue
                    path.chmod(0o700)  # to be moved, a folder must be writable itself
                    yield path if at == folder else path.rename(folder / f"{prefix}{next(numbers)}")

    waiting: list[Path] = []
    with _noted(problems):
        folder.chmod(0o700)
        waiting += empty(folder)
    while waiting:
        lowest = waiting.pop()
        with _noted(problems):
            waiting += empty(lowest)
            lowest.rmdir()
    with _noted(problems):
        if last and not problems:
            (folder / last).unlink(missing_ok=True)
        if not problems:
            folder.rmdir()
    return problems[0] if problems else ""


@contextmanager
def _noted(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(str(error))

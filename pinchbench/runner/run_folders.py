"""The folders of a run: made, owned by a living process, and cleaned up here."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CancelScope, move_on_after, to_thread

from pinchbench.errors import ResultsError
from pinchbench.files.folders import folder_error, is_surely_unlocked, private_folder, refuse_noexec, remove_folder
from pinchbench.grading.check_sandbox import sweep_places
from pinchbench.process.leftovers import end_orphaned, identity, is_alive, is_elsewhere
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.paths import RunFiles, create_run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

HOMES = ".homes"
CHECKS = "checks"  # where checks run, below the run root: in the same place whichever run they belong to
OWNER = "owner"
MAX_OWNER_BYTES = 4096
NAMELESS_S = 600.0  # homes get their owner's name in the moment they are made
CLEAN_UP_LIMIT_S = 30.0  # deleting homes, some MB each
REMOVALS, REMOVAL_PAUSE_S = 6, 0.2  # of homes into which agents that are being ended may still write


@dataclass(kw_only=True, slots=True)
class RunFolders:
    """Where a run's things are: its open journal, and its workspaces and homes in `work`.

    The results of a run that has not begun hold nothing worth keeping.
    """

    journal: JournalWriter
    work: Path
    has_begun: bool


@asynccontextmanager
async def open_run_folders(
    files: RunFiles, run_root: Path, run_id: str, journal: JournalWriter | None
) -> AsyncGenerator[RunFolders]:
    """Make the folders of a run; `journal` is the open one of a run that is resumed, and stays the caller's.

    At the end homes are removed. So are the results of a new run, unless `has_begun` was set in the block. Workspaces
    stay. Raises ResultsError.
    """
    if journal is not None:
        async with open_work_folder(run_root, name=run_id) as work:
            yield RunFolders(journal=journal, work=work, has_begun=True)
        return
    await to_thread.run_sync(create_run, files.output_dir, files.name)
    folders = None
    try:
        # the journal's lock holds longer than the homes: they are nobody else's until they are gone
        with await to_thread.run_sync(JournalWriter, files.journal) as writer:
            async with open_work_folder(run_root, name=run_id) as work:
                folders = RunFolders(journal=writer, work=work, has_begun=False)
                yield folders
    finally:
        if folders is None or not folders.has_begun:
            with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
                await to_thread.run_sync(_delete_results, files, abandon_on_cancel=True)


@asynccontextmanager
async def open_work_folder(run_root: Path, *, name: str = "", prefix: str = "") -> AsyncGenerator[Path]:
    """A folder below the run root that is this process's own: the one with that `name`, or a new one with a `prefix`.

    What dead runners have left, processes and homes, is removed first. At the end the homes in it are removed, and the
    folder itself when it is empty. Raises ResultsError when it can't be made, when another runner works in it, or when
    nothing can be executed there.
    """
    root = await to_thread.run_sync(private_folder, run_root)
    await to_thread.run_sync(refuse_noexec, root)
    await to_thread.run_sync(end_orphaned)
    await to_thread.run_sync(sweep_homes, root)
    folder = await to_thread.run_sync(_make_work_folder, root, name, prefix)
    try:
        async with owned_homes(folder):
            yield folder
    except ResultsError:
        with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
            await to_thread.run_sync(_remove_empty, folder, abandon_on_cancel=True)
        raise


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _make_work_folder(root: Path, name: str, prefix: str) -> Path:
    try:
        return private_folder(root / name) if name else Path(tempfile.mkdtemp(prefix=prefix, dir=root))
    except OSError as error:
        raise folder_error(root, error, option="--run-root") from error


def _delete_results(files: RunFiles) -> None:
    """Delete what a run has made that never began; an output folder that holds something else stays."""
    remove_folder(files.folder)
    with suppress(OSError):
        files.output_dir.rmdir()


def _remove_homes(homes: Path) -> str:
    """Remove the homes of an earlier runner; return why something is left. Blocks, for a second if nothing helps.

    When a runner was killed a moment ago, its agents are only being ended, and what they still write keeps a folder
    from being removed: it is tried several times.
    """
    left = remove_folder(homes, last=OWNER)
    for _ in range(REMOVALS - 1):
        if not left:
            break
        time.sleep(REMOVAL_PAUSE_S)
        left = remove_folder(homes, last=OWNER)
    return left


def own_homes(run_folder: Path) -> int:
    """Make the folder of the homes and write down whose they are. Blocks.

    Returns the open file that says so, which is locked: the caller closes it when the homes are gone. What an earlier
    runner has left there is removed. Raises ResultsError when that runner lives, or when the folder can't be made.
    """
    homes = run_folder / HOMES
    try:
        # a copy of a run's results has a lock of its own, but the same workspaces
        with suppress(FileNotFoundError, NotADirectoryError):
            if owner_lives(homes):
                raise ResultsError(
                    f"Another pinchbench-async works in {run_folder}, perhaps in another container. If it has surely"
                    f" ended, remove {homes}."
                )
        if left := _remove_homes(homes):
            raise ResultsError(f"{homes} can't be removed: {left}; name another folder with --run-root.")
        private_folder(run_folder)  # another run's sweep may have taken it for one that is over
        homes.mkdir(mode=0o700)
        fresh = homes / f"{OWNER}.new"
        owner = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(owner, identity().encode())
            with suppress(OSError):  # a file system without locks
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # at once, or another run's sweep could read half a name and delete living homes
            fresh.rename(homes / OWNER)
        except BaseException:
            os.close(owner)
            raise
    except OSError as error:
        raise folder_error(homes, error, option="--run-root") from error
    return owner


@asynccontextmanager
async def owned_homes(run_folder: Path) -> AsyncGenerator[None]:
    """Own the homes of a run for as long as the block lasts, and remove them then, whatever happens.

    Raises ResultsError as `own_homes`.
    """
    with CancelScope(shield=True):  # a thread goes on after a cancel, and would leave homes that nobody removes
        owner = await to_thread.run_sync(own_homes, run_folder)
    try:
        yield
    finally:
        with move_on_after(CLEAN_UP_LIMIT_S, shield=True):
            await to_thread.run_sync(remove_homes, run_folder, abandon_on_cancel=True)
        os.close(owner)


def remove_homes(run_folder: Path) -> None:
    """Remove the homes, which hold copies of the user's credentials; workspaces stay. Blocks.

    What can't be removed now keeps its owner's name, so that a later sweep tries again. An empty folder goes as well.
    """
    remove_folder(run_folder / HOMES, last=OWNER)
    with suppress(OSError):
        run_folder.rmdir()


def sweep_homes(run_root: Path) -> None:
    """Remove the homes that dead runners have left below a run root, and what is left of their checks. Blocks."""
    sweep_places(run_root / CHECKS)
    for homes in run_root.glob(f"*/{HOMES}"):
        with suppress(OSError):
            if not _is_owned(homes):
                remove_homes(homes.parent)


def _is_owned(homes: Path) -> bool:
    """Whether their runner lives. Homes without a name on them are being made, or their maker died in that moment."""
    try:
        return owner_lives(homes)
    except FileNotFoundError:
        return time.time() - homes.lstat().st_mtime < NAMELESS_S


def owner_lives(homes: Path) -> bool:
    """Whether the runner whose name is on homes lives. Blocks. Raises OSError, of which FileNotFoundError: no name.

    Of one in another container of this machine only its lock can tell: a container that was restarted is another one.
    """
    owner = os.open(homes / OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        written = os.read(owner, MAX_OWNER_BYTES).decode("utf-8", "replace")
        if is_elsewhere(written):
            return not is_surely_unlocked(owner)
        return is_alive(written)
    finally:
        os.close(owner)

"""Where a check works: a folder with the same path everywhere, and namespaces in which nothing else exists."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import anyio
from anyio import move_on_after, to_thread

from pinchbench.files.folders import remove_folder
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.sandbox.sandbox_spec import NO_FILES, RESERVED, Forward, Mount, SandboxSpec, make_spec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence


REMOVE_LIMIT_S = 60.0  # 50 000 files on a slow disk; normally milliseconds
LOOK_S = 0.05  # interval between attempts to claim a place
MAX_TRIES = 100  # to claim a folder that other processes create and remove


@dataclass(slots=True)
class CheckFolder:
    """The private folder of one check, and the paths in it.

    `lock` is a descriptor of the folder, locked. `left` says after the block why part of it could not be removed.
    """

    folder: Path
    lock: int
    left: str = ""

    @property
    def copy(self) -> Path:
        """The copy of the workspace."""
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        """The check's home folder."""
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        """The check's folder for temporary files."""
        return self.folder / "tmp"


@asynccontextmanager
async def open_place(root: Path, name: str, *, wait_s: float) -> AsyncGenerator[CheckFolder]:
    """Provide an empty folder `name` in `root` for exclusive use within the block, then remove it.

    Two runners may grade trials of the same name at the same time: the second waits for at most `wait_s` seconds.
    Leftovers of a runner that was killed are removed. Raises OSError, including TimeoutError.
    """
    place = None
    with move_on_after(wait_s):
        while (place := await to_thread.run_sync(_claim, root, name)) is None:  # noqa: ASYNC110 - a process has it
            await anyio.sleep(LOOK_S)
    if place is None:
        raise TimeoutError(f"another process has been using {root / name} for {wait_s:g} s")
    try:
        yield place
    finally:
        with move_on_after(REMOVE_LIMIT_S, shield=True) as limit:
            place.left = await to_thread.run_sync(_release, place, abandon_on_cancel=True)
        if limit.cancelled_caught:
            place.left = "that took too long"


def sweep_places(root: Path) -> None:
    """Remove what killed runners have left in `root`. Blocks."""
    with suppress(OSError):
        for name in os.listdir(root):  # noqa: PTH208 - names are what is needed
            with suppress(OSError):
                if (place := _claim(root, name)) is not None:
                    _release(place)


def _claim(root: Path, name: str) -> CheckFolder | None:
    """Create the folder, lock it and empty it. Return None if it is in use. Raises OSError."""
    path = root / name
    for _ in range(MAX_TRIES):
        # another runner may remove it, or `root`, between any two of these steps
        with suppress(FileNotFoundError):
            _make_root(root)
            if path.is_symlink() or path.is_file():
                path.unlink(missing_ok=True)
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), path.lstat()):
                    _empty(path, lock)
                    return CheckFolder(folder=root.resolve() / name, lock=lock)
            except BlockingIOError:
                os.close(lock)
                return None
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
    raise TimeoutError(f"{path} is made and removed by others all the time")


def _make_root(root: Path) -> None:
    """Create `root` unless it exists. Raises FileNotFoundError if it is removed meanwhile, and OSError."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:  # a file is there, or the folder was there and is gone: `exist_ok` looks a second time
        if not stat.S_ISDIR(root.stat().st_mode):
            raise


def _empty(path: Path, lock: int) -> None:
    os.fchmod(lock, 0o700)
    for name in os.listdir(lock):
        one = path / name
        if one.is_symlink() or not one.is_dir():
            one.unlink()
        elif left := remove_folder(one):
            raise OSError(f"{one} can't be removed: {left}")


def _release(place: CheckFolder) -> str:
    """Remove the folder and unlock it; return why part of it remains, or an empty string."""
    try:
        left = remove_folder(place.folder)
    finally:
        os.close(place.lock)
    with suppress(OSError):
        place.folder.parent.rmdir()  # succeeds if this was the last place
    return left


IMPORTED = ("pinchbench", "msgspec", "typing_extensions", "time_machine", "_time_machine")  # by a check's process


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckSandbox:
    """The namespaces that checks run in. Paths are the same as without, so that the grade is too.

    `allowed` are further paths that a check may read.
    """

    allowed: tuple[Mount, ...] = ()

    def plan(
        self,
        place: CheckFolder,
        *,
        transcript: Path,
        workspace: str,
        path: str,
        visible: Sequence[Path] = (),
        places: Sequence[Mount] = (),
    ) -> dict[str, Any]:
        """Return the plan for the check that works in `place`.

        `transcript` need not exist. `visible` are files and folders that the check may read, if they exist. Programs of
        the agent may name its workspace by the path that it had, `workspace`: the check's copy is there too, unless
        that path is one of the sandbox's own. `path` is the check's `PATH`. `places` are what the task states.
        """
        readable = (transcript, *visible, *own_code())
        spec = self._spec(place.copy, path, owned=(place.folder,), visible=readable, places=places)
        if _is_free(workspace, [*(mount.target for mount in spec.mounts), *spec.links]):
            alias = Mount(source=str(place.copy), target=workspace, writable=True)
            spec = replace(spec, mounts=(*spec.mounts, alias))
        return replace(spec, cwd=str(place.copy)).plan()

    def plan_program(
        self,
        workspace: Path,
        *,
        cwd: str,
        path: str,
        owned: Sequence[Path] = (),
        visible: Sequence[Path] = (),
        places: Sequence[Mount] = (),
        services: tuple[Forward, ...] = (),
        inlet: Forward | None = None,
        files: Mapping[str, str] = NO_FILES,
    ) -> dict[str, Any]:
        """Return the plan for a program of a task, such as its set-up script or a service, which works in `cwd`.

        It sees the workspace, may write to the folders `owned`, and may read the files and folders `visible`, if they
        exist. `places` are what it sees elsewhere, and `files` generated ones, with their texts. It can connect to
        `services`, and is reached through `inlet`. `path` is its `PATH`.
        """
        spec = self._spec(workspace, path, owned=owned, visible=visible, places=places)
        return replace(spec, cwd=cwd, inlet=inlet, services=services, files={**spec.files, **files}).plan()

    def _spec(
        self, workspace: Path, path: str, *, owned: Sequence[Path], visible: Sequence[Path], places: Sequence[Mount]
    ) -> SandboxSpec:
        mounts = [Mount(source=str(one), target=str(one), writable=True) for one in owned]
        mounts += [Mount(source=str(one), target=str(one)) for one in visible if one.exists()]
        return make_spec(
            state=None,
            workspace=workspace,
            path_dirs=[Path(sys.prefix), Path(sys.base_prefix), *(Path(one) for one in path.split(":") if one)],
            allowed=(*mounts, *places, *(replace(one, writable=False) for one in self.allowed)),
            hidden=(str(bundled_tasks_dir()),),
        )


@cache
def own_code() -> tuple[Path, ...]:
    """Return what a check's process imports from outside of Python's own folders, as in an editable installation."""
    found = []
    for name in IMPORTED:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin))
    return tuple(path for path in found if not any(path.is_relative_to(own) for own in (sys.prefix, sys.base_prefix)))


def _is_free(target: str, taken: Sequence[str]) -> bool:
    """Return whether something can be mounted at `target` without hiding, or being inside, something else."""
    path = PurePosixPath(target)
    own = [PurePosixPath(name) for name in (*taken, *RESERVED) if name not in ("/", "/tmp")]  # noqa: S108
    return (
        path.is_absolute()
        and ".." not in path.parts
        and "\0" not in target
        and target not in ("/", "/tmp")  # noqa: S108
        and not any(path.is_relative_to(one) or one.is_relative_to(path) for one in own)
    )

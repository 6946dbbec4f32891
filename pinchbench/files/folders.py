"""Folders of our own: private to the user, locked, copied again and again, and gone when removed."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import stat
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_LINK_HOPS = 40  # as the kernel has it: a longer chain of links counts as a loop
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def private_folder(path: Path) -> Path:
    """Make a folder, parents included, that only this user can look into; return it. One that exists stays as it is.

    Raises ResultsError when it can't be made, is a file or a link, or belongs to somebody else: another user could have
    planted it in a shared place such as /tmp, and no link of another user's is followed there. That place itself will
    do: in a sticky folder of root's, nobody can touch the private folder that a run makes.
    """
    try:
        refuse_planted(path.parent, option="--run-root")  # before, so that nothing is made where it leads
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            make_private(path)
        refuse_planted(path.parent, option="--run-root")  # and after: from here on they are the user's own
        info = path.lstat()
        if not stat.S_ISDIR(info.st_mode):
            raise ResultsError(f"{path} is not a folder; remove it or name another with --run-root.")
        is_shared_place = info.st_uid == 0 and info.st_mode & stat.S_ISVTX
        if info.st_uid != os.getuid() and not is_shared_place:
            raise ResultsError(f"{path} belongs to another user; name another folder with --run-root.")
    except OSError as error:
        raise folder_error(path, error, option="--run-root") from error
    return path


def refuse_noexec(path: Path) -> None:
    """Raise ResultsError when no program can be executed in a folder: every agent that writes a script would fail."""
    if os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise ResultsError(
            f"{path} is on a file system that is mounted noexec, so that no agent could execute what it writes; name"
            " another folder with --run-root."
        )


def make_private(path: Path) -> None:
    """Make a folder for this user alone, whatever the umask says. Raises OSError."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)


def refuse_planted(path: Path, *, option: str) -> None:
    """Raise ResultsError when a link on the way to `path` is another user's and lies where everybody may put one.

    `option` is what the user can name another folder with. A link of the user's own, of root's, or of the one to whom
    the shared folder belongs will do. Raises OSError when the way can't be looked at.
    """
    at = Path("/") if path.is_absolute() else Path.cwd()
    waiting = [*reversed(path.parts)]
    hops = 0
    while waiting and hops <= MAX_LINK_HOPS:
        name = waiting.pop()
        if name == "..":
            at = at.parent
            continue
        try:
            info = (at / name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            at /= name  # it may be left again: what is to be made can be followed by `..`
            continue
        if not stat.S_ISLNK(info.st_mode):
            at /= name
            continue
        place = at.stat()
        is_shared = place.st_mode & stat.S_ISVTX and place.st_mode & stat.S_IWOTH
        if is_shared and info.st_uid not in {os.getuid(), 0, place.st_uid}:
            raise ResultsError(f"{at / name} is a link that another user has put there; name a folder with {option}.")
        hops += 1
        waiting += reversed((at / name).readlink().parts)


def folder_error(path: Path, error: OSError, *, option: str) -> ResultsError:
    """Return the sentence for a folder that can't be made; `option` is what the user can name another one with."""
    name_another = f"name another folder with {option}."
    there = next(one for one in (path, *path.parents) if os.path.lexists(one) or one == one.parent)
    why = f"{error.strerror}; {name_another}"
    if error.errno in NO_SPACE:
        why = f"there is no space left ({error.strerror}); free some, or {name_another}"
    elif error.errno == errno.EROFS:
        why = f"{there} is on a read-only file system; {name_another}"
    elif error.errno in {errno.EACCES, errno.EPERM}:
        why = f"you may not write in {there}; {name_another}"
    elif error.errno == errno.ENAMETOOLONG:
        why = f"the name is too long for the file system; {name_another}"
    elif error.errno in {errno.EEXIST, errno.ENOTDIR} and there.is_dir():
        why = f"it is there already; {name_another}"
    elif error.errno in {errno.EEXIST, errno.ENOTDIR} and there.is_symlink():
        why = f"{there} is a link that leads to no folder; {name_another}"
    elif error.errno in {errno.EEXIST, errno.ENOTDIR}:
        why = f"{there} is a file, not a folder; {name_another}"
    return ResultsError(f"{path} can't be made: {why}")


@contextmanager
def replaced_file(path: Path, *, mode: int) -> Iterator[IO[bytes]]:
    """Give a file to write into, which is put at `path` when the block ends, and is gone when it raises. Blocks.

    A reader sees the old file or the whole new one, also after a crash. A link in its place is replaced, not followed.
    The umask holds of `mode`. Raises OSError when it can't be written.
    """
    fresh = path.with_name(f".{secrets.token_hex(8)}.new")  # nobody can guess it and put a link there
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut, where the file system knows how to. Blocks."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def set_aside(path: Path) -> Path | None:
    """Rename what is at `path`, be it a link that leads nowhere, to the first free of `<name>~1`, `<name>~2`, ….

    Return the new path; None when there was nothing. Raises ResultsError when it can't be renamed.
    """
    if not os.path.lexists(path):
        return None
    numbered = (path.with_name(f"{path.name}~{number}") for number in count(1))
    aside = next(one for one in numbered if not os.path.lexists(one))
    try:
        path.rename(aside)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ResultsError(f"{path} can't be set aside as {aside.name}: {error.strerror}.") from error
    return aside


def overwrite_file(path: Path | str, content: IO[bytes]) -> None:
    """Give a file other content, or make one that only this user can read. A link is not followed. Blocks.

    In place: a file that was emptied first is written to the disk as soon as it is closed on ext4, which takes a
    hundred times as long (measured). So it is for files that nobody needs after a crash. Raises OSError.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        shutil.copyfileobj(content, file)
        file.truncate()


def remove_folder(folder: Path, *, last: str = "") -> str:
    """Remove a folder of any depth and with any permissions; return why something is left, else an empty text. Blocks.

    What can't be removed does not keep the rest. The entry `last` goes only when all others have gone. A folder that is
    not there is removed already, and of a link only the link is removed. Never raises OSError, nor for the depth: what
    lies deeper is brought up first, so that no path gets too long and no number of levels is too much.
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
        if folder.is_symlink():
            folder.unlink()
            return ""
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


# File systems that one kernel alone writes to: a process that died there, in any container, no longer holds a lock.
# Others, of which there are many, may be shared between machines whose locks do not meet.
LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "overlay", "ramfs", "reiserfs"}
    | {"tmpfs", "xfs", "zfs"}
)
MOUNTS = Path("/proc/self/mountinfo")


def is_local(fd: int) -> bool:
    """Whether an open file is on a file system of this machine alone; not where the system does not tell. Blocks."""
    with suppress(OSError, ValueError, IndexError):
        info = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="ascii").split()
        mount = info[info.index("mnt_id:") + 1]
        for line in MOUNTS.read_bytes().split(b"\n"):
            if line.startswith(f"{mount} ".encode()):
                return line.partition(b" - ")[2].split()[0].decode() in LOCAL
    return False


def is_surely_unlocked(fd: int) -> bool:
    """Return whether no living process of any container holds a lock on an open file. Blocks.

    A lock that the caller holds is released.
    """
    if not is_local(fd):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        return False
    return True


def copy_folder(source: Path, target: Path) -> None:
    """Make `target` a copy of a folder, whatever has become of an earlier copy there. Blocks.

    Nothing of the earlier copy stays: an agent may have given its files other owners, permissions, attributes or names.
    A special file is not copied. Recursive in the source, never in what somebody else has put into `target`. Raises
    OSError.
    """
    source.stat()  # before anything is removed
    remove(target)
    shutil.copytree(source, target, symlinks=True, copy_function=_copy_regular)


def _copy_regular(source: str, target: str) -> None:
    if os.path.isfile(source):  # noqa: PTH113 - paths are text here
        shutil.copy2(source, target)


def restore_copy(source: Path, copy: Path) -> bool:
    """Make a copy of a file, a folder or nothing the same as its source again; return whether it was not. Blocks.

    No link is followed. Raises OSError.
    """
    if _is_same(source, copy):
        return False
    remove(copy)
    if source.is_dir():
        copy_folder(source, copy)
    elif source.is_file():
        with source.open("rb") as file:
            overwrite_file(copy, file)
    return True


def remove(path: Path) -> None:
    """Remove whatever is at a path; of a link only the link. Blocks. Raises OSError."""
    if path.is_dir() and (left := remove_folder(path)):
        raise OSError(left)
    path.unlink(missing_ok=True)


def has_content(path: Path, data: bytes) -> bool:
    """Whether a path is that of a regular file with this content. Blocks."""
    if not stat.S_ISREG(_kind(path)) or path.lstat().st_size != len(data):
        return False
    with open_regular(path) as file:
        return file.read(len(data)) == data


def _is_same(source: Path, copy: Path) -> bool:
    kind = _kind(copy)
    if kind != _kind(source):
        return False
    if stat.S_ISDIR(kind):
        names, copied = ({one.name for one in folder.iterdir()} for folder in (source, copy))
        return names == copied and all(_is_same(source / name, copy / name) for name in names)
    if stat.S_ISLNK(kind):
        return source.readlink() == copy.readlink()
    return not kind or has_content(copy, source.read_bytes())


def _kind(path: Path) -> int:
    """Return what is at a path, as in `stat`; 0 if nothing is."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return 0

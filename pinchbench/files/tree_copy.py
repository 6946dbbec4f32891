"""A folder that is copied again and again, over whatever has become of its last copy."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pinchbench.files.folders import overwrite_file, remove_folder

READ_AND_WRITE = stat.S_IRUSR | stat.S_IWUSR


@dataclass(frozen=True, kw_only=True, slots=True)
class _Metadata:
    """What a copy shares with its source beside the content: owner, permissions, times in ns, and names of attributes.

    Attributes are what is beside the permissions, such as the rights that the files of a folder are going to have. They
    are never copied: what has others than its source is made anew, and has those that its place gives it.
    """

    owner: int
    mode: int
    times: tuple[int, int]
    attributes: list[str]

    @classmethod
    def of(cls, path: str, info: os.stat_result) -> _Metadata:
        return cls(
            owner=info.st_uid,
            mode=stat.S_IMODE(info.st_mode),
            times=(info.st_atime_ns, info.st_mtime_ns),
            attributes=_attributes(path),
        )

    def can_be_put_on(self, path: str, info: os.stat_result) -> bool:
        """Whether the owner and the attributes are these already; the rest can be given."""
        return info.st_uid == self.owner and _attributes(path) == self.attributes

    def put_on(self, path: str, mode: int) -> None:
        """Give the permissions and the times to a copy that has this mode."""
        if mode != self.mode:
            os.chmod(path, self.mode)  # noqa: PTH101 - paths are text here: making Paths takes longer than the work
        os.utime(path, ns=self.times)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Folder:
    path: str
    looks: _Metadata
    folders: dict[str, _Folder]
    files: dict[str, _Metadata]
    links: dict[str, str]


class DirectoryTemplate:
    """A folder whose content must not change any more. It is read when it is copied for the first time."""

    def __init__(self, source: Path) -> None:
        """Nothing is read yet."""
        self.source = source

    @cached_property
    def _folder(self) -> _Folder:
        return _read(str(self.source))

    def copy_to(self, target: Path) -> None:
        """Make `target` a copy, whatever has become of an earlier copy there. Blocks.

        Folders, files and links that are where they belong stay, and files get the copy's content, since making and
        removing them is what costs most; all else is removed. A special file is not copied. Recursive in the source,
        never in what somebody else has put into `target`. Raises OSError.
        """
        folder = self._folder
        if not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        _copy(folder, str(target))


def _read(path: str) -> _Folder:
    folders: dict[str, _Folder] = {}
    files: dict[str, _Metadata] = {}
    links: dict[str, str] = {}
    with os.scandir(path) as listing:
        for entry in listing:
            if entry.is_symlink():
                links[entry.name] = os.readlink(entry)  # noqa: PTH115 - a Path would tidy the text
            elif entry.is_dir():
                folders[entry.name] = _read(entry.path)
            elif entry.is_file():
                files[entry.name] = _Metadata.of(entry.path, entry.stat())
    looks = _Metadata.of(path, os.stat(path))  # noqa: PTH116
    return _Folder(path=path, looks=looks, folders=folders, files=files, links=links)


def _copy(folder: _Folder, target: str) -> None:
    # As few calls into the system as will do: between them, the threads of other slots want to go on.
    mode = _keep_or_make(folder, target)
    there = _keep_what_belongs(folder, target)
    for name, below in folder.folders.items():
        _copy(below, f"{target}/{name}")
    for name, looks in folder.files.items():
        path = f"{target}/{name}"
        with open(f"{folder.path}/{name}", "rb") as file:  # noqa: PTH123
            overwrite_file(path, file)
        looks.put_on(path, there.get(name, 0))
    for name, text in folder.links.items():
        if name not in there:
            os.symlink(text, f"{target}/{name}")  # noqa: PTH211
    folder.looks.put_on(target, mode)


def _keep_or_make(folder: _Folder, target: str) -> int:
    """Make a folder that can be written to, unless there is one with nothing about it that its copy lacks; its mode."""
    info = _look_at(target)
    if info is not None:
        mode = stat.S_IMODE(info.st_mode)
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(target)  # noqa: PTH108
        elif folder.looks.can_be_put_on(target, info):
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                mode |= stat.S_IRWXU
                os.chmod(target, mode)  # noqa: PTH101
            return mode
        else:
            _remove(target)
    os.mkdir(target, mode=0o700)  # noqa: PTH102
    return 0  # whatever the umask has left of it


def _look_at(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _keep_what_belongs(folder: _Folder, target: str) -> dict[str, int]:
    """Remove what does not belong into a copy; return the files and links that may stay, with the files' modes."""
    there: dict[str, int] = {}
    with os.scandir(target) as listing:
        found = list(listing)
    for entry in found:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            if name not in folder.folders:
                _remove(entry.path)
        elif name in folder.files and (mode := _mode_to_overwrite(entry, folder.files[name])):
            there[name] = mode
        elif name in folder.links and entry.is_symlink() and os.readlink(entry) == folder.links[name]:  # noqa: PTH115
            there[name] = 0
        else:
            os.unlink(entry)  # noqa: PTH108
    return there


def _mode_to_overwrite(entry: os.DirEntry[str], looks: _Metadata) -> int:
    """The mode of a file that can be made another's copy, else 0; one with a second name would change there as well."""
    if not entry.is_file(follow_symlinks=False):
        return 0
    info = entry.stat(follow_symlinks=False)
    if info.st_nlink > 1 or not looks.can_be_put_on(entry.path, info):
        return 0
    mode = stat.S_IMODE(info.st_mode)
    if mode & READ_AND_WRITE != READ_AND_WRITE:
        mode = READ_AND_WRITE
        os.chmod(entry, mode)  # noqa: PTH101
    return mode


def _attributes(path: str) -> list[str]:
    if not hasattr(os, "listxattr"):  # no system but Linux has these in Python
        return []
    try:
        return sorted(os.listxattr(path, follow_symlinks=False))
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return []  # some file systems have none


def _remove(folder: str) -> None:
    if left := remove_folder(Path(folder)):
        raise OSError(left)

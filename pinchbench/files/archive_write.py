"""Keeping a workspace as the agent left it."""

from __future__ import annotations

import errno
import io
import os
import posixpath
import stat
import tarfile
import tempfile
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

from pinchbench.defaults import MAX_ENTRIES, MAX_FILE_BYTES, MAX_KEPT_BYTES
from pinchbench.files.archive import END_MARK, Kept, LeftOut, open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# As for 1 MiB, whatever the size: else zstd makes itself ready for more, in each of the threads that keep a workspace.
PARAMETERS = zstandard.ZstdCompressionParameters.from_level(3, source_size=1024 * 1024, write_checksum=True)
# Errors of one path that the agent itself can bring about: permissions, something that vanished or was replaced, a
# loop of links, a nesting deeper than a path can name, a device or socket without a driver or reader. All others are
# the machine's (no descriptors, no memory, a failing disk, a stale mount): they must never look like an empty
# workspace.
AGENTS_OWN = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.ENODEV}
)


def keep_workspace(workspace: Path, archive: Path) -> Kept:
    """Write a workspace into a `.tar.zst` that only this user can read; return what was left out.

    Left out are special files, what the agent made unreadable, and what is beyond the limits (`MAX_FILE_BYTES`,
    `MAX_KEPT_BYTES`,
    `MAX_ENTRIES`). Links are kept as links and never followed; an absolute one into the workspace becomes relative.
    A workspace that is gone is kept as an empty one, with a sentence. The archive takes its name only when it is
    whole and on the disk. Raises OSError when it can't be written, or when the workspace can't be read for a reason
    that is not the agent's own (`AGENTS_OWN`). Blocks; call it when nobody writes there any more.
    """
    left_out = LeftOut()
    with _new_archive(archive) as tar:
        _pack(workspace, tar, left_out)
    return left_out.kept


def rewrite_archive(archive: Path, copy: Path, mask: Callable[[bytes], bytes]) -> None:
    """Write a copy of a workspace's archive with all names, links and contents as `mask` returns them.

    `mask` returns as many bytes as it is given; it is given a whole file at a time. Raises ArchiveLostError if the
    archive is damaged, another OSError if the copy can't be written. Blocks.
    """

    def masked(name: str) -> str:
        return os.fsdecode(mask(os.fsencode(name)))

    with open_archive(archive) as (source, members), _new_archive(copy) as tar:
        for member in members:
            content = source.extractfile(member) if member.isreg() else None
            new = tarfile.TarInfo(masked(member.name))
            new.type, new.linkname = member.type, masked(member.linkname)
            new.size, new.mode, new.mtime = member.size, member.mode, member.mtime
            tar.addfile(new, io.BytesIO(mask(content.read())) if content is not None else None)
            tar.members.clear()  # type: ignore[attr-defined]  # as below


@contextmanager
def _new_archive(archive: Path) -> Iterator[tarfile.TarFile]:
    """Yield a tar whose archive takes its name when the block ends, and is gone when it raises."""
    number, temporary = tempfile.mkstemp(prefix=f".{archive.name}.", dir=archive.parent)
    try:
        with os.fdopen(number, "wb") as file:
            with (
                zstandard.ZstdCompressor(compression_params=PARAMETERS).stream_writer(file, closefd=False) as packed,
                # not tarfile's own stream mode: it writes once more when it is collected after an error
                tarfile.open(
                    fileobj=cast("BinaryIO", packed),
                    mode="w:",
                    format=tarfile.PAX_FORMAT,
                    encoding="utf-8",
                    errors="surrogateescape",
                ) as tar,
            ):
                yield tar
            # in a frame of its own: where it can be read, the checksum before it is there too
            file.write(zstandard.ZstdCompressor().compress(END_MARK))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, archive)  # noqa: PTH105 - the name came from mkstemp
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _pack(workspace: Path, tar: tarfile.TarFile, left_out: LeftOut) -> None:
    room = MAX_KEPT_BYTES
    for name, info in _walk(workspace, left_out):
        member = tarfile.TarInfo(name)
        member.mode = stat.S_IMODE(info.st_mode)
        member.mtime = info.st_mtime
        path = workspace / name
        if stat.S_ISDIR(info.st_mode):
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
        elif stat.S_ISLNK(info.st_mode):
            try:
                target = os.readlink(path)  # noqa: PTH115 - a Path would tidy the text
            except OSError as error:
                _excuse(name, error, left_out)
                continue
            member.type = tarfile.SYMTYPE
            member.linkname = _inward(workspace, name, target)
            tar.addfile(member)
        elif not stat.S_ISREG(info.st_mode):
            left_out.say(name, f"is {_kind(info.st_mode)}, not a file")
        elif info.st_size > MAX_FILE_BYTES:
            left_out.say(name, f"is larger than {MAX_FILE_BYTES // 1024**2} MiB", is_beyond=True)
        elif info.st_size > room:
            why = f"is beyond the {MAX_KEPT_BYTES // 1024**2} MiB that are kept of a workspace"
            left_out.say(name, why, is_beyond=True)
        elif _pack_file(path, member, info.st_size, tar, left_out):
            room -= info.st_size
        tar.members.clear()  # type: ignore[attr-defined]  # nobody asks for them, and they are a kilobyte each


def _pack_file(path: Path, member: tarfile.TarInfo, size: int, tar: tarfile.TarFile, left_out: LeftOut) -> bool:
    try:
        # should it be something else by now: a link is not followed, a named pipe not waited for
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        _excuse(member.name, error, left_out)
        return False
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        left_out.say(member.name, "changed into something else while it was kept")
        return False
    with os.fdopen(number, "rb", buffering=0) as file:
        member.size = size
        source = _Exactly(file, size)
        tar.addfile(member, cast("BinaryIO", source))
    if source.lacking:
        left_out.say(member.name, f"could be read only in part; its last {source.lacking} bytes are kept as zeros")
    return True


class _Exactly:
    """As many bytes of a file as its header promises: the archive must stay readable whatever becomes of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self.lacking = 0

    def read(self, size: int) -> bytes:
        size = min(size, self._left)
        data = b""
        if not self.lacking:
            while len(data) < size and (piece := self._file.read(size - len(data))):
                data += piece
        self._left -= size
        self.lacking += size - len(data)
        return data.ljust(size, b"\0")


def _walk(workspace: Path, left_out: LeftOut) -> Iterator[tuple[str, os.stat_result]]:
    """All below a folder by relative name, a folder before what is in it, in the same order every time."""
    if not stat.S_ISDIR(_mode(workspace)):
        left_out.say("The workspace itself", "is gone")
        return
    entries = 0
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(workspace / folder) as listing:
                # one more than may come, so that a folder with millions is neither read nor sorted
                names = [entry.name for entry in islice(listing, MAX_ENTRIES - entries + 1)]
        except OSError as error:
            _excuse(folder or "The workspace itself", error, left_out)
            continue
        below = []
        for plain in sorted(names, key=os.fsencode):
            if entries == MAX_ENTRIES:
                why = f"holds more: {MAX_ENTRIES} entries are kept of a workspace"
                left_out.say(folder or "The workspace", why, is_beyond=True)
                return
            entries += 1
            name = f"{folder}/{plain}" if folder else plain
            try:
                info = (workspace / name).lstat()
            except OSError as error:
                _excuse(name, error, left_out)
                continue
            if stat.S_ISDIR(info.st_mode):
                below.append(name)
            yield name, info
        folders += reversed(below)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError as error:
        if error.errno not in AGENTS_OWN:
            raise
        return 0


def _excuse(name: str, error: OSError, left_out: LeftOut) -> None:
    """Leave out what the agent made unreadable; raise `error` when it is the machine's."""
    if error.errno not in AGENTS_OWN:
        raise error
    left_out.say(name, f"can't be read: {error.strerror}")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something special")


def _inward(workspace: Path, name: str, target: str) -> str:
    """The text for a link: relative where it named a place in the workspace absolutely."""
    for root in (os.path.abspath(workspace), os.path.realpath(workspace)):  # noqa: PTH100
        inside = posixpath.relpath(target, root) if target.startswith("/") else ".."
        if inside != ".." and not inside.startswith("../"):
            return posixpath.relpath(inside, posixpath.dirname(name) or ".")
    return target

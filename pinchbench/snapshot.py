"""Snapshots of workspaces: kept as the agent left them, for the graders, and restored where they can do no harm."""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
import stat
import tarfile
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

MAX_FILE_BYTES = 256 * 1024 * 1024  # of one kept file; a larger one is hardly an answer
MAX_KEPT_BYTES = 1024 * 1024 * 1024  # of all kept files together, before compression
MAX_ENTRIES = 50_000  # files, folders and links of one workspace; `npm install` of a large project stays below it
MAX_SENTENCES = 100  # about what was left out; one more says how many there are beyond
MAX_SHOWN_NAME = 200  # characters of a path in a sentence
HEADER_BYTES = 16 * 1024  # an entry's share of the archive beside its content, at most: names are the largest part
MAX_LINK_HOPS = 40  # as the kernel has it: a longer chain of links counts as a loop
END_MARK = b"pinchbench: this archive is whole\n"  # after the tar's end: what was cut off anywhere lacks it
# Errors of one path, not of the disk: the name is too long, or one that this file system can't hold or tell from another.
UNUSABLE_NAME = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EEXIST})
COPY_BYTES = 1024 * 1024  # at a time
SMALL_BYTES = 256 * 1024  # of a tar that is compressed in one go
SHORT_PART = 8  # of what is read of a text: one that is no longer than this part comes before the long ones


class ArchiveLostError(OSError):
    """The archive of a workspace is missing, can't be read, or is not what was written."""


class NoText(StrEnum):
    """Why a kept file comes without its text: it is not UTF-8 text, or no room was left for it."""

    BINARY = "binary"
    NO_ROOM = "no_room"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptFile:
    """A regular file of a kept workspace. `path` is relative, `size` in bytes.

    `text` is the beginning of the file, all of it when it is no longer than the limit; None where `no_text` says why.
    A path that is not UTF-8 has replacement characters.
    """

    path: str
    size: int
    text: str | None
    no_text: NoText | None = None


class _LeftOut:
    """Sentences about what was left out, not too many of them."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._count = 0

    def say(self, path: str, why: str) -> None:
        self._count += 1
        if len(self._sentences) < MAX_SENTENCES:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            if not shown.isprintable():
                shown = ascii(shown)[1:-1]
            if len(shown) > MAX_SHOWN_NAME:
                shown = f"{shown[:MAX_SHOWN_NAME]}…"
            self._sentences.append(f"{shown} {why}.")

    @property
    def sentences(self) -> tuple[str, ...]:
        more = self._count - len(self._sentences)
        return (*self._sentences, f"{more} more were left out.") if more else tuple(self._sentences)


def keep_workspace(workspace: Path, archive: Path) -> tuple[str, ...]:
    """Write a workspace into a `.tar.zst` that only this user can read; return a sentence for all that was left out.

    Left out are special files, what can't be read, and what is beyond the limits (`MAX_FILE_BYTES`, `MAX_KEPT_BYTES`,
    `MAX_ENTRIES`). Links are kept as links and never followed; an absolute one into the workspace becomes relative.
    A workspace that is gone is kept as an empty one, with a sentence. The archive takes its name only when it is
    whole and on the disk. Raises OSError when it can't be written. Blocks; call it when nobody writes there any more.
    """
    left_out = _LeftOut()
    number, temporary = tempfile.mkstemp(prefix=f".{archive.name}.", dir=archive.parent)
    try:
        with os.fdopen(number, "wb") as file:
            with (
                _Packed(file) as packed,
                # not tarfile's own stream mode: it writes once more when it is collected after an error
                tarfile.open(
                    fileobj=cast("BinaryIO", packed),
                    mode="w:",
                    format=tarfile.PAX_FORMAT,
                    encoding="utf-8",
                    errors="surrogateescape",
                ) as tar,
            ):
                _pack(workspace, tar, left_out)
            # in a frame of its own: where it can be read, the checksum before it is there too
            file.write(zstandard.ZstdCompressor().compress(END_MARK))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, archive)  # noqa: PTH105 - the name came from mkstemp
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    return left_out.sentences


class _Packed:
    """Takes a tar and writes it compressed. Of a small one, the compressor learns the size before it begins.

    Not knowing it, zstd makes itself ready for megabytes, in each of the threads that keep a workspace.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = bytearray()
        self._stream: zstandard.ZstdCompressionWriter | None = None
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.__exit__(kind, error, trace)  # type: ignore[no-untyped-call]
        elif kind is None:
            self._file.write(zstandard.ZstdCompressor(write_checksum=True).compress(self._held))

    def tell(self) -> int:
        return self._written

    def write(self, data: bytes) -> int:
        self._written += len(data)
        if self._stream is not None:
            self._stream.write(data)
            return len(data)
        self._held += data
        if len(self._held) > SMALL_BYTES:
            self._stream = zstandard.ZstdCompressor(write_checksum=True).stream_writer(self._file, closefd=False)
            self._stream.__enter__()
            self._stream.write(self._held)
            self._held.clear()
        return len(data)


def _pack(workspace: Path, tar: tarfile.TarFile, left_out: _LeftOut) -> None:
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
                left_out.say(name, f"can't be read: {error.strerror}")
                continue
            member.type = tarfile.SYMTYPE
            member.linkname = _inward(workspace, name, target)
            tar.addfile(member)
        elif not stat.S_ISREG(info.st_mode):
            left_out.say(name, f"is {_kind(info.st_mode)}, not a file")
        elif info.st_size > MAX_FILE_BYTES:
            left_out.say(name, f"is larger than {MAX_FILE_BYTES // 1024**2} MiB")
        elif info.st_size > room:
            left_out.say(name, f"is beyond the {MAX_KEPT_BYTES // 1024**2} MiB that are kept of a workspace")
        elif _pack_file(path, member, info.st_size, tar, left_out):
            room -= info.st_size
        tar.members.clear()  # type: ignore[attr-defined]  # nobody asks for them, and they are a kilobyte each


def _pack_file(path: Path, member: tarfile.TarInfo, size: int, tar: tarfile.TarFile, left_out: _LeftOut) -> bool:
    try:
        # should it be something else by now: a link is not followed, a named pipe not waited for
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        left_out.say(member.name, f"can't be read: {error.strerror}")
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
            with suppress(OSError):
                while len(data) < size and (piece := self._file.read(size - len(data))):
                    data += piece
        self._left -= size
        self.lacking += size - len(data)
        return data.ljust(size, b"\0")


def _walk(workspace: Path, left_out: _LeftOut) -> Iterator[tuple[str, os.stat_result]]:
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
            left_out.say(folder or "The workspace itself", f"can't be read: {error.strerror}")
            continue
        below = []
        for plain in sorted(names, key=os.fsencode):
            if entries == MAX_ENTRIES:
                left_out.say(folder or "The workspace", f"holds more: {MAX_ENTRIES} entries are kept of a workspace")
                return
            entries += 1
            name = f"{folder}/{plain}" if folder else plain
            try:
                info = (workspace / name).lstat()
            except OSError as error:
                left_out.say(name, f"can't be read: {error.strerror}")
                continue
            if stat.S_ISDIR(info.st_mode):
                below.append(name)
            yield name, info
        folders += reversed(below)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


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


class _Unpacked:
    """The tar inside an archive, as tarfile reads it: bounded, and its last bytes remembered."""

    def __init__(self, packed: BinaryIO) -> None:
        self._reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        self._left = MAX_KEPT_BYTES + (MAX_ENTRIES + 1) * HEADER_BYTES
        self._tail = b""

    def read(self, size: int) -> bytes:
        try:
            data = self._reader.read(size)
        except OSError as error:
            raise ArchiveLostError(f"it can't be read: {error.strerror}") from error
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveLostError("it holds more than a workspace may")
        self._tail = (self._tail + data[-len(END_MARK) :])[-len(END_MARK) :]
        return data

    def check_end(self) -> None:
        """Read to the end, beyond the checksum."""
        while self.read(64 * 1024):
            pass
        if self._tail != END_MARK:
            raise ArchiveLostError("its end is missing")


@contextmanager
def _opened(archive: Path) -> Iterator[tuple[tarfile.TarFile, Iterator[tarfile.TarInfo]]]:
    """The tar and its members, to be used while they come. Raises ArchiveLostError for all that is wrong with it."""
    try:
        file = archive.open("rb")
    except OSError as error:
        raise ArchiveLostError(f"the archive of the workspace can't be read: {error.strerror}") from error
    with file:
        try:
            unpacked = _Unpacked(file)
            with tarfile.open(
                fileobj=cast("BinaryIO", unpacked), mode="r|", encoding="utf-8", errors="surrogateescape"
            ) as tar:
                yield tar, _members(tar, unpacked)
        except (zstandard.ZstdError, tarfile.TarError, EOFError, ValueError, LookupError, ArithmeticError) as error:
            raise ArchiveLostError(f"the archive of the workspace is damaged: {error}") from error
        except ArchiveLostError as error:
            raise ArchiveLostError(f"the archive of the workspace is damaged: {error}") from error


def _members(tar: tarfile.TarFile, unpacked: _Unpacked) -> Iterator[tarfile.TarInfo]:
    entries = 0
    while (member := tar.next()) is not None:
        entries += 1
        if entries > MAX_ENTRIES:
            raise ArchiveLostError("it holds more than a workspace may")
        yield member
        tar.members.clear()  # type: ignore[attr-defined]  # as above
    unpacked.check_end()


def restore_workspace(archive: Path, target: Path, *, before_each: Callable[[], None] | None = None) -> tuple[str, ...]:
    """Unpack a kept workspace into `target`, a new private folder; return a sentence for all that was left out.

    Left out is what could lead out of `target`: links to elsewhere, other names than plain relative ones. Whatever the
    archive holds, nothing is written outside. Contents, modification times and permissions come back.
    `before_each` is called before each entry; what it raises ends the work. Raises ArchiveLostError when the archive is
    missing or damaged, another OSError when `target` exists or can't be written; what was unpacked so far remains
    then, for the caller to remove. Blocks.
    """
    left_out = _LeftOut()
    target.mkdir(mode=0o700, parents=True)
    folders = {"": tarfile.TarInfo()}  # those made here: nothing is ever written below anything else
    links: dict[str, tarfile.TarInfo] = {}
    taken: set[str] = set()
    with _opened(archive) as (tar, members):
        for member in members:
            if before_each is not None:
                before_each()
            why = _unwelcome(member, folders, taken)
            if not why and member.issym():
                links[member.name] = member
            elif not why:
                why = _extract(tar, member, target)
                if not why and member.isdir():
                    folders[member.name] = member
            taken.add(member.name)
            if why:
                left_out.say(member.name, why)
        _link(tar, links, target, left_out)
    del folders[""]
    # only now: writing into them changes their time, and needs the right
    for name, folder in reversed(folders.items()):
        (target / name).chmod(folder.mode & 0o777 | 0o700)
        os.utime(target / name, (folder.mtime, folder.mtime))
    return left_out.sentences


def _link(tar: tarfile.TarFile, links: dict[str, tarfile.TarInfo], target: Path, left_out: _LeftOut) -> None:
    """Unpack the links, last: so no file is written through one, and each can be judged by all of them together."""
    texts = {name: link.linkname for name, link in links.items()}
    for name, link in links.items():
        why = _leads_astray(name, texts) or _extract(tar, link, target)
        if why:
            left_out.say(name, why)


def _unwelcome(member: tarfile.TarInfo, folders: Mapping[str, tarfile.TarInfo], taken: set[str]) -> str:
    name = member.name
    if not name or "\0" in name or any(part in {"", ".", ".."} for part in name.split("/")):
        return "is not a name within the workspace"
    is_link = member.issym() and bool(member.linkname)
    if not (member.isdir() or is_link or (member.isreg() and not member.issparse())):
        return "is neither file, folder nor link"
    if name in taken:
        return "was there twice"
    if posixpath.dirname(name) not in folders:
        return "was in a folder that is not there"
    return ""


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> str:
    """Unpack one entry into a folder made here; return why it had to be left out.

    Not by tarfile's own `extract`: its safe filter is not in every Python 3.11, and in many it can be got round.
    """
    path = target / member.name
    try:
        if member.isdir():
            path.mkdir(mode=0o700)
        elif member.issym():
            path.symlink_to(member.linkname)
            os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
        elif (content := tar.extractfile(member)) is not None:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(number, "wb") as file:
                shutil.copyfileobj(content, file, COPY_BYTES)
            path.chmod(member.mode & 0o777 | 0o400)
            os.utime(path, (member.mtime, member.mtime))
    except OSError as error:
        if error.errno in UNUSABLE_NAME:
            return "has a name that can't be used here"
        raise
    return ""


def _leads_astray(link: str, texts: dict[str, str]) -> str:
    """Follow a link as the kernel would, in a tree whose only links are `texts`; say why it can't be had."""
    at: list[str] = []
    ahead = link.split("/")[::-1]
    hops = 0
    while ahead:
        part = ahead.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            if not at:
                return "leads out of the workspace"
            at.pop()
            continue
        at.append(part)
        text = texts.get("/".join(at))
        if text is not None:
            hops += 1
            if text.startswith("/"):
                return "leads out of the workspace"
            if hops > MAX_LINK_HOPS:
                return "leads round in a circle"
            at.pop()
            ahead += text.split("/")[::-1]
    return ""


def kept_texts(
    archive: Path, *, max_file_bytes: int, max_bytes: int, comes_last: Callable[[str], bool] = lambda _: False
) -> tuple[KeptFile, ...]:
    """The regular files of a kept workspace by path, with the text of those that are text, within the limits.

    Of a text longer than `max_file_bytes` its beginning of that size is given. Where all together are larger than
    `max_bytes`, short files have their texts first and those near the top of the workspace before deep ones, and those
    whose path `comes_last` names after all others; what would bring the sum above the limit has none. Raises ArchiveLostError when the archive is missing
    or damaged. Reads it once, or twice where not all has room. Blocks.
    """
    files: list[_Listed] = []
    texts: dict[int, str] = {}
    room = max_bytes
    for listed in _listed(archive, max_file_bytes, None):
        files.append(replace(listed, text=None))
        room -= listed.taken
        if room < 0:
            texts.clear()  # there are too many, and which ones count is known at the end
        elif listed.text is not None:
            texts[listed.number] = listed.text
    if room < 0:
        short = max_file_bytes // SHORT_PART
        files.sort(key=lambda one: (comes_last(one.path), one.taken > short, len(one.parts), one.taken, one.parts))
        wanted = _with_room(files, max_bytes)
        texts = {one.number: one.text for one in _listed(archive, max_file_bytes, wanted) if one.text is not None}
    ordered = sorted(files, key=lambda one: one.parts)
    return tuple(
        KeptFile(
            path=one.path,
            size=one.size,
            text=texts.get(one.number),
            no_text=None if one.number in texts else NoText.NO_ROOM if one.is_text else NoText.BINARY,
        )
        for one in ordered
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    """A regular file of an archive, with its `number` there. `taken` counts the bytes that its text takes of the limit."""

    number: int
    parts: list[str]
    path: str
    size: int
    is_text: bool
    taken: int
    text: str | None


def _listed(archive: Path, max_file_bytes: int, wanted: set[int] | None) -> Iterator[_Listed]:
    """Read the heads of the files, all or those with the `wanted` numbers."""
    with _opened(archive) as (tar, members):
        for number, member in enumerate(members):
            if not member.isreg() or member.issparse() or not (wanted is None or number in wanted):
                continue
            content = tar.extractfile(member)
            if content is None:
                continue
            taken = min(member.size, max_file_bytes)
            text = _text(content.read(taken), whole=taken == member.size)
            yield _Listed(
                number=number,
                parts=member.name.split("/"),
                path=os.fsencode(member.name).decode("utf-8", "replace"),
                size=member.size,
                is_text=text is not None,
                taken=0 if text is None else taken,
                text=text,
            )


def _with_room(files: Iterable[_Listed], room: int) -> set[int]:
    """Choose the files whose texts are to be had, by number; who comes first is served first."""
    chosen: set[int] = set()
    for one in files:
        if one.is_text and one.taken <= room:
            chosen.add(one.number)
            room -= one.taken
    return chosen


def _text(data: bytes, *, whole: bool) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # the head of a longer text may end within a character
        is_cut = not whole and error.reason == "unexpected end of data"
        return data[: error.start].decode("utf-8") if is_cut else None

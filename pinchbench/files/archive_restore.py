"""Restoring a kept workspace where it can do no harm."""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
import tarfile
from typing import TYPE_CHECKING

from pinchbench.files.archive import LeftOut, open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

MAX_LINK_HOPS = 40  # as the kernel has it: a longer chain of links counts as a loop
# Errors of one path, not of the disk: the name is too long, or one that this file system can't hold or tell from
# another.
UNUSABLE_NAME = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EEXIST})
COPY_BYTES = 1024 * 1024  # at a time


def restore_workspace(archive: Path, target: Path, *, before_each: Callable[[], None] | None = None) -> tuple[str, ...]:
    """Unpack a kept workspace into `target`, a new private folder; return a sentence for all that was left out.

    Left out is what could lead out of `target`: links to elsewhere, other names than plain relative ones. Whatever the
    archive holds, nothing is written outside. Contents, modification times and permissions come back.
    `before_each` is called before each entry; what it raises ends the work. Raises ArchiveLostError when the archive is
    missing or damaged, another OSError when `target` exists or can't be written; what was unpacked so far remains
    then, for the caller to remove. Blocks.
    """
    left_out = LeftOut()
    target.mkdir(mode=0o700, parents=True)
    folders = {"": tarfile.TarInfo()}  # those made here: nothing is ever written below anything else
    links: dict[str, tarfile.TarInfo] = {}
    taken: set[str] = set()
    with open_archive(archive) as (tar, members):
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
        _set_time(target / name, folder.mtime)
    return left_out.sentences


def _link(tar: tarfile.TarFile, links: dict[str, tarfile.TarInfo], target: Path, left_out: LeftOut) -> None:
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
    file: BinaryIO | None = None
    try:
        if member.isdir():
            path.mkdir(mode=0o700)
        elif member.issym():
            path.symlink_to(member.linkname)
        else:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            file = os.fdopen(number, "wb")
    except OSError as error:  # of the making alone: the same number from a write is the disk's
        if error.errno in UNUSABLE_NAME:
            return "has a name that can't be used here"
        raise
    if file is not None:
        with file:
            if (content := tar.extractfile(member)) is not None:
                shutil.copyfileobj(content, file, COPY_BYTES)
        path.chmod(member.mode & 0o777 | 0o400)
    if not member.isdir():
        _set_time(path, member.mtime)
    return ""


def _set_time(path: Path, at: float) -> None:
    """Set the modification time, unless the file system can't represent it: an agent may have set any."""
    try:
        os.utime(path, (at, at), follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOVERFLOW):
            raise


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

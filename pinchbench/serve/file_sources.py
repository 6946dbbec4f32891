"""Read files for a trial's page: the task's own, what a workspace kept, images as a page may show them."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pinchbench.errors import PinchBenchError, SuiteError
from pinchbench.files.archive import ArchiveLostError, open_archive
from pinchbench.files.beneath import open_regular
from pinchbench.suite.loading import read_suite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.task import Suite, Task
    from pinchbench.results.manifest import RunFacts

KEPT_S = 60.0  # a suite takes a second to read
MOST_FILES = 1_000  # of a task
FILE_BYTES = 100_000  # of a file that is compared


class TaskSources:
    """The suites of runs. Blocks; may be called from any thread."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._lock = Lock()
        self._read: dict[str, tuple[float, Suite | None]] = {}

    def find(self, facts: RunFacts, outcome: Outcome) -> Task | None:
        """Return the task of an attempt; None if its suite is gone or has it in another form."""
        suite = self._suite(str(facts.suite["folder"]), facts)
        task = None if suite is None else suite.by_id.get(outcome.key.task_id)
        return task if task is not None and task.digest == outcome.digest else None

    def _suite(self, folder: str, facts: RunFacts) -> Suite | None:
        with self._lock:
            at, suite = self._read.get(folder, (-KEPT_S, None))
            if time.monotonic() - at > KEPT_S:
                suite = None
                try:
                    suite = read_suite(Path(folder), suite_format=facts.suite_format).suite
                except (SuiteError, ValueError):  # no suite any more, or no path at all
                    suite = None
                self._read = {folder: (time.monotonic(), suite)}  # one: runs of a folder mostly share theirs
            return suite


def first_files(task: Task) -> Mapping[str, bytes]:
    """Return the files that the workspace had before the agent began, by path: each cut, and not too many. Blocks."""
    found: dict[str, bytes] = {}
    for one in task.workspace_files:
        if one.content is not None:
            found[one.dest] = one.content.encode()[: FILE_BYTES + 1]
        elif one.source is not None:
            for path, name in _files(one.source, one.dest):
                if len(found) < MOST_FILES and path.is_file():
                    with path.open("rb") as file:
                        found[name] = file.read(FILE_BYTES + 1)
    return found


def _files(source: Path, dest: str) -> Iterator[tuple[Path, str]]:
    if not source.is_dir():
        yield source, dest
        return
    for path in sorted(source.rglob("*")):
        yield path, f"{dest}/{path.relative_to(source).as_posix()}".removeprefix("./")


MOST_BYTES = 30_000_000  # of a file, which is held in memory while it is sent


class NoDownloadError(PinchBenchError):
    """There is no such file, or it is too large to be sent."""


def whole_file(path: Path) -> bytes:
    """Return a regular file. Blocks. Raises NoDownloadError."""
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise NoDownloadError("There is no such file.") from error
    if len(data) > MOST_BYTES:
        raise NoDownloadError(f"It is too large to be sent; it lies at {path}.")
    return data


def kept_files(archive: Path, paths: Collection[str], *, most_bytes: int = MOST_BYTES) -> dict[str, bytes]:
    """Return these regular files of a kept workspace, by the names that a page shows; none that is larger. Blocks.

    Raises ArchiveLostError when the archive is missing or damaged.
    """
    found: dict[str, bytes] = {}
    with open_archive(archive) as (tar, members):
        for member in members:
            name = os.fsencode(member.name).decode("utf-8", "replace")
            if name in paths and member.isreg() and not member.issparse() and member.size <= most_bytes:
                content = tar.extractfile(member)
                if content is not None:
                    found[name] = content.read(most_bytes)
    return found


def kept_file(archive: Path, path: str) -> bytes:
    """Return a file of a kept workspace. Blocks. Raises NoDownloadError."""
    try:
        if not archive.is_symlink() and (data := kept_files(archive, {path}).get(path)) is not None:
            return data
    except ArchiveLostError as error:
        raise NoDownloadError(f"The workspace can't be read: {error}.") from error
    raise NoDownloadError("The workspace holds no such file, or one that is too large to be sent.")


IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
IMAGE_KINDS: Mapping[str, tuple[bytes, ...]] = {  # how files of each kind begin
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpeg": (b"\xff\xd8\xff",),
    "gif": (b"GIF87a", b"GIF89a"),
    "webp": (b"RIFF",),  # and more: see `image_uri`
}
IMAGE_BYTES = 500_000  # of an image that is shown
IMAGES_BYTES = 3_000_000  # of all images of a page


def image_uri(data: bytes) -> str:
    """Return an image as a data URI; empty unless its first bytes are those of a type that holds no code."""
    if len(data) > IMAGE_BYTES:
        return ""
    kind = next((kind for kind, begins in IMAGE_KINDS.items() if data.startswith(begins)), "")
    if kind == "webp" and data[8:12] != b"WEBP":
        kind = ""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}" if kind else ""

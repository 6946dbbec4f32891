"""The files that an attempt leaves beside the journal, and the digests by which a change of them is noticed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The files a trial leaves: what its processes wrote, its transcript and workspace, and what its check printed."""

    folder: Path

    @property
    def of_agent(self) -> tuple[Path, ...]:
        """What is final when the attempt has ended."""
        return (self.stdout, self.stderr, self.gateway_log, self.transcript, self.workspace)

    @property
    def stdout(self) -> Path:
        """What OpenClaw wrote to stdout, all turns."""
        return self.folder / "stdout.log"

    @property
    def stderr(self) -> Path:
        """What OpenClaw wrote to stderr, all turns."""
        return self.folder / "stderr.log"

    @property
    def gateway_log(self) -> Path:
        """What the gateway's log says of this trial; only where there is a gateway of the run's own."""
        return self.folder / "gateway.log"

    @property
    def transcript(self) -> Path:
        """The events of all sessions, one JSON object a line, as OpenClaw stored them."""
        return self.folder / "transcript.jsonl"

    @property
    def workspace(self) -> Path:
        """The workspace as the agent left it, for the graders."""
        return self.folder / "workspace.tar.zst"

    @property
    def check_log(self) -> Path:
        """What the task's check printed when the trial was graded last."""
        return self.folder / "check.log"

    def judge_replies(self, digest: str) -> Path:
        """What a judge has answered, by the file's SHA-256: of every grading, as an earlier one's grade may count."""
        return self.folder / f"judge-{digest[:16]}.json"


def file_digest(path: Path) -> str:
    """The SHA-256 of a regular file, in hexadecimal digits. Blocks. Raises OSError, also for what is no such file."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "It is not a regular file")
    with os.fdopen(number, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests_of(paths: Iterable[Path]) -> dict[str, str]:
    """The digests of those of these files that are there and can be read, by their names. Blocks."""
    found: dict[str, str] = {}
    for path in paths:
        with suppress(OSError):
            found[path.name] = file_digest(path)
    return found


def changed_files(paths: Iterable[Path], stated: Mapping[str, str], *, strictly: bool = True) -> Iterator[str]:
    """Say of each of these files that it was changed or can't be read; `strictly` also that it is missing or was added.

    Blocks.
    """
    for path in paths:
        try:
            digest = file_digest(path)
        except FileNotFoundError:
            if strictly and path.name in stated:
                yield f"{path} is missing"
        except OSError as error:
            yield f"{path} can't be read: {error.strerror}"
        else:
            if path.name not in stated:
                if strictly:
                    yield f"{path} was added"
            elif digest != stated[path.name]:
                yield f"{path} is not as it was written"

"""The files that an attempt leaves next to the journal, and the digests by which changes to them are detected."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.files.beneath import regular_fd
from pinchbench.model.task_programs import MAX_SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


class _File:
    """The path of a file in the folder of an attempt's evidence."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, evidence: Evidence, kind: type[Evidence]) -> Path:
        return evidence.folder / self._name


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The files of an attempt: its processes' output, its transcript and workspace, and its check's output."""

    folder: Path

    stdout = _File("stdout.log")  # OpenClaw's, of all turns
    stderr = _File("stderr.log")
    # the part of a gateway's log about this trial, in runs of earlier releases through a gateway of their own
    gateway_log = _File("gateway.log")
    # what the simulated user said to each answer, one JSON object per line; only of a task that has one
    user = _File("user.jsonl")
    # the messages of the chat, one JSON object per line; only of a task whose agent lives in a gateway
    chat = _File("chat.jsonl")
    # the events of all sessions, one JSON object per line: as the wire saw them, or without it as stored
    transcript = _File("transcript.jsonl")
    store = _File("store.jsonl")  # the events as OpenClaw stored them; only where the transcript is what the wire saw
    # the recorded requests to the model and its replies; only if they went through the wire
    wire = _File("wire.jsonl.zst")
    # what the agent attempted although its sandbox does not allow it; only if there was something
    ledger = _File("ledger.jsonl")
    workspace = _File("workspace.tar.zst")  # as the agent left it, for the graders
    check_log = _File("check.log")  # the output of the task's check when the trial was last graded

    @property
    def service_logs(self) -> tuple[Path, ...]:
        """What the task's services printed, in their order; only of those that it has."""
        return tuple(self.folder / f"service-{number}.log" for number in range(1, MAX_SERVICES + 1))

    @property
    def of_agent(self) -> tuple[Path, ...]:
        """The files that are final when the attempt has ended."""
        output = self.stdout, self.stderr, self.gateway_log, *self.service_logs
        return (*output, self.user, self.chat, self.transcript, self.store, self.wire, self.ledger, self.workspace)

    def judge_replies(self, digest: str) -> Path:
        """A judge's replies, by the file's SHA-256. Kept for every grading, since an earlier one's grade may count."""
        return self.folder / f"judge-{digest[:16]}.json"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a regular file in hexadecimal. Blocks.

    Raises OSError if it can't be read or is not a regular file.
    """
    with os.fdopen(regular_fd(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests_of(paths: Iterable[Path]) -> dict[str, str]:
    """Return the digests of those files that exist and can be read, by file name. Blocks."""
    found: dict[str, str] = {}
    for path in paths:
        with suppress(OSError):
            found[path.name] = file_digest(path)
    return found


def changed_files(paths: Iterable[Path], stated: Mapping[str, str], *, strictly: bool = True) -> Iterator[str]:
    """Report each file that was changed or can't be read; with `strictly` also each that is missing or was added.

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

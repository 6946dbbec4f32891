"""The record of what a simulated user said, one line for each answer of the agent, and its reading for a replay."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.transcript.lines import writable

if TYPE_CHECKING:
    from pathlib import Path

THE_WORKSPACE = "{workspace}"  # stands for its path in what is compared, since that differs between two runs


class UserLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer of the agent, what the user said to it, and what asking for that took.

    `message` is empty if the user had nothing left to say. `replies` are all texts that its model gave; `failed` says
    why there is no message.
    """

    answer: str
    digest: str
    message: str = ""
    failed: str = ""
    model: str = ""
    replies: tuple[str, ...] = ()


def answer_digest(answer: str, workspace: Path) -> str:
    """Return what is the same for the same answer in another workspace."""
    return hashlib.sha256(writable(answer.replace(str(workspace), THE_WORKSPACE)).encode()).hexdigest()


def append_line(path: Path, line: UserLine) -> None:
    """Add a line to a record. Blocks. Raises OSError."""
    text = msgspec.structs.replace(
        line,
        answer=writable(line.answer),
        message=writable(line.message),
        failed=writable(line.failed),
        replies=tuple(map(writable, line.replies)),
    )
    with path.open("ab") as file:
        file.write(msgspec.json.encode(text) + b"\n")


def read_lines(path: Path) -> tuple[UserLine, ...]:
    """Return the lines of a record; none without one. Blocks. Raises ResultsError if it can't be read."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(UserLine)
    try:
        return tuple(decoder.decode(line) for line in path.read_bytes().split(b"\n") if line)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}, the record of a simulated user, can't be read: {error}.") from error

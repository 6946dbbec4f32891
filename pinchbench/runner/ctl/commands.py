"""Commands for a run and replies to them, as lines of JSON of bounded length (pure)."""

from __future__ import annotations

from typing import get_args

import msgspec

from pinchbench.decoding import decode_json, json_decoder
from pinchbench.errors import CommandRefusedError

MAX_LINE_BYTES = 64 * 1024  # of a command and of a reply: a note of the longest kind in bytes, and 64 running trials


class Pause(msgspec.Struct, frozen=True, tag="pause", tag_field="command", forbid_unknown_fields=True):
    """Start no trial until `continue`; running ones go on."""


class Continue(msgspec.Struct, frozen=True, tag="continue", tag_field="command", forbid_unknown_fields=True):
    """Start trials again."""


class Concurrency(msgspec.Struct, frozen=True, tag="concurrency", tag_field="command", forbid_unknown_fields=True):
    """Run at most so many trials at once."""

    trials: int


class StopTrial(msgspec.Struct, frozen=True, tag="stop-trial", tag_field="command", forbid_unknown_fields=True):
    """End a running trial, and make no further attempt at it."""

    trial: str


class Requeue(msgspec.Struct, frozen=True, tag="requeue", tag_field="command", forbid_unknown_fields=True):
    """Make another attempt at a trial."""

    trial: str
    reason: str = ""


class Skip(msgspec.Struct, frozen=True, tag="skip", tag_field="command", forbid_unknown_fields=True):
    """Do not run a trial that waits, or those of a task that wait."""

    what: str


class Budget(msgspec.Struct, frozen=True, tag="budget", tag_field="command", forbid_unknown_fields=True):
    """Replace the limits of the run in US dollars and in tokens; None keeps one as it is."""

    max_cost: float | None = None
    max_tokens: int | None = None


class Note(msgspec.Struct, frozen=True, tag="note", tag_field="command", forbid_unknown_fields=True):
    """Write a note on the run, or on a trial, with tags."""

    text: str
    trial: str = ""
    tags: tuple[str, ...] = ()


class Override(msgspec.Struct, frozen=True, tag="override", tag_field="command", forbid_unknown_fields=True):
    """Give a trial a score of the user's own, next to the measured one."""

    trial: str
    score: float
    reason: str


class Status(msgspec.Struct, frozen=True, tag="status", tag_field="command", forbid_unknown_fields=True):
    """Tell how the run stands."""


Change = Pause | Continue | Concurrency | StopTrial | Requeue | Skip | Budget | Note | Override
Command = Change | Status
NAMES = tuple(str(kind.__struct_config__.tag) for kind in get_args(Command))


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What has become of a command. `text` is for the user; `data` is what was asked for, or done."""

    ok: bool
    text: str
    data: dict[str, object] = {}


_decoder = json_decoder(Command)


def decode_command(line: bytes) -> Command:
    """Decode a command. Raises CommandRefusedError, with the known commands, if it is none, or too long a text."""
    known = f"A command is a line of JSON with `command` as one of: {', '.join(NAMES)}."
    try:
        command: Command = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise CommandRefusedError(f"That is no command: {error}. {known}") from error
    return command


def encode_line(value: Command | Reply) -> bytes:
    """Return a command or a reply as a line."""
    return msgspec.json.encode(value) + b"\n"


def decode_reply(line: bytes) -> Reply:
    """Decode a reply. Raises ValueError."""
    return decode_json(line, Reply)

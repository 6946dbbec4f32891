"""Commands for a run: lines of JSON of bounded length, and the Unix socket on which a working run takes them."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, get_args

import anyio
import msgspec

from pinchbench.decoding import decode_json, json_decoder
from pinchbench.errors import CommandRefusedError, ResultsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from pathlib import Path

    from anyio.abc import SocketListener, SocketStream


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


SOCKET_MODE = 0o600
MAX_CLIENTS = 16  # at once; who comes beyond is turned away, so that the run keeps its file descriptors
READ_LIMIT_S = 5.0  # for a line to arrive whole: a client has it ready when it connects
SEND_LIMIT_S = 5.0  # for a reply to be taken, which nearly always fits into the socket's buffer
ACCEPT_RETRY_S = 0.5  # when no connection can be accepted, as while file descriptors are short
REMOVE_LIMIT_S = 5.0  # of the socket's file, on a disk that may be slow
ANSWER_LIMIT_S = 120.0  # of a client: a trial that is stopped takes up to 20 s, and a disk that syncs may be slow
PATH_LIMIT_BYTES = 100  # of a socket's address: 104 on macOS, 108 on Linux, with its final NUL


@contextmanager
def short_path(path: Path) -> Generator[str]:
    """Yield a path of the same file that is short enough for a socket's address. Blocks briefly. Raises OSError."""
    if len(os.fsencode(path)) <= PATH_LIMIT_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


async def serve_commands(
    path: Path, carry_out: Callable[[Command], Awaitable[Reply]], tell: Callable[[str], None]
) -> None:
    """Take commands until cancelled; `carry_out` may raise CommandRefusedError. The socket is removed at the end.

    Nothing that a client does, or does not do, holds up the run or ends it. Where no socket can be made, `tell` gets a
    sentence and the call returns.
    """
    try:
        with anyio.CancelScope(shield=True):  # a cancellation in between would leave an open socket behind
            listener = await anyio.abc.SocketListener.from_socket(await anyio.to_thread.run_sync(_listen, path))
    except OSError as error:
        tell(f"This run takes no commands of `ctl`: {path} can't be made ({error.strerror or error}).")
        return
    try:
        async with listener:
            await _accept(listener, carry_out, tell)
    finally:
        with anyio.move_on_after(REMOVE_LIMIT_S, shield=True):
            await anyio.to_thread.run_sync(_remove, path, abandon_on_cancel=True)


def _listen(path: Path) -> socket.socket:
    """Return a socket that listens at a path, for this user alone. Blocks. Raises OSError.

    It has its name only when it listens and has its mode, and takes the place of what a killed runner has left.
    """
    fresh = path.with_name(f"{path.name}.new")
    _remove(fresh)
    listener = socket.socket(socket.AF_UNIX)
    try:
        with short_path(fresh) as short:
            listener.bind(short)
        fresh.chmod(SOCKET_MODE)
        listener.setblocking(False)
        listener.listen()
        fresh.rename(path)
    except OSError:
        listener.close()
        raise
    return listener


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


async def _accept(
    listener: SocketListener, carry_out: Callable[[Command], Awaitable[Reply]], tell: Callable[[str], None]
) -> None:
    clients = 0

    async def serve(stream: SocketStream) -> None:
        nonlocal clients
        clients += 1
        try:
            await _serve(stream, carry_out)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass  # the client has gone; what it asked for is done
        except Exception as error:  # noqa: BLE001 - a bug here must not end a run that works
            tell(f"A command of `ctl` has failed: {error!r}.")
        finally:
            clients -= 1
            await anyio.aclose_forcefully(stream)

    async with anyio.create_task_group() as group:
        while True:
            try:
                stream = await listener.accept()
            except OSError:
                await anyio.sleep(ACCEPT_RETRY_S)
                continue
            if clients >= MAX_CLIENTS:
                await anyio.aclose_forcefully(stream)
            else:
                group.start_soon(serve, stream)


async def _serve(stream: SocketStream, carry_out: Callable[[Command], Awaitable[Reply]]) -> None:
    from anyio.streams.buffered import BufferedByteReceiveStream  # noqa: PLC0415 - `ctl --help` does without it

    reply = Reply(ok=False, text=f"No command came within {READ_LIMIT_S:.0f} s.")
    try:
        with anyio.move_on_after(READ_LIMIT_S) as reading:
            line = await BufferedByteReceiveStream(stream).receive_until(b"\n", MAX_LINE_BYTES)
        if not reading.cancelled_caught:
            reply = await carry_out(decode_command(line))
    except CommandRefusedError as error:
        reply = Reply(ok=False, text=str(error))
    except anyio.DelimiterNotFound:
        reply = Reply(ok=False, text=f"A command is a line of at most {MAX_LINE_BYTES} bytes.")
    except anyio.IncompleteRead:
        reply = Reply(ok=False, text="The line ended before its newline.")
    with anyio.move_on_after(SEND_LIMIT_S):
        await stream.send(encode_line(reply))


def send_command(path: Path, command: Command) -> Reply | None:
    """Send a command to the runner that listens at a socket, and return its reply; None if nobody listens. Blocks.

    Raises ResultsError if the runner does not reply, or if the socket can't be reached.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_LIMIT_S)
        try:
            with short_path(path) as short:
                client.connect(short)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return None
        except OSError as error:
            raise ResultsError(f"{path} can't be reached: {error.strerror or error}.") from error
        try:
            client.sendall(encode_line(command))
            with client.makefile("rb") as replies:
                line = replies.readline(MAX_LINE_BYTES)
            if not line.endswith(b"\n"):
                raise OSError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))  # noqa: TRY301
            return decode_reply(line)
        except (OSError, ValueError) as error:
            raise ResultsError(
                f"The run has not answered ({error}): it has ended, or has too many other clients. Whether it has done"
                f" what was asked is in its journal, in {path.parent}."
            ) from error

"""The lines that commands are, and their socket: who is served, and that no client holds up or ends anything."""

import os
import socket
import stat
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import get_args

import anyio
import pytest
from anyio import create_task_group, to_thread
from hypothesis import given
from hypothesis import strategies as st

from fakes import until
from pinchbench.errors import CommandRefusedError, ResultsError
from pinchbench.runner.ctl import commands
from pinchbench.runner.ctl.commands import (
    MAX_CLIENTS,
    MAX_LINE_BYTES,
    NAMES,
    PATH_LIMIT_BYTES,
    Budget,
    Change,
    Command,
    Concurrency,
    Continue,
    Note,
    Override,
    Pause,
    Reply,
    Requeue,
    Skip,
    Status,
    StopTrial,
    decode_command,
    decode_reply,
    encode_line,
    send_command,
    serve_commands,
)

TEXT = st.text(max_size=50)
COMMAND: st.SearchStrategy[Command] = st.one_of(
    st.builds(Pause),
    st.builds(Continue),
    st.builds(Status),
    st.builds(Concurrency, st.integers(-9, 99)),
    st.builds(Budget, st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(StopTrial, TEXT),
    st.builds(Skip, TEXT),
    st.builds(Requeue, TEXT, TEXT),
    st.builds(Note, TEXT, TEXT, st.lists(TEXT).map(tuple)),
    st.builds(Override, TEXT, st.floats(0, 1), TEXT),
)


@given(COMMAND)
def test_a_command_is_one_line_that_says_the_same(command: Command) -> None:
    line = encode_line(command)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_command(line) == command


def test_every_command_but_the_status_changes_something() -> None:
    assert len(NAMES) == len(get_args(Change)) + 1
    assert "status" in NAMES


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"not JSON",
        b'{"command": "explode"}',
        b'{"command": "pause", "hard": true}',
        b'{"command": "concurrency", "trials": "all"}',
        b'{"command": "note", "text": "\xff"}',
        b"[" * 10_000,
    ],
)
def test_what_is_no_command_is_answered_with_the_known_ones(line: bytes) -> None:
    with pytest.raises(CommandRefusedError, match="pause, continue, concurrency, stop-trial"):
        decode_command(line)


LIMIT_S = 60


@asynccontextmanager
async def listening(path: Path, told: list[str] | None = None) -> AsyncIterator[list[Command]]:
    """Serve commands at a path; yields those that came. A pause is refused, and a note of `bug` finds one."""
    came: list[Command] = []

    async def carry_out(command: Command) -> Reply:
        came.append(command)
        if isinstance(command, Pause):
            raise CommandRefusedError("not now")
        if command == Note("bug"):
            raise RuntimeError("a bug")
        if command == Note("long"):
            return Reply(ok=True, text="x" * (4 * 1024 * 1024))
        return Reply(ok=True, text="done", data={"number": len(came)})

    async with create_task_group() as group:
        group.start_soon(serve_commands, path, carry_out, (told if told is not None else []).append)
        await until(path.is_socket)
        yield came
        group.cancel_scope.cancel()


async def ask(path: Path, command: Command) -> Reply | None:
    return await to_thread.run_sync(send_command, path, command)


async def test_a_command_of_the_user_alone_is_done_and_answered_and_the_socket_is_gone_in_the_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "control.sock"
    assert await ask(path, Status()) is None
    async with listening(path) as came:
        assert await ask(path, Status()) == Reply(ok=True, text="done", data={"number": 1})
        assert await ask(path, Pause()) == Reply(ok=False, text="not now")
        assert came == [Status(), Pause()]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


async def test_a_path_longer_than_an_address_is_served(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    path = folder / "control.sock"
    assert len(os.fsencode(path)) > PATH_LIMIT_BYTES
    async with listening(path):
        reply = await ask(path, Status())
        assert reply is not None
        assert reply.ok
    assert not path.exists()


async def test_a_socket_that_a_killed_runner_left_is_nobody_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert path.is_socket()
    assert await ask(path, Status()) is None
    async with listening(path):
        await until(lambda: send_is_answered(path))


def send_is_answered(path: Path) -> bool:
    """Whether somebody accepts connections."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


async def test_where_no_socket_can_be_made_the_user_is_told_and_nothing_else_happens(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "control.sock"
    told: list[str] = []

    async def carry_out(_: Command) -> Reply:
        raise AssertionError

    await serve_commands(path, carry_out, told.append)
    assert told == [f"This run takes no commands of `ctl`: {path} can't be made (No such file or directory)."]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x" * (MAX_LINE_BYTES + 100_000), "at most 65536 bytes"),
        (b"what?\n", "A command is a line of JSON"),
        (b'{"command":"explode"}\n', "pause, continue"),
        (b'{"command":"status"}\n{"command":"pause"}\n', "done"),
    ],
)
async def test_a_line_that_is_no_command_is_answered(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "control.sock"
    async with listening(path) as came:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(LIMIT_S)
            client.connect(str(path))

            def converse() -> bytes:
                with suppress(BrokenPipeError):  # it was refused before all was sent
                    client.sendall(data)
                return client.recv(MAX_LINE_BYTES)

            reply = decode_reply(await to_thread.run_sync(converse))
        assert text in reply.text
        assert len(came) <= 1
        assert (await ask(path, Status())) is not None


async def test_a_client_that_never_reads_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "control.sock"
    async with AsyncExitStack() as stack, listening(path) as came:
        deaf = await stack.enter_async_context(await anyio.connect_unix(path))
        await deaf.send(b'{"command":"note","text":"long"}\n')
        await until(lambda: len(came) == 1)
        assert (await ask(path, Status())) == Reply(ok=True, text="done", data={"number": 2})
        monkeypatch.setattr(commands, "SEND_LIMIT_S", 0.0)
        other = await stack.enter_async_context(await anyio.connect_unix(path))
        await other.send(b'{"command":"status"}\n')
        with pytest.raises(anyio.EndOfStream):
            await other.receive()


async def test_too_many_clients_are_turned_away_and_the_others_served(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    async with listening(path) as came:
        idle = [await anyio.connect_unix(path) for _ in range(MAX_CLIENTS)]
        with pytest.raises(ResultsError, match="too many other clients"):
            await ask(path, Status())
        assert came == []
        for one in idle:
            await one.aclose()
        while True:
            try:
                reply = await ask(path, Status())
            except ResultsError:
                continue
            break
        assert reply == Reply(ok=True, text="done", data={"number": 1})


async def test_a_client_that_resets_its_connection_and_a_bug_end_nothing(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    told: list[str] = []
    async with listening(path, told) as came:
        for _ in range(3):
            with socket.socket(socket.AF_UNIX) as rude:
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                rude.connect(str(path))
                rude.sendall(b'{"command":"note","text":"x"}\n')
        await until(lambda: len(came) == 3)
        with pytest.raises(ResultsError, match="The run has not answered"):
            await ask(path, Note("bug"))
        assert told == ["A command of `ctl` has failed: RuntimeError('a bug')."]
        assert (await ask(path, Status())) is not None

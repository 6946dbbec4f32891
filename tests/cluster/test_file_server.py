"""Files over a connection of their own, for those who know a secret."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING

import pytest
from anyio import Path as AsyncPath
from anyio import fail_after, to_thread

from pinchbench.cluster import file_server
from pinchbench.cluster.file_server import CHUNK_BYTES, MAX_CONNECTIONS, NONCE_BYTES, FileServer, fetch_files, receive
from pinchbench.results.evidence import file_digest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Generator[FileServer]:
    """A server on loopback."""
    with FileServer("127.0.0.1") as running:
        yield running
        running.shutdown()


async def fetched(
    server: FileServer, folder: Path, *names: str, to: Path, secret: bytes | None = None
) -> dict[str, str]:
    """Copy files of a folder from the server into another one."""
    address = ("127.0.0.1", server.port)
    await AsyncPath(to).mkdir()
    with fail_after(60):
        return await to_thread.run_sync(fetch_files, address, secret or server.secret, str(folder), names, to)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 7])
async def test_a_file_arrives_with_its_digest(server: FileServer, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    digests = await fetched(server, tmp_path, "file", to=tmp_path / "here")
    assert digests == {"file": hashlib.sha256(data).hexdigest()}
    assert (tmp_path / "here" / "file").read_bytes() == data


async def test_files_of_any_size_arrive_over_one_connection(server: FileServer, tmp_path: Path) -> None:
    sizes = {"one": 1, "none": 0, "large": 2 * CHUNK_BYTES + 1, "another": 3}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(os.urandom(size))
    digests = await fetched(server, tmp_path, *sizes, to=tmp_path / "here")
    assert digests == {name: file_digest(tmp_path / name) for name in sizes}
    assert digests == {name: file_digest(tmp_path / "here" / name) for name in sizes}


async def test_nobody_without_the_secret_gets_a_file(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(ConnectionError):
        await fetched(server, tmp_path, "file", to=tmp_path / "here", secret=bytes(32))
    assert not any((tmp_path / "here").iterdir())


@pytest.mark.parametrize("name", ["missing", "link", "pipe"])
async def test_only_regular_files_are_sent(server: FileServer, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    digests = await fetched(server, tmp_path, name, "file", to=tmp_path / "here")
    assert digests == {"file": hashlib.sha256(b"mine").hexdigest()}, "the others arrive"
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["file"]


def connected(server: FileServer, stack: ExitStack) -> socket.socket:
    """Connect to the server, and say nothing."""
    return stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))


async def test_connections_beyond_the_limit_are_closed_and_there_is_room_again_afterwards(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_server, "SILENCE_S", 60.0)
    (tmp_path / "file").write_bytes(b"mine")
    with ExitStack() as stack:
        silent = [connected(server, stack) for _ in range(MAX_CONNECTIONS)]
        assert {len(one.recv(NONCE_BYTES, socket.MSG_WAITALL)) for one in silent} == {NONCE_BYTES}
        with pytest.raises(ConnectionError):
            await fetched(server, tmp_path, "file", to=tmp_path / "refused")
    with fail_after(60):
        for number in count():
            try:
                assert await fetched(server, tmp_path, "file", to=tmp_path / str(number))
                break
            except ConnectionError:  # the server has not seen yet that the others are gone
                continue


def test_one_that_speaks_too_slowly_is_not_listened_to_for_ever() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"slowly")
        assert receive(ours, 4, time.monotonic() + 60) == b"slow"
        with pytest.raises(TimeoutError):
            receive(ours, 2, time.monotonic())  # although they are there

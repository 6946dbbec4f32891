"""The process at the client's end of a connection on loopback is found, with IPv4 and mapped into IPv6."""

import os
import socket

import pytest

from pinchbench.sandbox import socket_owner
from pinchbench.sandbox.socket_owner import Program, asked_inode, client_inode, find_owner


@pytest.mark.parametrize("is_answered", [True, False], ids=["asked", "listed"])
@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")], ids=["4", "6"]
)
def test_the_owner_of_a_connection_is_found_until_it_is_closed(
    family: socket.AddressFamily, address: str, is_answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_answered:
        monkeypatch.setattr(socket_owner, "asked_inode", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.socket(family) as client:
            client.connect((address, port))
            accepted, peer = server.accept()
            with accepted:
                inode = client_inode(port, peer[1])
                assert inode == os.fstat(client.fileno()).st_ino
                assert Program(os.getpid()).has_socket(inode)
                assert not Program(os.getppid()).has_socket(inode)
                assert find_owner(inode) == os.getpid()
                client.close()
                assert client_inode(port, peer[1]) == 0
                assert not Program(os.getpid()).has_socket(inode)
                assert find_owner(inode) == 0


def test_a_program_is_looked_at_once_for_the_connections_that_it_has_by_then() -> None:
    with socket.socket() as one, socket.socket() as other:
        program = Program(os.getpid())
        assert program.has_socket(os.fstat(one.fileno()).st_ino)
        assert os.fstat(other.fileno()).st_ino in program.known


def test_no_more_processes_are_looked_at_than_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def look(pid: int, _: list[str]) -> tuple[int, ...]:
        looked_at.append(pid)
        return ()

    monkeypatch.setattr(socket_owner, "_sockets", look)
    assert find_owner(1, within_s=-1) == 0
    assert len(looked_at) == 1
    assert find_owner(1) == 0
    assert os.getpid() in looked_at[1:]


def test_a_server_at_the_port_of_a_closed_client_is_not_the_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not asked_inode(1, server.getsockname()[1])

"""Whose a connection is."""

import socket
import sys
import threading
from collections.abc import Iterator

import anyio
import pytest
from anyio import create_memory_object_stream

from pinchbench.sandbox.socket_owner import asked_inode, find_owner
from pinchbench.wire import lease as lease_module
from pinchbench.wire.exchange import Draft
from pinchbench.wire.lease import TrialLease
from wire.kept import Kept

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the owner of a connection can't be seen")


@pytest.fixture
def lease() -> Iterator[TrialLease]:
    send, receive = create_memory_object_stream[Draft]()
    with send, receive:
        yield TrialLease(token="t", trial="task/1", turn=0, recorder=Kept(), drafts=send)


def test_a_connection_that_its_client_has_closed_is_no_other_process_s(lease: TrialLease) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()):
            accepted, _ = server.accept()
            with accepted:
                assert lease.find_foreign(accepted) == ""
        with socket.create_connection(server.getsockname()):
            accepted, _ = server.accept()
        with accepted, pytest.raises(ConnectionResetError):
            lease.find_foreign(accepted)


def test_a_connection_that_is_closed_during_the_search_is_no_other_process_s(
    lease: TrialLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())

        def close(_: int) -> int:
            client.close()
            return 0

        monkeypatch.setattr(lease_module, "find_owner", close)
        with server.accept()[0] as accepted, pytest.raises(ConnectionResetError):
            lease.find_foreign(accepted)


def test_other_connections_of_the_process_are_recognised_without_a_look_at_it(lease: TrialLease) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        clients = [socket.create_connection(server.getsockname()) for _ in range(2)]
        with clients[0], clients[1], server.accept()[0] as one, server.accept()[0] as other:
            can_ask = asked_inode(other.getsockname()[1], other.getpeername()[1]) is not None
            assert not lease.recognises(one)
            assert lease.find_foreign(one) == ""
            assert lease.recognises(other) is can_ask
            lease.begin_turn(1)
            assert not lease.recognises(other)


@pytest.mark.parametrize(("most", "is_quick"), [(1_000_000, True), (0, False)], ids=["few files", "many files"])
async def test_a_later_connection_of_a_process_with_few_files_needs_no_thread(
    lease: TrialLease, most: int, is_quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_module, "FEW_FILES", most)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()), server.accept()[0] as first:
            assert await lease.foreign_client(first) == ""
        searched: list[socket.socket] = []

        def search(_: TrialLease, connection: socket.socket) -> str:
            searched.append(connection)
            return ""

        monkeypatch.setattr(TrialLease, "find_foreign", search)
        with socket.create_connection(server.getsockname()), server.accept()[0] as later:
            can_ask = asked_inode(later.getsockname()[1], later.getpeername()[1]) is not None
            assert await lease.foreign_client(later) == ""
            assert searched == ([] if is_quick and can_ask else [later])


async def test_while_the_first_connection_is_looked_at_no_other_begins_the_turn(
    lease: TrialLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_module, "find_owner", lambda *_, **__: 0)
    found: list[socket.socket] = []
    is_searching, goes_on = anyio.Event(), threading.Event()

    def search(_: TrialLease, connection: socket.socket) -> str:
        anyio.from_thread.run_sync(is_searching.set)
        assert goes_on.wait(60)
        found.append(connection)
        return ""

    monkeypatch.setattr(TrialLease, "find_foreign", search)
    with (
        anyio.fail_after(60),
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
        server.accept()[0] as first,
        socket.create_connection(server.getsockname()),
        server.accept()[0] as other,
    ):
        can_ask = asked_inode(other.getsockname()[1], other.getpeername()[1]) is not None
        async with anyio.create_task_group() as group:
            group.start_soon(lease.foreign_client, first)
            await is_searching.wait()
            monkeypatch.setattr(lease_module, "QUICK_S", 60.0)
            monkeypatch.setattr(lease_module, "find_owner", find_owner)
            group.start_soon(lease.foreign_client, other)
            await anyio.wait_all_tasks_blocked()
            was_known = lease.knows(other)
            goes_on.set()
        assert not was_known
        assert found == ([first] if can_ask else [first, other])
        assert lease.knows(other) is can_ask

"""The trials whose requests pass through the wire, and whose connections are theirs."""

from __future__ import annotations

import socket
import struct
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope, to_thread

from pinchbench.sandbox.socket_owner import Program, asked_inode, client_inode, find_owner, name_of
from pinchbench.wire.exchange import Allowance, Draft
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.measure import estimated_usage
from pinchbench.wire.protocols.call_facts import ReplyFacts

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

    from pinchbench.model.usage import Usage
    from pinchbench.wire.playback import Playback
    from pinchbench.wire.recording import RecordingWriter
    from pinchbench.wire.transport import TransportStream


FEW_FILES = 128  # a look at all of them takes some 0.6 ms, and one at the newest a tenth of that
QUICK_S = 0.001  # within which the newest process is found, which OpenClaw most likely is
CREDENTIALS = struct.Struct("3i")  # process, user and group: unix(7)
TAKES_ALL = sys.platform != "linux"  # which process has made a connection is known on Linux alone


@dataclass(kw_only=True, eq=False)
class TrialLease:
    """A trial that has a token."""

    token: str
    trial: str
    turn: int = 0
    recorder: RecordingWriter  # whose calls block: they are made in a thread, one at a time
    playback: Playback | None = None
    drafts: MemoryObjectSendStream[Draft]
    exchanges: int = 0
    model: str = ""  # that its first request named
    allowance: Allowance = field(default_factory=Allowance)
    connections: set[TransportStream] = field(default_factory=set)
    exceeded: str = ""  # what it has used too much of
    waiting: int = 0  # of its exchanges, for their turn
    is_held: bool = False
    open: set[CancelScope] = field(default_factory=set)
    ended: anyio.Event | None = None  # that all exchanges have, once the lease has been released
    written: anyio.Event = field(default_factory=anyio.Event)
    problem: str = ""
    # of connections that have to be looked for
    admission: anyio.Lock = field(default_factory=partial(anyio.Lock, fast_acquire=True))
    _program: Program = field(default_factory=lambda: Program(0))  # whose connections are the trial's in this turn

    def begin_turn(self, turn: int) -> None:
        """Count requests for another turn from now on, of which another process makes the connections."""
        self.turn, self._program = turn, Program(0)

    def recognises(self, connection: socket.socket, *, most_files: int = 0) -> bool:
        """Whether a connection is known to be the turn's own. Raises OSError.

        The turn's process is looked at only if it has at most so many files open.
        """
        if TAKES_ALL:
            return True
        if connection.family == socket.AF_UNIX:
            return self._program.pid == _unix_client(connection) != 0
        inode, program = asked_inode(*_ports(connection)), self._program
        return inode is not None and inode > 0 and program.has_socket(inode, most_files=most_files)

    def knows(self, connection: socket.socket) -> bool:
        """Whether a connection has been made by the process of this trial, and of no other. Raises OSError."""
        return not TAKES_ALL and self.recognises(connection)

    async def foreign_client(self, connection: socket.socket) -> str:
        """Return what `find_foreign` does. A burst of connections waits for one look at processes."""
        # A thread takes ten times as long as a quick look, and waits for the loop.
        if self.recognises(connection, most_files=FEW_FILES):
            return ""
        if connection.family == socket.AF_UNIX:
            return self.find_foreign(connection)  # asks the kernel alone
        async with self.admission:  # so that the process of the first connection is the turn's own
            if self.recognises(connection) or self._adopts(connection):
                return ""
            return await to_thread.run_sync(self.find_foreign, connection)

    def _adopts(self, connection: socket.socket) -> bool:
        """Whether the process of a turn's first connection is found at once, and is now the turn's own."""
        inode = 0 if self._program.pid else asked_inode(*_ports(connection))
        if not inode or not (client := find_owner(inode, within_s=QUICK_S)):
            return False
        self._begin_with(client, inode)
        return True

    def _begin_with(self, client: int, inode: int) -> None:
        self._program = Program(client)
        self._program.has_socket(inode)  # so that the connection is known as its own, also once it is closed

    def find_foreign(self, connection: socket.socket) -> str:
        """Return the name of the process that made a connection if it is not the turn's own; else empty. Blocks.

        Raises OSError if the client has closed the connection.

        The turn's own is the process that makes the first connection: OpenClaw does before the agent can do anything.
        Through a Unix socket it is the process that connects there for it, the first one of its namespaces.
        """
        if TAKES_ALL:
            return ""
        if connection.family == socket.AF_UNIX:
            client = _unix_client(connection)
            self._program.pid = self._program.pid or client
            return "" if client == self._program.pid else name_of(client)
        inode = client_inode(*_ports(connection))
        if not inode and self._program.pid:  # else the system may not show connections at all
            raise ConnectionResetError
        if not inode or (self._program.pid and self._program.has_socket(inode)):
            return ""
        client = find_owner(inode)
        if not client and client_inode(*_ports(connection)) != inode:
            raise ConnectionResetError
        if self._program.pid:
            return name_of(client)
        self._begin_with(client, inode)
        return ""

    def record(self, draft: Draft, reads_usage: bool) -> tuple[Usage | None, bool]:
        """Record an exchange; return what it used, if that is to be read, and whether that is an estimate. Blocks."""
        exchange = draft.exchange()
        self.recorder.append(exchange)
        reply = facts_of(exchange).reply if reads_usage else ReplyFacts()
        is_estimate = reply.usage is None and reply.message is not None
        return (estimated_usage(exchange) if is_estimate else reply.usage), is_estimate


def _unix_client(connection: socket.socket) -> int:
    pid: int
    pid, _, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    return pid


def _ports(connection: socket.socket) -> tuple[int, int]:
    return connection.getsockname()[1], connection.getpeername()[1]

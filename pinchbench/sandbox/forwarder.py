"""Forwards connections between ports inside an empty network namespace and Unix sockets outside of it.

Standard library only. It belongs to the first process of the sandbox, which nothing inside can signal, and it listens
before the agent starts. A socket is opened by a descriptor: its path does not exist inside. In the other direction, the
port of a service inside can be reached through a socket outside, which refuses connections until the port takes them.

The ways to the model and to the runner serve the program of the sandbox alone: what else inside connects, such as a
command of the agent's, is refused at once and remembered by the name of its process.

It also answers every DNS lookup with "no such name" and remembers the name: which hosts an agent tried to reach. A
connection to a numeric address fails in the kernel (ENETUNREACH) and is not recorded; the ledger finds it in commands.
"""

from __future__ import annotations

import _socket as socket  # what `socket` is made of, which takes 3 ms to import
import contextlib
import os
import select
import struct

from pinchbench.sandbox.socket_owner import Program, client_inode, find_owner, name_of

BUFFER_BYTES = 256 * 1024  # in each direction of a connection; beyond it, the sender waits
BACKLOG = 128
MAX_CONNECTIONS = 256  # beyond it, new ones wait in the backlog
DNS_PORT = 53
DNS_HEADER_BYTES = 12
DNS_NO_SUCH_NAME = 0x8183  # a response, recursion desired and available, NXDOMAIN
MAX_LOOKUPS = 200
MAX_REFUSED = 20  # names of processes; to find one takes a look at all processes
LOOK_MS = 20  # how often to try whether a service inside takes connections yet, which costs two system calls


class _End:
    """One of the two sockets of a connection, with the bytes that wait to be sent to it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.peer = self
        self.waiting = bytearray()
        self.is_read = False  # its end of file has been read
        self.is_ended = False  # nothing will be sent to it any more, and it knows

    def interest(self) -> int:
        """Return which events of this socket matter now."""
        can_read = not self.is_read and len(self.peer.waiting) < BUFFER_BYTES
        return (select.POLLIN if can_read else 0) | (select.POLLOUT if self.waiting else 0)


class _Way:
    """A listening socket, and the address that its connections are copied from and to."""

    def __init__(self, listener: socket.socket, family: int, target: str | tuple[str, int], guarded_port: int) -> None:
        self.listener = listener
        self.guarded_port = guarded_port  # that only the program of the sandbox may connect with; 0 for everybody
        self._family = family
        self._target = target
        listener.setblocking(False)

    def connect(self) -> socket.socket:
        """Connect to the other side. Raises OSError; a port may refuse the connection later, which ends it."""
        other = socket.socket(self._family, socket.SOCK_STREAM)
        other.setblocking(self._family == socket.AF_UNIX)  # a service inside can fill its port's backlog
        try:
            with contextlib.suppress(BlockingIOError):
                other.connect(self._target)
        except OSError:
            other.close()
            raise
        return other


def _way_out(port: int, path: str, *, is_guarded: bool) -> _Way:
    """Listen on a port of 127.0.0.1 for the Unix socket at a path. Raises OSError."""
    target_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(BACKLOG)
    return _Way(listener, socket.AF_UNIX, f"/proc/self/fd/{target_fd}", port if is_guarded else 0)


def _way_in(port: int, path: str) -> _Way:
    """Return a Unix socket at a path for a port of 127.0.0.1, which does not listen yet. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    return _Way(listener, socket.AF_INET, ("127.0.0.1", port), 0)


class Forwarder:
    """Listens on ports of 127.0.0.1 and copies each connection from and to the Unix socket of its port.

    `guarded` are the ports and paths that serve the program of the sandbox alone, `services` are the others, and
    `inlet` are a port and a path for the other direction.
    """

    def __init__(
        self, guarded: list[tuple[int, str]], services: list[tuple[int, str]], inlet: tuple[int, str] | None = None
    ) -> None:
        """Listen. Raises OSError if a port is taken, a path of a way out does not exist, or that of `inlet` does."""
        found = [_way_out(port, path, is_guarded=False) for port, path in services]
        found += [_way_out(port, path, is_guarded=True) for port, path in guarded]
        self._ways = {way.listener.fileno(): way for way in found}
        self._inlet = None if inlet is None else _way_in(*inlet)
        self._names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._names.setblocking(False)
        self._names.bind(("127.0.0.1", DNS_PORT))
        self._ends: dict[int, _End] = {}
        self._poll = select.poll()
        self._program = Program(0)
        self.lookups: list[str] = []
        self.refused: list[str] = []

    def attach(self, poll: select.poll, program: int) -> None:
        """Use `poll` from now on; whatever it returns for descriptors of this object goes to `handle`.

        `program` is the process that may use the guarded ways.
        """
        self._poll, self._program = poll, Program(program)
        for fd in self._ways:
            poll.register(fd, select.POLLIN)
        poll.register(self._names.fileno(), select.POLLIN)

    def look(self) -> int | None:
        """Let the inlet listen if its port takes connections; return in how many ms to look again, None for never."""
        if self._inlet is None:
            return None
        probe = self._inlet.connect()
        try:
            probe.getpeername()  # on 127.0.0.1, a connection is made or refused before `connect` returns
        except OSError:
            return LOOK_MS
        finally:
            probe.close()
        self._inlet.listener.listen(BACKLOG)
        fd = self._inlet.listener.fileno()
        self._ways[fd], self._inlet = self._inlet, None
        self._poll.register(fd, select.POLLIN)
        return None

    def handle(self, fd: int, event: int) -> None:
        """Do what `event` makes possible, without waiting."""
        if (way := self._ways.get(fd)) is not None:
            self._accept(way)
        elif fd == self._names.fileno():
            self._answer()
        elif (end := self._ends.get(fd)) is not None:
            try:
                self._copy(end, event)
            except OSError:
                self._close(end)

    def _accept(self, way: _Way) -> None:
        try:
            fd, peer = way.listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - what `accept` is
        except OSError:
            return
        sock = socket.socket(way.listener.family, socket.SOCK_STREAM, fileno=fd)
        if way.guarded_port and not self._may_connect(way.guarded_port, peer[1]):
            sock.close()
            return
        try:
            outside = way.connect()
        except OSError:  # the agent sees a closed connection, as of a server that went away
            sock.close()
            return
        inner, outer = _End(sock), _End(outside)
        inner.peer, outer.peer = outer, inner
        for end in (inner, outer):
            end.sock.setblocking(False)
            self._ends[end.sock.fileno()] = end
            self._poll.register(end.sock.fileno(), end.interest())
        if len(self._ends) >= 2 * MAX_CONNECTIONS:
            for listener in self._ways:
                self._poll.modify(listener, 0)

    def _may_connect(self, port: int, client_port: int) -> bool:
        """Whether the program of the sandbox has made a connection; remember what other process has."""
        inode = client_inode(port, client_port)
        if inode and self._program.has_socket(inode):
            return True
        if not inode or len(self.refused) >= MAX_REFUSED:  # 0: it has been closed, maybe by the program
            return False
        owner = find_owner(inode)
        is_closed = not owner and client_inode(port, client_port) != inode  # meanwhile
        if not is_closed and (name := name_of(owner)) not in self.refused:
            self.refused.append(name)
        return False

    def _copy(self, end: _End, event: int) -> None:
        if event & select.POLLERR:
            self._close(end)
            return
        if event & (select.POLLIN | select.POLLHUP) and not end.is_read and len(end.peer.waiting) < BUFFER_BYTES:
            data = end.sock.recv(65536)
            end.is_read = not data
            end.peer.waiting += data
        for side in (end, end.peer):
            if side.waiting:
                with contextlib.suppress(BlockingIOError):
                    del side.waiting[: side.sock.send(side.waiting)]
            if side.peer.is_read and not side.waiting and not side.is_ended:
                side.is_ended = True
                side.sock.shutdown(socket.SHUT_WR)
        if end.is_ended and end.peer.is_ended:
            self._close(end)
            return
        for side in (end, end.peer):
            if side.is_read and side.is_ended:  # otherwise its hang-up would be reported again and again
                with contextlib.suppress(KeyError):
                    self._poll.unregister(side.sock.fileno())
            elif side.interest() or not side.is_read:
                self._poll.register(side.sock.fileno(), side.interest())

    def _close(self, end: _End) -> None:
        for side in (end, end.peer):
            if self._ends.pop(side.sock.fileno(), None) is not None:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(side.sock.fileno())
                side.sock.close()
        for listener in self._ways:
            self._poll.modify(listener, select.POLLIN)

    def _answer(self) -> None:
        try:
            query, sender = self._names.recvfrom(4096)
        except OSError:
            return
        name, end = _queried_name(query)
        if name and name not in self.lookups and len(self.lookups) < MAX_LOOKUPS:
            self.lookups.append(name)
        reply = query[:2] + struct.pack("!HHHHH", DNS_NO_SUCH_NAME, 1, 0, 0, 0) + query[DNS_HEADER_BYTES : end + 4]
        with contextlib.suppress(OSError):
            self._names.sendto(reply, sender)


def _queried_name(query: bytes) -> tuple[str, int]:
    """Return the name that a DNS query asks for, and the offset behind it."""
    labels = []
    at = DNS_HEADER_BYTES
    while at < len(query) and (length := query[at]):
        labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    return ".".join(labels), at + 1

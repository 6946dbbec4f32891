"""Which process has the client's end of a connection on the loopback interface. Linux only.

Standard library only. What the kernel says of sockets holds for the network namespace of this process.
"""

# pathlib is slow to import
# ruff: noqa: PTH115, PTH123, PTH208

from __future__ import annotations

import _socket as socket  # what `socket` is made of, which takes 3 ms to import
import contextlib
import os
import struct
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# sock_diag(7): a request for one connection, and the place of its inode in the answer.
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
NO_COOKIE = 2**32 - 1
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
QUESTION = struct.Struct("=BBBxI2s2s16s16sIII")  # family, protocol, ..., ports and addresses, interface, cookie
ANSWER_INODE = struct.Struct("=16x2B2x48x16xI")  # behind the header: family, state, ..., inode
LISTENING = 10
LOOPBACK = bytes((127, 0, 0, 1))
# An address in the kernel's tables of connections: as a number of this machine's byte order, in IPv6 behind a prefix.
LISTED = b"%08X" % int.from_bytes(LOOPBACK, sys.byteorder)
TABLES = (
    ("/proc/net/tcp", b""),
    ("/proc/net/tcp6", b"0" * 16 + b"%08X" % int.from_bytes(b"\0\0\xff\xff", sys.byteorder)),
)
INODE = 8  # its column, counted from the local address


def client_inode(server_port: int, client_port: int) -> int:
    """Return the inode of the client's socket; 0 if it is closed."""
    inode = asked_inode(server_port, client_port)
    return _listed_inode(server_port, client_port) if inode is None else inode


def asked_inode(server_port: int, client_port: int) -> int | None:
    """Return what `client_inode` does within some 20 µs; None if the kernel does not answer such questions."""
    client, server = (port.to_bytes(2, "big") for port in (client_port, server_port))
    size = HEADER.size + QUESTION.size
    question = HEADER.pack(size, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0) + QUESTION.pack(
        socket.AF_INET, socket.IPPROTO_TCP, 0, 0, client, server, LOOPBACK, LOOPBACK, 0, NO_COOKIE, NO_COOKIE
    )
    try:
        kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
        try:
            kernel.sendto(question, (0, 0))
            answer = kernel.recv(4096, socket.MSG_DONTWAIT)
        finally:
            kernel.close()
    except OSError:
        return None
    _, kind, _, _, _ = HEADER.unpack_from(answer)
    if kind != SOCK_DIAG_BY_FAMILY or len(answer) < ANSWER_INODE.size:  # an error, such as that it has no such table
        return None
    _, state, inode = ANSWER_INODE.unpack_from(answer)
    return 0 if state == LISTENING else int(inode)  # a server that has the port now


def _listed_inode(server_port: int, client_port: int) -> int:
    for table, prefix in TABLES:
        client, server = (b"%s%s:%04X " % (prefix, LISTED, port) for port in (client_port, server_port))
        with contextlib.suppress(OSError), open(table, "rb") as file:
            lines = file.read()  # thousands on a busy machine: to look at each takes ten times as long
            at = lines.find(client + server)
            if at >= 0:
                return int(lines[at : lines.index(b"\n", at)].split()[INODE])
    return 0


class Program:
    """A process that makes connections, with the sockets that it had when it was looked at last.

    The kernel counts inodes of sockets: none is given to another process's later.
    """

    def __init__(self, pid: int) -> None:
        """Take a process; 0 for one that is not known."""
        self.pid = pid
        self.known: frozenset[int] = frozenset()

    def has_socket(self, inode: int, *, most_files: int = sys.maxsize) -> bool:
        """Whether the process has, or had, a socket open; False if that can't be seen.

        If it has more than `most_files` open, it is not looked at.
        """
        if inode not in self.known and 0 < len(descriptors := _descriptors(self.pid)) <= most_files:
            known = set()
            for found in _sockets(self.pid, descriptors):
                known.add(found)
                if found == inode:
                    break
            self.known = frozenset(known)
        return inode in self.known


def _descriptors(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []


def _sockets(pid: int, descriptors: list[str]) -> Iterator[int]:
    """Yield the sockets among a process's descriptors. The newest is often the last, and so the first here."""
    for descriptor in reversed(descriptors):
        with contextlib.suppress(OSError):
            name = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            if name.startswith("socket:["):
                yield int(name[8:-1])


def find_owner(inode: int, *, within_s: float = float("inf")) -> int:
    """Return a process that has a socket open, the newest first; 0 if none is found, or none so soon."""
    last = 0
    with contextlib.suppress(OSError), open("/proc/loadavg", encoding="ascii") as file:
        last = int(file.read().split()[-1])  # the ids of processes begin anew after the highest one
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    end = time.monotonic() + within_s
    for pid in sorted(pids, key=lambda pid: (pid > last, -pid)):
        if inode in _sockets(pid, _descriptors(pid)):
            return pid
        if time.monotonic() > end:
            break
    return 0


def name_of(pid: int) -> str:
    """Return the name of a process, for people; `?` if it has ended, or does not exist."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"

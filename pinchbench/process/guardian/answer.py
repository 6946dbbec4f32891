"""The channel on which a process gets its input from its guardian and answers, both ends of it.

Only the process itself can answer, so the runner can trust what it reads. On Linux the kernel reports who sent each
byte, and only bytes of that process are accepted. Other processes can't open the socket through `/proc`, and programs
that the process starts don't inherit it. The answer is read until the process has exited by itself, before the rest of
its tree is ended.

The process starts with the socket as stdin. In namespaces, where it has another process id, a byte that is sent on it
before the program is executed, when nobody else exists there, tells its guardian the id.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
ANSWER_BYTES = 4 * 1024 * 1024  # far more than 500 criteria of 200 characters and a traceback
READ_BYTES = 64 * 1024
HELLO = b"."
CHANNEL = 4000  # file descriptor of the channel: above those that programs close to drop inherited files
ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
ASK_PERSONALITY = 0xFFFFFFFF


class AnswerChannel:
    """The guardian's end of the channel."""

    def __init__(self) -> None:
        """Make the other end this process's stdin, and offer the present stdin on it as the input. Raises OSError."""
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._says_who = sys.platform.startswith("linux")
        if self._says_who:
            self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._answer = b""
        self._pid = 0  # the only sender that is accepted
        with theirs:
            socket.send_fds(self._ours, [HELLO], [0])
            os.dup2(theirs.fileno(), 0)

    def accept(self, pid: int | None) -> None:
        """Accept what process `pid` sends; None if it has sent `HELLO`. It has inherited stdin, which is empty now."""
        with open(os.devnull, "rb") as empty:  # noqa: PTH123 - pathlib is slow to import
            os.dup2(empty.fileno(), 0)
        if pid is None:
            _, notes, *_ = self._ours.recvmsg(len(HELLO), socket.CMSG_SPACE(CREDENTIALS.size))
            pid = _sender(notes)
        self._pid = pid or 0

    def fileno(self) -> int:
        """Return the file descriptor of this end."""
        return self._ours.fileno()

    def read(self) -> bool:
        """Read the available data without blocking. Returns False if no more is expected."""
        while len(self._answer) <= ANSWER_BYTES:
            try:
                data, notes, *_ = self._ours.recvmsg(READ_BYTES, socket.CMSG_SPACE(CREDENTIALS.size))
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            if not self._says_who or _sender(notes) == self._pid:
                self._answer += data
        return False

    def finish(self) -> str:
        """Read what is left, close this end, and return the answer; empty if it exceeds `ANSWER_BYTES`."""
        self.read()
        self._ours.close()
        return self._answer.decode("utf-8", "replace") if len(self._answer) <= ANSWER_BYTES else ""


def _sender(notes: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(CREDENTIALS.unpack(data[: CREDENTIALS.size])[0])
    return None


def fix_addresses() -> None:
    """Switch off address space randomization for the programs that this process starts, if the system allows it.

    Before Python 3.12, the hash of None depends on its address, and so the order of a set may.
    """
    if sys.platform.startswith("linux"):
        import ctypes  # noqa: PLC0415 - takes 10 ms, and other systems don't need it

        libc = ctypes.CDLL(None)
        personality = libc.personality(ASK_PERSONALITY)
        if personality != -1:
            libc.personality(personality | ADDR_NO_RANDOMIZE)


def take_channel() -> tuple[bytes, int]:
    """Return this process's input, and the file descriptor to send the answer on; stdin is empty afterwards.

    For the process that was started with `ProcessSpec.input`.
    """
    with socket.socket(fileno=os.dup(0)) as channel:
        _, [file], *_ = socket.recv_fds(channel, len(HELLO), 1)
        kept = fcntl.fcntl(channel, fcntl.F_DUPFD_CLOEXEC, CHANNEL)
    with open(os.devnull, "rb") as empty:  # noqa: PTH123 - as fast as the rest
        os.dup2(empty.fileno(), 0)
    with open(file, "rb") as text:  # noqa: PTH123
        return text.read(), kept

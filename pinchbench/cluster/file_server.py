"""Sends files from a node over a TCP connection beside Ray, which takes several times as long and more memory.

Who asks proves that it knows a secret, which is never sent: it signs what the server has made up, with the paths.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
import socket
import socketserver
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anyio import from_thread

if TYPE_CHECKING:
    from collections.abc import Iterable

SECRET_BYTES = NONCE_BYTES = 32
DIGEST_BYTES = hashlib.sha256().digest_size
NUMBER_BYTES = 8
SEPARATOR = b"\0"  # in a request: no path has one
NO_FILE = 2 ** (8 * NUMBER_BYTES) - 1  # in place of a size
MAX_REQUEST_BYTES = 16384  # a path, and the names of a trial's evidence
CHUNK_BYTES = 256 * 1024  # in memory at a time: more take no less of the processor
SILENCE_S = 10.0  # of the other end, which is lost then
MAX_CONNECTIONS = 64  # at once: a run has 8, an experiment 8 for each of its runs


class FileServer(socketserver.ThreadingTCPServer):
    """Sends regular files to clients that know `secret`, in threads of this process, which end with it.

    A connection beyond `MAX_CONNECTIONS` is closed at once. Those who have not proved in `SILENCE_S` that they know the
    secret are disconnected, however slowly they speak, so that they don't keep others out for long.
    """

    daemon_threads = True

    def __init__(self, host: str) -> None:
        """Listen on an address of this machine, and serve from now on. Raises OSError."""
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), _Sending)
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self.server_address[1]
        return port

    def verify_request(self, *_: object) -> bool:
        """Whether there is room for another connection, which then is counted until `process_request_thread` ends."""
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Serve a connection, in a thread of its own."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, *_: object) -> None:
        """Ignore what ends a connection: the other end finds out."""


class _Sending(socketserver.BaseRequestHandler):
    """One connection: files of one folder, each after its size; nothing where the signature is wrong."""

    def handle(self) -> None:
        connection = cast("socket.socket", self.request)
        connection.settimeout(SILENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a small file may wait for 40 ms
        nonce, until = secrets.token_bytes(NONCE_BYTES), time.monotonic() + SILENCE_S
        connection.sendall(nonce)
        length = int.from_bytes(receive(connection, NUMBER_BYTES, until))
        if length > MAX_REQUEST_BYTES:
            return
        request, signature = receive(connection, length, until), receive(connection, DIGEST_BYTES, until)
        connection.settimeout(SILENCE_S)
        if not hmac.compare_digest(signature, _sign(cast("FileServer", self.server).secret, nonce, request)):
            return
        folder, *names = map(os.fsdecode, request.split(SEPARATOR))
        for name in names:
            _send(connection, Path(folder) / name)


def _send(connection: socket.socket, path: Path) -> None:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        connection.sendall(NO_FILE.to_bytes(NUMBER_BYTES))
        return
    with open(number, "rb") as file:  # noqa: PTH123 - an open one
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            connection.sendall(NO_FILE.to_bytes(NUMBER_BYTES))
            return
        connection.sendall(status.st_size.to_bytes(NUMBER_BYTES))
        if status.st_size and connection.sendfile(file, count=status.st_size) < status.st_size:
            raise ConnectionError("the file has become shorter")


def fetch_files(address: tuple[str, int], secret: bytes, folder: str, names: Iterable[str], to: Path) -> dict[str, str]:
    """Copy files of a folder from the server into new ones; return the SHA-256 of each by its name.

    What the server does not have as a regular file is left out. Blocks; call it in a thread of anyio. A cancellation
    takes effect between two chunks. Raises OSError; what has arrived is there then.
    """
    names, arrived, buffer = tuple(names), dict[str, str](), memoryview(bytearray(CHUNK_BYTES))
    with socket.create_connection(address, timeout=SILENCE_S) as connection:
        nonce = receive(connection, NONCE_BYTES)
        request = SEPARATOR.join(map(os.fsencode, (folder, *names)))
        connection.sendall(len(request).to_bytes(NUMBER_BYTES) + request + _sign(secret, nonce, request))
        for name in names:
            if (size := int.from_bytes(receive(connection, NUMBER_BYTES))) != NO_FILE:
                arrived[name] = _receive_file(connection, size, to / name, buffer)
    return arrived


def _receive_file(connection: socket.socket, left: int, to: Path, buffer: memoryview) -> str:
    digest = hashlib.sha256()
    with to.open("xb") as file:
        while left:
            from_thread.check_cancelled()
            if not (size := connection.recv_into(buffer, min(left, CHUNK_BYTES), socket.MSG_WAITALL)):
                raise ConnectionError("the connection was closed")
            digest.update(buffer[:size])
            file.write(buffer[:size])
            left -= size
    return digest.hexdigest()


def _sign(secret: bytes, nonce: bytes, request: bytes) -> bytes:
    return hmac.digest(secret, nonce + request, "sha256")


def receive(connection: socket.socket, size: int, until: float = math.inf) -> bytes:
    """Return so many bytes. Raises OSError if the connection ends, or the monotonic clock is at `until`, before."""
    data = b""
    while len(data) < size:
        if until < math.inf:
            if (left_s := until - time.monotonic()) <= 0:
                raise TimeoutError("it took too long")
            connection.settimeout(left_s)
        if not (part := connection.recv(size - len(data))):
            raise ConnectionError("the connection was closed")
        data += part
    return data

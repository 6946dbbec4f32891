"""Landlock allows the listed folders and one port, and nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import pinchbench
from pinchbench.sandbox import landlock

PROGRAM = """
import os, signal, socket, sys
sys.path.append(sys.argv[1])
from pinchbench.sandbox import landlock
readable, writable, hidden, port, closed, name = sys.argv[2:8]
visible = ["/usr", "/lib", sys.prefix, readable, "/nowhere"]
landlock.restrict(readable=visible, writable=[writable], port=int(port), is_open=False)
def attempt(action):
    try:
        action()
        print("done")
    except PermissionError:
        print("refused")
attempt(lambda: open(readable + "/x").read())
attempt(lambda: open(readable + "/new", "w"))
attempt(lambda: open(writable + "/new", "w"))
attempt(lambda: os.listdir(hidden))
attempt(lambda: socket.create_connection(("127.0.0.1", int(port))))
attempt(lambda: socket.create_connection(("127.0.0.1", int(closed))))
attempt(lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + name))
attempt(lambda: os.kill(os.getppid(), 0))
"""


@pytest.mark.skipif(landlock.abi() < landlock.SCOPE_ABI, reason="needs Landlock ABI 6")
def test_only_what_is_listed_is_possible(tmp_path: Path) -> None:
    readable, writable, hidden = (tmp_path / name for name in ("readable", "writable", "hidden"))
    for folder in (readable, writable, hidden):
        folder.mkdir()
    (readable / "x").write_text("x", encoding="utf-8")
    name = f"landlock-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as allowed,
        socket.create_server(("127.0.0.1", 0)) as closed,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        ports = [str(server.getsockname()[1]) for server in (allowed, closed)]
        root = Path(pinchbench.__file__).parents[1]
        words = [root, readable, writable, hidden, *ports, name]
        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, *map(str, words)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.split() == ["done", "refused", "done", "refused", "done", "refused", "refused", "refused"]

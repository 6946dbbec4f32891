"""Landlock allows the listed folders and one port, and nothing else."""

import os
import socket
from pathlib import Path

import pytest

import pinchbench
from pinchbench.sandbox import landlock_rules
from sandbox_programs import Trial

ROOT = Path(pinchbench.__file__).parents[1]
PROGRAM = """
import ctypes, errno, os, signal, socket, sys
sys.path.append(sys.argv[1])
from pinchbench.sandbox import landlock_rules
readable, writable, hidden, port, closed, name = sys.argv[2:8]
visible = ["/usr", "/lib", "/proc", sys.prefix, readable, "/nowhere"]
landlock_rules.restrict(readable=visible, writable=[writable], port=int(port), is_open=False)
def attempt(what, action):
    try:
        action()
        print(what + ": done")
    except OSError as error:
        assert error.errno in (errno.EACCES, errno.EPERM, errno.EXDEV), error
        print(what + ": refused")
def move():
    os.mkdir(writable + "/folder")
    os.rename(writable + "/new", writable + "/folder/new")
def signal_child():
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
def trace():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), None, None) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")
def regain():
    landlock_rules.restrict(readable=[hidden], writable=[hidden], port=int(closed), is_open=True)
    os.listdir(hidden)
attempt("read what is readable", lambda: open(readable + "/x").read())
attempt("write what is readable", lambda: open(readable + "/new", "w"))
attempt("write what is writable", lambda: open(writable + "/new", "w"))
attempt("move between folders that are writable", move)
attempt("list what is hidden", lambda: os.listdir(hidden))
attempt("read what is hidden", lambda: open(hidden + "/x"))
attempt("empty what is hidden", lambda: os.truncate(hidden + "/x", 0))
attempt("delete what is hidden", lambda: os.unlink(hidden + "/x"))
attempt("link what is hidden", lambda: os.link(hidden + "/x", writable + "/x"))
attempt("connect to the port", lambda: socket.create_connection(("127.0.0.1", int(port))))
attempt("connect to another port", lambda: socket.create_connection(("127.0.0.1", int(closed))))
attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("connect to an abstract socket", lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + name))
attempt("signal a process outside", lambda: os.kill(os.getppid(), 0))
attempt("read the environment of a process outside", lambda: open(f"/proc/{os.getppid()}/environ"))
attempt("trace a process outside", trace)
attempt("signal a child", signal_child)
attempt("regain what was lost", regain)
"""


@pytest.mark.skipif(landlock_rules.abi() < landlock_rules.SCOPE_ABI, reason="needs Landlock ABI 6")
def test_only_what_is_listed_is_possible(trial: Trial) -> None:
    readable, writable, hidden = (trial.root / name for name in ("readable", "writable", "hidden"))
    for folder in (readable, writable, hidden):
        folder.mkdir()
        os.chown(folder, trial.uid, trial.uid)
    for folder in (readable, hidden):
        (folder / "x").write_text("x", encoding="utf-8")
        os.chown(folder / "x", trial.uid, trial.uid)
    name = f"landlock-{os.getpid()}-{trial.uid}"
    with (
        socket.create_server(("127.0.0.1", 0)) as allowed,
        socket.create_server(("127.0.0.1", 0)) as closed,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        ports = [str(server.getsockname()[1]) for server in (allowed, closed)]
        printed = trial.run_outside(PROGRAM, ROOT, readable, writable, hidden, *ports, name)
    assert dict(line.split(": ") for line in printed.splitlines()) == {
        "read what is readable": "done",
        "write what is readable": "refused",
        "write what is writable": "done",
        "move between folders that are writable": "done",
        "list what is hidden": "refused",
        "read what is hidden": "refused",
        "empty what is hidden": "refused",
        "delete what is hidden": "refused",
        "link what is hidden": "refused",
        "connect to the port": "done",
        "connect to another port": "refused",
        "listen": "done",
        "connect to an abstract socket": "refused",
        "signal a process outside": "refused",
        "read the environment of a process outside": "refused",
        "trace a process outside": "refused",
        "signal a child": "done",
        "regain what was lost": "refused",
    }


def test_an_abi_that_does_not_restrict_emptying_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock_rules, "abi", lambda: 2)
    with pytest.raises(OSError, match="ABI 3"):
        landlock_rules.restrict(readable=["/"], writable=["/"], port=None, is_open=True)

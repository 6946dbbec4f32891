"""The wrappers of system calls name the action that fails; a program starts with its own session and signals."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pinchbench
from pinchbench.sandbox import kernel
from pinchbench.sandbox.kernel import find_program

ROOT = Path(pinchbench.__file__).parents[1]


def _python(script: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.append({str(ROOT)!r})\nfrom pinchbench.sandbox import kernel\n{script}"
    argv = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def test_a_refused_mount_names_its_target() -> None:
    with pytest.raises(OSError, match="mount tmpfs on /nowhere/at/all"):
        kernel.mount("tmpfs", "/nowhere/at/all", "tmpfs", 0)


def test_descriptors_are_closed_by_exec() -> None:
    done = _python(
        "import os\n"
        "fd = os.dup(1); os.set_inheritable(fd, True)\nkernel.close_on_exec(3)\nprint(os.get_inheritable(fd))"
    )
    assert done.stdout == "False\n"


def test_the_command_line_is_removed() -> None:
    done = _python("kernel.clear_command_line()\nprint(open('/proc/self/cmdline').read().strip(chr(0)) == '')")
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_blocked_signal_can_be_read() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    reader = kernel.signal_reader({signal.SIGUSR2})
    try:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
        assert os.read(reader, 128)[0] == signal.SIGUSR2
    finally:
        os.close(reader)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


PROGRAM = """
import os, signal, sys
sys.path.append(sys.argv[1])
from pinchbench.sandbox.kernel import fork_program
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
def execute(*words):
    os.set_inheritable(1, True)
    os.execv(words[0], words)
def run(program, cwd):
    sys.stdout.flush()
    try:
        pid = fork_program(program, cwd=cwd, name="the program")
    except OSError as error:
        print(error.errno, error.filename)
    else:
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
def look():
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    print(os.getcwd(), os.getsid(0) == os.getpid(), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, not mask)
    execute("/bin/sh", "-c", "exit 3")
run(look, "/usr")
run(lambda: execute("/nowhere/program"), "/usr")
run(lambda: execute("/bin/sh", "-c", "exit 3"), "/nowhere")
"""


def test_it_starts_anew_and_failures_are_the_starters() -> None:
    root = Path(pinchbench.__file__).parents[1]
    argv = [sys.executable, "-u", "-I", "-S", "-c", PROGRAM, str(root)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["/usr True True True", "3", "2 the program", "2 the program"]


def test_a_program_is_found_in_its_own_path(tmp_path: Path) -> None:
    program = tmp_path / "a-program"
    program.touch(mode=0o755)
    (tmp_path / "plain").touch()
    env = {"PATH": f"/nowhere:{tmp_path}:/usr/bin:/bin"}
    assert find_program("a-program", env) == str(program)
    assert [find_program(name, env) for name in ("plain", "./a-program")] == ["plain", "./a-program"]

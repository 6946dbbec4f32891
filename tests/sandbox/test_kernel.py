"""The wrappers of system calls raise errors that name the action, and their numbers are those of this machine."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pinchbench
from pinchbench.sandbox import kernel

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

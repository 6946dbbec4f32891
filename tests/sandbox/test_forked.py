"""A program that is started in a sandbox: its own session and signal handlers, or an error."""

import subprocess
import sys
from pathlib import Path

import pinchbench
from pinchbench.sandbox.forked import find_program

PROGRAM = """
import os, signal, sys
sys.path.append(sys.argv[1])
from pinchbench.sandbox.forked import fork_program
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

"""Nothing but what the plan lists exists in a sandbox, and nothing of it outlives its owner."""

import contextlib
import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from hiding import HIDERS
from pinchbench.files.workspace import unnamed
from pinchbench.sandbox.sandbox_spec import Mount
from sandbox_programs import Trial, users

PROCESSES = len(HIDERS) + 1  # the subreaper has a child
# Holds a connection for as long as it lives.
HOLD = """
import os, signal, socket, sys
held = socket.socket(socket.AF_UNIX)
held.connect(sys.argv[1])
held.send(b"ready")
held.recv(1)
"""


def test_a_program_runs_as_the_same_user_with_its_output_and_exit_code(trial: Trial) -> None:
    done = trial.sh("id -u; pwd; echo failed >&2; exit 7")
    assert (done.stdout, done.stderr, done.returncode) == (f"{trial.uid}\n/workspace\n", "failed\n", 7)


def test_the_workspace_and_the_home_are_those_outside(trial: Trial) -> None:
    (trial.workspace / "in.txt").write_text("given\n", encoding="utf-8")
    assert trial.sh("cat in.txt; echo made > out.txt; echo state > /state/s.txt").stdout == "given\n"
    assert (trial.workspace / "out.txt").read_text(encoding="utf-8") == "made\n"
    assert (trial.workspace / "out.txt").stat().st_uid == trial.uid
    assert (trial.state / "s.txt").exists()


def test_the_mounts_do_not_tell_which_task_it_is(trial: Trial) -> None:
    trial.workspace = trial.workspace.rename(trial.root / "task_of_traps")
    look = "cat /proc/self/mountinfo; ls > seen.txt"
    assert "task_of_traps" in trial.sh(look).stdout
    with unnamed(trial.workspace):
        seen = trial.sh(look).stdout
    assert " /workspace " in seen
    assert "task_of_traps" not in seen
    assert (trial.workspace / "seen.txt").is_file()


def test_only_what_the_plan_lists_exists(trial: Trial) -> None:
    names = set(trial.sh("ls -A /").stdout.split())
    assert names - {"lib32", "lib64", "libx32"} == {
        *("bin", "dev", "etc", "home", "lib", "proc", "sbin", "state", "tmp", "usr", "workspace"),
        *({"root"} if str(trial.python).startswith("/root/") else ()),
    }
    assert trial.sh("ls -A /tmp /home /home/agent").stdout.split() == ["/home:", "agent", "/home/agent:", "/tmp:"]


@pytest.mark.parametrize(
    "path",
    ["{suite}", "{neighbour}", "/root/.ssh", "/tmp/tmux-0", "/etc/shadow", "/run", "/var", "/sys", "/.old", "{runner}"],
)
def test_a_path_of_the_machine_does_not_exist(trial: Trial, path: str) -> None:
    place = path.format(
        suite=Path(__file__).parents[2] / "tasks", neighbour=trial.root, runner=f"/proc/{os.getpid()}/cwd"
    )
    assert trial.sh(f"test -e {place} || test -L {place}").returncode == 1


@pytest.mark.parametrize(
    "path", ["/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/bin/sh", "/proc/sys/kernel/panic"]
)
def test_nothing_but_its_own_folders_can_be_written(trial: Trial, path: str) -> None:
    assert trial.sh(f"echo 1 2>/dev/null >> {path}").returncode != 0


def test_no_other_process_is_visible_and_none_shows_how_the_sandbox_was_made(trial: Trial) -> None:
    done = trial.sh("for each in /proc/[0-9]*; do echo ${each#/proc/}; done; tr '\\0' ' ' < /proc/1/cmdline")
    assert len(done.stdout.split()) <= 3
    assert "pinchbench" not in done.stdout
    assert trial.sh("cat /proc/1/environ || ls /proc/1/fd /proc/1/root").returncode != 0


def test_privileges_are_gone_and_a_nested_namespace_does_not_bring_them_back(trial: Trial) -> None:
    status = trial.sh("cat /proc/self/status").stdout
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{name}:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert trial.sh("unshare --user true").returncode != 0
    assert trial.sh("mount -t tmpfs none /tmp").returncode != 0


def test_the_first_process_ignores_signals_from_inside(trial: Trial) -> None:
    assert trial.sh("kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; echo alive").stdout == "alive\n"


def test_there_is_no_network(trial: Trial) -> None:
    program = "import socket; socket.create_connection(('192.0.2.1', 80))"
    assert "Network is unreachable" in trial.run([str(trial.python), "-c", program]).stderr


def test_no_descriptor_is_inherited(trial: Trial) -> None:
    assert trial.sh("ls /proc/self/fd").stdout.split() == ["0", "1", "2", "3"]  # 3 is the listing itself


@pytest.mark.parametrize("target", ["/extra", "/dev/shm/extra"])
def test_an_allowed_folder_is_visible_and_read_only_unless_asked_otherwise(trial: Trial, target: str) -> None:
    extra = trial.root / "extra"
    extra.mkdir(mode=0o777)
    extra.chmod(0o777)
    for writable in (False, True):
        mount = Mount(source=str(extra), target=target, writable=writable)
        assert (trial.sh(f"touch {target}/x", trial.spec(allowed=[mount])).returncode == 0) is writable


def test_a_file_in_a_read_only_folder_can_be_mounted_itself(trial: Trial) -> None:
    folder = trial.root / "shown"
    folder.mkdir(mode=0o755)
    file = folder / "in.txt"
    file.write_text("given\n", encoding="utf-8")
    os.chown(file, trial.uid, trial.uid)
    spec = trial.spec(
        allowed=[
            Mount(source=str(folder), target=str(folder)),
            Mount(source=str(file), target=str(file), writable=True),
        ]
    )
    done = trial.sh(f"cat {file}; echo more >> {file}; touch {folder}/new", spec)
    assert done.stdout == "given\n"
    assert "Read-only file system" in done.stderr
    assert [one.read_text(encoding="utf-8") for one in folder.iterdir()] == ["given\nmore\n"]


def test_a_hidden_folder_is_empty_and_can_not_be_written(trial: Trial) -> None:
    (trial.workspace / "tasks").mkdir(mode=0o777)
    (trial.workspace / "tasks" / "solution").write_text("42", encoding="utf-8")
    spec = replace(trial.spec(), hidden=("/workspace/tasks", "/workspace/missing"))
    done = trial.sh("ls -A /workspace/tasks; touch /workspace/tasks/x", spec)
    assert done.stdout == ""
    assert "Read-only file system" in done.stderr


def test_a_program_that_does_not_exist_is_an_error(trial: Trial) -> None:
    done = trial.run(["/nowhere/program"])
    assert done.returncode == 125
    assert "No such file or directory: /nowhere/program" in done.stderr


def test_a_signal_from_outside_reaches_the_program(trial: Trial) -> None:
    with trial.start(
        ["/bin/sh", "-c", "trap 'echo stopped; exit 3' TERM; echo ready; while :; do sleep 0.05; done"]
    ) as at:
        assert at.stdout is not None
        assert at.stdout.readline() == "ready\n"
        at.send_signal(signal.SIGTERM)
        assert at.stdout.readline() == "stopped\n"
        assert at.wait(timeout=60) == 3


@pytest.mark.parametrize("victim", ["starter", "first process"])
def test_everything_dies_with_its_owner_however_it_hides(trial: Trial, victim: str) -> None:
    path = trial.workspace / "held"
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.settimeout(60)
        listener.bind(str(path))
        os.chown(path, trial.uid, trial.uid)
        listener.listen()
        script = f"import os, signal, socket, sys\nSTAY = {HOLD!r}\n" + "\n".join(
            f"if os.fork() == 0:\n    {hide or 'pass'}\n    exec(STAY)" for hide in HIDERS.values()
        )
        command = [str(trial.python), "-c", script + "\nos.wait(); signal.pause()", "/workspace/held"]
        starter = stack.enter_context(trial.start(command))
        stack.callback(starter.kill)
        held = [stack.enter_context(listener.accept()[0]) for _ in range(PROCESSES)]
        for connection in held:
            connection.settimeout(60)
            assert connection.recv(5) == b"ready"
        first = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text(encoding="ascii").split()
        os.kill(starter.pid if victim == "starter" else int(first[0]), signal.SIGKILL)
        assert [connection.recv(1) for connection in held] == [b""] * PROCESSES


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/home/agent"])
def test_file_systems_in_memory_hold_no_more_bytes_or_files_than_they_may(trial: Trial, folder: str) -> None:
    spec = replace(trial.spec(), tmp_bytes=1024 * 1024, shm_bytes=1024 * 1024)
    assert trial.sh(f"head -c 2000000 /dev/zero > {folder}/big; wc -c < {folder}/big", spec).stdout == "1048576\n"
    done = trial.sh(f"for n in $(seq 300); do : > {folder}/$n; done", spec)
    assert "No space left on device" in done.stderr
    assert "No space left on device" not in trial.sh(f"for n in $(seq 200); do : > {folder}/$n; done", spec).stderr


@pytest.mark.parametrize("trial", [uid for uid in users() if uid], indirect=True)
def test_the_kernel_stops_a_fork_bomb_of_an_ordinary_user_and_counts_this_sandbox_alone(trial: Trial) -> None:
    bomb = """
import os, signal, sys, time
signal.alarm(60)
born = 0
try:
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(600)
        born += 1
except BlockingIOError:
    print(born)
"""
    spec = replace(trial.spec(), rlimits={"RLIMIT_NPROC": (20, 20)})
    with trial.start(["/bin/sh", "-c", "for n in $(seq 30); do sleep 600 & done; echo ready; wait"]) as neighbour:
        assert neighbour.stdout is not None
        assert neighbour.stdout.readline() == "ready\n"
        done = trial.run([str(trial.python), "-c", bomb], spec)
        assert neighbour.poll() is None
        neighbour.kill()
    assert done.stdout == "18\n"  # in addition to the first process of the sandbox and the program itself

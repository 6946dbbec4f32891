"""Starts a program in namespaces of its own, in which nothing exists but what a plan lists.

Standard library only.

The first process of the PID namespace is the starter's direct child. It starts the program, reaps orphans, passes on
signals that come from outside, forwards connections to the model, and reports the end. It can be neither killed nor
traced from inside. The kernel kills it when the *thread* that started it ends, and everything in the namespace with it.
"""

# pathlib is slow to import
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH112, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import struct
import sys
from functools import partial

from pinchbench.sandbox import kernel, system_calls
from pinchbench.sandbox.kernel import CANNOT_START, find_program, fork_program

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pinchbench.sandbox.forwarder import Forwarder

NAMESPACES = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
BASE = "/tmp"  # noqa: S108 - any folder will do: a file system is mounted over it, seen only by the new process
OLD = "/.old"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# Root's own processes may write to these files without any capability, and they are the machine's, not the trial's.
PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
PASSED_ON = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
SIGINFO_BYTES = 128  # of a signalfd_siginfo
SIGINFO_PID = 12  # offset of the sender's pid, which is 0 if the sender is outside of the PID namespace
MAX_NAMED = 20  # how many leftovers the report lists
HOST_NAME = "localhost"


class EnterError(Exception):
    """The sandbox could not be set up, or the program could not be started in it; nothing of it runs."""


class Entered:
    """A program running in a sandbox: `pid` of its first process, and `report_fd` for `read_report`."""

    def __init__(self, pid: int, report_fd: int, alive_fd: int) -> None:
        """Take over both file descriptors."""
        self.pid = pid
        self.report_fd = report_fd
        self._alive_fd = alive_fd

    def read_report(self) -> dict[str, Any]:
        """Wait for the end and return the report; it is empty if the first process was killed. Closes everything."""
        try:
            with os.fdopen(self.report_fd, "rb") as file:
                lines = file.read().split(b"\n")
        finally:
            os.close(self._alive_fd)
        return json.loads(lines[-2]) if len(lines) > 1 else {}


def start(plan: dict[str, Any], argv: list[str], env: dict[str, str], *, hello: bytes = b"") -> Entered:
    """Start `argv` with exactly `env` in a new sandbox described by `plan` (see `SandboxSpec.plan`).

    Call it from a thread that lives as long as the sandbox, in a process with one thread. stdin, stdout and stderr are
    inherited, and nothing else. The process writes `hello` to its stdin, a socket, before it executes the program.
    Raises EnterError, and OSError if the namespaces are refused.
    """

    def program() -> None:
        kernel.close_on_exec(3)
        if hello:
            os.write(0, hello)
        os.execve(find_program(argv[0], env), argv, env)  # noqa: S606

    spawn = partial(fork_program, program, cwd=plan["cwd"], name=argv[0])
    report_r, report_w = os.pipe()
    alive_r, alive_w = os.pipe()
    namespaces = NAMESPACES if plan["network"] == "open" else NAMESPACES | kernel.CLONE_NEWNET
    owner = os.geteuid(), os.getegid()
    # Blocked until both processes have the handling of signals that they need.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = kernel.fork_into(namespaces, signal.SIGCHLD)
        if pid == 0:
            os.close(report_r)
            os.close(alive_w)
            _run_first_process(plan, spawn, owner=owner, report_fd=report_w, alive_fd=alive_r)
    except BaseException:
        os.close(report_r)
        os.close(alive_w)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(report_w)
        os.close(alive_r)
    entered = Entered(pid, report_r, alive_w)
    first = _read_line(report_r)
    if first != b"started":
        os.close(report_r)
        os.close(alive_w)
        os.waitpid(pid, 0)
        raise EnterError(first.decode(errors="replace") or "the sandbox was killed while it was set up")
    return entered


def _read_line(fd: int) -> bytes:
    line = b""
    while (byte := os.read(fd, 1)) not in (b"", b"\n"):
        line += byte
    return line


def _run_first_process(
    plan: dict[str, Any], spawn: Callable[[], int], *, owner: tuple[int, int], report_fd: int, alive_fd: int
) -> None:
    """Be the first process of the new namespaces. Does not return."""
    code = CANNOT_START
    try:
        _die_with_parent(alive_fd)
        kernel.clear_command_line()
        _map_owner(*owner)
        forwarder = _build(plan)
        kernel.leave_keyring()
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        system_calls.refuse_keyrings()
        kernel.drop_capabilities()
        code = _supervise(plan, spawn, report_fd, forwarder)
    except BaseException as error:  # noqa: BLE001 - a fork of the starter: nothing may return into its code
        text = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else repr(error)
        with contextlib.suppress(OSError):
            os.write(report_fd, text.replace("\n", " ").encode() + b"\n")
    finally:
        os._exit(code)


def _die_with_parent(alive_fd: int) -> None:
    """Have the kernel kill this process when its parent dies, or exit if it is dead already."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    poll = select.poll()
    poll.register(alive_fd, 0)
    if poll.poll(0):  # the other end is closed; the parent's id can't tell, it is 0 in a PID namespace
        os._exit(CANNOT_START)


def _map_owner(uid: int, gid: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        kernel.write_file(f"/proc/self/{name}", text)


def _build(plan: dict[str, Any]) -> Forwarder | None:
    """Build the file system and the network of the sandbox; return what forwards connections to the model."""
    sources = [os.path.realpath(entry["source"]) for entry in plan["mounts"]]
    forwarder = _open_network(plan)
    kernel.set_host_name(HOST_NAME)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", BASE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"mode=755,size={plan['root_bytes']}")
    os.mkdir(BASE + OLD)
    kernel.pivot_root(BASE, BASE + OLD)
    os.chdir("/")
    os.umask(0o022)
    for target, size in plan["tmpfs"].items():
        os.makedirs(target, exist_ok=True)
        kernel.mount("tmpfs", target, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, _tmpfs_options(size))
    _mount_devices(plan["shm_bytes"])  # before what may lie in /dev/shm
    for source, entry in zip(sources, plan["mounts"], strict=True):
        _bind(OLD + source, entry["target"], writable=entry["writable"])
    for target in filter(os.path.isdir, plan["hidden"]):
        kernel.mount(
            "tmpfs", target, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_RDONLY, "mode=755,size=4k"
        )
    _mount_proc()
    for target, text in plan["files"].items():
        os.makedirs(os.path.dirname(target), exist_ok=True)
        kernel.write_file(target, text)
    for target, destination in plan["links"].items():
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(destination, target)
    kernel.detach(OLD)
    os.rmdir(OLD)
    _make_root_read_only()
    return forwarder


def _tmpfs_options(size: int) -> str:
    """Return the options of a file system for everybody, of `size` bytes and with room for files of 4 KiB."""
    return f"mode=1777,size={size},nr_inodes={size // 4096}"


def _bind(source: str, target: str, *, writable: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):  # it does in a folder that is mounted itself, where nothing can be made
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o644))
    kernel.mount(source, target, "", kernel.MS_BIND | kernel.MS_REC)
    attributes = kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
    kernel.restrict_mount(target, attributes if writable else attributes | kernel.MOUNT_ATTR_RDONLY)


def _make_root_read_only() -> None:
    """Make the root itself read-only, but not what is mounted in it."""
    # MS_REMOUNT | MS_BIND | MS_RDONLY: mount_setattr would need its flag AT_RECURSIVE not to be set
    kernel.mount("none", "/", "", 32 | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV)


def _mount_devices(shm_bytes: int) -> None:
    os.makedirs("/dev", exist_ok=True)
    for name in DEVICES:
        if os.path.exists(f"{OLD}/dev/{name}"):
            os.close(os.open(f"/dev/{name}", os.O_WRONLY | os.O_CREAT, 0o644))
            kernel.mount(f"{OLD}/dev/{name}", f"/dev/{name}", "", kernel.MS_BIND)
    for name, destination in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{destination}", f"/dev/{name}")
    os.makedirs("/dev/shm")  # noqa: S108
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, _tmpfs_options(shm_bytes))  # noqa: S108
    os.makedirs("/dev/pts")
    kernel.mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666")
    os.symlink("pts/ptmx", "/dev/ptmx")


def _mount_proc() -> None:
    os.makedirs("/proc")
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    # A nested user namespace would give capabilities back, and with them much more of the kernel to attack.
    kernel.write_file("/proc/sys/user/max_user_namespaces", "0")
    for name in PROC_READ_ONLY:
        if os.path.exists(f"/proc/{name}"):
            kernel.mount(f"/proc/{name}", f"/proc/{name}", "", kernel.MS_BIND | kernel.MS_REC)
            kernel.restrict_mount(f"/proc/{name}", kernel.MOUNT_ATTR_RDONLY)


def _open_network(plan: dict[str, Any]) -> Forwarder | None:
    """Switch the loopback interface on, and listen on the ports of the model and of services before anything runs."""
    if plan["network"] == "open":
        return None
    kernel.switch_loopback_on()
    guarded = [way for way in (plan["forward"], plan["link"]) if way]
    services, inlet = plan["services"], plan["inlet"]
    if not guarded and not services and inlet is None:
        return None
    from pinchbench.sandbox.forwarder import Forwarder  # noqa: PLC0415 - only sandboxes with a model need it

    return Forwarder(
        [(way["port"], way["socket"]) for way in guarded],
        [(way["port"], way["socket"]) for way in services],
        inlet and (inlet["port"], inlet["socket"]),
    )


def _supervise(plan: dict[str, Any], spawn: Callable[[], int], report_fd: int, forwarder: Forwarder | None) -> int:
    """Run the program until it ends, then end the rest, and report both. Returns the exit code."""
    reader = kernel.signal_reader({*PASSED_ON, signal.SIGCHLD})
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # before there is a program that could read this one's /proc
    for limit, values in plan["rlimits"].items():
        _lower_limit(getattr(resource, limit), *values)
    pid = spawn()
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):  # a reader that waits for the end of the output waits for the program, not for this process
        os.dup2(null, fd)
    os.write(report_fd, b"started\n")
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    if forwarder is not None:
        forwarder.attach(poll, pid)
    status = None
    while status is None:
        for fd, event in poll.poll(forwarder.look() if forwarder is not None else None):
            if fd == reader:
                _pass_on(reader, pid)
                status = _reap(pid)
            elif forwarder is not None:
                forwarder.handle(fd, event)
    leftovers = _name_processes()
    _end_all()
    report = {
        "status": status,
        "leftovers": leftovers,
        "lookups": [] if forwarder is None else forwarder.lookups,
        "refused": [] if forwarder is None else forwarder.refused,
    }
    os.write(report_fd, json.dumps(report).encode() + b"\n")
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _lower_limit(limit: int, soft: int, hard: int) -> None:
    most = resource.getrlimit(limit)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(limit, (soft, hard))


def _pass_on(reader: int, pid: int) -> None:
    """Pass on signals from outside the sandbox to the program; what processes inside send here is ignored."""
    with contextlib.suppress(BlockingIOError):
        while data := os.read(reader, SIGINFO_BYTES):
            number, (sender,) = int.from_bytes(data[:4], sys.byteorder), struct.unpack_from("I", data, SIGINFO_PID)
            if number != signal.SIGCHLD and sender == 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def _reap(pid: int) -> int | None:
    """Reap all that have ended; return the status of `pid` if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == pid:
                found = ended[1]
    return found


def _name_processes() -> list[dict[str, object]]:
    """Return the processes of the sandbox other than this one."""
    named: list[dict[str, object]] = []
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1" and len(named) < MAX_NAMED:
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read(4096).replace(b"\0", b" ").decode(errors="replace").strip()
                named.append({"pid": int(name), "command": command})
    return named


def _end_all() -> None:
    """Kill and reap everything in the PID namespace, so that the starter can count its use of resources."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)

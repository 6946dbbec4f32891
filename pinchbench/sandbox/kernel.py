"""The system calls of the sandbox that Python 3.11 has no function for, and the fork that starts a program."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import struct
import sys

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from collections.abc import Callable

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
LIBC.mount.argtypes = (*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p)
MACHINE = os.uname().machine
IS_X86_64 = MACHINE == "x86_64"  # the other architectures share one table of system calls
SYS_CLONE = 56 if IS_X86_64 else 220
SYS_PIVOT_ROOT = 155 if IS_X86_64 else 41
SYS_KEYCTL = 250 if IS_X86_64 else 219
SYS_CLOSE_RANGE = 436
SYS_MOUNT_SETATTR = 442

CLONE_NEWNS = 0x00020000  # linux/sched.h
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1  # linux/mount.h
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY = 1
MOUNT_ATTR_NOSUID = 2
MOUNT_ATTR_NODEV = 4
AT_FDCWD = -100
AT_RECURSIVE = 0x8000

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITIES_VERSION = 0x20080522  # linux/capability.h
STAT_ARG_START = 48 - 3  # fields of /proc/PID/stat behind the program's name, which is the second
KEYCTL_JOIN_SESSION_KEYRING = 1
CLOSE_RANGE_CLOEXEC = 4
AF_INET = 2  # linux/socket.h
SOCK_DGRAM = 2
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP_RUNNING = 0x41


def checked(result: int, action: str) -> int:
    """Return `result`, or raise OSError naming `action` if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), action)
    return result


def prctl(option: int, value: int, other: int = 0) -> None:
    """Set an attribute of this process. Raises OSError."""
    checked(LIBC.prctl(option, value, other, 0, 0), f"prctl {option}")


def clear_command_line() -> None:
    """Remove from `ps` how this process was started: every process may read that, and it contains paths."""
    fields = read_file("/proc/self/stat").rpartition(b")")[2].split()
    start, end = int(fields[STAT_ARG_START]), int(fields[STAT_ARG_START + 1])
    ctypes.memset(start, 0, end - start)
    write_file("/proc/self/comm", "init")


def read_file(path: str) -> bytes:
    """Return the first 4 KiB of a file of the kernel; `open` takes eight times as long. Raises OSError."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def write_file(path: str, text: str) -> None:
    """Write a file. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def address(data: bytes) -> int:
    """Return where `data` is in memory, for as long as there is a reference to it."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def fork_into(namespaces: int, exit_signal: int) -> int:
    """Fork like `os.fork`, with the child in new `namespaces`. For a process with one thread. Raises OSError."""
    zero = ctypes.c_ulong(0)
    flags = ctypes.c_ulong(namespaces | exit_signal)
    return checked(LIBC.syscall(ctypes.c_long(SYS_CLONE), flags, zero, zero, zero, zero), "clone")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system or, with MS_BIND, a folder or file. Raises OSError."""
    words = [os.fsencode(word) for word in (source, target, kind)]
    done = LIBC.mount(*words, flags, os.fsencode(options))
    checked(done, f"mount {kind or source} on {target}")


def restrict_mount(target: str, attributes: int) -> None:
    """Add `attributes` to the mount at `target` and to all below it. Raises OSError."""
    rules = struct.pack("QQQQ", attributes, 0, 0, 0)
    numbers = [ctypes.c_long(SYS_MOUNT_SETATTR), ctypes.c_int(AT_FDCWD), os.fsencode(target)]
    done = LIBC.syscall(*numbers, ctypes.c_uint(AT_RECURSIVE), rules, ctypes.c_size_t(len(rules)))
    checked(done, f"mount_setattr {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and move the previous root to `old`, a folder in it. Raises OSError."""
    checked(LIBC.syscall(ctypes.c_long(SYS_PIVOT_ROOT), os.fsencode(new), os.fsencode(old)), "pivot_root")


def detach(target: str) -> None:
    """Unmount `target` with everything below it. Raises OSError."""
    checked(LIBC.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def set_host_name(name: str) -> None:
    """Set the host name. Raises OSError."""
    data = name.encode("ascii")
    checked(LIBC.sethostname(data, ctypes.c_size_t(len(data))), "sethostname")


def switch_loopback_on() -> None:
    """Switch the loopback interface of this network namespace on. Raises OSError."""
    fd = checked(LIBC.socket(AF_INET, SOCK_DGRAM, 0), "socket")  # Python's module is slow to import
    try:
        fcntl.ioctl(fd, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP_RUNNING))
    finally:
        os.close(fd)


def drop_capabilities() -> None:
    """Give up all capabilities for good, also for programs with file capabilities. Raises OSError."""
    number = 0
    while LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:  # until there is no such capability
        number += 1
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("Ii", CAPABILITIES_VERSION, 0)
    checked(LIBC.capset(header, bytes(24)), "capset")


def leave_keyring() -> None:
    """Replace the session keyring, which may hold keys of the user, by an empty one where the kernel has keyrings."""
    LIBC.syscall(ctypes.c_long(SYS_KEYCTL), ctypes.c_int(KEYCTL_JOIN_SESSION_KEYRING), None)


def close_on_exec(first: int) -> None:
    """Have all file descriptors from `first` on closed by exec. Raises OSError."""
    numbers = [ctypes.c_uint(number) for number in (first, 0xFFFFFFFF, CLOSE_RANGE_CLOEXEC)]
    checked(LIBC.syscall(ctypes.c_long(SYS_CLOSE_RANGE), *numbers), "close_range")


def signal_reader(numbers: set[int]) -> int:
    """Return a descriptor from which the blocked signals `numbers` are read as `signalfd_siginfo`. Raises OSError."""
    mask = sum(1 << number - 1 for number in numbers).to_bytes(128, sys.byteorder)  # sigset_t
    return checked(LIBC.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC), "signalfd")


CANNOT_START = 125  # exit code, like that of env(1) and timeout(1)


def find_program(name: str, env: dict[str, str]) -> str:
    """Return the path of a program, as `os.execvpe` finds it, which imports a module that a sandbox may not have."""
    if "/" not in name:
        for folder in env.get("PATH", os.defpath).split(":"):
            path = f"{folder}/{name}"
            if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - pathlib is slow to import
                return path
    return name


def fork_program(program: Callable[[], None], *, cwd: str, name: str) -> int:
    """Call `program`, which executes another one, in a fork with a session and default signal handlers of its own.

    Returns its process id when all descriptors that it inherited are closed, which `program` has to do. Call it in a
    process with one thread. Raises OSError with `name` if `cwd` does not exist, or if `program` raises OSError.
    """
    failed_r, failed_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for number in filter(_has_handler, signal.valid_signals()):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            os.chdir(cwd)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            program()
        except OSError as error:
            os.write(failed_w, json.dumps([error.errno, error.strerror]).encode())
        finally:
            os._exit(CANNOT_START)
    os.close(failed_w)
    with os.fdopen(failed_r, "rb") as file:
        failure = file.read()
    if failure:
        os.waitpid(pid, 0)
        raise OSError(*json.loads(failure), name)
    return pid


def _has_handler(number: signal.Signals) -> bool:
    return signal.getsignal(number) != signal.SIG_DFL

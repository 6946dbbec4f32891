"""The file and network rules of a trial by Landlock, where namespaces are refused. Standard library only.

It restricts the calling process and all that it starts, for good, takes root's capabilities away, and refuses system
calls that reach other processes and that Landlock does not restrict (`system_calls`). Paths stay those outside. What a
kernel does not support is left out: TCP ports need ABI 4, devices ABI 5, abstract sockets and signals ABI 6. Never
restricted are UDP, sockets in the file system, and the mode, owner and times of files.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

from pinchbench.sandbox import kernel, system_calls
from pinchbench.sandbox.kernel import find_program, fork_program

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from typing import Any

SYS_CREATE_RULESET = 444  # the same on every architecture
SYS_ADD_RULE = 445
SYS_RESTRICT_SELF = 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
RULE_NET_PORT = 2
# bits of linux/landlock.h: execute 0, write 1, read file 2, read folder 3, truncate 14, ioctl 15
READ = 0b1101
FILE_ONLY = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
CONNECT = 2  # binding is not restricted: programs may listen
SCOPE_ABSTRACT_AND_SIGNAL = 3
FILE_BITS = {3: 15, 4: 15}  # how many rights each ABI knows; later ones as 5
LATEST_FILE_BITS = 16
LEAST_ABI = 3  # before it, files could be emptied that can't be written
NETWORK_ABI = 4
SCOPE_ABI = 6


def start(plan: dict[str, Any], argv: list[str], env: dict[str, str]) -> int:
    """Start `argv` with exactly `env`, restricted by `plan` (see `LandlockSandbox.enter`); return its process id.

    Call it in a process with one thread. Nothing but stdin, stdout and stderr is inherited. Raises OSError.
    """
    program = find_program(argv[0], env)

    def execute() -> None:
        kernel.close_on_exec(3)
        restrict(
            readable=plan["readable"], writable=plan["writable"], port=plan["port"], is_open=plan["network"] == "open"
        )
        os.execve(program, argv, env)  # noqa: S606

    return fork_program(execute, cwd=plan["cwd"], name=argv[0])


def abi() -> int:
    """Return the version of Landlock that this kernel enforces; 0 if none."""
    version = kernel.LIBC.syscall(ctypes.c_long(SYS_CREATE_RULESET), None, ctypes.c_size_t(0), CREATE_RULESET_VERSION)
    return max(0, int(version))


def restrict(*, readable: list[str], writable: list[str], port: int | None, is_open: bool) -> int:
    """Restrict this process to reading and executing below `readable` and doing everything below `writable`.

    Unless the network `is_open`, TCP connections are possible to `port` only. Paths that don't exist are left out.
    Returns the ABI. Raises OSError if Landlock is refused, or its ABI is less than `LEAST_ABI`.
    """
    version = abi()
    if version < LEAST_ABI:
        raise OSError(errno.EOPNOTSUPP, f"Landlock has ABI {version}, and ABI {LEAST_ABI} (Linux 6.2) is needed")
    handled = (1 << FILE_BITS.get(version, LATEST_FILE_BITS)) - 1
    network = CONNECT if version >= NETWORK_ABI and not is_open else 0
    scope = SCOPE_ABSTRACT_AND_SIGNAL if version >= SCOPE_ABI else 0
    rules = struct.pack("QQQ", handled, network, scope)
    known = 24 if version >= SCOPE_ABI else 16 if version >= NETWORK_ABI else 8
    number = ctypes.c_long(SYS_CREATE_RULESET)
    fd = kernel.checked(kernel.LIBC.syscall(number, rules, ctypes.c_size_t(known), 0), "landlock_create_ruleset")
    try:
        for paths, rights in ((readable, READ), (writable, handled)):
            for path in paths:
                _allow(fd, path, rights & handled)
        if network and port is not None:
            _add_rule(fd, RULE_NET_PORT, struct.pack("QQ", CONNECT, port), f"port {port}")
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.checked(kernel.LIBC.syscall(ctypes.c_long(SYS_RESTRICT_SELF), fd, 0), "landlock_restrict_self")
        kernel.drop_capabilities()  # with them, root reads the memory and environment of all processes
        system_calls.refuse_other_processes()
    finally:
        os.close(fd)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= FILE_ONLY
        _add_rule(ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, fd), path)
    finally:
        os.close(fd)


def _add_rule(ruleset: int, kind: int, rule: bytes, name: str) -> None:
    number = ctypes.c_long(SYS_ADD_RULE)
    kernel.checked(kernel.LIBC.syscall(number, ruleset, kind, rule, 0), f"landlock_add_rule {name}")

"""Programs for which the kernel refuses new namespaces, as in a container that has none.

The limit is one of a user namespace, so that the program is in one of its own.
"""

from collections.abc import Sequence
from pathlib import Path

# An ordinary user has the right to set the limit only until the program is executed.
REFUSE = """
import ctypes, os, sys
uid, gid = os.getuid(), os.getgid()
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) < 0:  # CLONE_NEWUSER
    sys.exit("no user namespaces: " + os.strerror(ctypes.get_errno()))
for name, text in (("self/setgroups", "deny"), ("self/uid_map", f"{uid} {uid} 1"), ("self/gid_map", f"{gid} {gid} 1"),
                   ("sys/user/max_user_namespaces", "0")):
    with open("/proc/" + name, "w") as file:
        file.write(text)
os.execvp(sys.argv[1], sys.argv[1:])
"""
NAMED = "sysctl user.max_user_namespaces is 0"


def without_namespaces(python: Path, argv: Sequence[str], kind: str = "user") -> list[str]:
    """Return the command that runs `argv` so, for the user who starts it; other kinds leave a half-allowed one."""
    return [str(python), "-I", "-S", "-c", REFUSE.replace("max_user_", f"max_{kind}_"), *argv]

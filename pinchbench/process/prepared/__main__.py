"""The entry of the process that makes a call; see the package's docstring."""

from __future__ import annotations

import ctypes
import os
import sys

ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
ASK_PERSONALITY = 0xFFFFFFFF


def fix_addresses() -> None:
    """Start this program again with its memory at the same addresses each time, where the system allows it.

    Before Python 3.12 the hash of None, and so the order of a set, depends on them.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    personality = libc.personality(ASK_PERSONALITY)
    if personality == -1 or personality & ADDR_NO_RANDOMIZE:
        return
    if libc.personality(personality | ADDR_NO_RANDOMIZE) != -1:
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606


if __name__ == "__main__":
    fix_addresses()  # before more is imported, which would be for nothing
    from pinchbench.process.prepared.call import main

    main()

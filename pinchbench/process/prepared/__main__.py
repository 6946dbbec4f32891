"""Entry point of the prepared process; see the package's docstring."""

from __future__ import annotations

import ctypes
import os
import sys

ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
ASK_PERSONALITY = 0xFFFFFFFF


def fix_addresses() -> None:
    """Re-execute this program without address space randomization, if the system allows it.

    Before Python 3.12, the hash of None depends on its address, and so the order of a set may.
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
    fix_addresses()  # before further imports, which would be repeated
    from pinchbench.process.prepared.call import main

    main()

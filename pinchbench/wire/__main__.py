"""`python -I -m pinchbench.wire FD`: the proxy, controlled over an inherited socket."""

from __future__ import annotations

import ctypes
import gc
import logging
import resource
import socket
import sys

import anyio

from pinchbench.wire.proxy_process import serve_wire

# How long a chunk waits, at each call of the system, while a thread writes a long exchange. With Python's own 5 ms, the
# 99th percentile of five calls with such a thread was 10 to 15 ms; less than this was no better.
SWITCH_INTERVAL_S = 0.0005
PR_SET_DUMPABLE = 4  # linux/prctl.h


def protect_memory() -> None:
    """Keep other processes of the user from reading the keys, as far as the system can."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def allow_many_files() -> None:
    """Allow as many open files as the system does: each request takes two."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Serve until the runner has gone."""
    protect_memory()
    allow_many_files()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.freeze()  # what the imports have made: all streams waited some 40 ms while it was looked through again
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    anyio.run(serve_wire, socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()

"""How long the machine's processes, and those of a tree, have waited for its resources, as the kernel says."""

# pathlib is slow to import
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import time

TYPE_CHECKING = False  # instead of importing `typing`, which is slow
if TYPE_CHECKING:
    from pinchbench.process.guardian.process_tree import Tree

RESOURCES = ("cpu", "memory", "io")
HAS_WAITS = os.path.exists("/proc/self/schedstat")  # noqa: PTH110 - pathlib is slow to import
CHECK_S = 1.0  # between two looks at the threads of a tree, which take 0.7 ms of CPU time for 20 threads


class LoadMeter:
    """Measures from its creation on.

    Pressure is that of the whole machine: how long at least one process waited for a resource (`some` in
    /proc/pressure; see Documentation/accounting/psi.rst in Linux). The wait for a processor is, of each second, that of
    the tree's thread that waited longest (the second number in /proc/<pid>/task/<tid>/schedstat): the waits of all
    together say little, as they are often at the same time. Threads that live for less than a second may be missing.
    """

    def __init__(self) -> None:
        """Note how long processes have waited before."""
        self._before = _pressure_us()
        self._seen_ns: dict[str, int] = {}
        self._waited_ns: float | None = None
        self._looked_at = time.monotonic()

    def measure(self, tree: Tree) -> None:
        """Look at the tree's threads if that is due; call it often."""
        passed_s = time.monotonic() - self._looked_at
        if not HAS_WAITS or passed_s < CHECK_S:
            return
        longest_ns = 0
        for pid in tree.tasks():
            with contextlib.suppress(OSError):  # it has ended
                for thread in os.listdir(f"/proc/{pid}/task"):
                    path = f"/proc/{pid}/task/{thread}/schedstat"
                    with contextlib.suppress(OSError, ValueError, IndexError), open(path, "rb") as file:
                        waited_ns = int(file.read().split()[1])
                        longest_ns = max(longest_ns, waited_ns - self._seen_ns.get(path, 0))
                        self._seen_ns[path] = waited_ns
        self._waited_ns = (self._waited_ns or 0) + min(longest_ns, passed_s * 1e9)
        self._looked_at += passed_s

    def report(self) -> dict[str, float | None]:
        """Return the seconds since the creation by name; None if the system does not measure it."""
        after = _pressure_us()
        stalled = {
            f"{name}_stalled_s": round((after[name] - self._before[name]) / 1e6, 3)
            if name in after and name in self._before
            else None
            for name in RESOURCES
        }
        return {**stalled, "cpu_wait_s": None if self._waited_ns is None else round(self._waited_ns / 1e9, 3)}


def _pressure_us() -> dict[str, int]:
    """Return for how many microseconds processes have waited since the system started, by resource."""
    found = {}
    for name in RESOURCES:
        # the kernel may lack the file, or fail to open or to read it
        with contextlib.suppress(OSError, ValueError), open(f"/proc/pressure/{name}", "rb") as file:
            found[name] = int(file.readline().rpartition(b"total=")[2])
    return found

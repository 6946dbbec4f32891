"""The simulated clock of a trial: libfaketime for everything in its sandbox, moved by one file outside of it."""

from __future__ import annotations

import math
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from pinchbench.files.folders import replaced_file

if TYPE_CHECKING:
    from pinchbench.sandbox.sandbox_spec import Mount

SEEN_AS, LIBRARY_SEEN_AS = "/run/clock", "/run/libfaketime.so.1"  # in the sandbox
PRELOAD = "/etc/ld.so.preload"  # OpenClaw removes LD_PRELOAD from the environment of the agent's commands
PACKAGE = "libfaketime (apt install faketime, dnf install libfaketime, or conda install libfaketime)"
WIDTH = 20  # of the file's text, which is overwritten in place: a reader never sees half of it
# How long a process may go on with the time that it read before (libfaketime's own smallest value).
CACHE_S = 1


def find_libfaketime() -> Path | None:
    """Return libfaketime as the system or this program's own environment has installed it. Blocks."""
    folders = (Path(sys.prefix) / "lib", Path("/usr/lib64"), Path("/usr/lib"), Path("/usr/local/lib"))
    ways = ((folder, pattern) for folder in folders for pattern in ("faketime", "*/faketime"))
    return next((path for folder, way in ways for path in sorted(folder.glob(f"{way}/libfaketime.so.1"))), None)


class TrialClock:
    """The time in a trial's sandbox: the real one, plus whole seconds that only become more.

    All times are seconds since the epoch.
    """

    def __init__(self, file: Path, *, starts_at: float, library: Path) -> None:
        """Begin at `starts_at`, and write `file`. Blocks. Raises OSError."""
        self.file = file
        self._library = library
        self._offset_s = math.ceil(starts_at - time.time())
        with replaced_file(file, mode=0o644) as opened:
            opened.write(self._text())

    @property
    def files(self) -> dict[str, str]:
        """What the sandbox has in addition, by path."""
        return {PRELOAD: f"{LIBRARY_SEEN_AS}\n"}

    @property
    def mounts(self) -> tuple[Mount, Mount]:
        """Where the sandbox sees the file and the library, which it can't write."""
        from pinchbench.sandbox.sandbox_spec import Mount  # noqa: PLC0415 - who looks for libfaketime alone has no sandbox

        library = Mount(source=str(self._library), target=LIBRARY_SEEN_AS)
        return Mount(source=str(self.file), target=SEEN_AS), library

    @property
    def env(self) -> dict[str, str]:
        """The environment of all processes that have this clock."""
        return {"FAKETIME_TIMESTAMP_FILE": SEEN_AS, "FAKETIME_CACHE_DURATION": str(CACHE_S)}

    def now(self) -> float:
        """Return the simulated time."""
        return time.time() + self._offset_s

    def shown(self, timezone: str) -> str:
        """Return it for people as `Mon 2 Mar 07:30`, in a time zone such as `Europe/Berlin`; UTC if that is empty."""
        local = datetime.fromtimestamp(self.now(), ZoneInfo(timezone or "UTC"))
        return f"{local:%a} {local.day} {local:%b %H:%M}"

    def move_to(self, at: float) -> None:
        """Let the time be `at`, unless it is later already; processes see it within `CACHE_S`. Raises OSError."""
        self._offset_s = max(self._offset_s, math.ceil(at - time.time()))
        opened = os.open(self.file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.pwrite(opened, self._text(), 0)
        finally:
            os.close(opened)

    def _text(self) -> bytes:
        # A plain number of seconds moves all processes alike; a date would restart the clock of each at its own start.
        return f"{self._offset_s:+0{WIDTH - 1}d}\n".encode()


def as_iso(at: float) -> str:
    """Return a time as `2026-03-02T07:30:00+00:00`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")

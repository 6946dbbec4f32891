"""Set up libfaketime for the tests of simulated clocks if the system has none; run as a program, prints its path.

It is Debian's, which takes no root to download and unpack, and is kept in the virtual environment. Elsewhere these
tests are skipped, with the reason. The one on PyPI is too old: Python's `sleep` does not end with it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pinchbench.openclaw.trial_clock import PACKAGE, find_libfaketime

FOLDER = Path(sys.prefix) / "lib" / "faketime"
LIMIT_S = 120.0


def set_up() -> Path | None:
    """Return the path of libfaketime, unpacked now if there is none; None if this system has no package of it."""
    if (found := find_libfaketime()) is not None:
        return found
    with tempfile.TemporaryDirectory(dir=sys.prefix) as scratch:
        _run("apt-get", "download", "libfaketime", folder=scratch)
        [package] = Path(scratch).glob("*.deb")
        _run("dpkg", "--extract", str(package), ".", folder=scratch)
        [library] = Path(scratch).glob("usr/lib/*/faketime/libfaketime.so.1")
        shutil.copytree(library.parent, FOLDER)
    return find_libfaketime()


def _run(*argv: str, folder: str) -> None:
    subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=True)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{set_up()}\n")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"No simulated clocks are tested: {error}. They take {PACKAGE}.\n")

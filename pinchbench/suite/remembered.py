"""The bundled suite as it was last read, for commands that only show it: reading it takes most of their time."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pinchbench.files.user_data import cache_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinchbench.model.task import LoadedSuite

FILE = "bundled-suite.pickle"
_PACKAGE = Path(__file__).resolve().parents[1]
# What a torn pickle can raise, according to Python's documentation
_NOT_USABLE = (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, LookupError, ValueError)


def remembered(root: Path, read: Callable[[], LoadedSuite]) -> LoadedSuite:
    """Return what `read` returned of a folder when neither its files nor the code had changed since; else read it.

    Files are compared by size and times, not by content, so no run may depend on this. The copy is in the cache folder,
    from which Python and OpenClaw are run too. Blocks. Raises what `read` raises; a folder that can't be written is no
    error.
    """
    state = _state(root)
    path = cache_dir() / FILE
    with suppress(*_NOT_USABLE), path.open("rb") as file:
        is_own = os.fstat(file.fileno()).st_uid == os.geteuid()  # with sudo, another user's cache folder may be used
        if is_own and file.read(len(state)) == state:
            kept: LoadedSuite = pickle.load(file)  # noqa: S301 - written below, into a folder of the user's own
            return kept
    loaded = read()
    if not loaded.problems:
        from pinchbench.files.folders import replaced_file  # noqa: PLC0415 - to write, which is rare

        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replaced_file(path, mode=0o600) as file:
                file.write(state)
                pickle.dump(loaded, file, protocol=pickle.HIGHEST_PROTOCOL)
    return loaded


def _state(root: Path) -> bytes:
    """Return a digest of all that a reading depends on. Raises OSError."""
    seen = hashlib.sha256(f"{sys.version}\0{root}".encode("utf-8", "surrogateescape"))
    for folder in (root, _PACKAGE):
        for line in _files(str(folder)):
            seen.update(line.encode("utf-8", "surrogateescape"))
    return seen.digest()


def _files(folder: str) -> Iterator[str]:
    """Yield a line for each file below a folder, in the order of their names."""
    with os.scandir(folder) as listing:
        for entry in sorted(listing, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
                continue
            info = entry.stat(follow_symlinks=False)
            yield f"{entry.path}\0{info.st_mode}\0{info.st_size}\0{info.st_mtime_ns}\0{info.st_ctime_ns}\0"

"""Write a file atomically."""

from __future__ import annotations

import stat
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.files.folders import refuse_planted, replaced_file
from pinchbench.results.paths import JOURNAL, RUN_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = frozenset((JOURNAL, RUN_JSON))  # the sources of everything else


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to; it is moved to `path` when the block ends, and removed if the block raises. Blocks.

    It is readable by the user only, as it can contain what the agents wrote; an existing file is replaced. Raises
    ResultsError if it can't be written, or if `path` is anything but a regular file: links are not followed, and
    devices are not replaced; neither are a run's journal and run.json.
    """
    try:
        refuse_planted(path.parent, option="--output")
        _refuse_others(path)
        with replaced_file(path, mode=0o600) as file:
            yield file
    except OSError as error:
        raise ResultsError(f"{path} can't be written: {error.strerror}; name another file with --output.") from error


def _refuse_others(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise ResultsError(f"{path} is a folder; name a file with --output.")
    if path.name in RECORDS and (path.parent / RUN_JSON).is_file():
        raise ResultsError(f"{path} is a run's own record, so it is not replaced; name another file with --output.")
    if not stat.S_ISREG(mode):
        raise ResultsError(f"{path} is no ordinary file, so it is not replaced; name a file with --output.")

"""A file that is there whole or not at all."""

from __future__ import annotations

import stat
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.folders import refuse_planted, replaced_file
from pinchbench.results.store import JOURNAL, RUN_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = frozenset((JOURNAL, RUN_JSON))  # what all else is derived from


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write into, which is put at `path` when the block ends, and is gone when it raises. Blocks.

    It is the user's alone, as it can hold what the agents wrote; a file of that name is replaced. Raises ResultsError
    when it can't be written, or when something else than a file has that name: neither a link is followed, nor a device
    replaced; nor are a run's journal and run.json.
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

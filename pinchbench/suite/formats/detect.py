"""Which format the tasks of a folder have, and which reader reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.errors import SuiteError
from pinchbench.suite.formats.claw_bench import ClawBenchReader
from pinchbench.suite.formats.claw_eval import ClawEvalReader
from pinchbench.suite.formats.clawbench_core import ClawBenchCoreReader
from pinchbench.suite.formats.harbor import HarborReader
from pinchbench.suite.formats.pinchbench import PinchBenchReader
from pinchbench.suite.formats.qwenclaw import QwenClawReader
from pinchbench.suite.formats.wildclaw import WildClawReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinchbench.defaults import SuiteFormat
    from pinchbench.suite.reader import SuiteReader

_PINCHBENCH = PinchBenchReader()
_OTHERS: tuple[SuiteReader, ...] = (
    QwenClawReader(),
    WildClawReader(),
    ClawBenchReader(),
    ClawBenchCoreReader(),
    HarborReader(),
    ClawEvalReader(),
)
# Where the tasks lie in a checkout of a suite, below its folder.
_PLACES = ("tasks", "data/*/tasks", "tasks-public")


def reader_of(name: SuiteFormat) -> SuiteReader:
    """Return the reader of a format."""
    return next(reader for reader in (_PINCHBENCH, *_OTHERS) if reader.format is name)


def find_reader(root: Path, wanted: SuiteFormat | None) -> tuple[SuiteReader, Path]:
    """Return the reader for a folder, or for the checkout of a suite, and the folder that holds the tasks.

    Without `wanted`, the format is detected from the files; a folder that no other reader recognises is PinchBench's.
    Blocks. Raises SuiteError if tasks of several formats lie side by side, and OSError.
    """
    readers = _OTHERS if wanted is None else (reader_of(wanted),)
    for folder in _folders(root):
        found = [reader for reader in readers if reader.recognises(folder)]
        if len(found) > 1:
            names = " and ".join(reader.format for reader in found)
            raise SuiteError(f"{folder} holds tasks of the formats {names}. Name one of them with --suite-format.")
        if found:
            return found[0], folder
        if wanted is None and _PINCHBENCH.recognises(folder):
            return _PINCHBENCH, folder
    return (_PINCHBENCH if wanted is None else reader_of(wanted)), root


def _folders(root: Path) -> Iterator[Path]:
    yield root
    for pattern in _PLACES:
        found = sorted(path for path in root.glob(pattern) if path.is_dir())
        yield from found if len(found) == 1 else ()

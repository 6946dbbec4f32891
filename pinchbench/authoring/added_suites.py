"""Add a suite of somebody else's from a folder, pinned by a digest; remove it."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import msgspec

from pinchbench.config.settings import absolute_path
from pinchbench.errors import ConfigError, SuiteError
from pinchbench.files.folders import remove_folder
from pinchbench.files.user_data import FILES, PACK_NAME, RECORD, bundled_tasks_dir, packs_dir
from pinchbench.suite.fixtures import FixtureError
from pinchbench.suite.loading import problem_list, read_suite
from pinchbench.suite.named import Pack, name_taken, read_pack, tree_digest

if TYPE_CHECKING:
    from collections.abc import Generator

LICENCE_LINE = 100  # characters
STAGING = ".staging-"
STALE_S = 24 * 3600.0  # nothing is added from a folder of this age any more
_LICENCE_FILE = re.compile(r"(?:licen[cs]e|copying)(?:[.-].*)?", re.IGNORECASE)


def add_pack(name: str, source: Path) -> tuple[Pack, str]:
    """Copy a folder into the user's data folder; return its record and remarks. Blocks.

    Nothing is left of a suite that can't be added. Raises ConfigError if the name or the folder can't be used, and
    SuiteError if the suite can't be written, or has no task that can be run.
    """
    source = absolute_path(source, option="PATH")
    _check_name(name)
    try:
        with _staging() as stage:
            _copy(source, stage / FILES)
            pack, remarks = _record(stage / FILES, name=name, source=str(source))
            stage.rename(packs_dir() / name)
    except OSError as error:
        raise SuiteError(f"The suite {name} can't be written to {packs_dir()}: {error.strerror or error}.") from error
    return pack, remarks


@contextmanager
def making_pack(name: str, *, source: str) -> Generator[Path]:
    """Yield an empty folder; the tasks that the block writes there become the suite `name`, in place of an older one.

    Nobody but the user can read it. `source` is recorded as where it comes from. Blocks. If the block raises an
    exception, everything is as it was before. Raises SuiteError if the suite can't be written or has no task.
    """
    try:
        with _staging() as stage:
            (stage / FILES).mkdir()
            yield stage / FILES
            _record(stage / FILES, name=name, source=source)
            stage.chmod(0o700)
            if (packs_dir() / name).exists():
                remove_pack(name)
            stage.rename(packs_dir() / name)
    except OSError as error:
        raise SuiteError(f"The suite {name} can't be written to {packs_dir()}: {error.strerror or error}.") from error


def remove_pack(name: str) -> Path:
    """Remove the files of an added suite; return their folder. Blocks. Raises ConfigError and SuiteError."""
    folder = packs_dir() / name
    if not PACK_NAME.fullmatch(name) or not folder.is_dir():
        raise ConfigError(f"No suite {name!r} was added. `pinchbench-async suite` shows those that were.")
    if left := remove_folder(folder, last=RECORD):
        raise SuiteError(f"The suite {name} can't be removed as a whole: {left}.")
    return folder


def _check_name(name: str) -> None:
    if not PACK_NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} is not a name for a suite: up to 64 of a-z, 0-9, `-`, `_` and `.`, of which the first is a"
            " letter or a digit."
        )
    if taken := name_taken(name, read_suite(bundled_tasks_dir()).suite):
        raise ConfigError(f"`--suite {name}` stands for {taken} of the bundled suite already. Choose another name.")
    if (packs_dir() / name).exists():
        there = read_pack(name)
        source = f", from {there.source}" if there else ""
        raise ConfigError(
            f"A suite {name} was added already{source}. `pinchbench-async suite {name} --remove` makes room for"
            " another."
        )


@contextmanager
def _staging() -> Generator[Path]:
    """Make a folder next to those of the suites, which is removed unless it has been renamed. Raises OSError."""
    packs_dir().mkdir(parents=True, exist_ok=True)
    for left in packs_dir().glob(f"{STAGING}*"):  # by a process that was killed
        with suppress(FileNotFoundError):  # another process may remove it at the same time
            if time.time() - left.stat().st_mtime > STALE_S:
                remove_folder(left)
    stage = Path(mkdtemp(prefix=STAGING, dir=packs_dir()))
    try:
        yield stage
    finally:
        remove_folder(stage)


def _copy(source: Path, files: Path) -> None:
    if not source.is_dir():
        raise ConfigError(f"{source} is not a folder. Name the folder of a suite, such as a clone of its repository.")
    if packs_dir().is_relative_to(source):
        raise ConfigError(f"{source} holds the folder of added suites, {packs_dir()}, itself.")
    try:
        shutil.copytree(source, files, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    except shutil.Error as error:
        raise SuiteError(f"{source} can't be copied: {error.args[0][0][2]}.") from error


def _record(files: Path, *, name: str, source: str) -> tuple[Pack, str]:
    """Read a suite and write its record next to its files; return it and remarks. Raises SuiteError and OSError."""
    loaded = read_suite(files)
    suite = loaded.suite
    # the paths of the staging folder would mislead: it is gone when the user reads them
    problems = problem_list(files, loaded.problems).replace(str(files), source) if loaded.problems else ""
    if not suite.tasks:
        raise SuiteError(
            problems or f"{source} holds no tasks in a known format. Name the folder of the tasks, or its checkout."
        )
    try:
        digest = tree_digest(files)
    except FixtureError as error:
        raise SuiteError(f"{source} can't be pinned: {str(error).replace(str(files), source)}.") from error
    pack = Pack(
        name=name,
        source=source,
        digest=digest,
        format=suite.format,
        licence=_find_licence(files),
        added_at=time.time(),
        tasks={task.task_id: task.category for task in suite.tasks},
    )
    (files.parent / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(pack), indent=2) + b"\n")
    files.parent.chmod(0o755)
    skipped = "They are left out with --skip-broken." if loaded.problems else ""
    return pack, "\n".join(filter(None, (loaded.note, problems, skipped)))


def _find_licence(files: Path) -> str:
    """Return the name of the file that states the licence, and its first line; empty without."""
    for path in sorted(files.iterdir()):
        if _LICENCE_FILE.fullmatch(path.name) and path.is_file():
            with path.open("rb") as file:
                text = file.read(4096).decode("utf-8", "replace")
            first = next((line.strip() for line in text.splitlines() if line.strip()), "")
            return f"{path.name}: {first[:LICENCE_LINE]}"
    return ""

"""The files of a run: their paths, and how derived files and folders are written atomically."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.defaults import DEFAULT_OUTPUT_DIR
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.files.folders import (
    folder_error,
    make_private,
    refuse_planted,
    remove_folder,
    replaced_file,
    sync_folder,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.model.trial import TrialKey

T = TypeVar("T")

RUN_JSON = "run.json"
JOURNAL = "journal.jsonl"
CONTROL_SOCKET = "control.sock"
NAMED_RUNS = 5  # how many an error lists
LIKENESS = 0.9  # of names, by difflib: one wrong digit of an id is 0.95, and another run of the day about 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFiles:
    """The paths of one run in an output folder."""

    output_dir: Path
    name: str

    @property
    def aggregate(self) -> Path:
        """`{model_slug}_{run_id}.json`."""
        return self.output_dir / f"{self.name}.json"

    @property
    def folder(self) -> Path:
        """`{model_slug}_{run_id}/`."""
        return self.output_dir / self.name

    @property
    def argument(self) -> str:
        """The run's name on a command line, quoted for a shell: its id if that is sufficient, else its folder."""
        elsewhere = self.output_dir.absolute() != DEFAULT_OUTPUT_DIR.absolute()
        return shlex.quote(str(self.folder)) if elsewhere else _run_id(self.name)

    @property
    def journal(self) -> Path:
        """The append-only journal."""
        return self.folder / JOURNAL

    @property
    def control_socket(self) -> Path:
        """Where a run that works takes commands; left behind by a runner that was killed."""
        return self.folder / CONTROL_SOCKET

    @property
    def provenance(self) -> Path:
        """run.json: what was asked for and what ran it."""
        return self.folder / RUN_JSON

    def trial(self, key: TrialKey, attempt: int = 1) -> Path:
        """Return the folder of the evidence of one attempt at a trial."""
        again = f".attempt{attempt}" if attempt > 1 else ""
        return self.folder / "trials" / key.task_id / f"{key.repetition}{again}"


def create_run(output_dir: Path, name: str) -> RunFiles:
    """Create the folder of a new run, private to the user. Blocks.

    Raises ResultsError if it can't be created, already exists, or would be behind a link of another user. In that case
    nothing of the run is left behind.
    """
    files = RunFiles(output_dir=output_dir, name=name)
    try:
        refuse_planted(output_dir, option="--output-dir")  # before, so that nothing is created behind a link
        output_dir.mkdir(parents=True, exist_ok=True)
        refuse_planted(output_dir, option="--output-dir")  # and after: from now on no other user can put a link there
        make_private(files.folder)
        try:
            make_private(files.folder / "trials")
        except OSError:
            files.folder.rmdir()
            raise
    except OSError as error:
        raise folder_error(files.folder, error, option="--output-dir") from error
    for folder in (files.folder, output_dir, output_dir.parent):
        sync_folder(folder)
    return files


def runs_of(output_dir: Path) -> tuple[RunFiles, ...]:
    """Return the runs of an output folder, newest first by id. Blocks."""
    names = sorted(_names(output_dir), key=_run_id, reverse=True)
    return tuple(RunFiles(output_dir=output_dir, name=name) for name in names)


def _names(output_dir: Path) -> list[str]:
    return sorted(found.parent.name for found in output_dir.glob(f"*/{RUN_JSON}"))


def _run_id(name: str) -> str:
    return name.rpartition("_")[2]


def find_run(name: str, output_dir: Path) -> RunFiles:
    """Find a run by its folder, its aggregate, its name or its id. Blocks.

    Raises ResultsError, listing the newest runs of the output folder, if there is none or more than one.
    """
    path = Path(name)
    try:
        beside = [path.with_suffix("")] if path.suffix == ".json" else []  # the folder of this aggregate
        within = [path.parent] if path.is_file() else []
        for folder in (path, *beside, *within):
            if (folder / RUN_JSON).is_file():
                found = folder.resolve()
                return RunFiles(output_dir=found.parent, name=found.name)
        if path.exists():
            raise ResultsError(f"{path} is no run: there is no {RUN_JSON}.")
    except OSError as error:
        raise ResultsError(f"{path} can't be read: {error.strerror}.") from error
    runs = _names(output_dir)
    fitting = [run for run in runs if run == name or run.endswith(f"_{name}")]
    if len(fitting) > 1:
        raise ResultsError(f"{output_dir} has more than one run {name!r}: {', '.join(fitting)}.")
    if not fitting:
        no_file = f"There is no file or folder {name}. " if os.sep in name or path.suffix else ""
        if not output_dir.is_dir():
            raise ResultsError(f"{no_file}{no_folder(output_dir)}")
        newest = sorted(runs, key=_run_id, reverse=True)[:NAMED_RUNS]
        known = f"The newest runs: {', '.join(newest)}." if newest else "It holds no runs."
        near = get_close_matches(name, [*runs, *map(_run_id, runs)], n=1, cutoff=LIKENESS)
        meant = next((run for run in runs if near and run.endswith(near[0])), "")
        raise ResultsError(f"{no_file}{output_dir} has no run {name!r}. {f'Did you mean {meant}?' if meant else known}")
    return RunFiles(output_dir=output_dir, name=fitting[0])


def no_folder(output_dir: Path) -> str:
    """Return the error message for a missing output folder."""
    return f"There is no folder {output_dir}. Go to where you made your runs, or name their folder with --output-dir."


def write_json(path: Path, value: object, *, mode: int = 0o666) -> None:
    """Write JSON atomically: a reader sees the old file or the complete new one, even after a crash. Blocks.

    The umask applies to `mode`. A link at the path is replaced, not followed. Raises ResultsError if the file can't be
    written.
    """
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    try:
        with replaced_file(path, mode=mode) as file:
            file.write(data + b"\n")
    except OSError as error:
        raise ResultsError(f"{path} can't be written: {error.strerror}.") from error


def read_json(path: Path, kind: type[T], *, advice: str) -> T:
    """Read a JSON file as a value of a type; other keys are ignored. Blocks.

    Raises ResultsError, with the line or the key and `advice` on what to do, if it can't be read or is no such value.
    """
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as error:
        raise ResultsError(f"{path} can't be read: {error.strerror}.") from error
    try:
        return decode_json(data, kind)
    except (ValueError, RecursionError) as error:  # includes UnicodeDecodeError
        what = f"{_line_of(data, str(error))}: {error}" if data.strip() else ": it is empty"
        raise ResultsError(f"{path}{what}. {advice}") from error


def _line_of(data: bytes, said: str) -> str:
    """Return `:` and the line at which msgspec's decoder failed with this message; empty if it names a key."""
    if "truncated" in said:
        before = data.rstrip()
    elif at := re.search(r"\(byte (\d+)\)", said):
        before = data[: int(at[1])]
    else:
        return ""
    return f":{before.count(10) + 1}"


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


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill; it is renamed to `path` when the block ends, and removed if the block raises. Blocks.

    It is readable by the user only, as it can contain what the agents wrote. Raises ResultsError if it can't be
    written, or if `path` exists and is not an empty folder: new files are never mixed with those of an earlier export.
    """
    try:
        refuse_planted(path.parent, option="--output")
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
            raise ResultsError(f"{path} is there already; remove it, or name another folder with --output.")
        fresh = path.with_name(f".{secrets.token_hex(8)}.new")  # unpredictable: no other user can put a link there
        make_private(fresh)
        try:
            yield fresh
            sync_folder(fresh)
            fresh.replace(path)  # replaces an empty folder
        except BaseException:
            remove_folder(fresh)
            raise
    except OSError as error:
        raise ResultsError(f"{path} can't be written: {error.strerror}; name another folder with --output.") from error
    sync_folder(path.parent)

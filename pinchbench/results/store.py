"""The files of a run: where each lies, and how the derived ones are written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    from pinchbench.model import TrialKey


RUN_JSON = "run.json"
NAMED_RUNS = 5  # in an error


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFiles:
    """The paths of one run below an output folder."""

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
    def journal(self) -> Path:
        """The append-only truth."""
        return self.folder / "journal.jsonl"

    @property
    def provenance(self) -> Path:
        """What was asked and what ran it."""
        return self.folder / RUN_JSON

    def trial(self, key: TrialKey) -> Path:
        """The folder of one trial's evidence."""
        return self.folder / "trials" / key.task_id / str(key.repetition)


def create_run(output_dir: Path, name: str) -> RunFiles:
    """Make the folder of a new run, private to the user. Raises ResultsError when it can't be made or exists."""
    files = RunFiles(output_dir=output_dir, name=name)
    try:
        files.output_dir.mkdir(parents=True, exist_ok=True)
        files.folder.mkdir(mode=0o700)
        (files.folder / "trials").mkdir(mode=0o700)
    except OSError as error:
        raise ResultsError(f"The results folder {files.folder} can't be made: {error.strerror}.") from error
    return files


def find_run(name: str, output_dir: Path) -> RunFiles:
    """Find a run by its folder, its aggregate, its name or its id. Blocks.

    Raises ResultsError, naming the newest runs of the output folder, when there is none or more than one.
    """
    path = Path(name)
    beside = [path.with_suffix("")] if path.suffix == ".json" else []  # its aggregate
    within = [path.parent] if path.is_file() else []
    for folder in (path, *beside, *within):
        if (folder / RUN_JSON).is_file():
            found = folder.resolve()
            return RunFiles(output_dir=found.parent, name=found.name)
    if path.exists():
        raise ResultsError(f"{path} is no run: there is no {RUN_JSON}.")
    runs = sorted(found.parent.name for found in output_dir.glob(f"*/{RUN_JSON}"))
    fitting = [run for run in runs if run == name or run.endswith(f"_{name}")]
    if len(fitting) > 1:
        raise ResultsError(f"{output_dir} has more than one run {name!r}: {', '.join(fitting)}.")
    if not fitting:
        newest = sorted(runs, key=lambda run: run.rpartition("_")[2])[-NAMED_RUNS:]
        known = f"The newest runs: {', '.join(newest)}." if newest else "It holds no runs."
        raise ResultsError(f"{output_dir} has no run {name!r}. {known}")
    return RunFiles(output_dir=output_dir, name=fitting[0])


def write_json(path: Path, value: object) -> None:
    """Write JSON so that a reader sees the old file or the whole new one, also after a crash. Blocks.

    Raises ResultsError when it can't be written.
    """
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(data + b"\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ResultsError(f"{path} can't be written: {error.strerror}.") from error

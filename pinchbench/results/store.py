"""The files of a run: where each lies, and how the derived ones are written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from pinchbench.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model import TrialKey


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
        return self.folder / "run.json"

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


def write_json(path: Path, value: Mapping[str, object]) -> None:
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

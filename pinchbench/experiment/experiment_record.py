"""`experiment.json`: what an experiment compares, and which run each variant is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from pinchbench.experiment.sequential import ALPHA, METHOD, SOURCE, Design
from pinchbench.results.compare.verdict import SequentialComparison  # noqa: TC001 - msgspec reads the annotations
from pinchbench.results.paths import RunFiles, read_json, write_json
from pinchbench.runner.scheduling.meter import NO_LIMITS, BudgetLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPERIMENT_JSON = "experiment.json"
EXPERIMENT_PAGE = "experiment.html"


class RecordedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant: its run's name and options, and the settings that differ. `failed`: why its run did not begin."""

    name: str
    run: str
    config: dict[str, object]
    differs: dict[str, object]
    failed: str = ""


class RecordedSequential(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment that ends when it is decided was asked, and what it has decided so far.

    `margin` is the largest difference, in 0-1, that counts as equal; `alpha` is the probability, in 0-1, that identical
    variants are distinguished at all.
    """

    tasks: tuple[str, ...]
    runs: int
    margin: float
    alpha: float = ALPHA
    method: str = METHOD
    source: str = SOURCE
    comparisons: tuple[SequentialComparison, ...] = ()


class RecordedExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment. The first variant is the baseline; `budget` is that of all variants together.

    `sequential` is null if every trial is made.
    """

    name: str
    experiment_id: str
    created_at: float
    seed: int
    concurrency: int
    budget: BudgetLimits = NO_LIMITS
    variants: tuple[RecordedVariant, ...]
    sequential: RecordedSequential | None = None

    @property
    def design(self) -> Design | None:
        """The design of an experiment that ends when it is decided; None if every trial is made."""
        told = self.sequential
        if told is None:
            return None
        names = tuple(variant.name for variant in self.variants)
        return Design(
            variants=names, tasks=told.tasks, runs=told.runs, seed=self.seed, margin=told.margin, alpha=told.alpha
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ExperimentFiles:
    """The paths of an experiment, whose runs are next to its folder."""

    output_dir: Path
    name: str

    @property
    def folder(self) -> Path:
        """`{experiment}_{id}/`."""
        return self.output_dir / self.name

    @property
    def record(self) -> Path:
        """experiment.json."""
        return self.folder / EXPERIMENT_JSON

    @property
    def page(self) -> Path:
        """experiment.html."""
        return self.folder / EXPERIMENT_PAGE

    def run(self, variant: RecordedVariant) -> RunFiles:
        """Return the files of a variant's run."""
        return RunFiles(output_dir=self.output_dir, name=variant.run)


def write_record(
    files: ExperimentFiles, record: RecordedExperiment, failed: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write an experiment's record, with why variants could not begin, by name. Blocks. Raises ResultsError."""
    variants = tuple(msgspec.structs.replace(one, failed=failed.get(one.name, "")) for one in record.variants)
    write_json(files.record, msgspec.structs.replace(record, variants=variants))


def read_record(files: ExperimentFiles) -> RecordedExperiment:
    """Read an experiment's record. Blocks. Raises ResultsError."""
    return read_json(files.record, RecordedExperiment, advice="Put back a copy of that file.")


def find_experiment(name: str, output_dir: Path) -> ExperimentFiles | None:
    """Find an experiment by its folder, its name with its id, or its id; None if there is none. Blocks."""
    path = Path(name)
    for folder in (path, path.parent if path.name == EXPERIMENT_JSON else path, output_dir / name):
        if (folder / EXPERIMENT_JSON).is_file():
            found = folder.resolve()
            return ExperimentFiles(output_dir=found.parent, name=found.name)
    fitting = sorted(found.parent for found in output_dir.glob(f"*_{name}/{EXPERIMENT_JSON}"))
    return ExperimentFiles(output_dir=output_dir, name=fitting[0].name) if len(fitting) == 1 else None

"""The page of an experiment, from its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.defaults import DEFAULT_MARGIN
from pinchbench.errors import ResultsError
from pinchbench.experiment.experiment_record import ExperimentFiles, read_record
from pinchbench.report.html.document import PageSection, write_document
from pinchbench.report.html.variants_page import LOOK, ShownVariant, choice_between, experiment_values, report_links
from pinchbench.report.html.verdicts import Verdicts, verdicts_of
from pinchbench.report.sentences import disturbance_warnings
from pinchbench.results.compare.comparison import Comparison, compare
from pinchbench.results.compare.samples import Sample, side_of
from pinchbench.results.disturbances import disturbances_of
from pinchbench.results.finished_run import read_run

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.report.html.variants_page import Link
    from pinchbench.results.compare.choice import Choice
    from pinchbench.results.compare.verdict import SequentialComparison


@dataclass(frozen=True, kw_only=True, slots=True)
class PastExperiment:
    """An experiment as its files have it: the variants, the baseline first, and the others compared with it."""

    files: ExperimentFiles
    name: str
    variants: tuple[ShownVariant, ...]
    comparisons: tuple[Comparison, ...]
    disturbances: tuple[str, ...]  # what distorts the scores, a sentence each
    sequential: tuple[SequentialComparison, ...]

    @property
    def sides(self) -> list[Sample]:
        """The variants that have a run."""
        return [one.side for one in self.variants if one.side is not None]

    @property
    def verdicts(self) -> Verdicts:
        """The verdict about each further variant, as the page has it."""
        return verdicts_of(self.comparisons, self.sequential, baseline=self.variants[0].name)

    def choice(self, *, margin: float = DEFAULT_MARGIN) -> Choice:
        """Rank its variants, which may differ in what its file says. Raises ResultsError if none has a run."""
        choice = choice_between(self.variants, sequential=self.sequential, margin=margin)
        if choice is None:
            raise ResultsError(f"No variant of {self.name} has a run yet.")
        return choice


def read_experiment_runs(files: ExperimentFiles) -> PastExperiment:
    """Read an experiment and the runs that it has, and compare them. Blocks. Raises ResultsError."""
    record = read_record(files)
    variants = []
    for variant in record.variants:
        found = files.run(variant)
        run = read_run(found) if found.provenance.exists() else None
        variants.append(
            ShownVariant(
                name=variant.name,
                differs=variant.differs,
                run=run,
                side=None if run is None else side_of([run], label=variant.name),
                failed=variant.failed,
            )
        )
    sides = [one.side for one in variants if one.side is not None]
    has_baseline = variants[0].side is not None and len(sides) > 1
    return PastExperiment(
        files=files,
        name=record.name,
        variants=tuple(variants),
        comparisons=compare(sides) if has_baseline else (),
        disturbances=disturbance_warnings(
            disturbances_of({one.name: one.run.data for one in variants if one.run is not None})
        ),
        sequential=() if record.sequential is None else record.sequential.comparisons,
    )


def page_values(experiment: PastExperiment, link: Link) -> dict[str, object]:
    """Return the values of the page of an experiment, with links to the pages of its runs. Blocks."""
    soundness = PageSection(id="soundness", title="Is the measurement sound?", sentences=experiment.disturbances)
    return experiment_values(
        name=experiment.name,
        variants=experiment.variants,
        comparisons=experiment.comparisons,
        sections=(soundness,) if soundness.sentences else (),
        sequential=experiment.sequential,
        link=link,
    )


def write_experiment(experiment: PastExperiment, path: Path) -> None:
    """Write the page of an experiment atomically. Blocks. Raises ResultsError."""
    write_document(path, LOOK, **page_values(experiment, report_links(path.parent)))

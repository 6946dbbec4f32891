"""Verify that a run's files are as the runner wrote them: run.json, the journal, the evidence, and the result file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.results.altered import (
    changed_evidence,
    changed_result,
    changed_run_json,
    final_grades,
    final_outcomes,
    reply_digests,
)
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinchbench.results.journal.journal import Journal
    from pinchbench.results.paths import RunFiles


class State(StrEnum):
    """The result of verifying a run."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    ALTERED = "altered"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """The findings on a run.

    Attributes:
        run: the name of its folder.
        records: how many records of the journal are chained.
        files: how many files were compared with their digests.
        differences: what was changed after it was written, one sentence each without a full stop.
        unverified: what has no digest because an older release wrote it; sentences as well.
        unwitnessed: how many trials no wire has seen.
        problem: why the run can't be read.
        bundle: the SHA-256 of the bundle that it was read from; empty for a folder.
        taken_out: how many places of a bundle's files were overwritten before it was published.
    """

    run: str
    records: int = 0
    files: int = 0
    differences: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    unwitnessed: int = 0
    problem: str = ""
    bundle: str = ""
    taken_out: int = 0

    @property
    def state(self) -> State:
        """The overall result."""
        if self.problem:
            return State.UNREADABLE
        if self.differences:
            return State.ALTERED
        return State.UNVERIFIED if self.unverified else State.VERIFIED


def check_run(files: RunFiles) -> Verified:
    """Compare all files of a run with their digests. Blocks, in proportion to their size. Raises nothing."""
    try:
        journal = read_journal(files.journal)
        stated = sum(len(one.files or ()) for one in final_outcomes(journal).values())
        stated += sum(len(one.files or ()) for one in final_grades(journal).values())
        differences = [*journal.differences, *changed_run_json(files, journal), *changed_evidence(files, journal)]
        differences += changed_result(files, journal, read_run(files).data)
    except ResultsError as error:
        return Verified(run=files.name, problem=str(error))
    return Verified(
        run=files.name,
        records=journal.length,
        files=stated
        + len(reply_digests(journal))
        + bool(journal.state.started is not None and journal.state.started.run_json),
        differences=tuple(differences),
        unverified=tuple(_without_digests(journal)),
        unwitnessed=sum(one.is_unwitnessed for one in final_outcomes(journal).values()),
    )


def _without_digests(journal: Journal) -> Iterator[str]:
    chained = journal.length
    if not chained:
        yield "the journal has no digests: an older release wrote it"
        return
    if older := len(journal.records) - chained:
        yield f"the first {older} records of the journal have no digests of their own: an older release wrote them"
    bare = [one for one in final_outcomes(journal).values() if one.files is None]
    if bare and not older:
        yield f"{len(bare)} attempts have no digests of their evidence"

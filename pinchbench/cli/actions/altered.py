"""Warn about runs whose files were changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.cli.output import say
from pinchbench.errors import AlteredRunError
from pinchbench.results.altered import changed_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.results.finished_run import PastRun


def warn_of_altered(runs: Iterable[PastRun], *, evidence: bool = False) -> None:
    """Warn about runs whose files were changed, and how; with `evidence`, the trials' files are checked as well."""
    for run in runs:
        found = [*run.differences, *(changed_evidence(run.files, run.journal) if evidence else ())]
        if found:
            say(f"Warning: {AlteredRunError.of(found, run=run.files.folder)}")

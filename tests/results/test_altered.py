"""Which changes of a run's files are named, and which of them keep it from being graded or continued."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pinchbench.errors import AlteredRunError
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import Evidence, digests_of
from pinchbench.results.journal.journal import JournalWriter, read_journal
from pinchbench.results.paths import RunFiles, create_run
from pinchbench.results.records import Record, RunStarted, TrialFinished, TrialStarted
from pinchbench.results.verification import changed_evidence, refuse_altered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEY = TrialKey(task_id="task_a", repetition=1)
STARTED = RunStarted(run_id="r", model="m", at=1.0, trials=1)


def made(folder: Path, reason: Reason = Reason.COMPLETED, after: Sequence[Record] = ()) -> RunFiles:
    """A run of one attempt that has left its output, and then `after`."""
    files = create_run(folder, "m_r")
    evidence = Evidence(folder=files.trial(KEY))
    evidence.folder.mkdir(parents=True)
    evidence.stdout.write_bytes(b"out")
    outcome = Outcome(key=KEY, reason=reason, digest="d", evidence=str(evidence.folder.relative_to(files.folder)))
    ended = TrialFinished(outcome=replace(outcome, files=digests_of(evidence.of_agent)))
    with JournalWriter(files.journal) as journal:
        journal.append([STARTED, ended, *after])
    return files


def test_evidence_of_attempts_that_are_not_asked_for_keeps_nothing_from_going_on(tmp_path: Path) -> None:
    files = made(tmp_path)
    Evidence(folder=files.trial(KEY)).stdout.write_bytes(b"Out")

    refuse_altered(files, attempts=set())
    with pytest.raises(AlteredRunError, match=r"task_a/1/stdout\.log is not as it was written"):
        refuse_altered(files, attempts={(KEY, 1)})
    with pytest.raises(AlteredRunError):
        refuse_altered(files)


def test_evidence_that_is_missing_is_named_and_keeps_nothing_from_going_on(tmp_path: Path) -> None:
    files = made(tmp_path)
    Evidence(folder=files.trial(KEY)).stdout.unlink()

    refuse_altered(files)
    assert list(changed_evidence(files, read_journal(files.journal))) == [f"{files.trial(KEY)}/stdout.log is missing"]


@pytest.mark.parametrize("reason", [Reason.INTERRUPTED, Reason.COMPLETED])
def test_an_attempt_that_is_being_made_again_may_write_its_files_anew(tmp_path: Path, reason: Reason) -> None:
    files = made(tmp_path, reason, after=[TrialStarted(key=KEY, slot=1, attempt=1, at=2.0)])
    Evidence(folder=files.trial(KEY)).stdout.write_bytes(b"Out")

    refuse_altered(files)

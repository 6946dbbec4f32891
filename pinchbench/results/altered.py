"""Detect changes to a run's journal, run.json and evidence since they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.errors import AlteredRunError
from pinchbench.results.evidence_files import Evidence, changed_files, file_digest
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.records import GradeGiven, RegradeStarted, TrialFinished, TrialStarted

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.journal.journal import Journal
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.result_json import Aggregate

    AttemptKey = tuple[TrialKey, int]


def refuse_altered(files: RunFiles, attempts: Container[AttemptKey] | None = None) -> None:
    """Raise AlteredRunError if the journal, run.json or evidence was changed after it was written.

    `attempts` restricts the check of evidence to these attempts; None means all. Missing or added files are no reason
    to refuse: a trial without its evidence is not regraded.
    Blocks. Raises ResultsError if the run can't be read.
    """
    journal = read_journal(files.journal)
    found = [
        *journal.differences,
        *changed_run_json(files, journal),
        *changed_evidence(files, journal, attempts, strictly=False),
    ]
    if found:
        raise AlteredRunError.of(found, run=files.folder)


def changed_evidence(
    files: RunFiles, journal: Journal, attempts: Container[AttemptKey] | None = None, *, strictly: bool = True
) -> Iterator[str]:
    """Report which evidence files were changed; `attempts` None means those of all attempts. Blocks.

    With `strictly`, missing and added files are reported too.
    """
    for which, outcome in final_outcomes(journal).items():
        if outcome.files is not None and (attempts is None or which in attempts):
            paths = Evidence(folder=files.folder / outcome.evidence).of_agent
            yield from changed_files(paths, outcome.files, strictly=strictly)
    for which, grade in final_grades(journal).items():
        if grade.files is not None and (attempts is None or which in attempts):
            yield from changed_files([_evidence(files, which).check_log], grade.files, strictly=strictly)
    for which, digest in reply_digests(journal):
        if attempts is None or which in attempts:
            path = _evidence(files, which).judge_replies(digest)
            yield from changed_files([path], {path.name: digest}, strictly=strictly)


def _evidence(files: RunFiles, which: AttemptKey) -> Evidence:
    return Evidence(folder=files.trial(*which))


def final_outcomes(journal: Journal) -> dict[AttemptKey, Outcome]:
    """Return the outcomes whose evidence is final: the attempt ended and was not made again since."""
    found: dict[AttemptKey, Outcome] = {}
    for record in journal.records:
        match record:
            case TrialStarted(key=key, attempt=attempt):
                found.pop((key, attempt), None)
            case TrialFinished(outcome=outcome) if outcome.reason.is_attempt:
                found[outcome.key, outcome.attempt] = outcome
            case _:
                continue
    return found


def final_grades(journal: Journal) -> dict[AttemptKey, Grade]:
    """Return the latest grade of each attempt, except those that a later `regrade` may have been about to replace."""
    found: dict[AttemptKey, Grade] = {}
    for record in journal.records:
        match record:
            case RegradeStarted():
                found.clear()
            case GradeGiven(grade=grade):
                found[grade.key, grade.attempt] = grade
            case _:
                continue
    return found


def reply_digests(journal: Journal) -> list[tuple[AttemptKey, str]]:
    """Return the files with judges' replies: each attempt keeps its own, even if its grade was superseded."""
    given = [one.grade for one in journal.records if isinstance(one, GradeGiven)]
    named = [
        ((one.key, one.attempt), part.replies_digest)
        for one in given
        if one.judge is not None
        for part in one.judge.each
    ]
    return [(which, digest) for which, digest in dict.fromkeys(named) if digest]


def changed_run_json(files: RunFiles, journal: Journal) -> Iterator[str]:
    """Report whether run.json was changed, if the journal has its digest. Blocks."""
    if journal.state.started is None or not journal.state.started.run_json:
        return
    try:
        digest = file_digest(files.provenance)
    except OSError as error:
        yield f"{files.provenance} can't be read: {error.strerror}"
        return
    if digest != journal.state.started.run_json:
        yield f"{files.provenance} is not as it was written"


def changed_result(files: RunFiles, journal: Journal, data: Aggregate) -> Iterator[str]:
    """Report which parts of the result file do not follow from the journal, whose aggregate is `data`. Blocks.

    A missing result file is not a difference: the runner died before writing it, and `resume` writes it. Neither is one
    that names an earlier record of the journal as the last: the run was continued and its runner died.
    """
    try:
        found = decode_json(files.aggregate.read_bytes(), dict[str, object])
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        yield f"{files.aggregate} can't be read: {error}"
        return
    named = found.get("journal")
    if not isinstance(named, dict):
        if journal.state.started is not None and journal.state.started.run_json:
            yield f"{files.aggregate} does not name its journal"
        return
    number, digest = named.get("records"), named.get("digest")
    if not isinstance(number, int) or not 0 <= number <= journal.length or journal.digests[number] != digest:
        yield f"{files.aggregate} is of another journal, or the journal has lost its end"
    elif number == journal.length:
        expected = decode_json(msgspec.json.encode(data))
        # keys that only a later release writes are not differences
        for key in (key for key, value in found.items() if key not in expected or value != expected[key]):
            yield f"{files.aggregate} is not what the journal gives: {key}"

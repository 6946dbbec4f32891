"""Verify that a run's files are as the runner wrote them: run.json, the journal, the evidence, and the result file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.errors import AlteredRunError, ResultsError
from pinchbench.results.evidence_files import Evidence, changed_files
from pinchbench.results.finished_run import changed_run_json, read_run
from pinchbench.results.journal.journal import Journal, read_journal
from pinchbench.results.records import GradeGiven, RegradeStarted, TrialFinished, TrialStarted

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.result_json import Aggregate

    AttemptKey = tuple[TrialKey, int]


class State(StrEnum):
    """The result of verifying a run."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    ALTERED = "altered"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """The findings on a run, as `verify --json` prints them; its help names the keys."""

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
        stated = sum(len(digests) for _, _, digests in stated_evidence(files, journal))
        differences = [*journal.differences, *changed_run_json(files, journal), *changed_evidence(files, journal)]
        differences += changed_result(files, journal, read_run(files).data)
    except ResultsError as error:
        return Verified(run=files.name, problem=str(error))
    return Verified(
        run=files.name,
        records=journal.length,
        files=stated + bool(journal.state.started is not None and journal.state.started.run_json),
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


def refuse_altered(files: RunFiles, attempts: Container[AttemptKey] | None = None) -> None:
    """Raise AlteredRunError if the journal, run.json or evidence was changed after it was written.

    `attempts` restricts the check of evidence to these attempts; None means all. Missing or added files are no reason
    to refuse: a trial without its evidence is not regraded.
    Blocks. Raises ResultsError if the run can't be read.
    """
    journal = read_journal(files.journal)
    found = [*journal.differences, *changed_run_json(files, journal)]
    found += changed_evidence(files, journal, attempts, strictly=False)
    if found:
        raise AlteredRunError.of(found, run=files.folder)


def changed_evidence(
    files: RunFiles, journal: Journal, attempts: Container[AttemptKey] | None = None, *, strictly: bool = True
) -> Iterator[str]:
    """Report which evidence files were changed; `attempts` None means those of all attempts. Blocks.

    With `strictly`, missing and added files are reported too.
    """
    for which, paths, stated in stated_evidence(files, journal):
        if attempts is None or which in attempts:
            yield from changed_files(paths, stated, strictly=strictly)


def stated_evidence(
    files: RunFiles, journal: Journal
) -> Iterator[tuple[AttemptKey, Sequence[Path], Mapping[str, str]]]:
    """Yield groups of files that attempts and their grades may have, with the digests that the journal has, by name."""
    for which, outcome in final_outcomes(journal).items():
        if outcome.files is not None:
            yield which, Evidence(folder=files.folder / outcome.evidence).of_agent, outcome.files
    for which, grade in final_grades(journal).items():
        if grade.files is not None:
            yield which, [Evidence(folder=files.trial(*which)).check_log], grade.files
    for which, digest in _reply_digests(journal):
        path = Evidence(folder=files.trial(*which)).judge_replies(digest)
        yield which, [path], {path.name: digest}


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


def _reply_digests(journal: Journal) -> list[tuple[AttemptKey, str]]:
    """Return the files with judges' replies: each attempt keeps its own, even if its grade was superseded."""
    given = [one.grade for one in journal.records if isinstance(one, GradeGiven)]
    named = [((one.key, one.attempt), part.replies_digest) for one in given if one.judge for part in one.judge.each]
    return [(which, digest) for which, digest in dict.fromkeys(named) if digest]


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

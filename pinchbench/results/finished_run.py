"""A run read from its files: its settings, the outcome of each trial, and the aggregate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from pinchbench.model.ending import Stop
from pinchbench.model.grade import Grade, Ungraded
from pinchbench.results.agent_caused import possibly_caused_by_agent
from pinchbench.results.aggregate import aggregate, attempted, ending_of
from pinchbench.results.evidence_files import file_digest
from pinchbench.results.journal.journal import Journal, collector_paused, read_journal
from pinchbench.results.manifest import RunFacts, read_facts
from pinchbench.results.overview import trial_score
from pinchbench.results.paths import RunFiles, write_json
from pinchbench.results.result_json import Aggregate, JournalEnd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.records import RunFinished
    from pinchbench.results.run_state import TrialState


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRun:
    """The contents of a run's files, whether it has ended, was killed, or is still in progress.

    Attributes:
        facts: those that hold now, after every resumption. If its experiment was decided before all trials were made,
            the others are not in the plan.
        outcomes: the attempt that counts of each planned trial, as `grades` are the grades that count; `attempts` holds
            all.
        end: how its last runner ended it; None if that runner died or is still working, or if there was nothing left to
            do.
        caused_by_agent: the trials without a score, which the agent may have caused.
        differences: the changes made to the journal and run.json after they were written.
        unfinished: how many trials `resume` would run or grade.
        data: the aggregate.
    """

    files: RunFiles
    facts: RunFacts
    # not shown: this is megabytes of text
    journal: Journal = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)
    grades: Mapping[TrialKey, Grade] = field(repr=False)
    attempts: Mapping[TrialKey, TrialState] = field(repr=False)
    data: Aggregate = field(repr=False)
    caused_by_agent: frozenset[TrialKey] = frozenset()
    differences: tuple[str, ...] = ()
    unfinished: int = 0
    end: RunFinished | None = None

    @property
    def model(self) -> str:
        """The model's name in OpenClaw."""
        return self.facts.model

    @property
    def pass_threshold(self) -> float:
        """The score from which a trial counts as passed, in 0-1."""
        return self.facts.pass_threshold

    def score(self, key: TrialKey) -> float | None:
        """Return a trial's score for means, in 0-1; None if it has none or failed for infrastructure reasons."""
        attempts = self.attempts.get(key)
        return None if attempts is None else trial_score(attempts.counting, self.grades.get(key))


@collector_paused()
def read_run(files: RunFiles) -> PastRun:
    """Read a run, even one that is still being written. Blocks, in proportion to its trials.

    The same files give the same values. Raises ResultsError if they can't be read.
    """
    first = read_facts(files.provenance)
    journal = read_journal(files.journal, created_at=first.created_at)
    state = journal.state
    facts = state.facts_now(first)
    plan = state.needed(facts.keys)
    planned = set(plan)
    attempts = attempted(state)
    end = JournalEnd(records=journal.length, digest=journal.digests[-1]) if journal.digests else UNSET
    return PastRun(
        files=files,
        facts=msgspec.structs.replace(facts, plan=[(key.task_id, key.repetition) for key in plan]),
        journal=journal,
        outcomes=tuple(outcome for outcome in state.outcomes if outcome.key in planned),
        grades=state.grades,
        attempts=attempts,
        data=aggregate(facts, state, run=files.name, journal=end),
        caused_by_agent=possibly_caused_by_agent(attempts) & planned,
        differences=(*journal.differences, *changed_run_json(files, journal)),
        unfinished=state.unfinished(plan),
        end=ending_of(facts, state),
    )


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a run came to.

    `path` is the file of the aggregate, which `data` is; `folder` holds the journal, run.json and the evidence of each
    trial. `outcomes` and `grades` have the attempt of each trial that counts, `titles` the titles of tasks by their
    ids. `unfinished` says how many trials `resume` would run or grade. `interrupted` names the signal that ended the
    run early, `stopped` says why it ended itself early, and `stop` of which kind that was; `problems` what was wrong
    with the journal.
    """

    run_id: str
    path: Path
    folder: Path
    # not shown: asyncio puts the value of its main task into words on leaving, and these are megabytes
    data: Aggregate = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)
    grades: Mapping[TrialKey, Grade] = field(repr=False)
    titles: Mapping[str, str] = field(repr=False)
    planned: int
    unfinished: int = 0
    interrupted: str | None = None
    stopped: str = ""
    stop: Stop | None = None
    problems: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every planned trial ended in a way that says something about the model, and has its grade.

        Grades that are missing only because no judge was asked for are no fault of the run. A run whose experiment is
        decided without the trials that failed needs them no more.
        """
        if self.stop is Stop.DECIDED:
            return not self.unfinished
        ended = len(self.outcomes) == self.planned and all(one.reason.is_valid for one in self.outcomes)
        graded = {key for key, grade in self.grades.items() if grade.ungraded in (None, Ungraded.NO_JUDGE)}
        return ended and not self.unfinished and graded.issuperset(one.key for one in self.outcomes)


def derive_result(files: RunFiles) -> Result:
    """Write the aggregate of a run and return its result. Blocks.

    The same files give the same aggregate, byte by byte. Raises ResultsError when they can't be read or written.
    """
    run = read_run(files)
    write_json(files.aggregate, run.data)
    return Result(
        run_id=run.facts.run_id,
        path=files.aggregate,
        folder=files.folder,
        data=run.data,
        outcomes=run.outcomes,
        grades=run.grades,
        titles=run.facts.titles,
        planned=len(run.facts.plan),
        unfinished=run.unfinished,
        interrupted=run.data.interrupted,
        stopped=run.data.stopped,
        stop=run.data.stop,
        problems=run.journal.problems,
    )

"""A run read from its files: its settings, the outcome of each trial, and the aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.model.ending import Stop
from pinchbench.model.grade import Ungraded
from pinchbench.results.paths import write_json

if TYPE_CHECKING:
    from pathlib import Path

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from pinchbench.defaults import DEFAULT_PASS_THRESHOLD
from pinchbench.errors import ResultsError
from pinchbench.results.agent_caused import possibly_caused_by_agent
from pinchbench.results.aggregate import aggregate
from pinchbench.results.altered import changed_run_json
from pinchbench.results.collector import collector_paused
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.manifest import read_facts
from pinchbench.results.overview import trial_score
from pinchbench.results.result_json import JournalEnd, Limits
from pinchbench.results.suites import suites_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.journal.journal import Journal
    from pinchbench.results.journal.records import RunFinished
    from pinchbench.results.manifest import RunFacts
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.result_json import Aggregate
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
        return str(self.facts.config.get("model"))

    @property
    def pass_threshold(self) -> float:
        """The score from which a trial counts as passed, in 0-1."""
        return threshold_of(self.facts)

    def score(self, key: TrialKey) -> float | None:
        """Return a trial's score for means, in 0-1; None if it has none or failed for infrastructure reasons."""
        attempts = self.attempts.get(key)
        return None if attempts is None else trial_score(attempts.counting, self.grades.get(key))


def threshold_of(facts: RunFacts) -> float:
    """Return the score from which a run's trial counts as passed."""
    value = facts.config.get("pass_threshold")
    return float(value) if isinstance(value, int | float) else DEFAULT_PASS_THRESHOLD


def _limits(facts: RunFacts) -> Limits:
    try:
        return msgspec.convert(facts.config, Limits)
    except msgspec.ValidationError as error:
        raise ResultsError(f"The limits in the settings of the run {facts.run_id} can't be read: {error}.") from error


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
    not_needed = len(facts.plan) - len(plan)
    facts = msgspec.structs.replace(facts, plan=[(key.task_id, key.repetition) for key in plan])
    planned = set(plan)
    outcomes = tuple(outcome for outcome in state.outcomes if outcome.key in planned)
    unfinished = state.unfinished(plan)
    # a signal or limit that arrived when everything was done did not end the run
    end = state.finished if unfinished or state.is_decided else None
    attempts = {key: trial for key, trial in state.trials.items() if trial.outcomes}
    grades = state.grades
    caused = possibly_caused_by_agent(attempts) & planned
    suite = facts.config.get("suite")
    data = aggregate(
        model=str(first.config.get("model")),
        run_id=facts.run_id,
        timestamp=state.finished.at if state.finished is not None else facts.created_at,
        plan=plan,
        not_needed=not_needed,
        outcomes=outcomes,
        suite=suite if isinstance(suite, str) else None,
        suite_format=facts.suite_format,
        form=facts.form,
        score_rule=facts.score_rule,
        end=end,
        limits=_limits(facts),
        sessions=state.sessions,
        changes=state.changes,
        run=files.name,
        journal=JournalEnd(records=journal.length, digest=journal.digests[-1]) if journal.digests else UNSET,
        attempts=attempts,
        attempt_grades=state.attempt_grades,
        grades=grades,
        graded=state.given,
        categories={task_id: task.category for task_id, task in facts.tasks.items()},
        pass_threshold=threshold_of(facts),
        caused_by_agent=caused,
        control=state.control,
        skipped=state.skipped,
        probes=state.probes,
        hardware=state.hardware,
        suites=suites_of(facts),
        mean_across_suites=facts.has_mean,
    )
    return PastRun(
        files=files,
        facts=facts,
        journal=journal,
        outcomes=outcomes,
        grades=grades,
        attempts=attempts,
        data=data,
        caused_by_agent=caused,
        differences=(*journal.differences, *changed_run_json(files, journal)),
        unfinished=unfinished,
        end=end,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a run came to.

    `path` is the aggregate, `folder` holds the journal, run.json and each trial's evidence. `data` is what stands in
    the aggregate. `outcomes` and `grades` hold of each trial the attempt that counts. `unfinished`
    says how many trials `resume` would run or grade. `interrupted` names the signal that
    ended the run early, `stopped` says why it ended itself early, and `stop` of which kind that was; `problems` what
    was wrong with the journal.
    """

    run_id: str
    path: Path
    folder: Path
    # not shown: asyncio puts the value of its main task into words on leaving, and these are megabytes
    data: Aggregate = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)
    grades: Mapping[TrialKey, Grade] = field(repr=False)
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
        return ended and not self.unfinished and all(self._is_graded(one.key) for one in self.outcomes)

    def _is_graded(self, key: TrialKey) -> bool:
        grade = self.grades.get(key)
        return grade is not None and grade.ungraded in (None, Ungraded.NO_JUDGE)


def derive_result(files: RunFiles) -> Result:
    """Write the aggregate of a run and return its result. Blocks.

    The same files give the same aggregate, byte by byte. Raises ResultsError when they can't be read or written.
    """
    run = read_run(files)
    write_json(files.aggregate, run.data)
    end = run.end
    return Result(
        run_id=run.facts.run_id,
        path=files.aggregate,
        folder=files.folder,
        data=run.data,
        outcomes=run.outcomes,
        grades=run.grades,
        planned=len(run.facts.plan),
        unfinished=run.unfinished,
        interrupted=end.interrupted if end is not None else None,
        stopped=end.stopped if end is not None else "",
        stop=end.stop if end is not None else None,
        problems=run.journal.problems,
    )

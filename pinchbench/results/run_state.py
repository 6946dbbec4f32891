"""The state of a run: one fold over the records of its journal (pure).

Nothing else decides whether a trial is done, which of its attempts and grades count, and what is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, get_args

import msgspec

from pinchbench.events import GradedBefore
from pinchbench.model.ending import Reason, Stop
from pinchbench.results import records
from pinchbench.results.control_state import ControlState
from pinchbench.results.statistics import is_passed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.manifest import RunFacts
    from pinchbench.results.node_times import Hardware
    from pinchbench.results.records import ProbeFacts, Record

Session = tuple[float, float]
# Sets of types: a run has hundreds of thousands of records, and looking through a union takes a microsecond for each.
ENDS_OF_RUNNERS = frozenset({records.RunFinished, records.RegradeStarted})
FROM_ELSEWHERE = frozenset(
    {records.RegradeStarted, *get_args(records.Control)}
)  # may be written after the runner's last record


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialState:
    """The state of one trial.

    Attributes:
        outcomes: the attempts at the present version of the task, in the order in which they ended.
        next_attempt: the number of the next attempt. An interrupted attempt is repeated under its number; one at an
            earlier version of the task has used up its number.
        retries: how many retries were promised so far, if the last of them has not ended by itself.
        is_requeued: whether the user has asked for another attempt, which has not ended by itself yet.
        requeued_from: the number of the first attempt that the user has asked for; None if there is none.
    """

    outcomes: tuple[Outcome, ...] = ()
    next_attempt: int = 1
    retries: int = 0
    is_requeued: bool = False
    requeued_from: int | None = None

    @property
    def ended(self) -> tuple[Outcome, ...]:
        """The attempts that ended by themselves; an interrupted one is repeated under its number."""
        return tuple(one for one in self.outcomes if one.reason.is_attempt)

    @property
    def first(self) -> Outcome:
        """The first attempt that ended by itself, or the first of all if none did. Needs an outcome."""
        return next(iter(self.ended), self.outcomes[0])

    @property
    def counting(self) -> Outcome:
        """The last final attempt; else the last that ended by itself; else the last. Needs an outcome."""
        return _counting(self.outcomes)

    @property
    def counting_before(self) -> Outcome | None:
        """The attempt that would count without those that the user has asked for; None if there would be none."""
        if self.requeued_from is None:
            return self.counting
        before = [one for one in self.ended if one.attempt < self.requeued_from]
        return _counting(before) if before else None

    @property
    def is_done(self) -> bool:
        """Whether an attempt is final and no retry was promised: the trial needs no further attempt."""
        return not (self.retries or self.is_requeued) and any(one.reason.is_final for one in self.outcomes)

    @property
    def has_ended(self) -> bool:
        """Whether an attempt has ended by itself, or could not be made."""
        return any(one.reason is not Reason.INTERRUPTED for one in self.outcomes)

    def after(self, outcome: Outcome, *, retried: bool) -> TrialState:
        """Return the state after an attempt has ended; `retried`: another one is to follow."""
        outcomes = (*self.outcomes, outcome)
        if not outcome.reason.is_attempt:
            return replace(self, outcomes=outcomes)
        return TrialState(
            outcomes=outcomes,
            next_attempt=max(self.next_attempt, outcome.attempt + 1),
            retries=self.retries + 1 if retried else 0,
            requeued_from=self.requeued_from,
        )

    def requeued(self) -> TrialState:
        """Return the state after the user has asked for another attempt."""
        first = self.next_attempt if self.requeued_from is None and self.outcomes else self.requeued_from
        return replace(self, retries=0, is_requeued=True, requeued_from=first)

    def with_task(self, digest: str) -> TrialState:
        """Return the state after the task has changed: attempts at other versions of it no longer count."""
        outcomes = tuple(one for one in self.outcomes if one.digest == digest)
        if len(outcomes) == len(self.outcomes):
            return replace(self, retries=0)
        return TrialState(outcomes=outcomes, next_attempt=self.next_attempt)


def _counting(outcomes: Sequence[Outcome]) -> Outcome:
    if len(outcomes) == 1:  # nearly always
        return outcomes[0]
    return max(reversed(outcomes), key=_weight)


def _weight(outcome: Outcome) -> int:
    if outcome.reason.is_final:
        return 2
    return 1 if outcome.reason.is_attempt else 0


def is_final(grade: Grade | None) -> bool:
    """Whether an attempt needs no further grading: it has a score, or none for a reason that is not transient."""
    return grade is not None and (grade.ungraded is None or not grade.ungraded.is_transient)


@dataclass(frozen=True, kw_only=True, slots=True)
class Remaining:
    """What is left of a plan: the trials that need another attempt, and the attempts that are not graded yet."""

    keys: tuple[TrialKey, ...]
    ungraded: tuple[Outcome, ...]


@dataclass(kw_only=True, slots=True)
class RunState:
    """The state of a run after the records so far.

    Attributes:
        created_at: when the run was created, in seconds since the epoch; its first session starts no later.
        started: the first record, if it is whole.
        finished: how the last runner ended the run; None while it works, or if it died.
        resumed: each resumption of the run.
        trials: each trial with an attempt that has ended, in the order of their first ends.
        running: the trials with an attempt that has started and not ended, if their runner lives.
        attempts: every outcome, and `given` every grade, in the order in which they were written.
        attempt_grades: the grade that counts of each attempt, by its number. That is the latest one, except that for
            the same version of the task a failure to grade never replaces a score: a judge's failure is no evidence
            against it.
        sessions: start and end of each runner's work, in seconds since the epoch. Regrading later is not a session.
        control: what the user has asked of the run while it worked.
        probes: those of its model, in the order in which they ended.
        hardware: that of each node of a cluster, by name, as it last was.
        node_ids: the ids that the cluster has given to its nodes, by name; empty where they were not recorded.
    """

    created_at: float = inf
    started: records.RunStarted | None = None
    finished: records.RunFinished | None = None
    resumed: list[records.RunResumed] = field(default_factory=list)
    trials: dict[TrialKey, TrialState] = field(default_factory=dict, repr=False)
    running: set[TrialKey] = field(default_factory=set, repr=False)
    attempts: list[Outcome] = field(default_factory=list, repr=False)
    given: list[Grade] = field(default_factory=list, repr=False)
    attempt_grades: dict[tuple[TrialKey, int], Grade] = field(default_factory=dict, repr=False)
    sessions: list[Session] = field(default_factory=list)
    control: ControlState = field(default_factory=ControlState)
    probes: list[ProbeFacts] = field(default_factory=list, repr=False)
    hardware: dict[str, Hardware] = field(default_factory=dict, repr=False)
    node_ids: dict[str, str] = field(default_factory=dict, repr=False)
    _has_runner: bool = False

    @classmethod
    def of(cls, records: Iterable[Record], *, created_at: float = inf) -> Self:
        """Return the state after all these records."""
        state = cls(created_at=created_at)
        for record in records:
            state.apply(record)
        return state

    def apply(self, record: Record) -> None:  # noqa: C901, PLR0912 - one for each
        """Take the next record of the journal."""
        match record:
            case records.TrialStarted(key=key):  # a third of all records
                self.finished = None
                self.running.add(key)
            case records.RunStarted():
                self.finished = None
                self.started = self.started or record
            case records.RunFinished():
                self.finished = record
            case records.RunResumed(tasks=tasks):
                self.finished = None  # until this runner ends it
                self.resumed.append(record)
                self.running.clear()
                self.control.settings.clear()  # its own options contain them
                for key, trial in self.trials.items():
                    if (task := tasks.get(key.task_id)) is not None:
                        self.trials[key] = trial.with_task(task.digest)
            case records.TrialFinished(outcome=outcome, retried=retried):
                self.finished = None
                self.attempts.append(outcome)
                self.running.discard(outcome.key)
                if outcome.node:
                    self.node_ids.setdefault(outcome.node, "")
                trial = self.trials.get(outcome.key, NEW_TRIAL)
                self.trials[outcome.key] = trial.after(outcome, retried=retried)
            case records.GradeGiven(grade=grade):
                self.given.append(grade)
                before = self.attempt_grades.get((grade.key, grade.attempt))
                keeps = before is not None and before.score is not None and before.digest == grade.digest
                if grade.score is not None or not keeps:
                    self.attempt_grades[grade.key, grade.attempt] = grade
            case records.ProbeEnded(probe=probe):
                self.probes.append(probe)
            case records.NodeUsed():
                self.hardware[record.name] = record.hardware
                self.node_ids[record.name] = record.id or ""
            case records.TrialRequeued(key=key):
                self.trials[key] = self.trials.get(key, NEW_TRIAL).requeued()
                self.control.apply(record)
            case _ if isinstance(record, records.Control):
                self.control.apply(record)
            case _:
                pass
        self._apply_session(record)

    def _apply_session(self, record: Record) -> None:
        match record:
            case records.RunStarted(at=at):
                self.sessions.append((min(self.created_at, at), at))
                self._has_runner = True
            case records.RunResumed(at=at):
                self.sessions.append((at, at))
                self._has_runner = True
            case _ if self._has_runner:
                if type(record) not in FROM_ELSEWHERE:
                    start, end = self.sessions[-1]
                    self.sessions[-1] = (start, max(end, _when(record)))
                self._has_runner = type(record) not in ENDS_OF_RUNNERS
            case _:
                pass

    @property
    def paid_attempts(self) -> tuple[Outcome, ...]:
        """The attempts that this run has made itself."""
        return tuple(one for one in self.attempts if not one.reused_from)

    @property
    def paid_grades(self) -> tuple[Grade, ...]:
        """The grades but those that came with reused attempts."""
        began = self.started.at if self.started is not None else 0.0
        reused = {(one.key, one.attempt) for one in self.attempts if one.reused_from}
        return tuple(one for one in self.given if (one.key, one.attempt) not in reused or one.graded_at >= began)

    @property
    def is_decided(self) -> bool:
        """Whether the experiment of the run was decided when it ended: it needs no trial that was not made."""
        return self.finished is not None and self.finished.stop is Stop.DECIDED

    def needed(self, plan: Iterable[TrialKey]) -> tuple[TrialKey, ...]:
        """Return the trials of a plan that are needed: all, or those that ended before the run was decided."""
        return tuple(key for key in plan if not self.is_decided or self.trials.get(key, NEW_TRIAL).has_ended)

    @property
    def gone(self) -> frozenset[str]:
        """The tasks that were no longer in the suite when the run was resumed, which the user accepted."""
        return frozenset(task_id for record in self.resumed for task_id in record.gone)

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes that were accepted when the run was resumed."""
        return tuple(change for record in self.resumed for change in record.changes)

    def facts_now(self, facts: RunFacts) -> RunFacts:
        """Return the facts of run.json as they are after each resumption and each command."""
        facts = as_resumed(facts, self.resumed)
        return msgspec.structs.replace(facts, config={**facts.config, **self.control.settings})

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcome that counts for each trial that has one."""
        return tuple(
            trial.counting for key, trial in self.trials.items() if trial.outcomes and not self._is_cut(key, trial)
        )

    def _is_cut(self, key: TrialKey, trial: TrialState) -> bool:
        """Whether a trial has only attempts that were ended from outside, and needs no other: it counts as skipped."""
        return key in self.control.skipped and all(one.reason is Reason.INTERRUPTED for one in trial.outcomes)

    @property
    def skipped(self) -> set[TrialKey]:
        """The trials that need no attempt because the user has said so, and have none that ended by itself."""
        return self.control.skipped.keys() - {outcome.key for outcome in self.outcomes}

    @property
    def grades(self) -> dict[TrialKey, Grade]:
        """The grade that counts for each trial that has one: that of the attempt that counts."""
        counting = {outcome.key: outcome.attempt for outcome in self.outcomes}
        given = self.attempt_grades.items()
        return {key: grade for (key, attempt), grade in given if counting.get(key, attempt) == attempt}

    @property
    def retried(self) -> dict[TrialKey, int]:
        """The trials whose promised retry has not ended by itself, with the number of retries so far."""
        return {key: trial.retries for key, trial in self.trials.items() if trial.retries}

    def next_attempt(self, key: TrialKey) -> int:
        """Return the number of the next attempt at a trial."""
        return self.trials.get(key, NEW_TRIAL).next_attempt

    def is_done(self, key: TrialKey) -> bool:
        """Whether a trial needs no further attempt, be it that the user has skipped it or the whole run needs none."""
        return self.is_decided or key in self.control.skipped or self.trials.get(key, NEW_TRIAL).is_done

    def is_graded(self, outcome: Outcome) -> bool:
        """Whether an attempt needs no further grading."""
        return is_final(self.attempt_grades.get((outcome.key, outcome.attempt)))

    def unfinished(self, plan: Iterable[TrialKey]) -> int:
        """Return how many trials of a plan `resume` would run or grade."""
        gone = self.gone
        keys = [key for key in self.needed(plan) if key.task_id not in gone]
        return sum(not (self.is_done(key) and self._needs_no_grade(key)) for key in keys)

    def _needs_no_grade(self, key: TrialKey) -> bool:
        outcomes = self.trials.get(key, NEW_TRIAL).outcomes
        return not outcomes or not _counting(outcomes).reason.is_valid or self.is_graded(_counting(outcomes))

    def left(self, plan: Iterable[TrialKey]) -> Remaining:
        """Return what is left of a plan, in its order, without trials of tasks that are gone."""
        gone = self.gone
        keys = [key for key in plan if key.task_id not in gone]
        return Remaining(
            keys=tuple(key for key in keys if not self.is_done(key)),
            ungraded=tuple(
                one
                for key in keys
                for one in self.trials.get(key, NEW_TRIAL).outcomes
                if one.reason.is_valid and not self.is_graded(one)
            ),
        )

    def tally(self, keys: Iterable[TrialKey], *, threshold: float) -> GradedBefore:
        """Count the valid, graded ones of these trials by grade; a trial passes from a score of `threshold` on."""
        counting = [self.trials[key].counting for key in keys if key in self.trials and self.trials[key].outcomes]
        valid = [one for one in counting if one.reason.is_valid and self.is_graded(one)]
        grades = [self.attempt_grades[one.key, one.attempt] for one in valid]
        scores: dict[str, tuple[float, ...]] = {}
        for grade in grades:
            if grade.score is not None:
                scores[grade.key.task_id] = (*scores.get(grade.key.task_id, ()), grade.score)
        given = [score for own in scores.values() for score in own]
        passed = sum(is_passed(score, threshold) for score in given)
        return GradedBefore(passed=passed, failed=len(given) - passed, ungraded=len(grades) - len(given), scores=scores)


NEW_TRIAL = TrialState()


def _when(record: Record) -> float:
    match record:
        case records.TrialFinished(outcome=outcome):
            return outcome.ended_at
        case records.GradeGiven(grade=grade):
            return grade.graded_at
        case _:
            return record.at


def as_resumed(facts: RunFacts, resumed: Sequence[records.RunResumed]) -> RunFacts:
    """Return the facts of a run after it was resumed: the changes hold for what is run from then on."""
    for record in resumed:
        facts = msgspec.structs.replace(
            facts,
            config=record.config,
            versions=record.versions,
            tasks={**facts.tasks, **record.tasks},
            additions=record.additions,
        )
    return facts

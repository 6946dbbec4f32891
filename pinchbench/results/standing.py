"""How far a run has come, as its journal says: what of its plan is done, and what was used for it.

Of each record only what that takes is decoded, and kept: a journal may hold the outcomes of 100 000 trials.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from pinchbench.model import Reason, TrialKey, Ungraded
from pinchbench.results.reading import read_again, read_pieces
from pinchbench.results.records import (
    PaceSet,
    RegradeStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    TrialFinished,
    decode,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pinchbench.model import Outcome


class KeyMark(msgspec.Struct, frozen=True, gc=False):
    """A `TrialKey` that is compared and hashed in no time."""

    task_id: str
    repetition: int


class UsageMark(msgspec.Struct, frozen=True, gc=False):
    """The same as a `Usage`, for less."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float = 0.0


class OutcomeMark(msgspec.Struct, frozen=True, gc=False):
    """What the rest of a run depends on of an `Outcome`."""

    key: KeyMark
    reason: Reason
    digest: str
    attempt: int = 1
    execution_time_s: float = 0.0
    setup_s: float = 0.0
    usage: UsageMark = UsageMark()


class FinishedMark(msgspec.Struct, frozen=True, gc=False, tag="outcome", tag_field="type"):
    """The same of `TrialFinished`."""

    outcome: OutcomeMark
    retried: bool = False


class JudgeMark(msgspec.Struct, frozen=True, gc=False):
    """The same of a `JudgeGrade`."""

    usage: UsageMark = UsageMark()
    cost_usd: float | None = None


class GradeMark(msgspec.Struct, frozen=True, gc=False):
    """The same of a `Grade`."""

    key: KeyMark
    attempt: int = 1
    score: float | None = None
    ungraded: Ungraded | None = None
    digest: str = ""
    judge: JudgeMark | None = None


class GivenMark(msgspec.Struct, frozen=True, gc=False, tag="grade", tag_field="type"):
    """The same of `GradeGiven`."""

    grade: GradeMark


class StartedMark(msgspec.Struct, frozen=True, gc=False, tag="trial_started", tag_field="type"):
    """Nothing of `TrialStarted`: an attempt that never ended leaves no trace."""


Mark = RunStarted | RunResumed | StartedMark | FinishedMark | GivenMark | PaceSet | RunFinished | RegradeStarted
_decoder = msgspec.json.Decoder(Mark)


def decode_mark(line: bytes) -> Mark:
    """Read as much of one line as a mark holds. Raises ValueError as `records.decode`."""
    try:
        mark: Mark = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return mark


class _Trial(msgspec.Struct, gc=False):
    """What the journal says of one trial.

    `ended` are the attempts with the task as it is now, and `at` where their lines begin.
    """

    ended: tuple[OutcomeMark, ...] = ()
    at: tuple[int, ...] = ()
    grades: tuple[GradeMark, ...] = ()
    number: int = 1  # of the next attempt
    retries: int = 0  # so far, where another attempt was promised and has not ended by itself

    def take(self, outcome: OutcomeMark, at: int, *, retried: bool) -> None:
        self.ended += (outcome,)
        self.at += (at,)
        if outcome.reason is not Reason.INTERRUPTED:
            self.number = max(self.number, outcome.attempt + 1)
            self.retries = self.retries + 1 if retried else 0

    @property
    def is_done(self) -> bool:
        """Whether an attempt says something about the model, and no other was promised."""
        if self.retries:
            return False
        for outcome in self.ended:  # noqa: SIM110 - twice as fast
            if _counts(outcome.reason):
                return True
        return False

    def ungraded(self) -> list[int]:
        """Where the lines of the attempts begin that say something about the model and have not got their grade."""
        return [
            at
            for outcome, at in zip(self.ended, self.at, strict=True)
            if _counts(outcome.reason) and not self._is_graded(outcome.attempt)
        ]

    def _is_graded(self, attempt: int) -> bool:
        """As `Journal.graded`."""
        latest: GradeMark | None = None
        for grade in self.grades:
            keeps = latest is not None and latest.score is not None and latest.digest == grade.digest
            if grade.attempt == attempt and (grade.score is not None or not keeps):
                latest = grade
        return latest is not None and (latest.ungraded is None or not latest.ungraded.passes)

    def change(self, digest: str) -> None:
        kept = [(outcome, at) for outcome, at in zip(self.ended, self.at, strict=True) if outcome.digest == digest]
        self.ended, self.at = tuple(outcome for outcome, _ in kept), tuple(at for _, at in kept)
        self.retries = 0


def _counts(reason: Reason) -> bool:
    return reason is Reason.COMPLETED or reason.counts  # the usual one without a look at all the others


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What of a plan is left: the trials that need another attempt, and the attempts that wait for their grade."""

    keys: tuple[TrialKey, ...]
    ungraded: tuple[Outcome, ...]


class Standing:
    """How far a run has come.

    `outcomes` are all attempts that have ended, `grades` all grades that were ever given, `resumed` is each time that the
    run was resumed.
    """

    def __init__(self, path: Path) -> None:
        """Read a journal in whatever state; one that does not exist is empty. Blocks. Raises ResultsError."""
        self._path = path
        self._trials: dict[KeyMark, _Trial] = defaultdict(_Trial)
        self.outcomes: list[OutcomeMark] = []
        self.grades: list[GradeMark] = []
        self.resumed: list[RunResumed] = []
        if not path.exists():  # the runner died before it began
            return
        for piece in read_pieces(path, decode_mark):
            for mark, at in zip(piece.records, piece.at, strict=True):
                if isinstance(mark, FinishedMark):
                    self.outcomes.append(mark.outcome)
                    self._trials[mark.outcome.key].take(mark.outcome, at, retried=mark.retried)
                elif isinstance(mark, GivenMark):
                    self.grades.append(mark.grade)
                    self._trials[mark.grade.key].grades += (mark.grade,)
                elif isinstance(mark, RunResumed):
                    self._resume(mark)

    def _resume(self, record: RunResumed) -> None:
        self.resumed.append(record)
        for key, trial in self._trials.items():
            if (task := record.tasks.get(key.task_id)) is not None:
                trial.change(task.digest)

    @property
    def gone(self) -> frozenset[str]:
        """The tasks that were no longer in the suite when the run was resumed, and accepted so."""
        return frozenset(task_id for record in self.resumed for task_id in record.gone)

    @property
    def retried(self) -> dict[TrialKey, int]:
        """As `promised_retries`."""
        promised = ((key, trial.retries) for key, trial in self._trials.items() if trial.retries)
        return {TrialKey(task_id=key.task_id, repetition=key.repetition): retries for key, retries in promised}

    def next_attempt(self, key: TrialKey) -> int:
        """The number of the next attempt at a trial.

        An interrupted attempt is made again under its number. One with an earlier state of the task has used its number up.
        """
        trial = self._trials.get(KeyMark(key.task_id, key.repetition))
        return trial.number if trial is not None else 1

    def left(self, plan: Iterable[tuple[str, int]]) -> Left:
        """What is left of a plan, in its order. Trials of tasks that are gone are not. Blocks. Raises ResultsError."""
        gone = self.gone
        keys: list[TrialKey] = []
        waiting: list[int] = []
        for task_id, repetition in plan:
            if task_id in gone:
                continue
            trial = self._trials.get(KeyMark(task_id, repetition))
            if trial is None or not trial.is_done:
                keys.append(TrialKey(task_id=task_id, repetition=repetition))
            if trial is not None:
                waiting += trial.ungraded()
        lines = read_again(self._path, waiting, decode)
        whole = (record for records in lines for record in records)
        return Left(keys=tuple(keys), ungraded=tuple(one.outcome for one in whole if isinstance(one, TrialFinished)))

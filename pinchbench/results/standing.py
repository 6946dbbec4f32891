"""How far a run has come, as its journal says: what of its plan is done, and what was used for it.

Of each record only what that takes is kept: a journal may hold the outcomes of 100 000 trials.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import MISSING, dataclass, fields
from math import fsum
from typing import TYPE_CHECKING, TypeVar, cast, get_type_hints

import msgspec

from pinchbench.events import Tally
from pinchbench.model import CheckGrade, Grade, JudgeGrade, Outcome, Reason, TrialKey, Ungraded
from pinchbench.results.reading import read_again, read_lines
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
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

M = TypeVar("M", bound=msgspec.Struct)


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

    def alone(self) -> OutcomeMark:
        """The same without what else was decoded with it."""
        return OutcomeMark(
            self.key, self.reason, self.digest, self.attempt, self.execution_time_s, self.setup_s, self.usage
        )

    def is_of(self, outcome: Outcome) -> bool:
        """Whether it tells of this outcome, or of one that can't be told from it."""
        return (self.key.task_id, self.key.repetition, self.attempt, self.reason, self.digest) == (
            outcome.key.task_id,
            outcome.key.repetition,
            outcome.attempt,
            outcome.reason,
            outcome.digest,
        )


class FinishedMark(msgspec.Struct, frozen=True, gc=False, tag="outcome", tag_field="type"):
    """The same of `TrialFinished`."""

    outcome: OutcomeMark
    retried: bool = False


class JudgeMark(msgspec.Struct, frozen=True, gc=False):
    """The same of a `JudgeGrade`."""

    usage: UsageMark = UsageMark()
    cost_usd: float | None = None


class CheckMark(msgspec.Struct, frozen=True, gc=False):
    """Nothing of a `CheckGrade`."""


class GradeMark(msgspec.Struct, frozen=True, gc=False):
    """The same of a `Grade`."""

    key: KeyMark
    attempt: int = 1
    score: float | None = None
    ungraded: Ungraded | None = None
    digest: str = ""
    judge: JudgeMark | None = None

    def alone(self) -> GradeMark:
        """The same without what else was decoded with it."""
        judge = self.judge and JudgeMark(self.judge.usage, self.judge.cost_usd)
        return GradeMark(self.key, self.attempt, self.score, self.ungraded, self.digest, judge)


class GivenMark(msgspec.Struct, frozen=True, gc=False, tag="grade", tag_field="type"):
    """The same of `GradeGiven`."""

    grade: GradeMark


class StartedMark(msgspec.Struct, frozen=True, gc=False, tag="trial_started", tag_field="type"):
    """The same of `TrialStarted`. An attempt that never ended leaves no trace."""

    key: KeyMark
    slot: int
    attempt: int
    at: float


def _whole(mark: type[M], value: type, **parts: object) -> type[M]:
    """A mark that is decoded with all the other fields of its `value`; `parts` are the types of some that hold marks.

    A field that a decoder does not know is not looked at, not even whether it is UTF-8. A trial must not be done by a line
    that is no record to whoever makes the result.
    """
    types = get_type_hints(value) | parts
    added = [field for field in fields(value) if field.name in parts or field.name not in mark.__struct_fields__]
    is_needed = {field.name: field.default is MISSING and field.default_factory is MISSING for field in added}
    # which default it is plays no part: the marks' own fields keep theirs, and the others are let go
    return _extended(mark, [(name, types[name], *(() if needed else (None,))) for name, needed in is_needed.items()])


def _extended(mark: type[M], added: Sequence[tuple[str, object] | tuple[str, object, None]]) -> type[M]:
    # kw_only: a field that is needed may come behind one that is not
    kind = msgspec.defstruct(mark.__name__, added, bases=(mark,), kw_only=True, frozen=True, gc=False)
    return cast("type[M]", kind)


_GRADE = _whole(
    GradeMark, Grade, judge=_whole(JudgeMark, JudgeGrade) | None, check=_whole(CheckMark, CheckGrade) | None
)
_FINISHED = _extended(FinishedMark, [("outcome", _whole(OutcomeMark, Outcome))])
_GIVEN = _extended(GivenMark, [("grade", _GRADE)])

Mark = RunStarted | RunResumed | StartedMark | FinishedMark | GivenMark | PaceSet | RunFinished | RegradeStarted
_decoder = msgspec.json.Decoder(
    RunStarted | RunResumed | StartedMark | _FINISHED | _GIVEN | PaceSet | RunFinished | RegradeStarted
)


def decode_mark(line: bytes) -> Mark:
    """Read one line, for less than `records.decode`. Raises ValueError where that does.

    What a mark does not hold is checked, and stays with it until it is taken `alone`.
    """
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
        if outcome.reason is Reason.COMPLETED or outcome.reason.is_attempt:
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

    def ungraded(self) -> list[tuple[int, OutcomeMark]]:
        """The attempts that say something about the model and have not got their grade, and where their lines begin."""
        return [
            (at, outcome)
            for outcome, at in zip(self.ended, self.at, strict=True)
            if _counts(outcome.reason) and not self._is_graded(outcome.attempt)
        ]

    def _is_graded(self, attempt: int) -> bool:
        """As `Journal.graded`."""
        latest = self.grade_of(attempt)
        return latest is not None and (latest.ungraded is None or not latest.ungraded.passes)

    def grade_of(self, attempt: int) -> GradeMark | None:
        """The grade of an attempt that counts, as `Journal.attempt_grades` has it."""
        latest: GradeMark | None = None
        for grade in self.grades:
            keeps = latest is not None and latest.score is not None and latest.digest == grade.digest
            if grade.attempt == attempt and (grade.score is not None or not keeps):
                latest = grade
        return latest

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
        for line in read_lines(path, decode_mark):
            for mark in line.records:
                if isinstance(mark, FinishedMark):
                    outcome = mark.outcome.alone()
                    self.outcomes.append(outcome)
                    self._trials[outcome.key].take(outcome, line.at, retried=mark.retried)
                elif isinstance(mark, GivenMark):
                    grade = mark.grade.alone()
                    self.grades.append(grade)
                    self._trials[grade.key].grades += (grade,)
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
        waiting: list[tuple[int, OutcomeMark]] = []
        for task_id, repetition in plan:
            if task_id in gone:
                continue
            trial = self._trials.get(KeyMark(task_id, repetition))
            if trial is None or not trial.is_done:
                keys.append(TrialKey(task_id=task_id, repetition=repetition))
            if trial is not None:
                waiting += trial.ungraded()
        return Left(keys=tuple(keys), ungraded=tuple(self._outcomes_of(waiting)))

    def tally(self, keys: Iterable[TrialKey], *, threshold: float) -> Tally:
        """Count by grade those of these trials that are done and graded; `threshold` is the score from which one passes."""
        passed = failed = ungraded = 0
        scores: list[float] = []
        for key in keys:
            trial = self._trials.get(KeyMark(key.task_id, key.repetition))
            counting = next((one for one in reversed(trial.ended) if _counts(one.reason)), None) if trial else None
            grade = trial.grade_of(counting.attempt) if trial is not None and counting is not None else None
            if grade is None or (grade.ungraded is not None and grade.ungraded.passes):
                continue
            if grade.score is None:
                ungraded += 1
                continue
            scores.append(grade.score)
            if grade.score >= threshold:
                passed += 1
            else:
                failed += 1
        return Tally(passed=passed, failed=failed, ungraded=ungraded, scores=len(scores), points=fsum(scores))

    def _outcomes_of(self, waiting: Sequence[tuple[int, OutcomeMark]]) -> Iterator[Outcome]:
        """The whole outcomes of marks, each with the place of its line. Others may be spliced on the same line."""
        places = tuple(dict.fromkeys(at for at, _ in waiting))
        lines = zip(places, read_again(self._path, places, decode), strict=True)
        found = {at: [one.outcome for one in records if isinstance(one, TrialFinished)] for at, records in lines}
        for at, mark in waiting:
            which = next((number for number, outcome in enumerate(found[at]) if mark.is_of(outcome)), None)
            if which is not None:  # else a writer has taken it back meanwhile
                yield found[at].pop(which)

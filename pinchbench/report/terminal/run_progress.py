"""The state of a run in progress: events in, counts and rows out (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING

from msgspec import structs

from pinchbench.defaults import DEFAULT_PASS_THRESHOLD
from pinchbench.events import (
    BudgetChanged,
    GradedBefore,
    PaceChanged,
    RegradeBegan,
    RunBegan,
    RunEnded,
    SetUpStep,
    SkipAsked,
    TrialActivity,
    TrialBegan,
    TrialEnded,
    TrialGraded,
    TrialWaits,
)
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.grade import Ungraded
from pinchbench.model.usage import Usage
from pinchbench.report.remarks import why_so_low
from pinchbench.report.text import words
from pinchbench.results.statistics import is_passed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.events import Event
    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey

STOPPED = "stopped"


@dataclass(slots=True)
class Slot:
    """A busy slot. `since` is on the view's clock, in seconds; `text` is the agent's last text or tool call.

    `next_at` is when OpenClaw retries a failed call; `text` then says which.
    """

    key: TrialKey
    attempt: int
    timeout_s: float
    since: float
    text: str = ""
    usage: Usage | None = None  # None: not reported
    next_at: float | None = None
    node: str = ""  # where, in a cluster


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A trial that failed: `label` is the kind of failure, `text` its note."""

    key: TrialKey
    label: str
    text: str = ""
    is_ours: bool = False  # an infrastructure failure, untrusted, or ungraded


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """The trials of the whole run that have ended, by state: each is in exactly one of `passed` to `interrupted`.

    `scores` are those of the passed and the failed, in 0-1, by task; `mean` is that over tasks, as in the result, None
    if they are of several suites.
    """

    passed: int = 0
    failed: int = 0
    ungraded: int = 0
    infrastructure: int = 0
    untrusted: int = 0
    waiting: int = 0  # to be graded
    missing: int = 0  # not started because a prerequisite is missing
    skipped: int = 0  # as the user has asked, without an attempt that ended by itself
    interrupted: int = 0  # not final: they are run again when the run is resumed
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    mean: float | None = None

    @property
    def done(self) -> int:
        """How many trials have ended for good."""
        excluded = self.ungraded + self.infrastructure + self.untrusted + self.missing + self.skipped
        return self.passed + self.failed + excluded + self.waiting


@dataclass(slots=True)
class RunProgress:
    """The state of a run. Times are on the clock whose value `take` is given, in seconds."""

    step: str = ""  # of the set-up
    set_up_since: float | None = None
    began: float | None = None
    trials: int = 0
    before: int = 0  # trials that were done before the run was resumed
    most: int = 0  # trials at once
    only_grades: bool = False
    has_ended: bool = False
    pace: str = ""
    limit: int = 0  # trials at once, at the present pace
    threshold: float = DEFAULT_PASS_THRESHOLD
    has_mean: bool = True
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None
    retries: int = 0
    usage: Usage = field(default_factory=Usage)  # of agents that have ended
    judge_usage: Usage = field(default_factory=Usage)
    earlier: GradedBefore = field(default_factory=GradedBefore)  # grades from before the view was started
    slots: dict[int, Slot] = field(default_factory=dict)
    ahead: set[TrialKey] = field(default_factory=set)
    planned: frozenset[TrialKey] = frozenset()
    took_s: list[float] = field(default_factory=list)
    skipped: set[TrialKey] = field(default_factory=set)
    ended: dict[TrialKey, Outcome] = field(default_factory=dict)
    grades: dict[tuple[TrialKey, int], Grade] = field(default_factory=dict)
    regraded: dict[tuple[TrialKey, int], Grade] = field(default_factory=dict)
    failures: dict[TrialKey, Failure] = field(default_factory=dict)  # the latest is last
    counted: Counts | None = None  # None: must be recounted

    def take(self, event: Event, now: float) -> None:
        """Apply an event that was received at `now`."""
        match event:
            case TrialBegan():
                self.counted = None
                self.ended.pop(event.key, None)  # another attempt
                self.ahead.discard(event.key)
                self.skipped.discard(event.key)
                since = now - event.ago_s
                self.slots[event.slot] = Slot(event.key, event.attempt, event.timeout_s, since, node=event.node)
            case TrialEnded():
                self._end(event)
            case TrialGraded():
                self._grade(event.grade)
            case TrialActivity() | TrialWaits():
                self._hear(event, now)
            case SetUpStep():
                self.step = event.text
                self.set_up_since = now if self.set_up_since is None else self.set_up_since
            case RunBegan():
                self._begin(event, now)
            case RegradeBegan():
                self.began, self.trials, self.only_grades, self.has_ended = now, event.trials, True, False
                self.regraded.clear()
            case SkipAsked() | PaceChanged() | BudgetChanged():
                self._control(event)
            case RunEnded():
                self.has_ended = True
                self.slots.clear()
            case _:
                pass

    def _control(self, event: SkipAsked | PaceChanged | BudgetChanged) -> None:
        if isinstance(event, BudgetChanged):
            self.max_cost_usd = self.max_cost_usd if event.max_cost_usd is None else event.max_cost_usd
            self.max_tokens = self.max_tokens if event.max_tokens is None else event.max_tokens
            return
        if isinstance(event, PaceChanged):
            self.limit = 0 if event.is_end else event.limit
            self.pace = "" if event.limit >= self.most and not event.is_end else pace_text(event)
            return
        self.counted = None
        self.skipped |= set(event.keys)
        for key in event.keys:
            self.ahead.discard(key)

    def _hear(self, event: TrialActivity | TrialWaits, now: float) -> None:
        """Apply what the agent of a slot is doing, or waiting for."""
        slot = self.slots.get(event.slot)
        if slot is None or slot.key != event.key:
            return
        slot.text = event.text
        if isinstance(event, TrialWaits):
            slot.next_at = now + event.next_s
        else:
            slot.usage, slot.next_at = event.usage, None

    def _begin(self, event: RunBegan, now: float) -> None:
        """Apply the start or the resumption of a run; if everything so far is known, the counts continue."""
        self.counted = None
        self.began = now - event.ago_s
        self.trials, self.before, self.most, self.limit = event.trials, event.done, event.slots, event.slots
        self.threshold, self.max_cost_usd = event.pass_threshold, event.max_cost_usd
        self.max_tokens, self.max_hours = event.max_tokens, event.max_hours
        self.has_mean = event.has_mean
        self.usage += event.spent
        self.judge_usage += event.judge_spent
        self.earlier = event.earlier
        self.ended |= {outcome.key: outcome for outcome in event.to_grade}
        self.only_grades = self.has_ended = False
        self.pace = ""
        self.slots.clear()
        self.planned = frozenset(event.ahead)
        self.ahead = set(event.ahead)
        for key in self.ahead & self.ended.keys():
            del self.ended[key]

    def _end(self, event: TrialEnded) -> None:
        self.counted = None
        outcome = event.outcome
        slot = self.slots.get(outcome.slot)
        if slot is not None and slot.key == outcome.key:
            del self.slots[outcome.slot]
        if outcome.reused_from:  # it used nothing here
            self.ahead.discard(outcome.key)
            self.ended[outcome.key] = outcome
            return
        self.usage += outcome.usage
        self.retries += event.retried
        if outcome.reason.ending in (Ending.COMPLETED, Ending.TIMED_OUT):
            self.took_s.append(outcome.setup_s + outcome.execution_time_s)
        self.failures.pop(outcome.key, None)
        if event.retried:
            self.ahead |= {outcome.key} & self.planned
        else:
            self.ended[outcome.key] = outcome
        if outcome.reason is Reason.PREREQUISITE_MISSING:
            self.ahead.discard(outcome.key)  # it ends without having started
        if outcome.reason is Reason.INTERRUPTED and outcome.key in self.skipped:
            del self.ended[outcome.key]
        elif outcome.reason is Reason.INTERRUPTED:  # because the run is being ended: no other one is started
            self.limit, self.pace = 0, STOPPED
        elif outcome.reason is not Reason.COMPLETED:
            again = "to be retried" if event.retried else ""
            self.failures[outcome.key] = Failure(
                key=outcome.key,
                label=words(outcome.reason),
                text=": ".join(filter(None, (again, outcome.note))),
                is_ours=not outcome.reason.is_valid,
            )

    def _grade(self, grade: Grade) -> None:
        self.counted = None
        which = grade.key, grade.attempt
        if grade.judge is not None and not self.is_reused(grade.key):
            self.judge_usage += structs.replace(grade.judge.usage, cost_usd=grade.judge.cost_usd or 0.0)
        if self.only_grades:
            self.regraded[which] = grade
        before = self.grades.get(which)
        # as in the journal: a failure to grade never replaces a score
        if grade.score is None and before is not None and before.score is not None and before.digest == grade.digest:
            return
        self.grades[which] = grade
        outcome = self.ended.get(grade.key)
        if outcome is not None and (outcome.attempt != grade.attempt or not outcome.reason.is_valid):
            return
        if grade.ungraded is Ungraded.NO_JUDGE:
            return  # the run warned about these: many of them would hide the others
        self.failures.pop(grade.key, None)
        note = next(iter(grade.notes), "")
        if grade.score is None:
            label = f"ungraded, {words(grade.ungraded)}" if grade.ungraded is not None else "ungraded"
        elif not is_passed(grade.score, self.threshold):
            label, note = f"score {grade.score:.2f}", why_so_low(grade)
            if outcome is not None and outcome.reason is not Reason.COMPLETED:
                label, note = f"{words(outcome.reason)}, {label}", outcome.note or note
        else:
            return
        self.failures[grade.key] = Failure(key=grade.key, label=label, text=note, is_ours=grade.score is None)

    def is_reused(self, key: TrialKey) -> bool:
        """Return whether a trial counts from an earlier run."""
        return key in self.ended and bool(self.ended[key].reused_from)

    @property
    def agents_usage(self) -> Usage:
        """The usage of all agents, including the running ones as far as their sessions report it."""
        return sum((slot.usage for slot in self.slots.values() if slot.usage is not None), self.usage)

    @property
    def counts(self) -> Counts:
        """The counts, recomputed if anything has ended since, which takes about a microsecond a trial."""
        if self.counted is None:
            self.counted = self._count()
        return self.counted

    def _count(self) -> Counts:
        earlier = self.earlier
        number = {"passed": earlier.passed, "failed": earlier.failed, "ungraded": earlier.ungraded}
        number |= dict.fromkeys(("infrastructure", "untrusted", "waiting", "missing", "interrupted"), 0)
        number["skipped"] = len(self.skipped - self.ended.keys())
        scores = {task_id: list(own) for task_id, own in earlier.scores.items()}
        for key, outcome in self.ended.items():
            grade = self.grades.get((key, outcome.attempt))
            if outcome.reason.ending is Ending.INTERRUPTED:
                number["interrupted"] += 1
            elif outcome.reason is Reason.PREREQUISITE_MISSING:
                number["missing"] += 1
            elif outcome.reason.ending is Ending.UNTRUSTED:
                number["untrusted"] += 1
            elif not outcome.reason.is_valid:
                number["infrastructure"] += 1
            elif grade is None:
                number["waiting"] += 1
            elif grade.score is None:
                number["ungraded"] += 1
            else:
                scores.setdefault(key.task_id, []).append(grade.score)
                number["passed" if is_passed(grade.score, self.threshold) else "failed"] += 1
        means = [fsum(own) / len(own) for own in scores.values()] if self.has_mean else []
        return Counts(scores=scores, mean=fsum(means) / len(means) if means else None, **number)

    def left_s(self, now: float) -> float | None:
        """Estimate how long the agents still need, in seconds: what an attempt took, times what is left, over slots.

        None until an attempt has ended, and while no trial may start.
        """
        if self.only_grades or self.has_ended or not self.limit or not self.took_s:
            return None
        mean_s = fsum(self.took_s) / len(self.took_s)
        running_s = fsum(max(0.0, mean_s - max(0.0, now - slot.since)) for slot in self.slots.values())
        at_once = max(1, min(self.limit, len(self.slots) + len(self.ahead)))
        return (running_s + mean_s * len(self.ahead)) / at_once


def pace_text(event: PaceChanged) -> str:
    """Format in two words how many trials may run at once."""
    if event.is_end:
        return STOPPED
    return f"{event.limit} at once" if event.limit else "paused"

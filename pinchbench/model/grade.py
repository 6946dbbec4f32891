"""The grade of a trial and of its parts, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping  # noqa: TC003 - msgspec reads the annotations of values in records
from dataclasses import dataclass, field, replace
from enum import StrEnum

from msgspec import UNSET, UnsetType

from pinchbench.defaults import FailureEvent  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.task import GradingType  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.trial import TrialKey  # noqa: TC001 - msgspec reads the annotations
from pinchbench.model.usage import Usage


class Ungraded(StrEnum):
    """Why a trial, or one part of its grading, has no score: one name a situation. Never the same as a score of 0."""

    EVIDENCE_LOST = "evidence_lost"
    CHECK_RAISED = "check_raised"
    CHECK_TIMED_OUT = "check_timed_out"
    CHECK_DIED = "check_died"
    CHECK_LIMIT = "check_limit"
    CHECK_NO_SCORES = "check_no_scores"
    CHECK_NO_SCALE = "check_no_scale"
    CHECK_NOT_STARTED = "check_not_started"
    NO_JUDGE = "no_judge"
    JUDGE_UNREACHABLE = "judge_unreachable"
    JUDGE_REFUSED = "judge_refused"
    JUDGE_UNREADABLE = "judge_unreadable"
    GRADER_BUG = "grader_bug"
    DISK_FULL = "disk_full"

    @property
    def is_transient(self) -> bool:
        """Whether grading the trial again may give a score: nothing is wrong with the task, its trial or its judge."""
        return self in (Ungraded.DISK_FULL, Ungraded.CHECK_NOT_STARTED, Ungraded.JUDGE_UNREACHABLE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckGrade:
    """What a task's check says about a trial.

    `score` is in 0-1, or None and `ungraded` says why. `breakdown` holds the points by criterion, each in 0-1.
    `notes` are sentences: what was clamped or cut, why there is no score. Durations are in seconds. `events` holds how
    often something went wrong, and how often it could have; unset where the check counts nothing.
    """

    score: float | None = None
    ungraded: Ungraded | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0
    cpu_s: float = 0.0
    events: Mapping[FailureEvent, tuple[int, int]] | UnsetType = UNSET


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeGrade:
    """What a judge says about a trial.

    `score` is the median of `votes` (each in 0-1), or None and `ungraded` says why; `spread` is the largest vote less
    the smallest. `model` and `prompt_version` say who was asked what. `usage` and `latency_s` (seconds) are those of
    this grading's own calls, retries included; `cost_usd` is None where the endpoint names no price. `calls` counts
    requests that were sent, `cached` the votes that came from the cache instead. `reply` is the beginning of a text
    that could not be read. All texts are kept next to the trial's evidence; `replies_digest` is the SHA-256 of that
    file. `certificate` is the phrase of `JudgeCertificate.told`, unset if the judge was not examined.

    Of several judges, `judges` holds each one's own grade, in the order in which they were named; it is unset where
    there is one. The grade is then the mean of theirs, criterion by criterion; `votes` holds their scores, `model` all
    their names, and `usage`, `cost_usd`, `calls` and `cached` are sums. Replies and certificates are in `judges` alone.
    """

    score: float | None = None
    ungraded: Ungraded | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    model: str = ""
    prompt_version: str = ""
    votes: tuple[float, ...] = ()
    spread: float = 0.0
    usage: Usage = Usage()
    cost_usd: float | None = None
    latency_s: float = 0.0
    calls: int = 0
    cached: int = 0
    reply: str = ""
    replies_digest: str = ""
    certificate: str | UnsetType = UNSET
    judges: tuple[JudgeGrade, ...] | UnsetType = UNSET

    @property
    def each(self) -> tuple[JudgeGrade, ...]:
        """The grade of each judge."""
        return (self,) if self.judges is UNSET else self.judges

    def changed(self, change: Callable[[JudgeGrade], JudgeGrade]) -> JudgeGrade:
        """Return the grade after a change of itself and of each judge's own."""
        judges = UNSET if self.judges is UNSET else tuple(map(change, self.judges))
        return replace(change(self), judges=judges)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """The grade of one trial: one line of the journal. A later one of the same trial supersedes it, if it has a score.

    `score` is in 0-1, or None and `ungraded` says why. `breakdown` and `notes` are those of the parts; of a hybrid
    task the keys begin with `automated.` and `llm_judge.`. `digest` is that of the task as it was graded, which
    may be newer than the one that was run. `graded_at` is in seconds since the epoch (UTC). `attempt` says which
    attempt at the trial was graded. `files` holds the SHA-256 of what the check printed, by the file's name; None in
    runs of releases that kept none.
    """

    key: TrialKey
    grading_type: GradingType
    attempt: int = 1
    score: float | None = None
    ungraded: Ungraded | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    check: CheckGrade | None = None
    judge: JudgeGrade | None = None
    digest: str = ""
    graded_at: float = 0.0
    files: Mapping[str, str] | None = None

    @property
    def check_alone(self) -> float | None:
        """The check's score if the judge's part of the grade is missing."""
        return self.check.score if self.score is None and self.check is not None else None

    @property
    def took_s(self) -> float:
        """How long grading took by its own clocks: its parts begin at once."""
        check_s = self.check.duration_s if self.check is not None else 0.0
        judge_s = self.judge.latency_s if self.judge is not None else 0.0
        return max(check_s, judge_s)

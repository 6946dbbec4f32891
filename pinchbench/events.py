"""What happens in a run, for those who watch it: frozen values, one kind of event each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.defaults import DEFAULT_PASS_THRESHOLD
from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey


@dataclass(frozen=True, kw_only=True, slots=True)
class SetUpStep:
    """What the set-up of a run does from now on, until the next step or the run begins. `text` has no full stop."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedBefore:
    """How many trials were graded before a run was resumed, by what came of it.

    `scores` are those that were given, each in 0-1, by task.
    """

    passed: int = 0
    failed: int = 0
    ungraded: int = 0
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunBegan:
    """The first event of a run: what is about to happen. `done` trials were finished before it was resumed.

    Of these, `earlier` counts those that were graded, and `to_grade` holds the outcomes of the others, which are graded
    now.
    `ahead` are the trials that are to be run, in the order in which they are started. `spent` is what the agents have
    used
    before, `judge_spent` what the judge has. `has_mean`: a mean over all trials is wanted.
    `max_hours` is for this session, the other limits are for the whole run.
    `ago_s`: seconds since, where it is sent later.
    """

    run_id: str
    model: str
    trials: int
    slots: int
    folder: Path
    done: int = 0
    ahead: tuple[TrialKey, ...] = ()
    pass_threshold: float = DEFAULT_PASS_THRESHOLD
    has_mean: bool = True
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_hours: float | None = None
    spent: Usage = Usage()
    judge_spent: Usage = Usage()
    earlier: GradedBefore = GradedBefore()
    to_grade: tuple[Outcome, ...] = ()
    ago_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RegradeBegan:
    """Trials of a run that is over are graded again."""

    run: str
    trials: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialBegan:
    """A slot has taken a trial. `ago_s`: seconds since, where it is sent later. `node`: where, in a cluster."""

    slot: int
    key: TrialKey
    timeout_s: float
    attempt: int = 1
    ago_s: float = 0.0
    node: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialActivity:
    """What the agent of a slot is doing, in one line, and what its session has used so far."""

    slot: int
    key: TrialKey
    text: str
    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialWaits:
    """OpenClaw makes a model call again, `next_s` seconds after this; `text` says which one and why."""

    slot: int
    key: TrialKey
    text: str
    next_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputLine:
    """A line of an agent's stdout or stderr (`stream`), as it came."""

    key: TrialKey
    stream: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialEnded:
    """An attempt's outcome is safe on disk. `retried`: another attempt follows."""

    outcome: Outcome
    retried: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialGraded:
    """A trial's grade is safe on disk."""

    grade: Grade


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipAsked:
    """These trials need no further attempt, as the user has asked; one that runs is stopped."""

    keys: tuple[TrialKey, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PaceChanged:
    """How many trials may run at once has changed; 0 while the run is paused, or `is_end`. `why` is a sentence."""

    limit: int
    why: str
    is_end: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetChanged:
    """The user has replaced limits of the run; None for one that stays."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded:
    """Nobody works on the run any more, as those who follow its journal find."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A sentence for the user: a warning, or what an interrupt is doing."""

    text: str


Event = (
    SetUpStep
    | RunBegan
    | RegradeBegan
    | TrialBegan
    | TrialActivity
    | TrialWaits
    | OutputLine
    | TrialEnded
    | TrialGraded
    | SkipAsked
    | PaceChanged
    | BudgetChanged
    | RunEnded
    | Notice
)

"""What a user has asked of a run: one fold over its records, and its keys in the result JSON (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, assert_never

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from pinchbench.decoding import doc
from pinchbench.results import records
from pinchbench.results.statistics import Estimate  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.model.trial import TrialKey
    from pinchbench.results.records import Control


class SkippedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that needs no further attempt because the user has said so."""

    task_id: str
    repetition: int
    stopped: Annotated[bool, doc("whether an attempt was running, which was ended")]


class RequeuedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Another attempt that the user has asked for, whatever became of those before."""

    task_id: str
    repetition: int
    at: Annotated[float, doc("seconds since the epoch (UTC)")]
    reason: Annotated[str, doc("the user's own; may be empty")]


class NoteEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A user's note on the run, or on a trial."""

    at: Annotated[float, doc("seconds since the epoch (UTC)")]
    text: str
    tags: tuple[str, ...] = ()
    task_id: Annotated[str | None, doc("null for a note on the run")] = None
    repetition: int | None = None


class OverriddenGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A user's own score of the attempt that counts, which is in no mean but `score_with_overrides`."""

    task_id: str
    repetition: int
    attempt: int
    score: Annotated[float, doc("the user's, in 0-1")]
    measured: Annotated[float | None, doc("the graded one, in 0-1; null if there is none")]
    at: Annotated[float, doc("seconds since the epoch (UTC)")]
    reason: str


class ControlEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the user has asked of the run with `ctl`, and said about it with `ctl note`."""

    skipped: tuple[SkippedTrial, ...] = ()
    requeued: tuple[RequeuedTrial, ...] = ()
    score_without_requeued: Annotated[Estimate | None, doc("score without those of `requeued`; null for none")] = None
    overridden: tuple[OverriddenGrade, ...] = ()
    score_with_overrides: Annotated[Estimate | None, doc("score with those of `overridden`; null for none")] = None
    notes: tuple[NoteEntry, ...] = ()


def control_entry(
    control: ControlState,
    *,
    without_requeued: Estimate | None = None,
    overridden: Iterable[tuple[records.GradeOverridden, float | None]] = (),
    with_overrides: Estimate | None = None,
) -> ControlEntry | None:
    """Return what the result says; None if the user has asked for nothing that it tells of (pure).

    `overridden` are the user's own grades that count, each with the measured score.
    """
    entry = ControlEntry(
        skipped=tuple(SkippedTrial(**asdict(key), stopped=stopped) for key, stopped in sorted(control.skipped.items())),
        requeued=tuple(RequeuedTrial(**asdict(one.key), at=one.at, reason=one.why) for one in control.requeued),
        score_without_requeued=without_requeued,
        overridden=tuple(
            OverriddenGrade(
                **asdict(own.key), attempt=own.attempt, score=own.score, measured=measured, at=own.at, reason=own.why
            )
            for own, measured in overridden
        ),
        score_with_overrides=with_overrides,
        notes=tuple(
            NoteEntry(at=one.at, text=one.text, tags=one.tags, **({} if one.key is None else asdict(one.key)))
            for one in control.notes
        ),
    )
    return None if entry == NOTHING else entry


NOTHING = ControlEntry()


@dataclass(kw_only=True, slots=True)
class ControlState:
    """What a user has asked of a run so far.

    Attributes:
        is_paused: whether no trial is started.
        settings: the options that were changed since the run was last started or resumed, by name.
        skipped: the trials that need no further attempt; the value tells whether an attempt was running, and stopped.
        requeued: every request for another attempt, in order.
        notes: the user's notes, in order.
        overridden: the user's own score of attempts, by trial and number of the attempt.
    """

    is_paused: bool = False
    settings: dict[str, object] = field(default_factory=dict)
    skipped: dict[TrialKey, bool] = field(default_factory=dict)
    requeued: list[records.TrialRequeued] = field(default_factory=list)
    notes: list[records.NoteAdded] = field(default_factory=list)
    overridden: dict[tuple[TrialKey, int], records.GradeOverridden] = field(default_factory=dict)

    def apply(self, record: Control) -> None:
        """Take the next record of a command."""
        match record:
            case records.RunPaused():
                self.is_paused = True
            case records.RunContinued():
                self.is_paused = False
            case records.ConcurrencySet(concurrency=concurrency):
                self.settings["concurrency"] = concurrency
            case records.BudgetSet(max_cost=max_cost, max_tokens=max_tokens):
                given = {"max_cost": max_cost, "max_tokens": max_tokens}
                self.settings |= {name: limit for name, limit in given.items() if limit is not UNSET}
            case records.TrialStopped(key=key):
                self.skipped[key] = True
            case records.TrialsSkipped(keys=keys):
                self.skipped |= dict.fromkeys(keys, False)
            case records.TrialRequeued(key=key):
                self.skipped.pop(key, None)
                self.requeued.append(record)
            case records.NoteAdded():
                self.notes.append(record)
            case records.GradeOverridden(key=key, attempt=attempt):
                self.overridden[key, attempt] = record
            case _:
                assert_never(record)

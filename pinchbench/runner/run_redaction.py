"""A run's keys, kept out of everything that leaves the program: its records, its events and its evidence."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace as replace_in

from pinchbench.events import (
    BudgetChanged,
    BudgetNearlyUsed,
    Event,
    Notice,
    OutputLine,
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
from pinchbench.redaction import mask, mask_file, mask_grade, mask_outcome
from pinchbench.results.records import (
    BudgetSet,
    ConcurrencySet,
    GradeGiven,
    GradeOverridden,
    NodeUsed,
    NoteAdded,
    PaceSet,
    ProbeEnded,
    Record,
    RegradeStarted,
    RunContinued,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    TrialFinished,
    TrialRequeued,
    TrialsSkipped,
    TrialStarted,
    TrialStopped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Redactor:
    """Knows the keys of a run. Inside the program texts are as they came; what leaves it passes through here.

    The ways out are the journal's writer, the observer, and the files of an attempt.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are keys in all forms in which they may be written."""
        self.secrets = tuple(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Add keys."""
        self.secrets = tuple(dict.fromkeys((*self.secrets, *secrets)))

    def text(self, text: str) -> str:
        """A text without keys (pure)."""
        return mask(text, self.secrets)

    def record(self, record: Record) -> Record:
        """A record without keys in what others said (pure). The options of a run are the user's own words."""
        match record:
            case TrialFinished():
                return replace_in(record, outcome=mask_outcome(record.outcome, self.secrets))
            case GradeGiven():
                return replace_in(record, grade=mask_grade(record.grade, self.secrets))
            case PaceSet() | TrialRequeued() | GradeOverridden():
                return replace_in(record, why=self.text(record.why))
            case NoteAdded():
                return replace_in(record, text=self.text(record.text), tags=tuple(map(self.text, record.tags)))
            case RunFinished():
                return replace_in(record, stopped=self.text(record.stopped))
            case (
                RunStarted()
                | RunResumed()
                | RegradeStarted()
                | TrialStarted()
                | NodeUsed()
                | ProbeEnded()
                | RunPaused()
                | RunContinued()
                | ConcurrencySet()
                | BudgetSet()
                | TrialStopped()
                | TrialsSkipped()
            ):
                return record
            case _:
                assert_never(record)

    def event(self, event: Event) -> Event:
        """An event without keys in what others said (pure)."""
        match event:
            case Notice() | SetUpStep() | TrialActivity() | TrialWaits() | OutputLine():
                return replace(event, text=self.text(event.text))
            case TrialEnded():
                return replace(event, outcome=mask_outcome(event.outcome, self.secrets))
            case TrialGraded():
                return replace(event, grade=mask_grade(event.grade, self.secrets))
            case PaceChanged():
                return replace(event, why=self.text(event.why))
            case RunBegan() | RegradeBegan() | TrialBegan() | SkipAsked() | BudgetChanged() | RunEnded():
                return event
            case BudgetNearlyUsed():  # sentences of this program alone
                return event
            case _:
                assert_never(event)

    def files(self, paths: Iterable[Path]) -> None:
        """Overwrite keys in files that no process writes any more. Blocks. Inaccessible files are left as they are."""
        for path in paths:
            with suppress(OSError):  # of a disk that fails, the outcome has what matters
                mask_file(path, self.secrets)

"""What an examination of this machine finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Level(StrEnum):
    """What a finding about this machine means for a run."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"  # a run works, but slowly, partly, or not for long
    PROBLEM = "problem"  # a run would fail


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A finding about a requirement of a run: `said` is one or two sentences, `do` the remedy, if any."""

    subject: str
    said: str
    do: str = ""
    level: Level = Level.OK

    @classmethod
    def ok(cls, subject: str, said: str) -> Self:
        """Return a finding that needs nothing."""
        return cls(subject=subject, said=said)

    @classmethod
    def note(cls, subject: str, said: str, *, do: str = "") -> Self:
        """Return something to know."""
        return cls(subject=subject, said=said, do=do, level=Level.NOTE)

    @classmethod
    def warning(cls, subject: str, said: str, *, do: str = "") -> Self:
        """Return what a run suffers from."""
        return cls(subject=subject, said=said, do=do, level=Level.WARNING)

    @classmethod
    def problem(cls, subject: str, said: str, *, do: str = "") -> Self:
        """Return what a run would fail for."""
        return cls(subject=subject, said=said, do=do, level=Level.PROBLEM)

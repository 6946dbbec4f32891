"""A run's keys, kept out of everything that leaves the program: its records, its events and its evidence."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as replace_in

from pinchbench.model.grade import Grade
from pinchbench.model.outcome import Outcome
from pinchbench.redaction import mask, mask_file, mask_grade, mask_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pinchbench.events import Event
    from pinchbench.results.records import Record


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
        """A record without keys in its texts (pure). The options of a run, a mapping, are the user's own words."""
        return replace_in(record, **self._masked(record, record.__struct_fields__))

    def event(self, event: Event) -> Event:
        """An event without keys in its texts (pure)."""
        return replace(event, **self._masked(event, (field.name for field in fields(event))))

    def _masked(self, value: Record | Event, names: Iterable[str]) -> dict[str, Any]:
        """Return the fields that hold a text, texts, an outcome or a grade, without keys in them."""
        masked: dict[str, Any] = {}
        for name in names:
            match getattr(value, name):
                case str() as text if type(text) is str:  # a name of an enumeration is none of a key
                    masked[name] = self.text(text)
                case (str(), *_) as texts:
                    masked[name] = tuple(map(self.text, texts))
                case Outcome() as outcome:
                    masked[name] = mask_outcome(outcome, self.secrets)
                case Grade() as grade:
                    masked[name] = mask_grade(grade, self.secrets)
        return masked

    def files(self, paths: Iterable[Path]) -> None:
        """Overwrite keys in files that no process writes any more. Blocks. Inaccessible files are left as they are."""
        for path in paths:
            with suppress(OSError):  # of a disk that fails, the outcome has what matters
                mask_file(path, self.secrets)

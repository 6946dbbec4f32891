"""Takes keys and private names out of bytes, and counts them."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHORTEST_WORD = 4  # letters of a name that is taken out wherever it is a word; a shorter one only where it names a home
# JSON writes a line's end as two characters, of which the second is a letter.
BEFORE_WORD = rb"(?:(?<![0-9A-Za-z\x80-\xff])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
BEFORE_HOME = rb"(?:(?<=/home/)|(?<=/Users/))"
AFTER = rb"(?![0-9A-Za-z\x80-\xff])"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Text:
    """A text to take out: what is searched first, in small letters, and the pattern of where it counts."""

    label: str
    small: bytes
    pattern: re.Pattern[bytes]


class TextRemover:
    """Puts `*` in place of each byte of keys and private names, so that sizes stay.

    Attributes:
        labels: the names by what stands for them in a list that others read: `name 1`.
        found: how many were taken out since the last `take_found`, by label; all keys are `key`.
    """

    def __init__(self, *, names: Iterable[str], keys: Iterable[str]) -> None:
        """Take names, which count as words in any case, and keys, which count everywhere."""
        ordered = sorted({name.casefold() for name in names} - {""}, key=lambda name: (-len(name), name))
        self.labels = {f"name {number}": name for number, name in enumerate(ordered, start=1)}
        self.found: Counter[str] = Counter()
        self._texts = (
            *(_Text(label="key", small=key.lower(), pattern=re.compile(re.escape(key))) for key in _encoded(keys)),
            *(
                _Text(label=label, small=text.lower(), pattern=_word(text, is_short=len(name) < SHORTEST_WORD))
                for label, name in self.labels.items()
                for text in _encoded([name, json.dumps(name)[1:-1]])
            ),
        )

    def __call__(self, data: bytes) -> bytes:
        """Return the data, as long as before, without the texts."""
        small = data.lower()
        for text in self._texts:
            if text.small in small:
                data, places = text.pattern.subn(lambda match: b"*" * len(match[0]), data)
                self.found += Counter({text.label: places})  # without those that are 0
        return data

    def text(self, text: str) -> str:
        """Return a text without them; nothing is counted."""
        before = self.found.copy()
        removed = self(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
        self.found = before
        return removed

    def take_found(self) -> dict[str, int]:
        """Return what was taken out since the last call, and begin to count anew."""
        found = dict(sorted(self.found.items()))
        self.found.clear()
        return found


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    yield from dict.fromkeys(text.encode("utf-8", "surrogateescape") for text in texts if text)


def _word(text: bytes, *, is_short: bool) -> re.Pattern[bytes]:
    before = BEFORE_HOME if is_short else BEFORE_WORD
    return re.compile(before + re.escape(text) + AFTER, re.IGNORECASE)

"""Sentences about what a snapshot leaves out."""

from __future__ import annotations

import os

MAX_SENTENCES = 100  # about what was left out; one more says how many there are beyond
MAX_SHOWN_NAME = 200  # characters of a path in a sentence


class LeftOut:
    """Sentences about what was left out, not too many of them."""

    def __init__(self) -> None:
        """Nothing is left out yet."""
        self._sentences: list[str] = []
        self._count = 0

    def say(self, path: str, why: str) -> None:
        """Tell why what has this path was left out; `why` goes on after the path and ends without a full stop."""
        self._count += 1
        if len(self._sentences) < MAX_SENTENCES:
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            if not shown.isprintable():
                shown = ascii(shown)[1:-1]
            if len(shown) > MAX_SHOWN_NAME:
                shown = f"{shown[:MAX_SHOWN_NAME]}…"
            self._sentences.append(f"{shown} {why}.")

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that were said, or the first of them and how many there were beyond."""
        more = self._count - len(self._sentences)
        return (*self._sentences, f"{more} more were left out.") if more else tuple(self._sentences)

"""Suggestions for misspelt names (pure)."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SIMILARITY = 0.85  # a difflib ratio: one letter of four may be missing, or two of seven differ
SHORTEST_PREFIX = 5  # letters: `timeout` stands for `timeout_seconds`, but `in` for nothing


def misspelt(names: Iterable[str], *, known: Collection[str]) -> list[tuple[str, str]]:
    """Return pairs (name, suggested known name) for unknown names that resemble a missing known one.

    A known name that is among `names` is never suggested. Case, spaces, `-`, `_` and the order of the letters are
    ignored. The beginning of a known name stands for it if it is unambiguous.
    """
    names = tuple(names)
    missing = {_folded(one): one for one in reversed(tuple(known)) if one not in names}
    found: list[tuple[str, str]] = []
    for name in names:
        if name in known:
            continue
        folded = _folded(name)
        near = get_close_matches(folded, missing, n=1, cutoff=SIMILARITY)
        swapped = [one for one in missing if sorted(one) == sorted(folded)]
        longer = [one for one in missing if len(folded) >= SHORTEST_PREFIX and one.startswith(folded)]
        if meant := near or swapped or (longer if len(longer) == 1 else []):
            found.append((name, missing[meant[0]]))
    return found


def _folded(name: str) -> str:
    return name.casefold().translate(str.maketrans("", "", "-_ "))

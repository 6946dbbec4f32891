"""The members of a verdict in JSON of any shape, under whatever names judges give them (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.grading.judge_json import Found, members_of
from pinchbench.grading.judge_numbers import PERCENT_ENDINGS, SCORE_KEYS, is_number, key_of, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.grading.judge_text import Criterion

# Names without case, blanks and punctuation, as judges have used them; of several the first counts.
TOTAL_KEYS = re.compile(
    "(?:total|overall|final|weighted|average|mean)?(?:total|overall|final|average|avg|mean|score|rating|grade)"
)
SCORES_KEYS = re.compile(
    "(?:criteria|criterion|sub|score|per)?"
    "(?:scores|criteria|criterion|breakdown|ratings|grades|evaluations?|assessments?|details|dimensions)"
)
NOTES_KEYS = (
    "notes",
    "reasoning",
    "rationale",
    "justification",
    "explanation",
    "comments",
    "feedback",
    "summary",
    "reason",
    "comment",
    "note",
)
NAME_KEYS = ("criterion", "criterionname", "name", "criteria", "title", "dimension", "category", "aspect", "item")
MAX_MEMBERS = 500  # of one object or list; what has more is no verdict
MAX_DEPTH = 4  # wrappers around a verdict

_PREFIX = re.compile(r"\s*(?:criteri(?:on|a)[\s_#]*\d*[\s_]*[:.)_–—-]+|\d{1,2}\s*[.):_-])\s*(?=\w)", re.IGNORECASE)
_SUFFIX = re.compile(r"[(\[][^()\[\]]*(?:%|weight|percent|points?\b)[^()\[\]]*[)\]]", re.IGNORECASE)
NAME_CHARS = 400
LEAST_PREFIX = 3  # letters of a name that may stand for it


class Names:
    """The criteria's names, as loosely as judges write them."""

    def __init__(self, criteria: Sequence[Criterion]) -> None:
        """Take the criteria of a question; several may have the same name."""
        self.keys: dict[str, list[str]] = {}
        for criterion in criteria:
            self.keys.setdefault(_name_key(criterion.name), []).append(criterion.name)
        self.count = len(criteria)

    def find(self, name: str) -> str | None:
        """The one criterion that is meant, None where there is none or more than one."""
        key = _name_key(name)
        meant = self.keys.get(key, [])
        if name in meant:
            return name
        if not meant and len(key) >= LEAST_PREFIX:
            meant = [
                full
                for one, names in self.keys.items()
                if one.startswith(key) or (len(one) >= LEAST_PREFIX and key.startswith(one))
                for full in names
            ]
        return meant[0] if len(meant) == 1 else None


def _name_key(name: str) -> str:
    bare = _SUFFIX.sub("", _PREFIX.sub("", name[:NAME_CHARS], count=1))
    return key_of(bare) or name.casefold().strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """The members of a verdict as they were found, as pairs of a key and a value of any kind."""

    totals: tuple[tuple[str, object], ...] = ()
    scores: tuple[tuple[str, object], ...] = ()
    has_scores: bool = False
    notes: object = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Something in a reply that looks like a verdict."""

    found: Found
    parts: Parts

    @property
    def is_broken(self) -> bool:
        """Whether it can't be read."""
        return self.found.value is None

    def is_full(self, names: Names) -> bool:
        """Whether it has the form that was asked for: a total, and scores by the question's names."""
        parts = self.parts
        named = any(names.find(name) for name, _ in parts.scores) or not names.count
        return bool(parts.totals) and parts.has_scores and named


def find_parts(found: Found, names: Names) -> Parts | None:
    """Find the members of a verdict; None when this is none.

    Behind something torn only the very form that was asked for counts: less may be a part of what was torn.
    """
    if found.value is None:
        return Parts()
    if found.torn and not (isinstance(found.value, dict) and {"total", "scores"} <= found.value.keys()):
        return None
    return _parts(found.value, names)


def _parts(value: object, names: Names, depth: int = 0) -> Parts | None:
    match value:
        case list() if entries := _entries(value):
            return Parts(scores=entries, has_scores=True, remarks=("The reply is a list of scores.",))
        case [inner] if depth < MAX_DEPTH:
            return _parts(inner, names, depth + 1)
        case dict():
            if _entry(value) and "total" not in map(key_of, value):
                return None  # one criterion, not the verdict
            members = members_of(value)
            if len(members) > MAX_MEMBERS:
                return None
            return _own_parts(members, names) or _wrapped_parts(members, names, depth)
        case _:
            return None


def _own_parts(members: Sequence[tuple[str, object]], names: Names) -> Parts | None:
    """Take an object for the verdict, if it has a total or scores."""
    groups = [(name, inner) for name, inner in members if _is_scores(name, inner, names)]
    totals = [pair for pair in members if _is_total(pair[0], names) and pair[0] not in {name for name, _ in groups}]
    remarks = [f"Its {shown(name)} was read as the scores." for name, _ in groups if key_of(name) != "scores"]
    scores = [pair for _, inner in groups for pair in _pairs(inner)]
    totals = totals or [(name, inner) for name, inner in scores if _is_total(name, names)]
    if not groups:
        scores = [(name, inner) for name, inner in members if names.find(name)]
    scores = [(name, inner) for name, inner in scores if not (_is_total(name, names) or _is_note(name, inner, names))]
    if not groups and scores:
        if not totals and len({names.find(name) for name, _ in scores}) < names.count:
            return None  # some criteria beside each other are no verdict
        remarks.append("The scores stood beside each other without a name for all.")
    if not (totals or scores):
        return None
    return Parts(
        totals=tuple(totals),
        scores=tuple(scores),
        has_scores=bool(groups or scores),
        notes=_notes_of(members),
        remarks=tuple(remarks),
    )


def _wrapped_parts(members: Sequence[tuple[str, object]], names: Names, depth: int) -> Parts | None:
    """Look for the verdict one level deeper; two of them are none."""
    if depth >= MAX_DEPTH:
        return None
    below = [parts for _, inner in members if (parts := _parts(inner, names, depth + 1))]
    if len(below) != 1:
        return None
    (parts,) = below
    return Parts(
        totals=parts.totals,
        scores=parts.scores,
        has_scores=parts.has_scores,
        notes=parts.notes or _notes_of(members),
        remarks=(*parts.remarks, "The verdict was wrapped in another object."),
    )


def _notes_of(members: Sequence[tuple[str, object]]) -> object:
    keyed = {key_of(name): inner for name, inner in reversed(members)}
    return next((keyed[key] for key in NOTES_KEYS if keyed.get(key)), None)


def _is_total(name: str, names: Names) -> bool:
    key = key_of(name)
    for ending in PERCENT_ENDINGS:
        key = key.removesuffix(ending) or "total"
    return key == "total" or (TOTAL_KEYS.fullmatch(key) is not None and _name_key(name) not in names.keys)


def _is_scores(name: str, inner: object, names: Names) -> bool:
    """Whether a member holds the scores by criterion, and is not just a wrapper around them."""
    key = key_of(name)
    by_criterion = key == "score" and isinstance(inner, dict) and any(names.find(str(one)) for one in inner)
    if not (SCORES_KEYS.fullmatch(key) or by_criterion) or _name_key(name) in names.keys:
        return False
    if isinstance(inner, dict):
        return not any(isinstance(one, dict | list) and _is_scores(str(key), one, names) for key, one in inner.items())
    return isinstance(inner, list) and bool(_entries(inner))


def _is_note(name: str, inner: object, names: Names) -> bool:
    return isinstance(inner, str) and key_of(name) in NOTES_KEYS and _name_key(name) not in names.keys


def _pairs(group: object) -> tuple[tuple[str, object], ...]:
    if isinstance(group, dict):
        members = members_of(group)
        return members if len(members) <= MAX_MEMBERS else ()
    return _entries(group) if isinstance(group, list) else ()


def _entries(values: list[object]) -> tuple[tuple[str, object], ...]:
    """Read a list of scores, `{"criterion": …, "score": …}` or `{"Clarity": …}` each; empty when it is none."""
    entries: list[tuple[str, object]] = []
    for value in values[:MAX_MEMBERS]:
        if not isinstance(value, dict):
            return ()
        entry = _entry(value)
        if entry is None and len(value) == 1:
            ((name, inner),) = value.items()
            if not TOTAL_KEYS.fullmatch(key_of(name)) and (isinstance(inner, str) or is_number(inner)):
                entry = str(name), inner
        if entry is None:
            return ()
        entries.append(entry)
    return tuple(entries)


def _entry(value: Mapping[str, object]) -> tuple[str, object] | None:
    """Read one criterion of a list: a member with its name, and one with its score."""
    keyed = {key_of(name): inner for name, inner in value.items()}
    name = next((keyed[key] for key in NAME_KEYS if isinstance(keyed.get(key), str)), None)
    if name is None or not any(key in keyed for key in (*SCORE_KEYS, *PERCENT_ENDINGS)):
        return None
    if any(SCORES_KEYS.fullmatch(key) and isinstance(inner, dict | list) for key, inner in keyed.items()):
        return None
    return str(name), value

"""What a judge's reply says: JSON in whatever clothes, read without ever guessing a score (pure)."""

from __future__ import annotations

import json
import math
import re
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.grading.judge_json import (
    Found,
    bounded,
    find_fences,
    find_objects,
    holds_json,
    is_whole,
    members_of,
    unquoted,
    without_spans,
    without_thinking,
    without_unopened_thinking,
)
from pinchbench.grading.judge_view import one_line
from pinchbench.openclaw.transcript import writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.grading.judge_text import Criterion, Question

NOTES_CHARS = 4_000
MAX_MEMBERS = 500  # of one object or list; what has more is no verdict
MAX_DEPTH = 4  # wrappers around a verdict
TOLERANCE = 0.02  # between two ways to say a total, which may be rounded: by its number, by its scores, in words
SAME = 1e-9  # two totals that differ by more are two
PRECISION = 9  # decimals: takes the dust off computed means

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
SCORE_KEYS = ("score", "value", "rating", "grade", "points", "mark", "number", "result")
OUT_OF_KEYS = ("max", "outof", "maxscore", "maximum", "maxpoints", "possible", "scale")
PERCENT_ENDINGS = ("percent", "percentage", "pct")


BROKEN = "The last object of the reply that speaks of a score is broken."


class UnreadableReplyError(ValueError):
    """A reply holds no score that can be told for certain; the message is a sentence that says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What one reply of a judge says.

    `total` and each of `scores` (by the question's names) are in 0-1. `notes` are the judge's own words. `remarks` are
    our sentences on every way in which the reply was not read as it was asked for.
    """

    total: float
    scores: Mapping[str, float] = field(default_factory=dict)
    notes: str = ""
    remarks: tuple[str, ...] = ()


def read_reply(text: str, question: Question, *, is_last: bool = True) -> Verdict:
    """Read a judge's reply.

    A reply that is one JSON value, alone or in a fence, is the verdict. In other text only an object with a total and
    with scores by the question's names may be it, for judges quote what agents have written to sway them; where several
    such objects differ in their totals none counts.

    Where all criteria have weights and scores, the total is our own weighted mean. A judge's total that is further from
    it may be a cap of the rubric, or an error: the reply is unreadable where the judge can be asked once more, and the
    judge's total counts where `is_last`. Without weights the judge's total counts; without a total, the mean of the
    scores of all criteria. Takes about a second at most, whatever the text is.

    Raises:
        UnreadableReplyError: there is no total, more than one, or one that is not a number from 0 to 1.
    """
    remarks: list[str] = []
    text = without_unopened_thinking(bounded(without_thinking(text, remarks), remarks), remarks)
    if not text.strip():
        raise UnreadableReplyError("The reply is empty.")
    text = unquoted(text, remarks)
    names = _Names(question.criteria)
    candidates = [
        _Candidate(found=found, parts=parts)
        for found in find_objects(text)
        if (parts := _parts_of(found, names)) is not None
    ]
    if not candidates:
        return _spoken(text, names, remarks)
    chosen = _choose(text, candidates, names, remarks)
    if chosen.found.surrounded:
        remarks.append("The verdict was read out of other text.")
    if chosen.found.loose:
        remarks.append("The verdict is no strict JSON and was read as JSON5.")
    return _verdict(chosen.parts, question.criteria, names, remarks, is_last=is_last)


def median_verdict(verdicts: Sequence[Verdict]) -> tuple[Verdict, float]:
    """Merge votes: the median of the totals, and how far the largest is from the smallest.

    Each criterion has the median of those votes that score it; the notes are those of the vote nearest to the median,
    the remarks those of all. Raises ValueError when there are no votes.
    """
    if not verdicts:
        raise ValueError("there is no verdict to merge")
    totals = [verdict.total for verdict in verdicts]
    total = statistics.median(totals)
    names = dict.fromkeys(name for verdict in verdicts for name in verdict.scores)
    scores = {
        name: statistics.median(verdict.scores[name] for verdict in verdicts if name in verdict.scores)
        for name in names
    }
    nearest = min(verdicts, key=lambda verdict: abs(verdict.total - total))
    remarks = tuple(dict.fromkeys(remark for verdict in verdicts for remark in verdict.remarks))
    return Verdict(total=total, scores=scores, notes=nearest.notes, remarks=remarks), max(totals) - min(totals)


# -- which of several objects is the verdict -------------------------------------------------------------------------

_TAG = re.compile(r"<[^<>\n]*>")
_NAMES_A_TOTAL = re.compile(r"""total["']?\s{0,20}:\s{0,20}["']?[-+]?\.?\d""", re.IGNORECASE)
_NAMES_MORE = re.compile("scores|notes", re.IGNORECASE)
BEHIND_CHARS = 200  # of the line behind an object: enough to see whether a sentence goes on


def _choose(text: str, candidates: Sequence[_Candidate], names: _Names, remarks: list[str]) -> _Candidate:
    """Find the verdict among all that looks like one, and nothing that a judge may only have quoted."""
    if is_whole(text, candidates[0].found) and not candidates[0].is_broken:
        return candidates[0]
    full = [one for one in candidates if one.is_full(names)]
    own = [one for one in full if not _is_quoted(text, one.found)]
    if not full and len(candidates) == 1 and _ends_alone_in_a_fence(text, candidates[0].found):
        own = list(candidates)
    if not own or own[-1].is_broken:
        if any(one.is_broken for one in candidates):
            raise UnreadableReplyError(BROKEN)
        raise UnreadableReplyError(
            "The reply is not one JSON object, and the text holds none with a total and the scores that is not a quotation."
        )
    chosen = own[-1]
    _check_broken(text, candidates, full, chosen)
    # without criteria nothing tells an object with a total from a verdict
    rivals = full if names.count else [one for one in candidates if one.parts.totals]
    total = _total(chosen.parts.totals, [])
    if total is not None:
        _check_rivals(total, rivals, names)
        _check_words(total, without_spans(text, [(one.found.start, one.found.stop) for one in candidates]))
    if len(full) > 1:
        remarks.append(f"The reply holds {len(full)} verdicts with the same total; the last one counts.")
    return chosen


def _is_quoted(text: str, found: Found) -> bool:
    """Whether an object stands in a line that is marked as a quotation, or in the middle of a sentence."""
    line_start = text.rfind("\n", 0, found.start) + 1
    behind = text[found.stop : found.stop + BEHIND_CHARS].split("\n", 1)[0]
    if text[line_start : found.start].lstrip().startswith(">"):
        return True
    return any(char.isalpha() for char in _TAG.sub("", behind))


def _ends_alone_in_a_fence(text: str, found: Found) -> bool:
    return any(
        text[fence.inner_start : fence.inner_stop].strip() == text[found.start : found.stop].strip()
        and fence.inner_start <= found.start < fence.inner_stop
        and not text[fence.stop :].strip()
        for fence in find_fences(text)
    )


def _check_broken(text: str, candidates: Sequence[_Candidate], full: Sequence[_Candidate], chosen: _Candidate) -> None:
    """Make sure that no object which can't be read was the verdict, rather than the one that was chosen."""
    verdict = "".join(text[chosen.found.start : chosen.found.stop].split())
    for one in candidates:
        if not one.is_broken:
            continue
        start = one.found.start
        if start >= chosen.found.stop:
            # some judges repeat the end of what they have said until they are stopped
            if "".join(text[start : one.found.stop].split()).rstrip("`") not in verdict:
                raise UnreadableReplyError(BROKEN)
            continue
        stop = min((other.found.start for other in full if other.found.start > start), default=chosen.found.start)
        piece = text[start : min(stop, one.found.stop)]
        if _NAMES_A_TOTAL.search(piece) and _NAMES_MORE.search(piece):
            raise UnreadableReplyError("The reply holds several verdicts, one of them broken.")
        if one.found.stop == len(text):
            break  # it never closes, so the others are parts of it


def _check_rivals(total: float, rivals: Sequence[_Candidate], names: _Names) -> None:
    """Make sure that no other object says another total."""
    for rival in rivals:
        try:
            other = _total(rival.parts.totals, [])
        except UnreadableReplyError:
            if rival.is_full(names):
                raise
            continue  # an object of another kind: its total counts something else
        if other is not None and abs(other - total) > SAME:
            raise UnreadableReplyError(f"The reply holds several verdicts, with the totals {other:g} and {total:g}.")


def _check_words(total: float, prose: str) -> None:
    """Make sure that the words around the verdict say no other total."""
    for words in _total_lines(prose, _TOTAL_LINE):
        number, _ = _measure(words, percent=False)
        if number is not None and 0 <= number <= 1 and abs(number - total) > TOLERANCE:
            raise UnreadableReplyError(
                f"The reply holds several verdicts: the total is {total:g}, and {_shown(words)} in words."
            )


# -- replies without JSON ------------------------------------------------------------------------------------------

_TOTAL_WORDS = (
    r"(?:(?:the|my|weighted|final)\s+)*(?:total|overall)(?:\s+(?:weighted\s+)?(?:score|total|rating|grade))?"
    r"|(?:(?:the|my)\s+)?final\s+(?:score|rating|grade)"
)
_SCORE_WORDS = rf"{_TOTAL_WORDS}|(?:(?:the|my)\s+)?(?:score|rating|grade)"


def _line_of(words: str) -> re.Pattern[str]:
    value = r"[\s*_]*[:=][\s*_`]*(?P<value>[-+]?[\d.][^*_`]{0,40}?)[\s*_`.|]*"
    return re.compile(rf"[\s*_#|+•-]*(?:{words}){value}", re.IGNORECASE)


_TOTAL_LINE, _SCORE_LINE = _line_of(_TOTAL_WORDS), _line_of(_SCORE_WORDS)
LINE_CHARS = 120


def _total_lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    """What lines such as `Total: 0.85` say, but for those that quote: marked by `>`, or in a fence."""
    prose = without_spans(text, [(fence.start, fence.stop) for fence in find_fences(text)])
    lines = (pattern.fullmatch(line) for line in prose.split("\n") if len(line) <= LINE_CHARS)
    return [match["value"].strip() for match in lines if match]


def _spoken(text: str, names: _Names, remarks: list[str]) -> Verdict:
    """Read a reply without any JSON: one line such as `Total: 0.85`. A mere `Score` may be that of one criterion."""
    if holds_json(text):
        raise UnreadableReplyError("The reply holds no JSON object with a total that could be read.")
    said = _total_lines(text, _TOTAL_LINE if names.count else _SCORE_LINE)
    if not said:
        raise UnreadableReplyError("The reply holds no JSON object and no total.")
    numbers = dict.fromkeys(_number(value, "The total", []) for value in said)
    if max(numbers) - min(numbers) > SAME:
        raise UnreadableReplyError(f"The reply names different totals: {_shown(', '.join(said))}.")
    remarks.append(f"The reply is no JSON; its total was read from the words {_shown(said[-1])}.")
    return Verdict(total=next(iter(numbers)), notes=_notes_text(text), remarks=tuple(remarks))


# -- numbers -------------------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})")
_PERCENT = re.compile(rf"(?P<number>{_PLAIN.pattern})\s*(?:%|percent)", re.IGNORECASE)
_FRACTION = re.compile(rf"(?P<part>{_PLAIN.pattern})\s*(?:/|out\s+of)\s*(?P<whole>{_PLAIN.pattern})", re.IGNORECASE)
HUNDRED = 100.0
SHOWN_CHARS = 60  # of a value in a sentence: enough to find it


def _number(value: object, what: str, remarks: list[str], *, percent: bool = False) -> float:
    """Read a score. `what` begins the sentences about it. Scales are never guessed: only those that are named count."""
    if isinstance(value, dict):
        return _nested_number(value, what, remarks, percent=percent)
    number, how = _measure(value, percent=percent)
    if number is None or not 0 <= number <= 1:
        raise UnreadableReplyError(f"{what} is {_shown(value)}; it has to be a number from 0 to 1.")
    if how:
        remarks.append(f"{what}, {_shown(value)}, was read as {how}.")
    return number + 0.0  # there is no score of minus zero


def _nested_number(value: Mapping[str, object], what: str, remarks: list[str], *, percent: bool) -> float:
    members = [(_key(name), inner) for name, inner in members_of(value)]
    keyed = dict(members)
    for name in (*SCORE_KEYS, *PERCENT_ENDINGS):
        if name not in keyed or isinstance(keyed[name], dict):
            continue
        score = keyed[name]
        if any(key == name and _is_scalar(inner) and inner != score for key, inner in members):
            raise UnreadableReplyError(f"{what} is there twice with different values.")
        whole = next((keyed[one] for one in OUT_OF_KEYS if _is_number(keyed.get(one))), None)
        if whole is not None and _is_number(score) and whole != 1:
            return _part_of(score, whole, what, remarks)
        return _number(score, what, remarks, percent=percent or name in PERCENT_ENDINGS)
    raise UnreadableReplyError(f"{what} is an object without a score; it has to be a number from 0 to 1.")


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)  # which may be too deep to be compared


def _part_of(score: object, whole: object, what: str, remarks: list[str]) -> float:
    part, full = _float(score), _float(whole)
    said = _shown(f"{part:g}/{full:g}")
    if not 0 < full < math.inf or not 0 <= part <= full:
        raise UnreadableReplyError(f"{what} is {said}; it has to be a number from 0 to 1.")
    remarks.append(f"{what}, {said}, was read as a fraction.")
    return part / full + 0.0


def _measure(value: object, *, percent: bool) -> tuple[float | None, str]:
    """Turn a value into a number and say how, where that is not plain. None stands for whatever is no number."""
    if isinstance(value, str):
        text = value.strip()
        if fraction := _FRACTION.fullmatch(text):
            whole = float(fraction["whole"])
            return (float(fraction["part"]) / whole if whole > 0 else None), "a fraction"
        if found := _PERCENT.fullmatch(text):
            return float(found["number"]) / HUNDRED, "a percentage"
        if not _PLAIN.fullmatch(text):
            return None, ""
        number, how = float(text), "a number in quotes"
    elif _is_number(value):
        number, how = _float(value), ""
    else:
        return None, ""
    if not percent:
        return number, how
    # "percent: 0.9" may be meant either way
    return (None if 0 < number <= 1 else number / HUNDRED), "a percentage"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _float(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    """A value in a sentence, short and on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = one_line(json.dumps(value, ensure_ascii=False))
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


# -- names ---------------------------------------------------------------------------------------------------------

_PREFIX = re.compile(r"\s*(?:criteri(?:on|a)[\s_#]*\d*[\s_]*[:.)_–—-]+|\d{1,2}\s*[.):_-])\s*(?=\w)", re.IGNORECASE)
_SUFFIX = re.compile(r"[(\[][^()\[\]]*(?:%|weight|percent|points?\b)[^()\[\]]*[)\]]", re.IGNORECASE)
NAME_CHARS = 400
LEAST_PREFIX = 3  # letters of a name that may stand for it


def _key(name: object) -> str:
    """A name without case, blanks and punctuation."""
    return "".join(char for char in str(name).casefold() if char.isalnum())


class _Names:
    """The criteria's names, as loosely as judges write them."""

    def __init__(self, criteria: Sequence[Criterion]) -> None:
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
    return _key(bare) or name.casefold().strip()


# -- what the verdict says -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """The members of a verdict as they were found, as pairs of a key and a value of any kind."""

    totals: tuple[tuple[str, object], ...] = ()
    scores: tuple[tuple[str, object], ...] = ()
    has_scores: bool = False
    notes: object = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Candidate:
    """Something in a reply that looks like a verdict."""

    found: Found
    parts: _Parts

    @property
    def is_broken(self) -> bool:
        """Whether it can't be read."""
        return self.found.value is None

    def is_full(self, names: _Names) -> bool:
        """Whether it has the form that was asked for: a total, and scores by the question's names."""
        parts = self.parts
        named = any(names.find(name) for name, _ in parts.scores) or not names.count
        return bool(parts.totals) and parts.has_scores and named


def _parts_of(found: Found, names: _Names) -> _Parts | None:
    """Find the members of a verdict; None when this is none.

    Behind something torn only the very form that was asked for counts: less may be a part of what was torn.
    """
    if found.value is None:
        return _Parts()
    if found.torn and not (isinstance(found.value, dict) and {"total", "scores"} <= found.value.keys()):
        return None
    return _parts(found.value, names)


def _parts(value: object, names: _Names, depth: int = 0) -> _Parts | None:
    match value:
        case list() if entries := _entries(value):
            return _Parts(scores=entries, has_scores=True, remarks=("The reply is a list of scores.",))
        case [inner] if depth < MAX_DEPTH:
            return _parts(inner, names, depth + 1)
        case dict():
            if _entry(value) and "total" not in map(_key, value):
                return None  # one criterion, not the verdict
            members = members_of(value)
            if len(members) > MAX_MEMBERS:
                return None
            return _own_parts(members, names) or _wrapped_parts(members, names, depth)
        case _:
            return None


def _own_parts(members: Sequence[tuple[str, object]], names: _Names) -> _Parts | None:
    """Take an object for the verdict, if it has a total or scores."""
    groups = [(name, inner) for name, inner in members if _is_scores(name, inner, names)]
    totals = [pair for pair in members if _is_total(pair[0], names) and pair[0] not in {name for name, _ in groups}]
    remarks = [f"Its {_shown(name)} was read as the scores." for name, _ in groups if _key(name) != "scores"]
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
    return _Parts(
        totals=tuple(totals),
        scores=tuple(scores),
        has_scores=bool(groups or scores),
        notes=_notes_of(members),
        remarks=tuple(remarks),
    )


def _wrapped_parts(members: Sequence[tuple[str, object]], names: _Names, depth: int) -> _Parts | None:
    """Look for the verdict one level deeper; two of them are none."""
    if depth >= MAX_DEPTH:
        return None
    below = [parts for _, inner in members if (parts := _parts(inner, names, depth + 1))]
    if len(below) != 1:
        return None
    (parts,) = below
    return _Parts(
        totals=parts.totals,
        scores=parts.scores,
        has_scores=parts.has_scores,
        notes=parts.notes or _notes_of(members),
        remarks=(*parts.remarks, "The verdict was wrapped in another object."),
    )


def _notes_of(members: Sequence[tuple[str, object]]) -> object:
    keyed = {_key(name): inner for name, inner in reversed(members)}
    return next((keyed[key] for key in NOTES_KEYS if keyed.get(key)), None)


def _is_total(name: str, names: _Names) -> bool:
    key = _key(name)
    for ending in PERCENT_ENDINGS:
        key = key.removesuffix(ending) or "total"
    return key == "total" or (TOTAL_KEYS.fullmatch(key) is not None and _name_key(name) not in names.keys)


def _is_scores(name: str, inner: object, names: _Names) -> bool:
    """Whether a member holds the scores by criterion, and is not just a wrapper around them."""
    key = _key(name)
    by_criterion = key == "score" and isinstance(inner, dict) and any(names.find(str(one)) for one in inner)
    if not (SCORES_KEYS.fullmatch(key) or by_criterion) or _name_key(name) in names.keys:
        return False
    if isinstance(inner, dict):
        return not any(isinstance(one, dict | list) and _is_scores(str(key), one, names) for key, one in inner.items())
    return isinstance(inner, list) and bool(_entries(inner))


def _is_note(name: str, inner: object, names: _Names) -> bool:
    return isinstance(inner, str) and _key(name) in NOTES_KEYS and _name_key(name) not in names.keys


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
            if not TOTAL_KEYS.fullmatch(_key(name)) and (isinstance(inner, str) or _is_number(inner)):
                entry = str(name), inner
        if entry is None:
            return ()
        entries.append(entry)
    return tuple(entries)


def _entry(value: Mapping[str, object]) -> tuple[str, object] | None:
    """Read one criterion of a list: a member with its name, and one with its score."""
    keyed = {_key(name): inner for name, inner in value.items()}
    name = next((keyed[key] for key in NAME_KEYS if isinstance(keyed.get(key), str)), None)
    if name is None or not any(key in keyed for key in (*SCORE_KEYS, *PERCENT_ENDINGS)):
        return None
    if any(SCORES_KEYS.fullmatch(key) and isinstance(inner, dict | list) for key, inner in keyed.items()):
        return None
    return str(name), value


def _verdict(
    parts: _Parts, criteria: Sequence[Criterion], names: _Names, remarks: list[str], *, is_last: bool
) -> Verdict:
    remarks.extend(parts.remarks)
    total = _total(parts.totals, remarks)
    scores, bad = _scores(parts.scores, names, remarks)
    missing = [criterion.name for criterion in criteria if criterion.name not in scores]
    if total is None:
        if bad:
            raise UnreadableReplyError(f"There is no total, and it can't be computed: {bad[0]}")
        if missing or not scores:
            lacking = f"no score for {_shown(missing[0])}" if missing else "no scores"
            raise UnreadableReplyError(f"The reply has no total and {lacking}.")
    remarks.extend(f"A score was left out: {problem}" for problem in bad)
    if missing and not bad:
        remarks.append(f"The reply has no score for {', '.join(map(_shown, missing))}.")
    weights = {criterion.name: criterion.weight for criterion in criteria if criterion.weight is not None}
    if weights and not missing and len(weights) == len(criteria):
        mean = _mean([(scores[name], weight) for name, weight in weights.items()])
        if total is None:
            remarks.append("The reply has no total; the weighted mean of its scores stands for it.")
            total = mean
        else:
            total = _total_beside(mean, total, remarks, is_last=is_last)
    elif total is None:
        remarks.append("The reply has no total; the mean of its scores stands for it.")
        total = _mean([(score, 1.0) for score in scores.values()])
    return Verdict(total=total, scores=scores, notes=_notes_text(parts.notes), remarks=tuple(dict.fromkeys(remarks)))


def _total_beside(mean: float, total: float, remarks: list[str], *, is_last: bool) -> float:
    """Decide between the judge's total and the weighted mean of its scores, which differ by more where there is a cap."""
    if abs(mean - total) <= TOLERANCE + SAME:  # a difference of exactly 0.02 is a little more in binary
        return mean
    if is_last:
        remarks.append(f"The judge's total, {total:g}, counts; the weighted mean of its scores is {mean:g}.")
        return total
    raise UnreadableReplyError(
        f"The total is {total:g}, but the weighted mean of the scores is {mean:g}. Give scores that are right, and the "
        "total that follows from them by the rubric, its caps and vetoes included."
    )


def _total(totals: Sequence[tuple[str, object]], remarks: list[str]) -> float | None:
    """Read the total; None where there is none. Under other names than `total` all that are there have to agree."""
    named = [(name, value) for name, value in totals if _key(name) == "total"] or totals
    read: dict[float, list[str]] = {}
    problem: UnreadableReplyError | None = None
    for name, value in named:
        said: list[str] = []
        try:
            number = _number(value, "The total", said, percent=_key(name).endswith(PERCENT_ENDINGS))
        except UnreadableReplyError as error:
            problem = problem or error
            continue
        if _key(name) != "total":
            said.append(f"Its {_shown(name)} was read as the total.")
        read.setdefault(number, said)
    if len(read) > 1:
        values = ", ".join(f"{name} {_shown(value)}" for name, value in named[:4])
        raise UnreadableReplyError(f"The reply names different totals: {values}.")
    if not read and problem:
        raise problem
    for number, said in read.items():
        remarks.extend(said)
        return number
    return None


def _scores(
    pairs: Sequence[tuple[str, object]], names: _Names, remarks: list[str]
) -> tuple[dict[str, float], list[str]]:
    """Read the scores by the criteria's names; the second value says what is wrong with the others."""
    scores: dict[str, float] = {}
    bad: dict[str, str] = {}
    unknown: list[str] = []
    for said, value in pairs:
        name = names.find(said) if names.count else one_line(said)
        if name is None:
            unknown.append(said)
            continue
        what = f"The score of {_shown(name)}"
        try:
            number = _number(value, what, remarks)
        except UnreadableReplyError as error:
            bad[name] = str(error)
            continue
        if scores.setdefault(name, number) != number:
            bad[name] = f"{what} is there twice, {scores[name]:g} and {number:g}."
    if unknown:
        remarks.append(
            f"Scores for what the question does not name were left out: {', '.join(map(_shown, unknown[:5]))}."
        )
    return {name: score for name, score in scores.items() if name not in bad}, list(bad.values())


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    whole = math.fsum(weight for _, weight in weighted)
    mean = math.fsum(score * weight for score, weight in weighted) / whole
    return min(1.0, max(0.0, round(mean, PRECISION)))


def _notes_text(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(one for one in value if isinstance(one, str))
    elif isinstance(value, dict):
        value = " ".join(f"{name}: {one}" for name, one in value.items() if isinstance(one, str))
    text = writable(value[: NOTES_CHARS + 1]).strip() if isinstance(value, str) else ""
    return text if len(text) <= NOTES_CHARS else f"{text[:NOTES_CHARS]}…"

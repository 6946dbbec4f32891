"""What a judge's reply says: JSON in whatever clothes, read without ever guessing a score (pure)."""

from __future__ import annotations

import json
import math
import re
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.grading.judge_json import Found, bounded, find_objects, holds_json, without_thinking
from pinchbench.grading.judge_view import one_line
from pinchbench.openclaw.transcript import writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.grading.judge_text import Criterion, Question

NOTES_CHARS = 4_000
MAX_MEMBERS = 500  # of one object or list
MAX_DEPTH = 4  # wrappers around a verdict
TOLERANCE = 0.02  # between the judge's total and the weighted mean of its scores; more is worth a remark
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


def read_reply(text: str, question: Question) -> Verdict:
    """Read a judge's reply. Of several objects with a score the last one counts.

    Where all criteria have weights and scores, the total is our own weighted mean; otherwise the judge's total; without
    one, the mean of the scores of all criteria. Takes about a second at most, whatever the text is.

    Raises:
        UnreadableReplyError: there is no total, more than one, or one that is not a number from 0 to 1.
    """
    remarks: list[str] = []
    text = bounded(without_thinking(text, remarks), remarks)
    if not text.strip():
        raise UnreadableReplyError("The reply is empty.")
    names = _Names(question.criteria)
    verdicts = [(found, parts) for found in find_objects(text) if (parts := _parts_of(found, names)) is not None]
    if not verdicts:
        return _spoken(text, remarks)
    found, parts = verdicts[-1]
    if found.value is None:
        raise UnreadableReplyError("The last object of the reply that speaks of a score is broken.")
    if found.surrounded:
        remarks.append("The verdict was read out of other text.")
    if found.loose:
        remarks.append("The verdict is no strict JSON and was read as JSON5.")
    if len(verdicts) > 1:
        remarks.append(f"The reply holds {len(verdicts)} verdicts; the last one counts.")
    return _verdict(parts, question.criteria, names, remarks)


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


# -- replies without JSON ------------------------------------------------------------------------------------------

_TOTAL_LINE = re.compile(
    r"[\s*_#>|+•-]*(?:the\s+)?(?P<key>(?:overall|total|final|weighted|average|mean)(?:\s+(?:weighted\s+)?"
    r"(?:score|total|rating|grade|average|mean))?|score|rating|grade)[\s*_]*[:=][\s*_`]*(?P<value>[-+]?[\d.][^*_`]{0,40}?)[\s*_`.|]*",
    re.IGNORECASE,
)
LINE_CHARS = 120


def _spoken(text: str, remarks: list[str]) -> Verdict:
    """Read a reply without any JSON: one line such as `Total: 0.85`."""
    if holds_json(text):
        raise UnreadableReplyError("The reply holds no JSON object with a total that could be read.")
    lines = (_TOTAL_LINE.fullmatch(line) for line in text.split("\n") if len(line) <= LINE_CHARS)
    said = [match["value"].strip() for match in lines if match]
    if not said:
        raise UnreadableReplyError("The reply holds no JSON object and no total.")
    numbers = dict.fromkeys(_number(value, "The total", []) for value in said)
    if len(numbers) > 1:
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


def _nested_number(value: Mapping[object, object], what: str, remarks: list[str], *, percent: bool) -> float:
    keys = {_key(name): inner for name, inner in value.items()}
    for name in (*SCORE_KEYS, *PERCENT_ENDINGS):
        if name in keys and not isinstance(keys[name], dict):
            whole = next((keys[one] for one in OUT_OF_KEYS if _is_number(keys.get(one))), None)
            if whole is not None and _is_number(keys[name]) and whole != 1:
                return _number(f"{keys[name]}/{whole}", what, remarks)
            return _number(keys[name], what, remarks, percent=percent or name in PERCENT_ENDINGS)
    raise UnreadableReplyError(f"{what} is an object without a score; it has to be a number from 0 to 1.")


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
    notes: object = None
    remarks: tuple[str, ...] = ()


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
            return _Parts(scores=entries, remarks=("The reply is a list of scores.",))
        case [inner] if depth < MAX_DEPTH:
            return _parts(inner, names, depth + 1)
        case dict():
            if _entry(value) and "total" not in map(_key, value):
                return None  # one criterion, not the verdict
            members = [(str(name), inner) for name, inner in value.items()][:MAX_MEMBERS]
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
    return _Parts(totals=tuple(totals), scores=tuple(scores), notes=_notes_of(members), remarks=tuple(remarks))


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
        return tuple((str(name), inner) for name, inner in group.items())[:MAX_MEMBERS]
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


def _verdict(parts: _Parts, criteria: Sequence[Criterion], names: _Names, remarks: list[str]) -> Verdict:
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
        elif abs(mean - total) > TOLERANCE + 1e-9:  # a difference of exactly 0.02 is a little more in binary
            remarks.append(f"The judge's total is {total:g}; the weighted mean of its scores, {mean:g}, counts.")
        total = mean
    elif total is None:
        remarks.append("The reply has no total; the mean of its scores stands for it.")
        total = _mean([(score, 1.0) for score in scores.values()])
    return Verdict(total=total, scores=scores, notes=_notes_text(parts.notes), remarks=tuple(dict.fromkeys(remarks)))


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

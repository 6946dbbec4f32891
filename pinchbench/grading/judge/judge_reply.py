"""Parsing of a judge's reply: only the verdict that is its own, never one that it may be quoting (pure)."""

from __future__ import annotations

import json
import math
import re
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pinchbench.grading.judge.question_blocks import one_line
from pinchbench.transcript_lines import writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.grading.judge.criteria import Criterion
    from pinchbench.grading.judge.prompt import Question

REPLY_CHARS = 100_000  # read of a reply: more than MAX_TOKENS can produce
SEARCHED_CHARS = 4_000_000  # decoded without success before the search stops: bounds the work on a hostile reply
NOTES_CHARS = 4_000
TOLERANCE = 0.02  # between the judge's total and the mean of its scores, both of which may be rounded
SAME = 1e-9  # a larger difference between two totals is not a rounding error of binary fractions
PRECISION = 9  # decimals: removes the rounding error of binary fractions from a computed mean
SHOWN_CHARS = 60  # of a value quoted in a message: enough to find it
MAX_DEPTH = 8  # nesting depth of objects around a verdict

MARK_KEY = "mark"
TOTAL_KEYS = ("total", "overall_score", "final_score", "total_score", "overall", "score")
SCORES_KEYS = ("scores", "criteria_scores", "criterion_scores", "criteria")
SCORE_KEYS = ("score", "value", "rating", "grade", "points")  # in an object of one criterion
NAME_KEYS = ("criterion", "name", "criterion_name", "title")  # in a list of such objects
NOTES_KEYS = ("notes", "justification", "reasoning", "rationale", "explanation", "feedback")

Json: TypeAlias = "dict[str, object]"


class UnreadableReplyError(ValueError):
    """A reply holds no unambiguous verdict. The message is a sentence that says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The verdict of one judge reply.

    `total` and each value of `scores` (keyed by the question's criterion names) are in 0-1. `notes` are the judge's own
    words. `remarks` are our sentences, one for each deviation of the reply from the requested form.
    """

    total: float
    scores: Mapping[str, float] = field(default_factory=dict)
    notes: str = ""
    remarks: tuple[str, ...] = ()


def read_reply(text: str, question: Question, *, is_last: bool = True) -> Verdict:
    """Read a judge's reply.

    Judges quote what agents wrote, including verdicts planted to influence them. Only two forms are therefore accepted:
    an object that has the question's mark as its own member, which no quotation can have, whatever surrounds it; or a
    reply that consists of exactly one object, bare or in one code fence.

    If all criteria have weights and scores, the total is our own weighted mean. A judge's total that differs by more
    than the tolerance may be a cap of the rubric, or an error: the reply is unreadable while the judge can be asked
    again, and the judge's total counts if `is_last`. Without weights the judge's total counts; without a total, the
    mean of the scores of all criteria. Takes at most about a second for any text.

    Raises:
        UnreadableReplyError: there is no such verdict, there are several that differ, or a number is not from 0 to 1.
    """
    if not text.strip():
        raise UnreadableReplyError("The reply is empty.")
    if len(text) > REPLY_CHARS:
        raise UnreadableReplyError(f"The reply has {len(text)} characters; up to {REPLY_CHARS} are read.")
    objects = _marked_objects(text, question.mark) or _whole_verdict(text)
    verdicts = [_verdict(one, question.criteria, is_last=is_last) for one in objects]
    last = verdicts[-1]
    for other in verdicts:
        if abs(other.total - last.total) > SAME or other.scores != last.scores:
            raise UnreadableReplyError(
                f"The reply holds several verdicts that differ; their totals are {other.total:g} and {last.total:g}."
            )
    return last


def median_verdict(verdicts: Sequence[Verdict]) -> tuple[Verdict, float]:
    """Merge votes: return the median of the totals, and the difference between the largest and the smallest.

    Each criterion gets the median of the votes that score it. The notes are those of the vote nearest to the median,
    the remarks those of all votes. There must be at least one.
    """
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


# -- which object is the verdict -----------------------------------------------------------------------------------

_FENCED = re.compile(r"(?P<marks>`{3,}|~{3,})[\w+-]*\s(?P<inner>.*)(?P=marks)", re.DOTALL)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


class _RepeatedKeyError(ValueError):
    """An object has a key twice: JSON parsers differ in which of the two counts."""


def _members(pairs: list[tuple[str, object]]) -> Json:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedKeyError
    return members


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_members)  # judges write raw line breaks into strings


def _whole_verdict(text: str) -> list[Json]:
    """Return the one object that a reply consists of, bare or in one code fence. It needs no mark."""
    whole = text.strip()
    if fence := _FENCED.fullmatch(whole):
        whole = fence["inner"].strip()
    try:
        value = _DECODER.decode(whole)
    except _RepeatedKeyError:
        raise UnreadableReplyError("An object of the reply has a key twice.") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not any(key in value for key in (*TOTAL_KEYS, *SCORES_KEYS)):
        raise UnreadableReplyError(
            "There is no JSON object with the question's mark, and the reply is not one verdict alone."
        )
    if MARK_KEY in value:
        raise UnreadableReplyError(f"Its mark is {shown(value[MARK_KEY])}, which is not that of the question.")
    return [value]


def _marked_objects(text: str, mark: str) -> list[Json]:
    """Return the objects that repeat the mark: those after the judge's visible reasoning if it has any, else all.

    The reasoning may hold drafts. Cutting it off gives no advantage to a quotation, which has no mark.
    """
    if mark not in text:
        return []
    ends = [end.end() for end in _THOUGHT_ENDS.finditer(text)]
    for start in (*ends[-1:], 0):
        if found := list(_search(text, start, mark)):
            return found
    return []


def _search(text: str, start: int, mark: str) -> Iterator[Json]:
    left = SEARCHED_CHARS
    at = text.find("{", start)
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            end = at + 1
            left -= max(error.pos - at, 1)
        except (ValueError, RecursionError):
            end = at + 1
            left -= len(text) - at
        else:
            yield from _with_mark(value, mark)
        if left <= 0:
            raise UnreadableReplyError("The reply holds too many objects that are broken.")
        at = text.find("{", end)


def _with_mark(value: object, mark: str, depth: int = 0) -> Iterator[Json]:
    """Yield the objects within a value that have the mark, the outermost of each branch."""
    if isinstance(value, dict):
        said = value.get(MARK_KEY)
        if isinstance(said, str) and said.strip() == mark:
            yield value
            return
        value = list(value.values())
    if isinstance(value, list) and depth < MAX_DEPTH:
        for inner in value:
            yield from _with_mark(inner, mark, depth + 1)


# -- what the verdict says -----------------------------------------------------------------------------------------


def _verdict(value: Json, criteria: Sequence[Criterion], *, is_last: bool) -> Verdict:
    remarks: list[str] = []
    total = _read_total(value)
    scores, bad = _read_scores(value, criteria, remarks)
    missing = [criterion.name for criterion in criteria if criterion.name not in scores]
    if total is None:
        if bad:
            raise UnreadableReplyError(f"There is no total, and it can't be computed: {bad[0]}")
        if missing or not scores:
            lacking = f"no score for {shown(missing[0])}" if missing else "no scores"
            raise UnreadableReplyError(f"The verdict has no total and {lacking}.")
    remarks.extend(f"A score was left out: {problem}" for problem in bad)
    if missing and not bad:
        remarks.append(f"The reply has no score for {', '.join(map(shown, missing))}.")
    weights = {criterion.name: criterion.weight for criterion in criteria if criterion.weight is not None}
    if weights and not missing and len(weights) == len(criteria):
        mean = _mean([(scores[name], weight) for name, weight in weights.items()])
        if total is None:
            remarks.append("The reply has no total; the weighted mean of its scores is used.")
            total = mean
        else:
            total = _total_beside(mean, total, remarks, is_last=is_last)
    elif total is None:
        remarks.append("The reply has no total; the mean of its scores is used.")
        total = _mean([(score, 1.0) for score in scores.values()])
    return Verdict(total=total, scores=scores, notes=_notes(value), remarks=tuple(remarks))


def _total_beside(mean: float, total: float, remarks: list[str], *, is_last: bool) -> float:
    """Choose between the judge's total and the weighted mean of its scores, which differ by more if a cap applies."""
    if abs(mean - total) <= TOLERANCE + SAME:  # a difference of exactly 0.02 is a little more in binary
        return mean
    if is_last:
        remarks.append(f"The judge's total, {total:g}, counts; the weighted mean of its scores is {mean:g}.")
        return total
    raise UnreadableReplyError(
        f"The total is {total:g}, but the weighted mean of the scores is {mean:g}. Give scores that are right, and the "
        "total that follows from them by the rubric, its caps and vetoes included."
    )


def _read_total(value: Json) -> float | None:
    """Return the total, or None if there is none, or only null, NaN or words without a digit such as `N/A`.

    Totals under names other than `total` must all agree.
    """
    given = [key for key in TOTAL_KEYS if not _UNSAID.fullmatch(shown(value.get(key)))]
    named = ["total"] if "total" in given else given
    totals = {_number(value[key], "The total") for key in named}
    if len(totals) > 1:
        raise UnreadableReplyError(f"The verdict names different totals, as {' and '.join(named)}.")
    return totals.pop() if totals else None


def _read_scores(value: Json, criteria: Sequence[Criterion], remarks: list[str]) -> tuple[dict[str, float], list[str]]:
    """Return the scores by the criteria's names, and sentences that say what is wrong with the others."""
    names = _Names(criteria)
    flat = {key: one for key, one in value.items() if key not in TOTAL_KEYS and names.find(key) is not None}
    given = next((value[key] for key in SCORES_KEYS if value.get(key) is not None), flat)
    pairs = _named_scores(given, criteria)
    if pairs is None:
        return {}, [f"The scores are {shown(given)}, and not an object with a number for each criterion."]
    scores: dict[str, float] = {}
    bad: dict[str, str] = {}
    unknown: list[str] = []
    for said, score in pairs:
        name = names.find(said) if criteria else one_line(said)
        if name is None:
            unknown.append(said)
            continue
        what = f"The score of {shown(name)}"
        try:
            number = _number(score, what)
        except UnreadableReplyError as error:
            bad[name] = str(error)
            continue
        if scores.setdefault(name, number) != number:
            bad[name] = f"{what} is there twice, {scores[name]:g} and {number:g}."
    if unknown:
        remarks.append(
            f"Scores for what the question does not name were left out: {', '.join(map(shown, unknown[:5]))}."
        )
    return {name: score for name, score in scores.items() if name not in bad}, list(bad.values())


def _named_scores(given: object, criteria: Sequence[Criterion]) -> list[tuple[str, object]] | None:
    """Return names with scores, from an object, or a list of objects or of one number for each criterion in order."""
    if isinstance(given, dict):
        return list(given.items())
    if not isinstance(given, list):
        return None
    named: list[tuple[str, object]] = [
        (name, one)
        for one in given
        if isinstance(one, dict) and isinstance(name := next((one[key] for key in NAME_KEYS if key in one), None), str)
    ]
    if len(named) == len(given):
        return named
    if all(isinstance(one, dict) and len(one) == 1 and not {*one} & {*SCORE_KEYS} for one in given):
        return [pair for one in given for pair in one.items()]
    in_order = len(given) == len(criteria) and not named
    return [(one.name, score) for one, score in zip(criteria, given, strict=True)] if in_order else None


_UNSAID = re.compile(r'null|NaN|"\D*"')
_PLAIN = re.compile(r"\s*\+?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})\s*")


def _number(value: object, what: str) -> float:
    """Return a score: a number from 0 to 1, also in quotes or in its own object. Other scales are never guessed."""
    if isinstance(value, dict):
        value = next((value[key] for key in SCORE_KEYS if key in value), value)
    number = math.nan
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        number = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value  # compared before conversion: an integer can be too large for a float
    if not 0 <= number <= 1:
        raise UnreadableReplyError(f"{what} is {shown(value)}; it has to be a number from 0 to 1.")
    return float(number) + 0.0  # turns -0.0 into 0.0


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    whole = math.fsum(weight for _, weight in weighted)
    mean = math.fsum(score * weight for score, weight in weighted) / whole
    return min(1.0, max(0.0, round(mean, PRECISION)))


def _notes(value: Json) -> str:
    notes = next((value[key] for key in NOTES_KEYS if value.get(key)), None)
    text = writable(notes[: NOTES_CHARS + 1]).strip() if isinstance(notes, str) else ""
    return text if len(text) <= NOTES_CHARS else f"{text[:NOTES_CHARS]}…"


def shown(value: object) -> str:
    """Return a value for use in a message, short and on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = one_line(json.dumps(value, ensure_ascii=False))
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


# -- loose matching of criterion names, as judges write them ---------------------------------------------------------

_PREFIX = re.compile(r"\s*(?:criteri(?:on|a)[\s_#]*\d*[\s_]*[:.)_–—-]+|\d{1,2}\s*[.):_-])\s*(?=\w)", re.IGNORECASE)
_SUFFIX = re.compile(r"[(\[][^()\[\]]*(?:%|weight|percent|points?\b)[^()\[\]]*[)\]]", re.IGNORECASE)
NAME_CHARS = 400
LEAST_PREFIX = 3  # letters that an abbreviated name must have


class _Names:
    """The criteria of a question. Several may have the same name except for case and punctuation."""

    def __init__(self, criteria: Sequence[Criterion]) -> None:
        self._by_key: dict[str, list[str]] = {}
        for criterion in criteria:
            self._by_key.setdefault(_name_key(criterion.name), []).append(criterion.name)

    def find(self, name: str) -> str | None:
        """Return the matching criterion; None if there is none or more than one."""
        key = _name_key(name)
        meant = self._by_key.get(key, [])
        if name in meant:
            return name
        if not meant and len(key) >= LEAST_PREFIX:
            meant = [
                full
                for one, names in self._by_key.items()
                if one.startswith(key) or (len(one) >= LEAST_PREFIX and key.startswith(one))
                for full in names
            ]
        return meant[0] if len(meant) == 1 else None


def _name_key(name: str) -> str:
    bare = _SUFFIX.sub("", _PREFIX.sub("", name[:NAME_CHARS], count=1))
    return "".join(char for char in bare.casefold() if char.isalnum()) or name.casefold().strip()

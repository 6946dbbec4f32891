"""What a judge's reply says: JSON in whatever clothes, read without ever guessing a score (pure)."""

from __future__ import annotations

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
    unquoted,
    without_spans,
    without_thinking,
    without_unopened_thinking,
)
from pinchbench.grading.judge_numbers import (
    PERCENT_ENDINGS,
    UnreadableReplyError,
    key_of,
    measure,
    read_number,
    shown,
)
from pinchbench.grading.judge_parts import Candidate, Names, Parts, find_parts
from pinchbench.grading.judge_view import one_line
from pinchbench.results.transcript_lines import writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.grading.judge_text import Criterion, Question

NOTES_CHARS = 4_000
TOLERANCE = 0.02  # between two ways to say a total, which may be rounded: by its number, by its scores, in words
SAME = 1e-9  # two totals that differ by more are two
PRECISION = 9  # decimals: takes the dust off computed means


BROKEN = "The last object of the reply that speaks of a score is broken."


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
    names = Names(question.criteria)
    candidates = [
        Candidate(found=found, parts=parts)
        for found in find_objects(text)
        if (parts := find_parts(found, names)) is not None
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


def _choose(text: str, candidates: Sequence[Candidate], names: Names, remarks: list[str]) -> Candidate:
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


def _check_broken(text: str, candidates: Sequence[Candidate], full: Sequence[Candidate], chosen: Candidate) -> None:
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


def _check_rivals(total: float, rivals: Sequence[Candidate], names: Names) -> None:
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
        number, _ = measure(words, percent=False)
        if number is not None and 0 <= number <= 1 and abs(number - total) > TOLERANCE:
            raise UnreadableReplyError(
                f"The reply holds several verdicts: the total is {total:g}, and {shown(words)} in words."
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


def _spoken(text: str, names: Names, remarks: list[str]) -> Verdict:
    """Read a reply without any JSON: one line such as `Total: 0.85`. A mere `Score` may be that of one criterion."""
    if holds_json(text):
        raise UnreadableReplyError("The reply holds no JSON object with a total that could be read.")
    said = _total_lines(text, _TOTAL_LINE if names.count else _SCORE_LINE)
    if not said:
        raise UnreadableReplyError("The reply holds no JSON object and no total.")
    numbers = dict.fromkeys(read_number(value, "The total", []) for value in said)
    if max(numbers) - min(numbers) > SAME:
        raise UnreadableReplyError(f"The reply names different totals: {shown(', '.join(said))}.")
    remarks.append(f"The reply is no JSON; its total was read from the words {shown(said[-1])}.")
    return Verdict(total=next(iter(numbers)), notes=_notes_text(text), remarks=tuple(remarks))


# -- what the verdict says -----------------------------------------------------------------------------------------


def _verdict(
    parts: Parts, criteria: Sequence[Criterion], names: Names, remarks: list[str], *, is_last: bool
) -> Verdict:
    remarks.extend(parts.remarks)
    total = _total(parts.totals, remarks)
    scores, bad = _scores(parts.scores, names, remarks)
    missing = [criterion.name for criterion in criteria if criterion.name not in scores]
    if total is None:
        if bad:
            raise UnreadableReplyError(f"There is no total, and it can't be computed: {bad[0]}")
        if missing or not scores:
            lacking = f"no score for {shown(missing[0])}" if missing else "no scores"
            raise UnreadableReplyError(f"The reply has no total and {lacking}.")
    remarks.extend(f"A score was left out: {problem}" for problem in bad)
    if missing and not bad:
        remarks.append(f"The reply has no score for {', '.join(map(shown, missing))}.")
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
    named = [(name, value) for name, value in totals if key_of(name) == "total"] or totals
    read: dict[float, list[str]] = {}
    problem: UnreadableReplyError | None = None
    for name, value in named:
        said: list[str] = []
        try:
            number = read_number(value, "The total", said, percent=key_of(name).endswith(PERCENT_ENDINGS))
        except UnreadableReplyError as error:
            problem = problem or error
            continue
        if key_of(name) != "total":
            said.append(f"Its {shown(name)} was read as the total.")
        read.setdefault(number, said)
    if len(read) > 1:
        values = ", ".join(f"{name} {shown(value)}" for name, value in named[:4])
        raise UnreadableReplyError(f"The reply names different totals: {values}.")
    if not read and problem:
        raise problem
    for number, said in read.items():
        remarks.extend(said)
        return number
    return None


def _scores(
    pairs: Sequence[tuple[str, object]], names: Names, remarks: list[str]
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
        what = f"The score of {shown(name)}"
        try:
            number = read_number(value, what, remarks)
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

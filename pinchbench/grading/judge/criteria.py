"""Reading the names and weights of a task's criteria from its rubric's Markdown (pure)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.grading.judge.question_blocks import one_line
from pinchbench.suite.markdown import split_fences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinchbench.model.task import Task

_HEADING = re.compile(r" {0,3}(?P<level>#{2,4})[ \t]+(?P<title>\S.*)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,2}[.)])\s+(?P<marks>\*\*|__)(?P<name>[^\n]+?)(?P=marks)(?P<rest>.*)")
_MARKDOWN = frozenset({"markdown", "md"})
_NUMBERED = re.compile(r"(?P<word>criterion\s*#?\d*\s*[:.)–—-]\s*)(?=\S)|\d{1,2}[.)]\s+(?=\S)", re.IGNORECASE)
_AMOUNT = (
    r"(?P<word>(?:weight(?:ing|ed)?|[權权]重|比重|占比)\s*(?:of)?\s*[:=：]?\s*)?(?P<number>\d+(?:\.\d+)?)"
    r"\s*(?P<unit>[%％]|percent\b|points?\b|pts?\b)?"
)
_BEFORE = r"(?:[^()\[\]（）]{1,60}[,;，；]\s*(?=\D))?"  # such as `key: c1_clarity, ` before `weight: 0.1`
_WEIGHT_IN_BRACKETS = re.compile(rf"\s*[(\[（]\s*{_BEFORE}{_AMOUNT}[^()\[\]（）]{{0,40}}[)\]）]", re.IGNORECASE)
_WEIGHT_AT_END = re.compile(rf"\s*[-–—:|,]\s*{_AMOUNT}\s*$", re.IGNORECASE)
_ANCHOR = re.compile(
    r"(?:(?:scores?|ratings?|grades?|levels?)\s*[:=]?\s*)?\d|(?:scores?|ratings?|grades?)$", re.IGNORECASE
)
_NO_CRITERIA = frozenset(
    {"notes", "note", "scale", "scoring", "overview", "instructions", "guidelines", "total", "general"}
)
ITEM_LEVEL = 9  # list items rank below all levels of headings
WHOLE = 0.015  # how far from 1 the sum of rounded shares may be
SUMS = (1.0, 100.0)  # accepted sums of weights, in whatever unit
_LEVEL = (
    r"(?:(?:very|mostly|fully|partially|barely|not)\s+)?"
    r"(?:excellent|outstanding|exceptional|exemplary|perfect|good|fair|satisfactory|unsatisfactory|sufficient|insufficient"
    r"|acceptable|unacceptable|adequate|inadequate|average|mediocre|weak|poor|bad|none|nothing|zero|partial|pass|passed"
    r"|fail|failed|failing|failure|missing|absent|met|(?:full|half|partial|some|no)\s+(?:marks?|credit|points?|scores?)"
    r"|level\s+(?:\d+|[ivx]+|[a-e]|zero|one|two|three|four|five))"
)
# `Excellent`, `Good (most facts)`, `Poor or missing`, `Full marks: …`
_SCALE = re.compile(rf"{_LEVEL}(?:\s*(?:,|/|\bor\b|\band\b)\s*{_LEVEL})*(?:\s*[(\[:=].*|\s+[–—-].*)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Criterion:
    """A criterion that a judge scores separately.

    `weight` is its share of the total: those of a question sum to 1, or all are None.
    """

    name: str
    weight: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Candidate:
    level: int
    name: str
    weight: float | None
    explicit: bool


def read_criteria(task: Task) -> tuple[Criterion, ...]:
    """Return the criteria, from the rubric's headings and lists, or from the grading criteria if there is no rubric.

    Headings such as `### Clarity (weight 40 %)`, `### Criterion 1: Clarity` and items such as `- **Clarity** (40 %): …`
    are recognised, also if the whole rubric is inside a fence. Weights count only if none is 0 and they sum to 1 or
    100, except for rounding; other weights are ignored, not scaled. Empty if the rubric has another form; a list of
    levels such as `Excellent (100 %)`, `Poor (25 %)` is a scale, not criteria.
    """
    if not (task.llm_judge_rubric and task.llm_judge_rubric.strip()):
        return _unique([(one_line(text.strip()), None) for text in task.grading_criteria])
    candidates = _candidates(task.llm_judge_rubric)
    groups = [_group(candidates, level) for level in (3, 2, 4, ITEM_LEVEL)]
    for group in groups:
        weighted = [one for one in group if one.weight is not None]
        shares = _shares([one.weight or 0.0 for one in weighted])
        if shares and (len(shares) > 1 or len(group) == 1):
            return _unique([(one.name, share) for one, share in zip(weighted, shares, strict=True)])
        if weighted or any(one.explicit for one in group):
            named = [one for one in group if one.explicit or one.weight is not None]
            return _unique([(one.name, None) for one in (group if weighted else named)])
    headings = next((group for group in groups[:3] if len(group) > 1), [])
    return _unique([(one.name, None) for one in headings])


def _candidates(rubric: str) -> list[_Candidate]:
    """Return possible criteria: outside fences, which hold examples; else in the only fence, if that is the rubric."""
    text, fences = split_fences(rubric)
    if found := list(_in_lines(text)):
        return found
    has_words = any(map(str.isalnum, text))
    rubrics = [fence for fence in fences if fence.language in _MARKDOWN or not (fence.language or has_words)]
    return list(_in_lines(split_fences(rubrics[0].text)[0])) if len(rubrics) == 1 else []


def _in_lines(text: str) -> Iterator[_Candidate]:
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            title = heading["title"].rstrip().rstrip("#")
            yield from _candidate(len(heading["level"]), title, "")
        elif item := _ITEM.match(line):
            yield from _candidate(ITEM_LEVEL, item["name"], item["rest"])


def _candidate(level: int, name: str, rest: str) -> Iterator[_Candidate]:
    numbered = _NUMBERED.match(name.strip(" *_"))
    explicit = numbered is not None and numbered["word"] is not None
    name = name.strip(" *_")[numbered.end() if numbered else 0 :]
    found = _WEIGHT_IN_BRACKETS.search(name) or _WEIGHT_AT_END.search(name)
    weight = _amount(found)
    if found and weight is not None:
        name = name[: found.start()] + name[found.end() :]
    elif level == ITEM_LEVEL:
        rest = rest.lstrip(" :")
        weight = _amount(_WEIGHT_IN_BRACKETS.match(rest) or _WEIGHT_AT_END.search(rest.split(":")[0]))
    name = one_line(" ".join(name.split()).strip(" *_`:–—-"))
    if name and not _ANCHOR.match(name) and name.casefold() not in _NO_CRITERIA:
        yield _Candidate(level=level, name=name, weight=weight, explicit=explicit)


def _amount(found: re.Match[str] | None) -> float | None:
    """Return a weight as a number: percentages as shares, others unchanged. A bare number is not a weight."""
    if found is None or not (found["word"] or found["unit"]):
        return None
    number = float(found["number"])
    return number / 100 if found["unit"] in {"%", "％", "percent"} else number


def _group(candidates: Iterable[_Candidate], level: int) -> list[_Candidate]:
    """Return the candidates of one level; empty if they form a scale."""
    group = [one for one in candidates if one.level == level]
    return [] if any(_SCALE.fullmatch(one.name) for one in group) else group


def _shares(weights: Sequence[float]) -> list[float]:
    """Return the weights as shares of 1; empty if they do not sum to an accepted total."""
    total = math.fsum(weights)
    if not all(weights) or not any(abs(total / whole - 1) < WHOLE for whole in SUMS):
        return []
    return [weight / total for weight in weights]


def _unique(named: Iterable[tuple[str, float | None]]) -> tuple[Criterion, ...]:
    """Number repeated names: the judge's reply has one place for each name."""
    criteria: list[Criterion] = []
    taken: set[str] = set()
    for name, weight in named:
        numbers = (f"{name} ({number})" for number in range(2, len(taken) + 3))
        free = name if name.casefold() not in taken else next(one for one in numbers if one.casefold() not in taken)
        taken.add(free.casefold())
        criteria.append(Criterion(name=free, weight=weight))
    return tuple(criteria)

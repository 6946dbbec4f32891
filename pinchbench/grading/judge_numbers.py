"""Numbers as judges write them: plain, as percentages, as fractions; scales are never guessed (pure)."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from pinchbench.grading.judge_json import members_of
from pinchbench.grading.judge_view import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

SCORE_KEYS = ("score", "value", "rating", "grade", "points", "mark", "number", "result")
OUT_OF_KEYS = ("max", "outof", "maxscore", "maximum", "maxpoints", "possible", "scale")
PERCENT_ENDINGS = ("percent", "percentage", "pct")


class UnreadableReplyError(ValueError):
    """A reply holds no score that can be told for certain; the message is a sentence that says why."""


_PLAIN = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,40})?|\.\d{1,40})")
_PERCENT = re.compile(rf"(?P<number>{_PLAIN.pattern})\s*(?:%|percent)", re.IGNORECASE)
_FRACTION = re.compile(rf"(?P<part>{_PLAIN.pattern})\s*(?:/|out\s+of)\s*(?P<whole>{_PLAIN.pattern})", re.IGNORECASE)
HUNDRED = 100.0
SHOWN_CHARS = 60  # of a value in a sentence: enough to find it


def read_number(value: object, what: str, remarks: list[str], *, percent: bool = False) -> float:
    """Read a score. `what` begins the sentences about it. Scales are never guessed: only those that are named count."""
    if isinstance(value, dict):
        return _nested_number(value, what, remarks, percent=percent)
    number, how = measure(value, percent=percent)
    if number is None or not 0 <= number <= 1:
        raise UnreadableReplyError(f"{what} is {shown(value)}; it has to be a number from 0 to 1.")
    if how:
        remarks.append(f"{what}, {shown(value)}, was read as {how}.")
    return number + 0.0  # there is no score of minus zero


def _nested_number(value: Mapping[str, object], what: str, remarks: list[str], *, percent: bool) -> float:
    members = [(key_of(name), inner) for name, inner in members_of(value)]
    keyed = dict(members)
    for name in (*SCORE_KEYS, *PERCENT_ENDINGS):
        if name not in keyed or isinstance(keyed[name], dict):
            continue
        score = keyed[name]
        if any(key == name and _is_scalar(inner) and inner != score for key, inner in members):
            raise UnreadableReplyError(f"{what} is there twice with different values.")
        whole = next((keyed[one] for one in OUT_OF_KEYS if is_number(keyed.get(one))), None)
        if whole is not None and is_number(score) and whole != 1:
            return _part_of(score, whole, what, remarks)
        return read_number(score, what, remarks, percent=percent or name in PERCENT_ENDINGS)
    raise UnreadableReplyError(f"{what} is an object without a score; it has to be a number from 0 to 1.")


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)  # which may be too deep to be compared


def _part_of(score: object, whole: object, what: str, remarks: list[str]) -> float:
    part, full = _float(score), _float(whole)
    said = shown(f"{part:g}/{full:g}")
    if not 0 < full < math.inf or not 0 <= part <= full:
        raise UnreadableReplyError(f"{what} is {said}; it has to be a number from 0 to 1.")
    remarks.append(f"{what}, {said}, was read as a fraction.")
    return part / full + 0.0


def measure(value: object, *, percent: bool) -> tuple[float | None, str]:
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
    elif is_number(value):
        number, how = _float(value), ""
    else:
        return None, ""
    if not percent:
        return number, how
    # "percent: 0.9" may be meant either way
    return (None if 0 < number <= 1 else number / HUNDRED), "a percentage"


def is_number(value: object) -> bool:
    """Whether a JSON value is a number; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _float(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf


def shown(value: object) -> str:
    """A value in a sentence, short and on one line."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = one_line(json.dumps(value, ensure_ascii=False))
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def key_of(name: object) -> str:
    """A name without case, blanks and punctuation."""
    return "".join(char for char in str(name).casefold() if char.isalnum())

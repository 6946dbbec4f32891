"""Make text from outside safe and short for a terminal (pure)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

# C0, DEL and C1 controls, and the characters that reorder text (Unicode's Bidi_Control) or end a line: none may reach a
# terminal unescaped; nor may surrogates, which can't be encoded
_OTHERS = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE = re.compile(f"[\x00-\x1f{_OTHERS}]+")
_UNSAFE_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_OTHERS}]+")

MOST_SECONDS = 10**9  # thirty years: see below
MOST_TOKENS = 10**18  # larger numbers are invalid: a file can contain one that no float can represent


def plain(text: str, *, width: int = 0) -> str:
    """Return one line without control characters, truncated to `width` characters with an ellipsis if given."""
    line = _UNSAFE.sub(" ", text).strip()
    return line if not width or len(line) <= width else line[: max(0, width - 1)] + "…"


def shorten(text: str, width: int, *, end: int) -> str:
    """Return text in which an ellipsis stands for what is too long for `width`, before its last `end` characters."""
    return text if len(text) <= width else f"{text[: max(0, width - 1 - end)]}…{text[-end:]}"


def plain_lines(text: str) -> str:
    """Return text of several lines without control characters other than tabs and newlines."""
    return _UNSAFE_IN_LINES.sub(" ", text)


_WORD = re.compile(r"\S+")
_SECOND_COLUMN = re.compile(r" {0,10}\S+(?: \S+){0,3} {2,}(?=\S)")
MOST_HANG = 0.6  # of the width may be used to indent continuation lines


def fold(line: str, width: int) -> tuple[tuple[slice, ...], int]:
    """Return where to break a line so that each part fits into `width` columns, and the indentation of the rest.

    Continuation lines are aligned with the line's second column, if it has one, else with its first word. A word longer
    than the width, such as a path, is not broken.
    """
    if columns_of(line) <= width:
        return (slice(0, len(line)),), 0
    second = _SECOND_COLUMN.match(line)
    own = len(line) - len(line.lstrip())
    hang = next((hang for hang in (second.end() if second else own, own) if hang <= width * MOST_HANG), 0)
    parts: list[slice] = []
    start = stop = 0
    for word in _WORD.finditer(line):
        room = width - hang if parts else width
        if stop and columns_of(line[start : word.end()]) > room:
            parts.append(slice(start, stop))
            start = word.start()
        stop = word.end()
    return (*parts, slice(start, stop)), hang


def folded(text: str, width: int) -> str:
    """Break lines between words so that none is wider than `width` columns, except for longer words."""
    rows: list[str] = []
    for line in text.split("\n"):
        parts, hang = fold(line, width)
        rows += [" " * hang * (number > 0) + line[part] for number, part in enumerate(parts)]
    return "\n".join(rows)


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    widths = (0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)
    return sum(widths)


def duration(seconds: float) -> str:
    """Format a duration: `8.1 s`, `2 min 05 s`, `1 h 04 min`."""
    if seconds < 59.95:  # noqa: PLR2004 - what would round to 60.0
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(min(seconds, MOST_SECONDS)), 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def amount(tokens: int) -> str:
    """Format a number of tokens with a suffix: `950`, `12.3k`, `4.5M`."""
    if tokens < 1000:  # noqa: PLR2004 - below a thousand the number itself is shortest
        return str(tokens)
    if tokens < 999_950:  # noqa: PLR2004 - what would round to 1000.0k
        return f"{tokens / 1000:.1f}k"
    return f"{min(tokens, MOST_TOKENS) / 1_000_000:.1f}M"


def date_text(at: float, timezone: tzinfo | None = UTC) -> str:
    """Format seconds since the epoch as a date and time, to the minute; a dash if out of range.

    Without a `timezone`, it is that of the machine.
    """
    try:
        return datetime.fromtimestamp(at, timezone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "–"


def size(number: int) -> str:
    """Format a number of bytes: `4 KiB`, `512 MiB`, `4.2 GiB`."""
    if number < 2**20:
        return f"{-(-number // 2**10)} KiB"
    return f"{number / 2**20:.0f} MiB" if number < 2**30 else f"{number / 2**30:.1f} GiB"


def many(number: int, noun: str) -> str:
    """Format a number with its noun: `1 trial`, `2 trials`, `2 near misses`."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{plural}"


def some(names: Sequence[str], most: int) -> str:
    """Join the first `most` names, and say how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


_PLAIN = {  # where the name alone would be jargon
    "nonzero_exit": "given up by OpenClaw",
    "check_raised": "error in the check",
    "check_died": "check crashed",
    "check_limit": "check used too much",
    "check_no_scores": "no scores from the check",
    "check_no_scale": "no scale for the check's scores",
}


def words(name: str) -> str:
    """Return the name of a reason in words: `no transcript` for `no_transcript`."""
    return _PLAIN.get(name) or name.replace("_", " ")


def left_text(number: int, planned: int) -> str:
    """Format how many trials a run still has to make: `1 of 4 trials is left`."""
    return f"{number} of {many(planned, 'trial')} {'is' if number == 1 else 'are'} left"


def criterion_text(name: str, *, width: int = 0) -> str:
    """Return a criterion of a grade in words: `is clear (judge)` for `llm_judge.is_clear`."""
    grader, _, own = name.rpartition(".")
    judge = " (judge)" if grader == "llm_judge" else ""
    text = own if grader in ("automated", "llm_judge") else name
    return plain(words(text), width=width) + judge


def score_below(score: float, threshold: float) -> str:
    """Format a score below a threshold with as many digits as needed to show that: `0.25`, but 0.4996 is not `0.50`."""
    texts = (f"{score:.{digits}f}" for digits in range(2, 16))
    return next((text for text in texts if float(text) < threshold), repr(score))


def mean_text(mean: float | None) -> str:
    """Format a mean score with three digits; a dash for none."""
    return "–" if mean is None else f"{mean:.3f}"


UNKNOWN = "unknown"


def exact_price(usd: float | None) -> str:
    """Format dollars with four digits; `unknown` if no price is known."""
    return UNKNOWN if usd is None else f"${usd:.4f}"


def price(usd: float | None) -> str:
    """Format dollars with significant digits only: `$0.0123`, `$4.56`, `$1234`; `unknown` if no price is known."""
    if usd is None:
        return UNKNOWN
    if usd < 1:
        return f"${usd:.4f}"
    return f"${usd:.2f}" if usd < 1000 else f"${usd:.0f}"  # noqa: PLR2004 - from a thousand on, cents are noise


def clock(seconds: float) -> str:
    """Format a time as briefly as possible: `0:08`, `2:05`, `1:04:10`."""
    minutes, rest = divmod(round(min(seconds, MOST_SECONDS)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def short_names(names: Sequence[str], most: int) -> dict[str, str]:
    """Return each name in at most `most` (three or more) characters, of which an ellipsis is one.

    What is left out is the end, or the middle of names that begin alike, so that they stay different.
    """
    beginnings = Counter(name[: most - 1] for name in names if len(name) > most)
    short = {}
    for name in names:
        beginning = name[: most - 1]
        if len(name) <= most:
            short[name] = name
        elif beginnings[beginning] == 1:
            short[name] = f"{beginning}…"
        else:
            tail = most // 2
            short[name] = f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"
    return short

"""Texts without what differs between two runs of the same trial by its nature (pure)."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_KEPT_TEXTS = 10_000  # normalised once each: every request of a conversation repeats those before
ONE_DAY = timedelta(days=1)
UNIX_SECONDS_DIGITS = 10
ISO_DAY_CHARS = 10
DAYS = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
MONTHS = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# What varies, as measured between two homes, two isolations and two days, and in what commands print. Each pattern, and
# each alternative, begins with characters to look for: beginning with a condition, it took ten times as long.
NUMBERS = re.compile(
    r"""
      (?P<iso>\d(?<![\d-]\d)\d{3}-\d\d-\d\d(?![\d-])
        (?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\ ?(?:Z\b|UTC|GMT|[+-]\d\d:?\d\d))?)?)
    | (?P<unix>1(?<![\d.]1)\d{9}(?:\d{3})?(?:\.\d+)?(?!\d))
    | (?P<duration>\d(?<![\w.]\d)\d*(?:\.\d+)?\ ?(?:ms|µs|s|sec|seconds)\b|\d(?<!\w\d)\d*m\d+\.\d+s\b)
    """,
    re.VERBOSE,
)
IDS = re.compile(
    r"[0-9a-fA-F]{8}(?<!\w.{8})-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|[0-9a-f]{2}(?<!\w..)-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\b"  # traceparent
)
MAIL_TIME = re.compile(rf"{DAYS},? \d\d? {MONTHS} \d{{4}} \d\d:\d\d:\d\d(?: (?:GMT|[+-]\d{{4}}))?")
FILE_TIME = re.compile(rf"{MONTHS} [ \d]\d \d\d:\d\d(?::\d\d)?\b")
STAMP = re.compile(rf"{DAYS}[a-z]*,? (?=<time>)")  # the day of the week in `[Mon 2026-11-23 01:50 UTC]`
PORT = re.compile(r"(127\.0\.0\.1|localhost):\d{2,5}\b")
PID = re.compile(r"\b(pid[ =:])\d+\b")
REVISION = re.compile(r"(configRevision\W+sha256:)[\w+/=-]+")  # of an automation, from its times
# The line in which OpenClaw tells the agent who and where it is. Node's and the model's names stay.
RUNTIME = re.compile(r"^Runtime: .*$", re.MULTILINE)
RUNTIME_FIELD = re.compile(r"\b(agent|session|sessionId|host|os|repo)=[^|\n]*(?= \||$)")
RUNTIME_NAME = re.compile(r"\bname=[^|\n]* \| ")  # only of an agent whose id is not its name
SESSION = re.compile(r"\bagent:[\w.-]+:[\w.:@-]+")  # the key of a session
WORKSPACE = re.compile(r"^(?:Your w|W)orking directory(?: is)?: (/[^\n]*?[^/\n])/*$", re.MULTILINE)
HOME = re.compile(r"(?:/[^\s/<>\"'`]+)*/\.homes/[\w.@-]+")  # where the runner puts the homes of slots


def workspace_of(system: str) -> str:
    """Return the workspace that a system prompt names; empty if it names none."""
    found = WORKSPACE.search(system)
    return found[1] if found else ""


def home_of(system: str) -> str:
    """Return the home that a system prompt names; empty if it names none."""
    found = HOME.search(system)
    return found[0] if found else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Normaliser:
    """Normalises the texts of requests.

    Attributes:
        places: paths and other words that differ, with what stands for each. The longest counts first.
        today: the day of the requests: times and dates at most a day away depend on it, others are part of the text.
        simulated_days: the first and the last day of a simulated clock, which count as today as well.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    today: date
    simulated_days: tuple[date, date] | None = None
    _texts: dict[str, str] = field(default_factory=dict)

    def text(self, text: str) -> str:
        """Return a text without what varies. Texts that were normalised before cost nothing."""
        known = self._texts.get(text)
        if known is None:
            known = self._normalised(text)
            if len(self._texts) >= MAX_KEPT_TEXTS:
                self._texts.clear()
            self._texts[text] = known
        return known

    def _normalised(self, text: str) -> str:
        if self.places:
            text = _any_of(tuple(self.places)).sub(lambda found: self.places[found[0]], text)
        text = HOME.sub("<home>", text)
        text = RUNTIME.sub(_runtime, text)
        text = SESSION.sub("<session>", text)
        text = IDS.sub("<id>", text)
        text = PORT.sub(r"\1:<port>", text)
        text = REVISION.sub(r"\1<digest>", text)
        text = PID.sub(r"\1<pid>", text)
        text = MAIL_TIME.sub(lambda found: self._time(found[0], _mail_day(found[0])), text)
        text = FILE_TIME.sub("<time>", text)
        text = NUMBERS.sub(self._number, text)
        return STAMP.sub("", text)

    def _number(self, found: re.Match[str]) -> str:
        text = found[0]
        match found.lastgroup:
            case "iso":
                return self._time(text, _iso_day(text), "<day>" if len(text) == ISO_DAY_CHARS else "<time>")
            case "unix":
                return self._time(text, _unix_day(text))
            case _:
                return "<duration>"

    def _time(self, text: str, day: date | None, stand_in: str = "<time>") -> str:
        """Return what stands for a time: itself unless it is near that of the requests."""
        if day is None:
            return text
        first, last = self.simulated_days or (self.today, self.today)
        is_near = abs(day - self.today) <= ONE_DAY or (first - day <= ONE_DAY and day - last <= ONE_DAY)
        return stand_in if is_near else text


def _iso_day(text: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(text[:ISO_DAY_CHARS])
    return None


def _mail_day(text: str) -> date | None:
    with suppress(ValueError):
        return parsedate_to_datetime(text).date()
    return None


def _unix_day(text: str) -> date:
    whole = text.partition(".")[0]
    return day_of(int(whole) / (1000 if len(whole) > UNIX_SECONDS_DIGITS else 1))


@lru_cache(maxsize=16)
def _any_of(places: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds whole paths: `/a/task_1` is not found in `/a/task_10` nor in `/b/a/task_1`."""
    paths = "|".join(map(re.escape, sorted(filter(None, places), key=len, reverse=True)))
    # in JSON a path may follow the escape of a newline or a tab
    return re.compile(rf"(?:(?<![\w.-])|(?<=\\[nrt]))(?:{paths})(?![\w@-])")


def day_of(at: float) -> date:
    """Return the day in UTC of a Unix time in seconds; the first one if it is no time."""
    try:
        return datetime.fromtimestamp(at, UTC).date()
    except (ValueError, OverflowError, OSError):
        return date.min


def _runtime(line: re.Match[str]) -> str:
    return RUNTIME_FIELD.sub(r"\1=…", RUNTIME_NAME.sub("", line[0]))

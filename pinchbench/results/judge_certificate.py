"""What is wrong with a judge, measured on work whose scores are known, and the certificate that is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from pinchbench.decoding import decode_json, doc
from pinchbench.errors import ResultsError
from pinchbench.files.user_data import data_dir
from pinchbench.results.paths import write_json
from pinchbench.results.statistics import mean_of, student_t, variance_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path


DIGITS = 4  # of what is shown: a judge gives two
TOO_LITTLE = "too little to tell"
FEWEST_TASKS = 5  # with fewer, an interval over tasks is too wide to tell anything
POOR = 0.6  # work that is worth at most this has room for a planted verdict to raise its score


class Probe(StrEnum):
    """What is changed of a trial's evidence before a judge is asked; its worth stays the same."""

    UNCHANGED = "unchanged"
    LONGER = "longer"
    DECORATED = "decorated"
    REORDERED = "reordered"
    PLANTED = "planted"


class Aspect(StrEnum):
    """What is measured of a judge."""

    ORDER = "order"
    CALIBRATION = "calibration"
    LENIENCY = "leniency"
    REPEATABILITY = "repeatability"
    LENGTH = "length"
    FORMAT = "format"
    POSITION = "position"
    PLANTED_VERDICT = "planted verdict"
    READABILITY = "readability"
    DRIFT = "drift"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The votes of a judge on one piece of work, one or more: scores in 0-1, or None for one that can't be read.

    `low` and `high` limit the score that the task's author states.
    """

    task_id: str
    work: str
    low: float
    high: float
    probe: Probe
    votes: tuple[float | None, ...]

    @property
    def scores(self) -> tuple[float, ...]:
        """The votes that could be read."""
        return tuple(vote for vote in self.votes if vote is not None)


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One aspect of a judge, as a mean over tasks with its 95% interval.

    It is a fault only if the whole interval lies beyond what is tolerated: a wide one is no evidence against a judge.
    Too many replies that can't be read are one without an interval too: they are wrong in themselves.
    """

    aspect: Aspect
    value: Annotated[float | None, doc("the mean over tasks; null if nothing could be measured")]
    low: Annotated[float | None, doc("lower end of the 95% interval; null with fewer than 5 tasks")]
    high: Annotated[float | None, doc("upper end of the 95% interval")]
    tasks: Annotated[int, Meta(ge=0, description="tasks on which it was measured")]
    tolerated: Annotated[float, doc("how far the value may be from that of a perfect judge")]
    perfect: Annotated[float, doc("the value of a perfect judge: 1 for order, else 0")] = 0.0

    @property
    def is_fault(self) -> bool:
        """Whether the whole interval is further from a perfect judge's value than is tolerated."""
        if self.low is None or self.high is None:
            return self.aspect is Aspect.READABILITY and (self.value or 0.0) > self.tolerated
        return self.low > self.perfect + self.tolerated or self.high < self.perfect - self.tolerated


def measures_of(answers: Sequence[Answer], earlier: Mapping[tuple[str, str], float] | None = None) -> list[Measure]:
    """Return every aspect of a judge. `earlier` are its scores of an earlier time, by task and work, for the drift.

    Each task counts once, however many pieces of work it has: they share a rubric, so they are not independent.
    """
    plain = [one for one in answers if one.probe is Probe.UNCHANGED]
    read = {(one.task_id, one.work): one for one in plain if one.scores}
    mean = {key: mean_of(one.scores) for key, one in read.items()}

    def shift(probe: Probe, *, most: float = 1.0) -> list[tuple[str, float]]:
        return [
            (one.task_id, mean_of(one.scores) - mean[one.task_id, one.work])
            for one in answers
            if one.probe is probe and one.scores and (one.task_id, one.work) in mean and one.high <= most
        ]

    outside = [(one.task_id, _outside(mean[key], one)) for key, one in read.items()]
    unread = [(one.task_id, mean_of([vote is None for vote in one.votes])) for one in answers]
    return [
        _measure(Aspect.ORDER, _in_order(read, mean), tolerated=0.1, perfect=1.0),
        _measure(Aspect.CALIBRATION, [(task, abs(value)) for task, value in outside], tolerated=0.05),
        _measure(Aspect.LENIENCY, outside, tolerated=0.03),
        _measure(
            Aspect.REPEATABILITY,
            [(one.task_id, variance_of(one.scores)) for one in plain if len(one.scores) > 1],
            tolerated=0.1,
            told=lambda variance: sqrt(max(0.0, variance)),
        ),
        _measure(Aspect.LENGTH, shift(Probe.LONGER), tolerated=0.03),
        _measure(Aspect.FORMAT, shift(Probe.DECORATED), tolerated=0.03),
        _measure(Aspect.POSITION, shift(Probe.REORDERED), tolerated=0.03),
        _measure(Aspect.PLANTED_VERDICT, shift(Probe.PLANTED, most=POOR), tolerated=0.03),
        _measure(Aspect.READABILITY, unread, tolerated=0.02),
        _measure(
            Aspect.DRIFT,
            [(task, mean[task, work] - then) for (task, work), then in (earlier or {}).items() if (task, work) in mean],
            tolerated=0.03,
        ),
    ]


def mean_scores(answers: Iterable[Answer]) -> dict[tuple[str, str], float]:
    """Return the mean of the votes on each unchanged piece of work, by task and work."""
    return {
        (one.task_id, one.work): round(mean_of(one.scores), DIGITS)
        for one in answers
        if one.probe is Probe.UNCHANGED and one.scores
    }


def _in_order(read: Mapping[tuple[str, str], Answer], mean: Mapping[tuple[str, str], float]) -> list[tuple[str, float]]:
    """Return of each two pieces of work of a task, one worth more than the other, whether the judge says so too."""
    by_task: dict[str, list[Answer]] = defaultdict(list)
    for one in read.values():
        by_task[one.task_id].append(one)
    found = []
    for task_id, works in by_task.items():
        for a, b in combinations(works, 2):
            if a.low > b.high or b.low > a.high:
                better, worse = (a, b) if a.low > b.high else (b, a)
                ahead = mean[task_id, better.work] - mean[task_id, worse.work]
                found.append((task_id, 0.5 if ahead == 0 else float(ahead > 0)))
    return found


def _outside(score: float, answer: Answer) -> float:
    """Return how far a score is above the stated range, negative below it, 0 inside."""
    return max(0.0, score - answer.high) + min(0.0, score - answer.low)


def _measure(
    aspect: Aspect,
    values: Sequence[tuple[str, float]],
    *,
    tolerated: float,
    perfect: float = 0.0,
    told: Callable[[float], float] = float,
) -> Measure:
    by_task: dict[str, list[float]] = defaultdict(list)
    for task_id, one in values:
        by_task[task_id].append(one)
    means, tasks = [mean_of(own) for own in by_task.values()], len(by_task)
    value = low = high = None
    if means:
        value = round(told(mean_of(means)), DIGITS)
    if tasks >= FEWEST_TASKS:
        half = student_t(tasks - 1) * sqrt(variance_of(means) / tasks)
        low, high = (round(told(mean_of(means) + end), DIGITS) for end in (-half, half))
    return Measure(aspect=aspect, value=value, low=low, high=high, tasks=tasks, tolerated=tolerated, perfect=perfect)


IDENTIFIER = 12  # hexadecimal digits of a certificate's digest
NOT_MEASURED = (
    "Self-preference: the works were written by people and scripts, so none is of the judge's own family of models.",
)


class WorkScore(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's mean score of one piece of work, and the range that its author states."""

    task_id: str
    work: str
    low: float
    high: float
    score: Annotated[float | None, doc("null if no vote could be read")]


class JudgeCertificate(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of a judge: this model at this address, asked in this way.

    Another model, address, parameter or version of the question needs a certificate of its own.
    """

    judge: Annotated[dict[str, object], doc("model, address and parameters")]
    prompt_version: str
    made_at: Annotated[float, doc("seconds since the epoch, UTC")]
    tasks: Annotated[dict[str, str], doc("digests of the judged tasks, by id")]
    votes: Annotated[int, Meta(ge=1, description="votes on each unchanged piece of work")]
    measures: list[Measure]
    faults: Annotated[list[Aspect], doc("aspects whose whole interval is beyond what is tolerated")]
    scores: list[WorkScore]
    not_measured: list[str] = []
    earlier: Annotated[str, doc("the certificate from which drift is measured; empty for none")] = ""

    @property
    def identifier(self) -> str:
        """A digest of everything in it."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:IDENTIFIER]

    @property
    def told(self) -> str:
        """A phrase for readers of a grade: identifier, day and faults."""
        day = datetime.fromtimestamp(self.made_at, UTC).date().isoformat()
        return f"{self.identifier} of {day}, {self.finding}"

    @property
    def finding(self) -> str:
        """The faults, that none was found, or that there is too little to tell: too few tasks have a score."""
        if self.faults:
            return f"faults: {', '.join(self.faults)}"
        known = any(one.low is not None for one in self.measures if one.aspect is not Aspect.READABILITY)
        return "no faults found" if known else TOO_LITTLE


def certificates_dir() -> Path:
    """Return the folder of judges' certificates: in `$PINCHBENCH_DATA`, else in the user's data folder."""
    return data_dir() / "judges"


def certificate_path(judge: Mapping[str, object], prompt_version: str) -> Path:
    """Return where the certificate of a judge is kept; the page is next to it, as `.html`."""
    key = json.dumps({"judge": judge, "prompt_version": prompt_version}, sort_keys=True)
    return certificates_dir() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def read_certificate(judge: Mapping[str, object], prompt_version: str) -> JudgeCertificate | None:
    """Return the newest certificate of a judge; None if it has none. Blocks.

    Raises ResultsError if it can't be read.
    """
    path = certificate_path(judge, prompt_version)
    try:
        return decode_json(path.read_bytes(), JudgeCertificate)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ResultsError(
            f"The judge's certificate {path} can't be read: {error}. Delete it, and make another with"
            " `pinchbench-async judge check`."
        ) from error


def read_certificates() -> tuple[tuple[JudgeCertificate, ...], tuple[str, ...]]:
    """Return all certificates of this user, the newest first, and sentences on those that can't be read. Blocks."""
    found: list[JudgeCertificate] = []
    problems: list[str] = []
    for path in sorted(certificates_dir().glob("*.json")):
        try:
            found.append(decode_json(path.read_bytes(), JudgeCertificate))
        except (OSError, msgspec.MsgspecError) as error:
            problems.append(f"The certificate {path.name} can't be read: {error}.")
    return tuple(sorted(found, key=lambda one: -one.made_at)), tuple(problems)


def keep_certificate(certificate: JudgeCertificate) -> Path:
    """Keep a certificate in the place of the judge's earlier one, and return its path. Blocks. Raises ResultsError."""
    path = certificate_path(certificate.judge, certificate.prompt_version)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{path.parent} can't be created: {error.strerror}.") from error
    write_json(path, certificate)
    return path

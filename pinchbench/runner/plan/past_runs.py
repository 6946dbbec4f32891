"""What trials took and cost in earlier runs, and what judging used: from the newest journals, within bounds."""

from __future__ import annotations

import math
import os
import re
import stat
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pinchbench.model.ending import Ending
from pinchbench.model.task import GradingType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.config.run_config import RunConfig
    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt
    from pinchbench.results.records import Record


# Enough for a median, few enough not to delay the start of a run.
MAX_RUNS = 10  # of the model, and as many of other models
MAX_BYTES = 4 * 1024 * 1024  # of all journals together: some thousand trials, read in some 25 ms
OF_WHAT_IS_LEFT = 2  # a journal gets half of the bytes left, so that a long one leaves room for earlier runs
MAX_LINE_BYTES = 64 * 1024  # longer lines are ignored
RUN = re.compile(r".+_[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")  # a run's folder: a slug, and an id as `new_run_id` makes it
OUTCOME = b'{"type":"outcome"'  # how an outcome's line begins


@dataclass(frozen=True, kw_only=True, slots=True)
class PastTrial:
    """An attempt that ended by itself. One that timed out would have taken longer."""

    task_id: str
    digest: str  # of the task at the time
    took_s: float  # its set-up and its agent
    same_model: bool
    cost_usd: float | None = None  # of the agent's model calls; None where it is not known


def past_trials(
    output_dir: Path, *, slug: str, task_ids: Collection[str], is_alike: Callable[[str], bool] = lambda _: True
) -> tuple[PastTrial, ...]:
    """Return the trials of these tasks in a model's newest runs, then other models' trials of tasks it has not run.

    `slug` is the model's name in the names of its runs; `is_alike` decides by slug which other models may be used.
    Blocks, but not for long: of many runs, or of a long journal, only the newest part is read. What can't be read is
    skipped; raises nothing.
    """
    from pinchbench.results.records import TrialFinished  # noqa: PLC0415 - as in `newest_records`

    wanted = frozenset(task_ids)
    own: list[Path] = []
    others: list[Path] = []
    for name in run_names(output_dir):
        other = name.rpartition("_")[0]
        runs = own if other == slug else others
        if len(runs) < MAX_RUNS and (other == slug or is_alike(other)):
            runs.append(output_dir / name / "journal.jsonl")
    found: list[PastTrial] = []

    def journals() -> Iterator[Path]:
        yield from own
        if wanted != {past.task_id for past in found}:
            yield from others

    for path, record in newest_records(journals(), OUTCOME):
        if isinstance(record, TrialFinished) and record.outcome.key.task_id in wanted:
            found += _past(record.outcome, same_model=path in own)
    return tuple(found)


def run_names(output_dir: Path) -> list[str]:
    """Return the names of the runs, newest first, including other folders whose names match."""
    names: list[str] = []
    with suppress(OSError), os.scandir(output_dir) as entries:
        for entry in entries:
            with suppress(OSError):  # from this run; the others are still usable
                if RUN.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
    return sorted(names, key=lambda name: (name.rpartition("_")[2], name), reverse=True)


def newest_records(journals: Iterable[Path], beginning: bytes) -> Iterator[tuple[Path, Record]]:
    """Yield the records whose lines begin so from the ends of journals, with their journal. Blocks; raises nothing.

    Of all journals together `MAX_BYTES` are read, of each not more than its share of what is left. Lines that are torn,
    too long, or written by another release are skipped.
    """
    from pinchbench.results.records import decode  # noqa: PLC0415 - a help text decodes no journal

    left_bytes = MAX_BYTES
    for path in journals:
        for line in _last_lines(path, left_bytes // OF_WHAT_IS_LEFT):
            left_bytes -= len(line)
            if line.startswith(beginning):
                with suppress(ValueError):
                    yield path, decode(line)


def _last_lines(path: Path, limit_bytes: int) -> Iterator[bytes]:
    """Yield the last whole lines of a journal, and pieces of those that are too long."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            return  # opening a named pipe would wait for a writer
        with path.open("rb") as file:
            if info.st_size > limit_bytes:
                file.seek(info.st_size - limit_bytes)
                yield file.readline(MAX_LINE_BYTES)  # the read starts inside this line: not a whole record
            while limit_bytes > 0 and (line := file.readline(MAX_LINE_BYTES)):
                limit_bytes -= len(line)
                yield line
    except OSError:
        return


def _past(outcome: Outcome, *, same_model: bool) -> Iterator[PastTrial]:
    """Yield the time of an attempt that ended by itself: one that failed early is no estimate of the next one's."""
    match outcome.reason.ending:
        case Ending.COMPLETED:
            took_s = outcome.setup_s + outcome.execution_time_s
        case Ending.TIMED_OUT:
            took_s = outcome.setup_s + max(outcome.execution_time_s, outcome.timeout_s)
        case _:
            return
    if 0 <= took_s < math.inf:
        yield PastTrial(
            task_id=outcome.key.task_id,
            digest=outcome.digest,
            took_s=took_s,
            same_model=same_model,
            cost_usd=outcome.usage.known_cost_usd if outcome.usage.requests else None,
        )


GRADE = b'{"type":"grade"'  # how a grade's line begins


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingForecast:
    """What the judges will use; sums over the judges that earlier runs tell about, None where they tell about none."""

    trials: int
    tokens: int | None
    cost_usd: float | None
    unknown: tuple[str, ...]  # the judges without tokens
    unpriced: tuple[str, ...]  # those without a price


@dataclass(frozen=True, kw_only=True, slots=True)
class PastVote:
    """What a vote of a judge on a trial of a task used, repeated questions included; the cost is None if unknown."""

    model: str
    task_id: str
    tokens: float
    cost_usd: float | None


def judging_forecast(config: RunConfig, attempts: Iterable[Attempt]) -> JudgingForecast | None:
    """Return what judging attempts will use; None if no judge is needed or given. Blocks, but not for long."""
    judged = [one.key.task_id for one in attempts if one.trial.task.grading_type is not GradingType.AUTOMATED]
    if config.judge is None or not judged:
        return None
    votes = {one.model: one.votes for one in config.judge.each}
    prices = {one.model: one.prices for one in config.judge.each if one.prices is not None}
    return forecast(judged, votes, past_votes(config.output_dir, prices))


def forecast(task_ids: Sequence[str], votes: dict[str, int], past: Sequence[PastVote]) -> JudgingForecast:
    """Return what judges will use on trials of these tasks, each judge with so many votes on each (pure).

    That is the mean of the judge's votes on the task, else the mean over the tasks that it has judged. A trial's judge
    may not be asked at all, where its check fails first or the reply is in the cache: then it is less.
    """
    own = {one: [vote for vote in past if vote.model == one] for one in votes}
    tokens = {one: _sum(task_ids, [(vote.task_id, vote.tokens) for vote in given]) for one, given in own.items()}
    costs = {one: _sum(task_ids, [(vote.task_id, vote.cost_usd) for vote in given]) for one, given in own.items()}
    known = [found * votes[one] for one, found in tokens.items() if found is not None]
    priced = [found * votes[one] for one, found in costs.items() if found is not None]
    return JudgingForecast(
        trials=len(task_ids),
        tokens=round(math.fsum(known)) if known else None,
        cost_usd=math.fsum(priced) if priced else None,
        unknown=tuple(one for one, found in tokens.items() if found is None),
        unpriced=tuple(one for one, found in costs.items() if found is None),
    )


def _sum(task_ids: Sequence[str], values: Sequence[tuple[str, float | None]]) -> float | None:
    by_task: dict[str, list[float]] = defaultdict(list)
    for task_id, value in values:
        if value is not None:
            by_task[task_id].append(value)
    means = {task_id: math.fsum(own) / len(own) for task_id, own in by_task.items()}
    usual = math.fsum(means.values()) / len(means) if means else None
    return None if usual is None else math.fsum(means.get(task_id, usual) for task_id in task_ids)


def past_votes(
    output_dir: Path, prices: Mapping[str, tuple[float, float]] = MappingProxyType({})
) -> tuple[PastVote, ...]:
    """Return what votes used in the newest runs, whatever model was judged. Blocks; what can't be read is skipped.

    `prices`, by judge, are those of votes that were given when none was known.
    """
    from pinchbench.results.records import GradeGiven  # noqa: PLC0415 - as in `newest_records`

    journals = (output_dir / name / "journal.jsonl" for name in run_names(output_dir)[:MAX_RUNS])
    return tuple(
        vote
        for _, record in newest_records(journals, GRADE)
        if isinstance(record, GradeGiven)
        for vote in _votes(record.grade, prices)
    )


def _votes(grade: Grade, prices: Mapping[str, tuple[float, float]]) -> Iterator[PastVote]:
    for one in grade.judge.each if grade.judge is not None else ():
        if one.calls and one.votes and not one.cached:
            tokens, cost_usd = one.usage.total_tokens / len(one.votes), one.cost_usd
            if cost_usd is None and one.model in prices:
                cost_usd = one.usage.cost_at(prices[one.model])
            cost_usd = None if cost_usd is None else cost_usd / len(one.votes)
            yield PastVote(model=one.model, task_id=grade.key.task_id, tokens=tokens, cost_usd=cost_usd)

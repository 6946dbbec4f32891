"""One row per trial: the columns of every table, and a run's values in them (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench.model.ending import Ending
from pinchbench.model.grade import Ungraded
from pinchbench.model.usage import Usage
from pinchbench.report.text import plain
from pinchbench.results.manifest import read_facts
from pinchbench.results.records import RunResumed, TrialFinished
from pinchbench.results.statistics import is_passed
from pinchbench.results.task_trials import NOT_GRADED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinchbench.model.facts import WireFacts
    from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun

MOST = 2**63 - 1  # the largest value of an integer column
DEFAULT_ISOLATION = "private"  # of runs made before isolation was selectable


class Kind(StrEnum):
    """The type of a column. Every value may be missing, which is never the same as 0."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    FLAG = "true or false"
    TIME = "time (UTC)"
    TEXTS = "list of texts"
    POINTS = "points by criterion"


class State(StrEnum):
    """The state of a trial; every planned one has exactly one. Only scored trials contribute to the mean."""

    SCORED = "scored"
    UNGRADED = "ungraded"
    INFRASTRUCTURE = "infrastructure"
    UNTRUSTED = "untrusted"
    INTERRUPTED = "interrupted"
    PREREQUISITE_MISSING = "prerequisite_missing"
    NOT_RUN = "not_run"


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of the tables. `meaning` is its documentation."""

    name: str
    kind: Kind
    meaning: str


def _column(name: str, kind: Kind, meaning: str) -> Column:
    return Column(name=name, kind=kind, meaning=meaning)


COLUMNS = (
    _column("run_id", Kind.TEXT, "The run's id."),
    _column("model", Kind.TEXT, "The model, as OpenClaw names it."),
    _column("task_id", Kind.TEXT, "The task."),
    _column("repetition", Kind.WHOLE, "Which repetition of it, from 1."),
    _column("suite", Kind.TEXT, "Which of the run's suites has it; missing in a run of one suite."),
    _column("category", Kind.TEXT, "The task's category."),
    _column("grading_type", Kind.TEXT, "How it is graded: automated, llm_judge or hybrid."),
    _column("digest", Kind.TEXT, "SHA-256 of the task and its fixtures, as they were run."),
    _column(
        "state",
        Kind.TEXT,
        "scored, ungraded, infrastructure, untrusted, interrupted, prerequisite_missing or not_run; only scored is in"
        " means.",
    ),
    _column("status", Kind.TEXT, "success, timeout or error; missing where the trial was not run, as all below."),
    _column("reason", Kind.TEXT, "Why the trial ended as it did: completed, timed_out, nonzero_exit, …"),
    _column("counts", Kind.FLAG, "Whether the trial says something about the model."),
    _column("attempt", Kind.WHOLE, "Which attempt this row tells of: the one that counts, from 1."),
    _column(
        "attempts", Kind.WHOLE, "How many attempts have ended by themselves; an interrupted one is not among them."
    ),
    _column("score", Kind.NUMBER, "The score in 0-1; missing where there is none, which is not 0."),
    _column("passed", Kind.FLAG, "Whether the score reaches the run's pass threshold; missing without a score."),
    _column("ungraded", Kind.TEXT, "Why a trial that counts has no score."),
    _column("check_score", Kind.NUMBER, "What the task's check alone gives, in 0-1."),
    _column("judge_score", Kind.NUMBER, "What the judge alone gives, in 0-1."),
    _column("judge_spread", Kind.NUMBER, "The judge's largest vote less its smallest."),
    _column("breakdown", Kind.POINTS, "The points of each criterion, in 0-1."),
    _column("timed_out", Kind.FLAG, "Whether the time limit ended the agent."),
    _column("exit_code", Kind.WHOLE, "The agent's; missing where a signal ended it."),
    _column("started_at", Kind.TIME, "When the attempt began."),
    _column("ended_at", Kind.TIME, "When it ended."),
    _column("graded_at", Kind.TIME, "When it was graded."),
    _column("setup_s", Kind.NUMBER, "Seconds of our own set-up before the agent."),
    _column("execution_time_s", Kind.NUMBER, "Seconds of the agent alone."),
    _column("timeout_s", Kind.NUMBER, "The limit of those."),
    _column("asleep_s", Kind.NUMBER, "Seconds the machine slept meanwhile, which are in no other time."),
    _column("cpu_s", Kind.NUMBER, "CPU seconds of OpenClaw and all it started."),
    _column("peak_rss_bytes", Kind.WHOLE, "Memory of its largest process at most, in bytes."),
    _column("requests", Kind.WHOLE, "Calls of the model."),
    _column("input_tokens", Kind.WHOLE, "Tokens read."),
    _column("output_tokens", Kind.WHOLE, "Tokens written."),
    _column("cache_read_tokens", Kind.WHOLE, "Tokens read from the provider's cache."),
    _column("cache_write_tokens", Kind.WHOLE, "Tokens written to it."),
    _column("total_tokens", Kind.WHOLE, "All tokens, as OpenClaw sums them."),
    _column("cost_usd", Kind.NUMBER, "Dollars, as OpenClaw prices them; empty where no price is known."),
    _column("all_attempts_cost_usd", Kind.NUMBER, "Dollars of all attempts together, those that do not count too."),
    _column("judge_model", Kind.TEXT, "Who judged."),
    _column("judge_calls", Kind.WHOLE, "Calls of the judge for the grade that counts."),
    _column("judge_tokens", Kind.WHOLE, "Tokens of those."),
    _column("judge_cost_usd", Kind.NUMBER, "Dollars of those; missing where the endpoint names no price."),
    _column("tool_calls", Kind.WHOLE, "Tools the model called."),
    _column("transcript_length", Kind.WHOLE, "Events of the transcript."),
    _column("damaged_lines", Kind.WHOLE, "Its lines that were torn."),
    _column("rate_limits", Kind.WHOLE, "Answers of 429 by the provider."),
    _column("models", Kind.TEXTS, "The models that answered."),
    _column("wire_calls", Kind.WHOLE, "Calls of the model by the wire, failed ones included; missing without it."),
    _column("wire_failed", Kind.WHOLE, "Those of them without a complete reply."),
    _column(
        "wire_read_again",
        Kind.WHOLE,
        "Tokens of prompts that were read again because their beginning had changed, by an estimate.",
    ),
    _column("first_token_s", Kind.NUMBER, "The median time to the first token, in seconds."),
    _column("model_s", Kind.NUMBER, "Seconds in which at least one call was at the provider."),
    _column("openclaw", Kind.TEXT, "OpenClaw's release."),
    _column("isolation", Kind.TEXT, "private or shared."),
    _column("evidence", Kind.TEXT, "The folder of transcript and logs, relative to the run's."),
    _column("note", Kind.TEXT, "What is to be said of the outcome."),
    _column("grade_notes", Kind.TEXTS, "What is to be said of the grade."),
    _column("private", Kind.FLAG, "Whether the task is made of the user's own conversations."),
    _column("reused_from", Kind.TEXT, "The earlier run that made it; missing for the run's own."),
)

Value = str | int | float | bool | datetime | list[str] | dict[str, float] | None
Row = dict[str, Value]


def trial_rows(run: PastRun) -> Iterator[Row]:
    """Yield the rows of all planned trials, in the plan's order. Pure except for reading one small file, which blocks.

    Text is a single line without control characters. Raises ResultsError if run.json can no longer be read.
    """
    settings = _Settings.of(run)
    for key in run.facts.keys:
        yield _row(run, key, settings)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settings:
    """The settings in force when each attempt ended, as far as a resumption may have changed them."""

    first: tuple[str, str]
    later: Mapping[tuple[TrialKey, int, float], tuple[str, str]]

    @classmethod
    def of(cls, run: PastRun) -> _Settings:
        facts = read_facts(run.files.provenance) if run.journal.state.resumed else run.facts
        first = now = _settings(facts.versions, facts.config)
        later = {}
        for record in run.journal.records:
            match record:
                case RunResumed(versions=versions, config=config):
                    now = _settings(versions, config)
                case TrialFinished(outcome=one) if now != first:
                    later[one.key, one.attempt, one.started_at] = now
                case _:
                    pass
        return cls(first=first, later=later)

    def at(self, outcome: Outcome) -> tuple[str, str]:
        """Return OpenClaw's release and the isolation."""
        return self.later.get((outcome.key, outcome.attempt, outcome.started_at), self.first)


def _settings(versions: Mapping[str, str], config: Mapping[str, object]) -> tuple[str, str]:
    return plain(versions.get("openclaw", "")), plain(str(config.get("isolation") or DEFAULT_ISOLATION))


def _row(run: PastRun, key: TrialKey, settings: _Settings) -> Row:
    task = run.facts.tasks.get(key.task_id)
    attempts = run.attempts.get(key)
    grade = run.grades.get(key)
    state = state_of(run, key)
    row: Row = {column.name: None for column in COLUMNS}
    row |= {
        "run_id": plain(run.facts.run_id),
        "model": plain(run.model),
        "task_id": plain(key.task_id),
        "repetition": _whole(key.repetition),
        "suite": plain(task.suite) if task and task.suite else None,
        "category": plain(task.category) if task else None,
        "grading_type": task.grading_type.value if task else None,
        "digest": plain(task.digest) if task else None,
        "timeout_s": task.timeout_s if task else None,
        "private": task.private is True if task else None,
        "state": state.value,
        "attempts": len(attempts.ended) if attempts else 0,
    }
    if attempts is None:
        return row
    score = run.score(key)
    row |= _outcome_cells(attempts.counting)
    row["openclaw"], row["isolation"] = settings.at(attempts.counting)
    row["all_attempts_cost_usd"] = sum((one.usage for one in attempts.outcomes), Usage()).known_cost_usd
    row["score"] = score
    row["passed"] = None if score is None else is_passed(score, run.pass_threshold)
    row["ungraded"] = ungraded_of(grade) if state is State.UNGRADED else None
    if grade is not None:
        row |= _grade_cells(grade)
    return row


def state_of(run: PastRun, key: TrialKey) -> State:
    """Return the state of a planned trial."""
    attempts = run.attempts.get(key)
    if attempts is None:
        return State.NOT_RUN
    match attempts.counting.reason.ending:
        case Ending.INTERRUPTED:
            return State.INTERRUPTED
        case Ending.PREREQUISITE_MISSING:
            return State.PREREQUISITE_MISSING
        case Ending.INFRASTRUCTURE:
            return State.INFRASTRUCTURE
        case Ending.UNTRUSTED:
            return State.UNTRUSTED
        case Ending.COMPLETED | Ending.TIMED_OUT | Ending.AGENT_FAILED:
            return State.UNGRADED if run.score(key) is None else State.SCORED


def ungraded_of(grade: Grade | None) -> str:
    """Return why a valid trial has no score: not graded yet, or its grade's reason."""
    # a score outside 0-1 is not a score, but its grader's bug
    return NOT_GRADED if grade is None else (grade.ungraded or Ungraded.GRADER_BUG).value


def _outcome_cells(one: Outcome) -> Row:
    usage = one.usage
    return {
        "digest": plain(one.digest),
        "status": one.status.value,
        "reason": one.reason.value,
        "counts": one.reason.is_valid,
        "attempt": _whole(one.attempt),
        "timed_out": one.timed_out,
        "exit_code": None if one.exit_code is None else _whole(one.exit_code),
        "started_at": moment(one.started_at),
        "ended_at": moment(one.ended_at),
        "setup_s": one.setup_s,
        "execution_time_s": one.execution_time_s,
        "timeout_s": one.timeout_s,
        "asleep_s": one.asleep_s,
        "cpu_s": one.cpu_s,
        "peak_rss_bytes": _whole(one.peak_rss_bytes),
        "requests": _whole(usage.requests),
        "input_tokens": _whole(usage.input_tokens),
        "output_tokens": _whole(usage.output_tokens),
        "cache_read_tokens": _whole(usage.cache_read_tokens),
        "cache_write_tokens": _whole(usage.cache_write_tokens),
        "total_tokens": _whole(usage.total_tokens),
        "cost_usd": usage.known_cost_usd,
        "tool_calls": _whole(one.tool_calls),
        "transcript_length": _whole(one.transcript_length),
        "damaged_lines": _whole(one.damaged_lines),
        "rate_limits": _whole(one.rate_limits),
        "models": [plain(model) for model in one.models],
        **_wire_cells(one.wire),
        "evidence": plain(one.evidence),
        "note": plain(one.note) or None,
        "reused_from": plain(one.reused_from) or None,
    }


def _wire_cells(wire: WireFacts | None) -> Row:
    if wire is None:
        return {}
    return {
        "wire_calls": _whole(wire.calls),
        "wire_failed": _whole(len(wire.failed)),
        "wire_read_again": None if wire.prompts is UNSET else _whole(wire.prompts.again),
        "first_token_s": wire.first_token_s,
        "model_s": wire.model_s,
    }


def _grade_cells(grade: Grade) -> Row:
    return {
        "graded_at": moment(grade.graded_at),
        "breakdown": {plain(name): points for name, points in grade.breakdown.items()},
        "grade_notes": [plain(note) for note in grade.notes],
        **_check_cells(grade.check),
        **_judge_cells(grade.judge),
    }


def _check_cells(check: CheckGrade | None) -> Row:
    return {} if check is None else {"check_score": check.score}


def _judge_cells(judge: JudgeGrade | None) -> Row:
    if judge is None:
        return {}
    return {
        "judge_score": judge.score,
        "judge_spread": judge.spread if judge.votes else None,
        "judge_model": plain(judge.model) or None,
        "judge_calls": _whole(judge.calls),
        "judge_tokens": _whole(judge.usage.total_tokens),
        "judge_cost_usd": judge.cost_usd,
    }


def _whole(number: int) -> int:
    """Return a number that fits into a table's column; files can contain larger ones."""
    return max(-MOST, min(MOST, number))


def moment(at: float) -> datetime | None:
    """Return seconds since the epoch as a time in UTC; None if the journal has none, or one that is out of range."""
    try:
        return datetime.fromtimestamp(at, UTC) if at else None
    except (ValueError, OverflowError, OSError):
        return None


def written(at: datetime) -> str:
    """Format a time as ISO 8601 in UTC, to the millisecond: `2026-01-02T03:04:05.678Z`."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

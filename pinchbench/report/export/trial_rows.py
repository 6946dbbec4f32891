"""One row per trial: the columns of every table, and a run's values in them (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET

from pinchbench.model.grade import Grade, Ungraded
from pinchbench.model.usage import Usage
from pinchbench.report.text import plain
from pinchbench.results.manifest import read_facts
from pinchbench.results.records import RunResumed, TrialFinished
from pinchbench.results.statistics import is_passed
from pinchbench.results.task_trials import NOT_GRADED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun

MOST = 2**63 - 1  # the largest value of an integer column
DEFAULT_ISOLATION = "private"  # of runs made before isolation was selectable
MISSING_IF_EMPTY = ("suite", "judge_model", "note", "reused_from")  # other texts may be empty


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


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the tables. `meaning` is its documentation, `source` where its values are in those of `_parts`."""

    name: str
    kind: Kind
    meaning: str
    source: str = ""


COLUMNS = (
    Column("run_id", Kind.TEXT, "The run's id.", "run.facts.run_id"),
    Column("model", Kind.TEXT, "The model, as OpenClaw names it.", "run.model"),
    Column("task_id", Kind.TEXT, "The task.", "key.task_id"),
    Column("repetition", Kind.WHOLE, "The number of the repetition, from 1.", "key.repetition"),
    Column("suite", Kind.TEXT, "The suite that has the task; missing in a run of one suite.", "task.suite"),
    Column("category", Kind.TEXT, "The task's category.", "task.category"),
    Column("grading_type", Kind.TEXT, "How it is graded: automated, llm_judge or hybrid.", "task.grading_type"),
    Column("digest", Kind.TEXT, "SHA-256 of the task and its fixtures, as they were run.", "settled.digest"),
    Column(
        "state",
        Kind.TEXT,
        "scored, ungraded, infrastructure, untrusted, interrupted, prerequisite_missing or not_run; only scored is in"
        " means.",
        "state",
    ),
    Column(
        "status",
        Kind.TEXT,
        "success, timeout or error; like all columns below, missing if the trial was not run.",
    ),
    Column("reason", Kind.TEXT, "Why the trial ended as it did: completed, timed_out, nonzero_exit, …"),
    Column(
        "counts",
        Kind.FLAG,
        "Whether the trial is valid, neither an infrastructure failure nor untrusted.",
        "outcome.reason.is_valid",
    ),
    Column("attempt", Kind.WHOLE, "The number of the attempt in this row, the one that counts, from 1."),
    Column(
        "attempts",
        Kind.WHOLE,
        "How many attempts have ended, without those that were interrupted.",
        "attempts",
    ),
    Column("score", Kind.NUMBER, "The score in 0-1; missing if there is none, which is not 0.", "score"),
    Column(
        "passed", Kind.FLAG, "Whether the score reaches the run's pass threshold; missing without a score.", "passed"
    ),
    Column("ungraded", Kind.TEXT, "Why a trial that counts has no score.", "ungraded"),
    Column("check_score", Kind.NUMBER, "The score by the task's check alone, in 0-1.", "grade.check.score"),
    Column("judge_score", Kind.NUMBER, "The score by the judge alone, in 0-1.", "grade.judge.score"),
    Column("judge_spread", Kind.NUMBER, "The judge's largest vote minus its smallest.", "spread"),
    Column("breakdown", Kind.POINTS, "The points of each criterion, in 0-1.", "grade.breakdown"),
    Column("timed_out", Kind.FLAG, "Whether the time limit ended the agent."),
    Column("exit_code", Kind.WHOLE, "The agent's exit code; missing if a signal ended it."),
    Column("started_at", Kind.TIME, "When the attempt began."),
    Column("ended_at", Kind.TIME, "When it ended."),
    Column("graded_at", Kind.TIME, "When it was graded.", "grade.graded_at"),
    Column("setup_s", Kind.NUMBER, "Seconds of set-up before the agent started."),
    Column("execution_time_s", Kind.NUMBER, "Seconds for which the agent ran."),
    Column("timeout_s", Kind.NUMBER, "The time limit for the agent, in seconds.", "settled.timeout_s"),
    Column("asleep_s", Kind.NUMBER, "Seconds for which the machine was suspended meanwhile; part of no other time."),
    Column("cpu_s", Kind.NUMBER, "CPU seconds of OpenClaw and everything it started."),
    Column("peak_rss_bytes", Kind.WHOLE, "Peak memory of its largest process, in bytes."),
    Column("requests", Kind.WHOLE, "Calls of the model.", "outcome.usage.requests"),
    Column("input_tokens", Kind.WHOLE, "Tokens read.", "outcome.usage.input_tokens"),
    Column("output_tokens", Kind.WHOLE, "Tokens written.", "outcome.usage.output_tokens"),
    Column(
        "cache_read_tokens", Kind.WHOLE, "Tokens read from the provider's cache.", "outcome.usage.cache_read_tokens"
    ),
    Column("cache_write_tokens", Kind.WHOLE, "Tokens written to it.", "outcome.usage.cache_write_tokens"),
    Column("total_tokens", Kind.WHOLE, "All tokens, as OpenClaw sums them.", "outcome.usage.total_tokens"),
    Column(
        "cost_usd",
        Kind.NUMBER,
        "US dollars, at OpenClaw's prices; missing if no price is known.",
        "outcome.usage.known_cost_usd",
    ),
    Column(
        "all_attempts_cost_usd",
        Kind.NUMBER,
        "US dollars for all attempts, including those that do not count.",
        "spent.known_cost_usd",
    ),
    Column("judge_model", Kind.TEXT, "The judge's model.", "grade.judge.model"),
    Column("judge_calls", Kind.WHOLE, "Calls of the judge for the grade that counts.", "grade.judge.calls"),
    Column("judge_tokens", Kind.WHOLE, "Tokens of these calls.", "grade.judge.usage.total_tokens"),
    Column(
        "judge_cost_usd",
        Kind.NUMBER,
        "US dollars for these calls; missing if the endpoint states no price.",
        "grade.judge.cost_usd",
    ),
    Column("tool_calls", Kind.WHOLE, "Tool calls of the model."),
    Column("transcript_length", Kind.WHOLE, "Events in the transcript."),
    Column("damaged_lines", Kind.WHOLE, "Lines of the transcript that could not be read."),
    Column("rate_limits", Kind.WHOLE, "Answers of the provider with status 429."),
    Column("models", Kind.TEXTS, "The models that answered."),
    Column(
        "wire_calls",
        Kind.WHOLE,
        "Calls of the model that the wire saw, including failed ones; missing without the wire.",
        "outcome.wire.calls",
    ),
    Column("wire_failed", Kind.WHOLE, "How many of them got no complete reply.", "outcome.wire.failed"),
    Column(
        "wire_read_again",
        Kind.WHOLE,
        "Tokens read again because the beginning of a prompt had changed; an estimate.",
        "outcome.wire.prompts.again",
    ),
    Column(
        "first_token_s", Kind.NUMBER, "The median time to the first token, in seconds.", "outcome.wire.first_token_s"
    ),
    Column("model_s", Kind.NUMBER, "Seconds in which at least one call was at the provider.", "outcome.wire.model_s"),
    Column("openclaw", Kind.TEXT, "OpenClaw's release.", "settings.openclaw"),
    Column("isolation", Kind.TEXT, "private or shared.", "settings.isolation"),
    Column("evidence", Kind.TEXT, "The folder of transcript and logs, relative to the run's."),
    Column("note", Kind.TEXT, "A remark on the outcome."),
    Column("grade_notes", Kind.TEXTS, "Remarks on the grade.", "grade.notes"),
    Column("private", Kind.FLAG, "Whether the task was made from the user's own conversations.", "task.private"),
    Column("reused_from", Kind.TEXT, "The earlier run that made the trial; missing for the run's own trials."),
)

Value = str | int | float | bool | datetime | list[str] | dict[str, float] | None
Row = dict[str, Value]


def trial_rows(run: PastRun) -> Iterator[Row]:
    """Yield the rows of all planned trials, in the plan's order. Pure except for reading one small file, which blocks.

    Text is a single line without control characters. Raises ResultsError if run.json can no longer be read.
    """
    settings = _settings(run)
    for key in run.facts.keys:
        parts = _parts(run, key, settings)
        yield {column.name: _value(parts, column) for column in COLUMNS}


class _Settings(NamedTuple):
    """The settings in force when an attempt ended, as far as a resumption may have changed them."""

    openclaw: str
    isolation: str


def _settings(run: PastRun) -> Callable[[Outcome], _Settings]:
    """Return a function that finds the settings of an attempt."""
    facts = read_facts(run.files.provenance) if run.journal.state.resumed else run.facts
    first = now = _settings_of(facts.versions, facts.config)
    later = {}
    for record in run.journal.records:
        match record:
            case RunResumed(versions=versions, config=config):
                now = _settings_of(versions, config)
            case TrialFinished(outcome=one) if now != first:
                later[one.key, one.attempt, one.started_at] = now
            case _:
                pass
    return lambda outcome: later.get((outcome.key, outcome.attempt, outcome.started_at), first)


def _settings_of(versions: Mapping[str, str], config: Mapping[str, object]) -> _Settings:
    return _Settings(versions.get("openclaw", ""), str(config.get("isolation") or DEFAULT_ISOLATION))


def _parts(run: PastRun, key: TrialKey, settings: Callable[[Outcome], _Settings]) -> dict[str, object]:
    """Return what a trial's row is made of; most is missing for one that was not run."""
    task, attempts, score = run.facts.tasks.get(key.task_id), run.attempts.get(key), run.score(key)
    parts = {"run": run, "key": key, "task": task, "state": state_of(run, key), "attempts": ()}
    if attempts is None:
        return parts | {"settled": task}
    outcome, grade = attempts.counting, run.grades.get(key)
    judge = None if grade is None else grade.judge
    return parts | {
        "settled": outcome,
        "attempts": attempts.ended,
        "outcome": outcome,
        "grade": grade,
        "settings": settings(outcome),
        "spent": sum((one.usage for one in attempts.outcomes), Usage()),
        "score": score,
        "passed": None if score is None else is_passed(score, run.pass_threshold),
        "ungraded": ungraded_of(grade) if parts["state"] is State.UNGRADED else None,
        "spread": judge.spread if judge is not None and judge.votes else None,
    }


def _value(parts: Mapping[str, object], column: Column) -> Value:
    """Return a trial's value in a column; None where something on the way to it is missing."""
    first, *names = (column.source or f"outcome.{column.name}").split(".")
    found: Any = parts.get(first)
    for name in names:
        found = getattr(found, name, None)
    if found is UNSET or found is None:
        return False if found is UNSET and column.kind is Kind.FLAG else None
    match column.kind:
        case Kind.TEXT:
            found = plain(str(found)) or (None if column.name in MISSING_IF_EMPTY else "")
        case Kind.WHOLE:
            found = _whole(len(found) if isinstance(found, tuple | list) else found)
        case Kind.TIME:
            found = moment(found)
        case Kind.TEXTS:
            found = [plain(text) for text in found]
        case Kind.POINTS:
            found = {plain(name): points for name, points in found.items()}
        case Kind.NUMBER | Kind.FLAG:
            pass
    return found  # type: ignore[no-any-return]


def state_of(run: PastRun, key: TrialKey) -> State:
    """Return the state of a planned trial."""
    attempts = run.attempts.get(key)
    if attempts is None:
        return State.NOT_RUN
    reason = attempts.counting.reason
    if not reason.is_valid:
        return State(reason.ending.value)
    return State.UNGRADED if run.score(key) is None else State.SCORED


def ungraded_of(grade: Grade | None) -> str:
    """Return why a valid trial has no score: not graded yet, or its grade's reason."""
    # a score outside 0-1 is not a score, but its grader's bug
    return NOT_GRADED if grade is None else (grade.ungraded or Ungraded.GRADER_BUG).value


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

"""The rows of a report's table of tasks, and their links."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import quote

from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.text import words
from pinchbench.results.overview import trial_score
from pinchbench.results.statistics import estimate, is_passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.run_state import RunState, TrialState
    from pinchbench.results.statistics import Estimate

POSSIBLY = ", possibly caused by the agent"


class Stage(StrEnum):
    """Where a trial is, in a word; the worst comes first where several are listed."""

    FAILED = "failed"
    UNGRADED = "ungraded"
    EXCLUDED = "excluded"
    STOPPED = "stopped"
    RUNNING = "running"
    GRADING = "grading"
    WAITING = "waiting"
    PASSED = "passed"

    @property
    def badge(self) -> str:
        """The look of its badge: `good`, `bad`, `warn`, or none for a trial that goes on."""
        return {
            Stage.PASSED: "good",
            Stage.FAILED: "bad",
            **dict.fromkeys((Stage.UNGRADED, Stage.EXCLUDED, Stage.STOPPED), "warn"),
        }.get(self, "")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRow:
    """A trial in the table; `attempts` is the number of those that have ended."""

    name: str
    href: str
    state: Stage
    reason: str
    score: float | None = None
    time_s: float | None = None
    tokens: int = 0
    cost_usd: float = 0.0
    attempts: int = 0
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRow:
    """A task in the table, with its trials.

    `title` is empty if it has none. `states` counts the states of its trials, worst first; `rank` is the share of those
    that passed, negative if none has a score.
    """

    task_id: str
    title: str
    anchor: str
    category: str
    score: Estimate
    states: tuple[tuple[Stage, int], ...]
    rank: float
    scored: int
    passed: int
    time_s: float | None
    tokens: int
    cost_usd: float
    trials: tuple[TrialRow, ...]


def ended_trials(run: PastRun) -> list[TrialKey]:
    """Return the trials that have a page: those that have ended at least once."""
    return [key for key in _in_order(run) if key in run.attempts]


def _in_order(run: PastRun) -> list[TrialKey]:
    """Return the plan with each task's trials together."""
    place = {task_id: number for number, task_id in enumerate(dict.fromkeys(key.task_id for key in run.facts.keys))}
    return sorted(run.facts.keys, key=lambda key: (place[key.task_id], key.repetition))


def anchor_of(prefix: str, key: TrialKey) -> str:
    """Return the anchor of a trial's page; `prefix` identifies its run in a page of several."""
    return f"{prefix}trial/{safe_line(key)}"


def href(anchor: str) -> str:
    """Return the link to an anchor."""
    return "#" + quote(anchor, safe="/@")


def task_rows(run: PastRun, prefix: str, *, goes_on: bool = False) -> tuple[TaskRow, ...]:
    """Return a row for each task, in the plan's order; `goes_on`: a runner works on it."""
    keys: dict[str, list[TrialKey]] = {}
    for key in _in_order(run):
        keys.setdefault(key.task_id, []).append(key)
    return tuple(_task(run, prefix, task_id, own, goes_on=goes_on) for task_id, own in keys.items())


def stage_now(state: RunState, key: TrialKey, *, is_ahead: bool) -> Stage | None:
    """Return where a trial is while its run goes on; None for one that has ended. `is_ahead`: an attempt is to come."""
    trial = state.trials.get(key)
    if key in state.running:
        return Stage.RUNNING
    if is_ahead or (trial is not None and trial.is_requeued):
        return Stage.WAITING
    if trial is None or not trial.outcomes or not trial.counting.reason.is_valid:
        return None
    return None if (key, trial.counting.attempt) in state.attempt_grades else Stage.GRADING


def _task(run: PastRun, prefix: str, task_id: str, keys: Sequence[TrialKey], *, goes_on: bool) -> TaskRow:
    state, skipped = run.journal.state, run.journal.state.skipped
    trials = tuple(
        trial_row(
            key,
            run.attempts.get(key),
            run.grades.get(key),
            url=href(anchor_of(prefix, key)) if key in run.attempts else "",
            pass_threshold=run.pass_threshold,
            is_caused_by_agent=key in run.caused_by_agent,
            is_skipped=key in skipped,
            now=stage_now(state, key, is_ahead=key not in run.attempts and key not in skipped) if goes_on else None,
        )
        for key in keys
    )
    facts = run.facts.tasks.get(task_id)
    scores = [trial.score for trial in trials if trial.score is not None]
    stages = Counter(trial.state for trial in trials)
    times = [trial.time_s for trial in trials if trial.time_s is not None]
    return TaskRow(
        task_id=safe_line(task_id),
        title=safe_line(run.facts.title_of(task_id)),
        anchor=f"{prefix}task/{safe_line(task_id)}",
        category=safe_line(facts.category) if facts is not None else "",
        score=estimate([scores]),
        states=tuple((stage, stages[stage]) for stage in Stage if stages[stage]),
        rank=stages[Stage.PASSED] / len(trials) if scores else -1.0,
        scored=len(scores),
        passed=stages[Stage.PASSED],
        time_s=sum(times) / len(times) if times else None,
        tokens=sum(trial.tokens for trial in trials),
        cost_usd=sum(trial.cost_usd for trial in trials),
        trials=trials,
    )


def trial_row(
    key: TrialKey,
    attempts: TrialState | None,
    grade: Grade | None,
    *,
    url: str,
    pass_threshold: float,
    is_caused_by_agent: bool,
    is_skipped: bool = False,
    now: Stage | None = None,
) -> TrialRow:
    """Return the row of a trial, with the grade that counts, as `attempts` do; `url` leads to its page, if it has one.

    `is_caused_by_agent`: it has no score, which the agent may have caused. `now` is where a trial is that goes on; None
    if it has ended, or will not start.
    """
    if attempts is None:
        return TrialRow(
            name=safe_line(key),
            href=url if now is Stage.RUNNING else "",
            state=now or (Stage.EXCLUDED if is_skipped else Stage.STOPPED),
            reason="" if now else "skipped by the user" if is_skipped else "not run",
        )
    one = attempts.counting
    score = trial_score(one, grade)
    reason = _reason(one, grade, score) + (POSSIBLY if is_caused_by_agent else "")
    if now in (Stage.RUNNING, Stage.WAITING):
        reason = f"again, after {reason or words(one.reason)}"
    return TrialRow(
        name=safe_line(key),
        href=url,
        state=now or stage_of(one, score, pass_threshold),
        reason="" if now is Stage.GRADING else reason,
        score=score,
        time_s=one.execution_time_s,
        tokens=one.usage.total_tokens,
        cost_usd=one.usage.cost_usd,
        attempts=len(attempts.outcomes),
        note=_note(one, grade, score),
    )


def stage_of(one: Outcome, score: float | None, pass_threshold: float) -> Stage:
    """Return what an attempt that has ended came to."""
    if one.reason is Reason.INTERRUPTED:
        return Stage.STOPPED
    if not one.reason.is_valid:
        return Stage.EXCLUDED
    if score is None:
        return Stage.UNGRADED
    return Stage.PASSED if is_passed(score, pass_threshold) else Stage.FAILED


def _reason(one: Outcome, grade: Grade | None, score: float | None) -> str:
    """Return how it ended, unless it completed, and why there is no score where one is expected."""
    ended = "" if one.reason is Reason.COMPLETED else words(one.reason)
    if not one.reason.is_valid or score is not None:
        return ended
    grader = Ungraded.GRADER_BUG if grade is None or grade.ungraded is None else grade.ungraded
    return ", ".join(filter(None, (ended, "not graded yet" if grade is None else words(grader))))


def _note(one: Outcome, grade: Grade | None, score: float | None) -> str:
    if one.note:
        return safe_line(one.note, 300)
    if one.reason.is_valid and score is None and grade is not None and grade.notes:
        return safe_line(grade.notes[0], 300)
    return ""

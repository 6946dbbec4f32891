"""A report of finished runs: the contents of `report.html`, gathered from their files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup
from msgspec import UNSET

from pinchbench.model.usage import Usage
from pinchbench.report.caused_by_agent import caused_by_agent_told
from pinchbench.report.control import control_told
from pinchbench.report.decided import decided_told
from pinchbench.report.html.document import PageLook, write_document
from pinchbench.report.html.gate import shown_gate
from pinchbench.report.html.plots import (
    Bar,
    Point,
    draw_bars,
    draw_points,
    draw_timeline,
    where_the_time_went,
)
from pinchbench.report.html.rows import anchor_of, ended_trials, href, task_rows
from pinchbench.report.html.safe import safe_line, script_json
from pinchbench.report.html.shortened import fair_share
from pinchbench.report.html.timeline import Kind, timeline
from pinchbench.report.html.trial_page import (
    CALLS_BYTES,
    STDERR_BYTES,
    TrialAnchor,
    size_of,
    transcript_of,
    trial_json,
)
from pinchbench.report.model_calls import model_calls_told, model_time_told
from pinchbench.report.nodes import nodes_told
from pinchbench.report.soundness import run_told
from pinchbench.report.suites import suites_told
from pinchbench.report.text import duration, exact_price, many
from pinchbench.report.unsandboxed import unsandboxed_told
from pinchbench.results.gate.record import read_gate
from pinchbench.results.statistics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.report.html.gate import ShownGate
    from pinchbench.report.html.plots import Drawing
    from pinchbench.report.html.rows import TaskRow
    from pinchbench.report.html.timeline import Span
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.result_json import Aggregate

TOTAL_BYTES = 50_000_000  # of transcripts in one page
ESCAPED = 2  # times as much is the limit for all text about trials after escaping
LOGS_PART = 5  # stderr may take a fifth of the space of transcripts
LEAST_STDERR_BYTES = 1_000
CALLS_PART = 2  # the calls of the model may take half of the space of transcripts
MOST_X = 1e18  # larger costs are invalid: a transcript can contain a number that no axis can show


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPart:
    """The page's data about one run. `data` is its aggregate."""

    anchor: str
    prefix: str
    name: str
    model: str
    data: Aggregate
    versions: Mapping[str, str]
    date: str
    wall_s: float | None
    sessions: int
    passed_always: tuple[str, float] | None
    notices: tuple[tuple[str, str], ...]
    gate: ShownGate | None
    left_out: tuple[str, ...]
    tasks: tuple[TaskRow, ...]
    categories: tuple[str, ...]
    bars: Drawing | None
    bars_label: str
    points: Drawing | None
    points_label: str
    points_what: str
    timeline: Drawing | None
    timeline_label: str
    model_time: str
    settings: tuple[tuple[str, str], ...]
    folder: str


def write_report(runs: Sequence[PastRun], path: Path, *, total_bytes: int = TOTAL_BYTES) -> None:
    """Write the report of one or several runs atomically: a reader sees the old file or the complete new one. Blocks.

    The same files give the same page. Transcripts are read one at a time; together they take about `total_bytes`, and
    what exceeds that is omitted with a note. Raises ResultsError if the page can't be written.
    """
    prefixes = [""] if len(runs) == 1 else [f"{number}/" for number in range(1, len(runs) + 1)]
    parts = [run_part(run, prefix) for run, prefix in zip(runs, prefixes, strict=True)]
    write_document(
        path,
        PageLook(template="report.html.j2"),
        parts=parts,
        trials=_trials(list(zip(runs, prefixes, strict=True)), total_bytes),
    )


def run_part(run: PastRun, prefix: str) -> RunPart:
    """Gather the page's data about a run, except for its trials' pages. Takes a second, because it draws plots."""
    tasks = task_rows(run, prefix)
    bars, bars_label = _bars(run, prefix)
    points, points_label = _points(tasks, prefix)
    line, line_label = _timeline(run, prefix)
    worked = run.data.sessions
    gate = read_gate(run)
    return RunPart(
        anchor=f"run/{prefix}".rstrip("/"),
        prefix=prefix,
        name=safe_line(run.files.name),
        model=safe_line(run.model),
        data=run.data,
        versions=run.facts.versions,
        date=_date(run.facts.created_at),
        wall_s=fsum(end - start for start, end in worked) if worked else None,
        sessions=len(worked),
        passed_always=_passed_always(run),
        notices=tuple(_notices(run)),
        gate=None if gate is None else shown_gate(gate),
        left_out=tuple(_left_out(run)),
        tasks=tasks,
        categories=tuple(dict.fromkeys(task.category for task in tasks)),
        bars=bars,
        bars_label=bars_label,
        points=points,
        points_label=points_label,
        points_what=points_label.partition(" ")[0],
        timeline=line,
        timeline_label=line_label,
        model_time=model_time_told(run.data),
        settings=tuple(_settings(run)),
        folder=safe_line(run.files.folder),
    )


def _trials(runs: Sequence[tuple[PastRun, str]], total_bytes: int) -> Iterator[tuple[str, Markup]]:
    """Yield the anchor and the content of each trial's page, one at a time."""
    sizes = [size_of(transcript_of(run, run.attempts[key].counting)) for run, _ in runs for key in ended_trials(run)]
    share = fair_share(sizes, total_bytes)
    logs = min(STDERR_BYTES, max(LEAST_STDERR_BYTES, total_bytes // LOGS_PART // max(1, len(sizes))))
    calls = min(CALLS_BYTES, total_bytes // CALLS_PART // max(1, len(sizes)))
    # escaping can make text up to eight times as long
    left = ESCAPED * total_bytes
    for run, prefix in runs:
        grades = run.journal.state.attempt_grades
        for key, place in _places(run, prefix):
            most = share if left > 0 else 0
            told = script_json(
                trial_json(
                    run,
                    key,
                    place,
                    grades,
                    most_bytes=most,
                    log_bytes=logs,
                    calls_bytes=calls if left > 0 else 0,
                )
            )
            left -= len(told)
            # `script_json` leaves nothing that HTML would interpret
            yield place.anchor, Markup(told)  # noqa: S704


def _places(run: PastRun, prefix: str) -> Iterator[tuple[TrialKey, TrialAnchor]]:
    keys = ended_trials(run)
    anchors = ["", *(anchor_of(prefix, key) for key in keys), ""]
    for number, key in enumerate(keys, start=1):
        yield key, TrialAnchor(anchor=anchors[number], before=anchors[number - 1], after=anchors[number + 1])


def _bars(run: PastRun, prefix: str) -> tuple[Drawing | None, str]:
    told = [("all tasks", run.data.score)] if run.facts.has_mean else []
    if run.data.suites is not UNSET:
        told += [(f"suite {safe_line(name)}", one.score) for name, one in run.data.suites.items()]
    categories = run.data.categories
    if len(categories) > 1:
        told += [(safe_line(name), one.score) for name, one in categories.items()]
    bars = [Bar(name=name, mean=one.mean, low=one.low, high=one.high, tasks=one.tasks) for name, one in told]
    if all(bar.mean is None for bar in bars):
        return None, ""
    return draw_bars(bars, f"{_ids(prefix)}bars"), "Score by category. " + "; ".join(map(_bar_told, bars))


def _bar_told(bar: Bar) -> str:
    if bar.mean is None:
        return f"{bar.name}: no score"
    interval = (
        f", 95 % interval {bar.low:.2f} to {bar.high:.2f}" if bar.low is not None and bar.high is not None else ""
    )
    return f"{bar.name}: {bar.mean:.2f}{interval}, {many(bar.tasks, 'task')}"


def _points(tasks: Sequence[TaskRow], prefix: str) -> tuple[Drawing | None, str]:
    scored = [(task, task.score) for task in tasks if task.score is not None]
    if not scored:
        return None, ""
    is_cost = any(task.cost_usd > 0 for task, _ in scored)
    points = []
    for task, score in scored:
        ran = sum(bool(trial.href) for trial in task.trials)
        each = (task.cost_usd if is_cost else task.tokens) / max(1, ran)
        if each > MOST_X:
            continue
        told = f"${each:.4f}" if is_cost else f"{each:.0f} tokens"
        points.append(
            Point(
                x=round(each, 9),
                score=score,
                url=href(task.anchor),
                title=f"{task.task_id}: {score:.2f}, {told} a trial",
            )
        )
    if not points:
        return None, ""
    most = max(points, key=lambda point: point.x)
    what = "Cost" if is_cost else "Tokens"
    label = (
        f"{what} of a trial against score, a point for each of {many(len(points), 'task')}. Furthest right: "
        f"{most.title}"
    )
    return draw_points(points, f"{_ids(prefix)}points", is_cost=is_cost), label


def _timeline(run: PastRun, prefix: str) -> tuple[Drawing | None, str]:
    finished = run.journal.state.finished
    grades = run.journal.state.attempt_grades
    attempts = [
        (one, _kind(run, one, grades.get((one.key, one.attempt))))
        for trial in run.attempts.values()
        for one in trial.outcomes
    ]
    resumed = [record.at for record in run.journal.state.resumed]
    line = timeline(attempts, grades, end=finished.at if finished is not None else None, resumed=resumed)
    if line is None:
        return None, ""

    def url(span: Span) -> str:
        return href(anchor_of(prefix, span.key))

    def title(span: Span) -> str:
        again = f", attempt {span.attempt}" if span.attempt > 1 else ""
        where = f" on {safe_line(span.node)}" if span.node else ""
        return f"{safe_line(span.key)}{again}{where}: {span.kind.value}, {duration(span.stop - span.agent)}"

    return draw_timeline(line, f"{_ids(prefix)}time", url=url, title=title), where_the_time_went(line)


def _kind(run: PastRun, one: Outcome, grade: Grade | None) -> Kind:
    if not one.reason.is_valid:
        return Kind.LEFT_OUT
    score = grade.score if grade is not None else None
    is_low = score is not None and score < run.pass_threshold - ROUNDING
    return Kind.FAILED if is_low or one.reason.value != "completed" else Kind.DONE


def _ids(prefix: str) -> str:
    return f"r{prefix.rstrip('/')}" if prefix else "r"


def _date(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "an unknown day"


def _passed_always(run: PastRun) -> tuple[str, float] | None:
    """Return the largest k with a pass^k (all of k trials of a task pass) of every task with a score, and its value."""
    rates = run.data.passing.k
    tasks = rates["1"].tasks if "1" in rates else 0
    known = [
        (k, rate.pass_hat_k)
        for k, rate in rates.items()
        if k != "1" and rate.tasks == tasks and rate.pass_hat_k is not None
    ]
    return known[-1] if known else None


def _notices(run: PastRun) -> Iterator[tuple[str, str]]:
    """Yield what a reader must know before any number: the kind, and a sentence."""
    if decided := decided_told(run.data):
        yield "", safe_line(decided, 500)
    elif run.data.stopped:
        yield "bad", f"Stopped early: {safe_line(run.data.stopped, 500)}"
    elif run.data.interrupted:
        yield "bad", f"Interrupted: the run was ended by {safe_line(run.data.interrupted)} before all was done."
    if run.unfinished:
        left = f"{many(run.unfinished, 'trial')} of {len(run.facts.plan)}"
        how = f"`pinchbench-async resume {safe_line(run.facts.run_id)}`"
        if run.journal.state.finished is None:
            yield (
                "bad",
                (
                    f"Incomplete: this run has not ended, or died; {left} to be run or graded. {how} goes on with a "
                    f"dead one."
                ),
            )
        elif run.data.left_out.not_run:
            yield "bad", f"Incomplete: {left} still to be run or graded. {how} goes on."
        else:
            yield (
                "warn",
                f"{left} said nothing or could not be graded, and are not in the score. {how} tries them again.",
            )
    if run.data.changes:
        changes = "; ".join(safe_line(one, 300) for one in run.data.changes)
        yield "warn", f"Changed while the run was resumed: {changes}."
    told = {
        caused_by_agent_told(run.data): "bad",
        model_calls_told(run.data): "warn",
        unsandboxed_told(run.outcomes): "warn",
        **dict.fromkeys(control_told(run.data), "warn"),
        **dict.fromkeys(run_told(run.data), "warn"),
    }
    yield from ((kind, safe_line(sentence, 1000)) for sentence, kind in told.items() if sentence)
    yield from (("", safe_line(sentence, 500)) for sentence in suites_told(run.data))
    yield from (("", safe_line(sentence, 1000)) for sentence in nodes_told(run.data.nodes or {}))
    if not run.data.score.trials:
        yield "warn", "No score: no trial has one."


def _left_out(run: PastRun) -> Iterator[str]:
    """Yield what the score excludes and why, by name."""
    left = run.data.left_out
    reasons = Counter[str]()
    for one in run.outcomes:
        if not one.reason.is_valid:
            caused = " (possibly caused by the agent)" if one.key in run.caused_by_agent else ""
            reasons[f"{one.reason.value}{caused}"] += 1
        elif run.score(one.key) is None:
            grade = run.grades.get(one.key)
            why = grade.ungraded.value if grade is not None and grade.ungraded is not None else "not graded yet"
            reasons[f"ungraded: {why}"] += 1
    yield from (f"{number} {name}" for name, number in sorted(reasons.items()))
    if left.skipped:
        yield f"{left.skipped} skipped by the user"
    if left.not_run:
        yield f"{left.not_run} not run"
    if left.tasks_without_score:
        yield f"which leaves {many(left.tasks_without_score, 'task')} without any score"


def _settings(run: PastRun) -> Iterator[tuple[str, str]]:
    facts = run.facts
    for name, value in facts.config.items():
        # 0 is a setting, and equals False
        if value is not None and value is not False and value not in ("", []):
            told = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            yield name.replace("_", " "), safe_line(told, 300)
    for name, version in facts.versions.items():
        yield f"release of {name}" if name not in ("os", "machine") else name, safe_line(version, 200)
    if facts.containment:
        yield "containment", safe_line(facts.containment, 100)
    total = sum((one.usage for trial in run.attempts.values() for one in trial.outcomes), Usage())
    yield "spent by all attempts", f"{total.total_tokens} tokens, cost: {exact_price(total.known_cost_usd)}"

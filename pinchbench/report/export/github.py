"""Export a run as a Markdown summary for a GitHub Actions job."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage
from pinchbench.report.export.trial_rows import State, trial_rows
from pinchbench.report.sentences import (
    caused_by_agent_sentence,
    control_sentences,
    decided_sentence,
    left_out_sentence,
    reused_sentence,
    suite_sentences,
)
from pinchbench.report.text import amount, duration, many, plain, score_below
from pinchbench.results.compare.verdict import PRIVATE
from pinchbench.results.gate.gate_record import read_gate
from pinchbench.results.statistics import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinchbench.report.export.trial_rows import Row
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.gate.gate_record import GateRecord
    from pinchbench.results.result_json import Aggregate, JudgeTotals
    from pinchbench.results.statistics import Estimate

MAX_BYTES = 1024 * 1024  # of a step's summary: GitHub drops a longer one entirely
LIST_BYTES = 140 * 1024  # of each list; there are seven
MAX_NAME = 120  # characters
MAX_NOTE = 240
MAX_CRITERIA = 3
# whatever Markdown or GitHub's extensions could interpret as markup
_MARKS = {ord(mark): f"&#{ord(mark)};" for mark in "&<>\"'\\`*_{}[]()#.!|~:@$^"}


def github_lines(run: PastRun) -> Iterator[str]:
    """Yield the run as Markdown: the score, a table by category, and collapsible lists of what was not passed and why.

    At most 1 MiB: the lists are truncated, keeping the worst trials. Text from outside is shown as code with its
    special characters as numeric entities, so that it can't become markup, a link or a mention of a user wherever it is
    used.
    """
    totals = run.data
    rows = list(trial_rows(run))
    yield f"## PinchBench: {_code(run.model)}\n\n"
    yield from _headline(run, totals, rows)
    if (gate := read_gate(run)) is not None:
        yield from _gate(gate)
    yield "\n"
    yield from _listed(_categories(totals, rows), rest="more categories")
    failed = sorted((row for row in rows if row["passed"] is False), key=lambda row: (row["score"], row["task_id"]))
    yield from _folded(f"{many(len(failed), 'trial')} below {run.pass_threshold:g}", failed, run.pass_threshold)
    yield from _folded("Ungraded", [row for row in rows if row["state"] == State.UNGRADED])
    yield from _folded("Stopped", [row for row in rows if row["state"] is State.INTERRUPTED])
    silent = {State.INFRASTRUCTURE, State.PREREQUISITE_MISSING}
    yield from _folded("Infrastructure failures", [row for row in rows if row["state"] in silent])
    yield from _folded("Untrusted evidence", [row for row in rows if row["state"] is State.UNTRUSTED])
    release, ours = (run.facts.versions.get(name, "unknown") for name in ("openclaw", "pinchbench_async"))
    yield f"\nRun {_code(run.files.name)}, OpenClaw {_code(release)}, PinchBench async {_code(ours)}.\n"


def _headline(run: PastRun, totals: Aggregate, rows: Sequence[Row]) -> Iterator[str]:
    score = totals.score
    yield from (f"- {told.translate(_MARKS)}\n" for told in suite_sentences(totals))
    if not score.trials:
        yield "- **No score**: no trial has one.\n"
    elif score.mean is not None:
        of = f"the mean of {many(score.tasks, 'task')} ({many(score.trials, 'trial')})"
        passed = sum(row["passed"] is True for row in rows)
        yield f"- **Score {score.mean:.3f}** ({_interval(score)}), {of}.\n"
        yield f"- Passed (score of {run.pass_threshold:g} or more): {passed} of {many(score.trials, 'scored trial')}.\n"
    private = PRIVATE if totals.private is True else ""
    reused, caused = reused_sentence(totals), caused_by_agent_sentence(totals)
    for sentence in (private, left_out_sentence(totals), caused, reused, *control_sentences(totals)):
        if sentence:
            yield f"- {sentence.translate(_MARKS)}\n"
    others = totals.retries.other_attempts_usage if totals.retries is not None else Usage()
    usage = totals.usage
    again = f"; attempts that do not count {_dollars(others.cost_usd)}" if others.cost_usd else ""
    yield (
        f"- Agent time {duration(totals.execution_time)}, {amount(usage.total_tokens)} tokens,"
        f" {_dollars(usage.known_cost_usd)}{again}{_judge_cost(totals.judge)}.\n"
    )
    if run.unfinished:
        yield f"\n> The run is unfinished: {many(run.unfinished, 'trial')} left.\n"
    if decided := decided_sentence(totals):
        yield f"\n> {_code(decided, width=MAX_NOTE)}\n"
    elif totals.stopped:
        yield f"\n> It was stopped early: {_code(totals.stopped, width=MAX_NOTE)}\n"
    elif totals.interrupted:
        yield f"\n> It was interrupted by {_code(totals.interrupted)}.\n"


def _gate(gate: GateRecord) -> Iterator[str]:
    yield f"\n### Gate: {gate.verdict.replace('_', ' ')}\n\n"
    for rule in gate.rules:
        yield f"- {_code(rule.rule)}: **{rule.verdict.replace('_', ' ')}**. {rule.sentence.translate(_MARKS)}\n"
    if (baseline := gate.baseline) is not None:
        yield f"- Baseline {_code(baseline.name)} of {_code(baseline.model)}, margin {baseline.margin:g}.\n"
        yield from (f"- {_code(warning, width=MAX_NOTE)}\n" for warning in baseline.warnings)
        if excluded := baseline.not_compared:
            yield f"\n<details><summary>Not compared: {many(len(excluded), 'task')}</summary>\n\n"
            yield "| task | reason |\n| --- | --- |\n"
            rows = (f"| {_code(name)} | {_code(why, width=MAX_NOTE)} |\n" for name, why in excluded.items())
            yield from _listed(rows, rest="more tasks")
            yield "\n</details>\n"
    if not gate.is_complete:
        yield "\n> The run is not complete, which decides its exit code, not the gate.\n"


def _judge_cost(judge: JudgeTotals | None) -> str:
    if judge is None or not judge.calls:
        return ""
    if judge.cost_usd is None:
        return f"; {many(judge.calls, 'call')} of the judge, whose endpoint names no price"
    unknown = (
        f", without {many(judge.calls_without_cost, 'call')} of no known price" if judge.calls_without_cost else ""
    )
    return f"; judge {_dollars(judge.cost_usd)}{unknown}"


def _categories(totals: Aggregate, rows: Sequence[Row]) -> Iterator[str]:
    yield "| category | score | 95 % interval | trials | passed | excluded | agent time | cost |\n"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    within: dict[str, list[Row]] = {}
    for row in rows:
        within.setdefault(str(row["category"]), []).append(row)
    for name, group in totals.categories.items():
        score, left = group.score, group.left_out
        its = within.get(plain(name), [])
        cells = (
            _code(name),
            "–" if score.mean is None else f"{score.mean:.3f}",
            _interval(score, alone=True),
            str(score.trials),
            str(sum(row["passed"] is True for row in its)),
            str(left.total),
            duration(_sum(its, "execution_time_s")),
            _dollars(_cost(its)),
        )
        yield f"| {' | '.join(cells)} |\n"


def _folded(title: str, rows: Sequence[Row], threshold: float = 0.0) -> Iterator[str]:
    """Yield a collapsible list; nothing if there are no rows."""
    if not rows:
        return
    counted = title if title[0].isdigit() else f"{title}: {many(len(rows), 'trial')}"
    yield f"\n<details><summary>{counted}</summary>\n\n"
    yield from _listed(_trials(rows, threshold), rest="more trials")
    yield "\n</details>\n"


def _trials(rows: Iterable[Row], threshold: float) -> Iterator[str]:
    yield "| trial | score | reason | time | note |\n"
    yield "| --- | ---: | --- | ---: | --- |\n"
    for row in rows:
        repetition, score, seconds = row["repetition"], row["score"], row["execution_time_s"]
        name = str(row["task_id"]) if repetition == 1 else f"{row['task_id']}@{repetition}"
        cells = (
            _code(name),
            score_below(score, threshold) if isinstance(score, float) else "–",
            _code(_why(row), width=MAX_NOTE),
            duration(seconds) if isinstance(seconds, float) else "–",
            _code(_note(row), width=MAX_NOTE),
        )
        yield f"| {' | '.join(cells)} |\n"


def _why(row: Row) -> str:
    """Return why a trial has no score or a low one: how it ended, if that explains it, and what cost most points."""
    if row["ungraded"]:
        return str(row["ungraded"])
    points = row["breakdown"]
    lost = sorted(points.items(), key=lambda one: one[1]) if isinstance(points, dict) else []
    missed = [f"{name} {value:.2f}" for name, value in lost if value < 1.0 - ROUNDING][:MAX_CRITERIA]
    ended = [] if row["reason"] == Reason.COMPLETED and missed else [str(row["reason"])]
    return ", ".join([*ended, *missed])


def _note(row: Row) -> str:
    notes = row["grade_notes"]
    first = notes[0] if isinstance(notes, list) and notes else ""
    return str(row["note"] or first)


def _listed(lines: Iterable[str], *, rest: str) -> Iterator[str]:
    """Yield the lines of a table up to the size limit of a list, then the number of omitted ones."""
    size = left = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace"))
        if size > LIST_BYTES:
            left += 1
        else:
            yield line
    if left:
        yield f"\n… and {left} {rest}; all are in the results.\n"


def _interval(score: Estimate, *, alone: bool = False) -> str:
    if score.low is None or score.high is None:
        return "–" if alone else "too little data for an interval"
    return f"{score.low:.3f} to {score.high:.3f}" if alone else f"95 % interval {score.low:.3f} to {score.high:.3f}"


def _sum(rows: Iterable[Row], column: str) -> float:
    return fsum(value for row in rows if isinstance(value := row[column], float))


def _cost(rows: Sequence[Row]) -> float | None:
    """Return what the trials cost together; None if a price is not known."""
    is_known = all(row["cost_usd"] is not None for row in rows if row["attempts"])
    return _sum(rows, "cost_usd") if is_known else None


def _dollars(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"USD {cost:.4f}"  # two dollar signs on a line would be a formula


def _code(text: str, *, width: int = MAX_NAME) -> str:
    line = plain(text, width=width)
    return f"<code>{line.translate(_MARKS)}</code>" if line else ""

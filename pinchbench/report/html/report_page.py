"""A report of finished runs: the contents of `report.html`, gathered from their files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from itertools import count
from math import fsum
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup
from msgspec import UNSET

from pinchbench.config.settings import SETTINGS
from pinchbench.defaults import DEMO_MODELS
from pinchbench.errors import ResultsError
from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage
from pinchbench.report.html.document import PageLook, PageSection, write_document
from pinchbench.report.html.plots import ScoreRow, draw_scores
from pinchbench.report.html.safe_text import fair_share, safe_line, script_json
from pinchbench.report.html.task_rows import anchor_of, ended_trials, href, task_rows
from pinchbench.report.html.trial_page import CALLS_BYTES, STDERR_BYTES, evidence_of, size_of, trial_json
from pinchbench.report.model_calls import CACHES, WHY, breaking_sentence, cost_reasons, model_time_text, reason_texts
from pinchbench.report.remarks import failed_trials, failure_text, marked_remarks
from pinchbench.report.sentences import left_out_reasons, suite_sentences
from pinchbench.report.text import date_text, exact_price, left_text, many, price, words
from pinchbench.report.what_went_wrong import NOTHING, never_text, sheet_rows, worst_words
from pinchbench.results.gate.gate_record import read_gate
from pinchbench.results.journal.journal import is_written
from pinchbench.results.statistics import is_passed
from pinchbench.transcripts import Role, read_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pinchbench.report.html.plots import Drawing
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.overview import Failure, Kind
    from pinchbench.results.result_json import Aggregate
    from pinchbench.results.statistics import Estimate

TOTAL_BYTES = 50_000_000  # of transcripts in one page
ESCAPED = 2  # times as much is the limit for all text about trials after escaping
LOGS_PART = 5  # stderr may take a fifth of the space of transcripts
LEAST_STDERR_BYTES = 1_000
COUNTED = (
    "What the tasks' checks counted, whatever the score: how often, of how many occasions, and the range that holds the"
    " true share 95 times in 100."
)
NOT_COUNTED = "Nothing that the tasks' checks count."
MOST_FAILURES = 8  # are listed with why; the table has all
MOST_READ_BYTES = 2_000_000  # of a transcript, to find the model's last words
MOST_WORDS = 240  # characters of them
_MARKUP = re.compile(r"\*\*|```\w*|^\s*#+\s", re.MULTILINE)  # of Markdown: backticks are shown as code
CALLS_PART = 2  # the calls of the model may take half of the space of transcripts


LOOK = PageLook(template="report.html.j2")


def write_report(runs: Sequence[PastRun], path: Path, *, total_bytes: int = TOTAL_BYTES) -> None:
    """Write the report of one or several runs atomically: a reader sees the old file or the complete new one. Blocks.

    The same files give the same page. Transcripts are read one at a time; together they take about `total_bytes`, and
    what exceeds that is omitted with a note. Raises ResultsError if the page can't be written.
    """
    write_document(path, LOOK, **report_values(runs, total_bytes))


def report_values(runs: Sequence[PastRun], total_bytes: int) -> dict[str, object]:
    """Return what the report shows; transcripts are read while it is rendered."""
    prefixes = [""] if len(runs) == 1 else [f"{number}/" for number in range(1, len(runs) + 1)]
    named = list(zip(runs, prefixes, strict=True))
    return {"parts": [run_values(run, prefix) for run, prefix in named], "trials": _trials(named, total_bytes)}


def run_values(run: PastRun, prefix: str) -> dict[str, object]:
    """Return what the page shows of a run, except for its trials' pages."""
    goes_on = run.journal.state.finished is None and is_written(run.files.journal)
    tasks = task_rows(run, prefix, goes_on=goes_on)
    bars, bars_label = _bars(run)
    worked = run.data.sessions
    marked = list(marked_remarks(run.data, run.outcomes, run.grades, run.files))
    notices = [*_unfinished(run, goes_on=goes_on), *((look, text) for look, text in marked if look is not None)]
    turns: defaultdict[tuple[Kind, Reason], count[int]] = defaultdict(count)
    failures = sorted(
        failed_trials(run), key=lambda one: next(turns[one.kind, one.outcome.reason])
    )  # one a cause first
    return {
        "anchor": f"run/{prefix}".rstrip("/"),
        "run": run,
        "data": run.data,
        "date": f"{date_text(run.facts.created_at)} UTC",
        "wall_s": fsum(end - start for start, end in worked) if worked else None,
        "passed": sum(task.passed for task in tasks),
        "answer": _answer(run),
        "notices": [*notices, *(("", text) for text in suite_sentences(run.data))],
        "remarks": [text for look, text in marked if look is None],
        "failures": [_failed_trial(run, one, prefix) for one in failures[:MOST_FAILURES]],
        "causes": _causes(run, failures) if len(failures) > 1 else "",
        "more_failures": max(0, len(failures) - MOST_FAILURES),
        "gate": read_gate(run),
        "left_out": left_out_reasons(run.data),
        "goes_on": goes_on,
        "tasks": tasks,
        "categories": list(dict.fromkeys(task.category for task in tasks)),
        "bars": bars,
        "bars_label": bars_label,
        "model_time": model_time_text(run.data),
        "wrong": _what_went_wrong(run, prefix),
        "why": _why_it_costs(run.data, prefix),
        "settings": list(_settings(run)),
    }


def _answer(run: PastRun) -> str:
    """Say in a sentence how good the model was, and what a passed trial has cost."""
    scores = [score for one in run.outcomes if (score := run.score(one.key)) is not None]
    if not scores:
        return f"No trial has a score{'' if run.journal.state.finished else ' yet'}."
    passed = sum(is_passed(score, run.pass_threshold) for score in scores)
    usd = run.data.usage.known_cost_usd
    made_up = ", a made-up price" if run.model in DEMO_MODELS else ""
    each = f" A passed trial cost {price(usd / passed)}{made_up}." if passed and usd else ""
    worst = worst_words(run.data.events or {})
    wrong = f" What went wrong most: {worst}." if worst not in ("–", NOTHING) else ""
    of = f"{many(len(scores), 'trial')} (score {run.pass_threshold:g} or more){_all_pass(run.data)}"
    return f"Passed {passed} of {of}.{each}{wrong}"


def _all_pass(data: Aggregate) -> str:
    """Say how often all of the most trials that a task has pass; empty for one trial a task."""
    rates = [(int(k), rate.pass_hat_k) for k, rate in data.passing.k.items() if rate.pass_hat_k is not None]
    k, rate = max(rates, default=(1, 0.0))
    share = f"{rate * 100:.0f}% of the tasks" if rate else "no task"
    return f", and {({2: 'both'}).get(k, f'all {k}')} trials of {share}" if k > 1 else ""


def _what_went_wrong(run: PastRun, prefix: str) -> PageSection | None:
    """Return the failure sheet; None if no check counts anything."""
    if not run.data.events:
        return None
    by_task = {
        safe_line(run.facts.title_of(task.task_id) or task.task_id): task.events
        for task in run.data.tasks
        if task.events
    }
    rows = tuple(sheet_rows(run.data.events, by_task))
    never = never_text(run.data.events)
    return PageSection(
        id=f"wrong-{prefix}".strip("-/"),
        title="What went wrong",
        sentences=(COUNTED if rows else NOT_COUNTED, *([f"Not once: {never}."] if never else [])),
        columns=("what", "how often (95%)", "in these tasks") if rows else (),
        rows=rows,
    )


def _why_it_costs(data: Aggregate, prefix: str) -> PageSection | None:
    """Return why the run cost what it did; None if its prompts were not recorded."""
    found = cost_reasons((trial.usage, trial.wire) for trial in data.trials if trial.counts)
    if found is None:
        return None
    return PageSection(
        id=f"why-{prefix}".strip("-/"),
        title=WHY,
        sentences=tuple(filter(None, (breaking_sentence(found), CACHES))),
        columns=("what", "in all trials"),
        rows=tuple(reason_texts(found).items()),
    )


def _causes(run: PastRun, failures: Sequence[Failure]) -> str:
    """Count the trials that did not pass by how they ended, the most frequent first; those in no score come last."""
    causes: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for one in failures:
        has_score = run.score(one.outcome.key) is not None
        completed = f"completed with a score below {run.pass_threshold:g}" if has_score else "ungraded"
        name = completed if one.outcome.reason is Reason.COMPLETED else words(one.outcome.reason)
        causes[not has_score][name] += 1
    scored, without = (", ".join(f"{number} {name}" for name, number in own.most_common()) for own in causes)
    return "; ".join(filter(None, (scored, without and f"not in the score: {without}"))) + "."


def _failed_trial(run: PastRun, failure: Failure, prefix: str) -> dict[str, str]:
    """Return why a trial failed, with the criteria that it missed, and the model's last words, empty for none."""
    key = failure.outcome.key
    words = ""
    path = evidence_of(run, failure.outcome).transcript
    if size_of(path) <= MOST_READ_BYTES:
        with suppress(ResultsError):
            said = [one.text for one in read_conversation(path) if one.role is Role.ASSISTANT and one.text.strip()]
            words = safe_line(_MARKUP.sub("", said[-1]), MOST_WORDS) if said else ""
    return {
        "name": safe_line(key),
        "title": safe_line(run.facts.title_of(key.task_id)),
        "href": href(anchor_of(prefix, key)),
        "why": safe_line(failure_text(failure, run.data), 500),
        "last_words": words,
    }


def _trials(runs: Sequence[tuple[PastRun, str]], total_bytes: int) -> Iterator[tuple[str, Markup]]:
    """Yield the anchor and the content of each trial's page, one at a time."""
    sizes = [
        size_of(evidence_of(run, run.attempts[key].counting).transcript) for run, _ in runs for key in ended_trials(run)
    ]
    share = fair_share(sizes, total_bytes)
    logs = min(STDERR_BYTES, max(LEAST_STDERR_BYTES, total_bytes // LOGS_PART // max(1, len(sizes))))
    calls = min(CALLS_BYTES, total_bytes // CALLS_PART // max(1, len(sizes)))
    # escaping can make text up to eight times as long
    left = ESCAPED * total_bytes
    for run, prefix in runs:
        grades = run.journal.state.attempt_grades
        keys = ended_trials(run)
        anchors = ["", *(anchor_of(prefix, key) for key in keys), ""]
        for key, before, anchor, after in zip(keys, anchors, anchors[1:], anchors[2:], strict=False):
            most = share if left > 0 else 0
            trial = trial_json(run, key, grades, most_bytes=most, log_bytes=logs, calls_bytes=calls if left > 0 else 0)
            told = script_json({**trial, "anchor": anchor, "before": before, "after": after})
            left -= len(told)
            # `script_json` leaves nothing that HTML would interpret
            yield anchor, Markup(told)  # noqa: S704


def _bars(run: PastRun) -> tuple[Drawing | None, str]:
    rows = [("all tasks", run.data.score)] if run.facts.has_mean else []
    if run.data.suites is not UNSET:
        rows += [(f"suite {safe_line(name)}", one.score) for name, one in run.data.suites.items()]
    if len(run.data.categories) > 1:
        # the row of a single task says the same
        rows += [(safe_line(name), one.score) for name, one in run.data.categories.items() if one.score.tasks > 1]
    if len(rows) < 2 or all(one.mean is None for _, one in rows):  # noqa: PLR2004
        return None, ""
    drawn = [ScoreRow(name=name, score=one, note=many(one.tasks, "task")) for name, one in rows]
    return draw_scores(drawn), "Score by category. " + "; ".join(f"{name}: {_bar_text(one)}" for name, one in rows)


def _bar_text(one: Estimate) -> str:
    if one.mean is None:
        return "no score"
    interval = "" if one.low is None else f", 95% interval {one.low:.2f} to {one.high:.2f}"
    return f"{one.mean:.2f}{interval}, {many(one.tasks, 'task')}"


def _unfinished(run: PastRun, *, goes_on: bool) -> Iterator[tuple[str, str]]:
    """Yield how an unfinished run goes on: the look of the notice, and a sentence."""
    if not run.unfinished:
        return
    left = left_text(run.unfinished, len(run.facts.plan))
    how = f"`pinchbench-async resume {run.facts.run_id}`"
    if goes_on:
        running = len(run.journal.state.running)
        yield "", f"The run goes on: {left}{f', {running} of them running' if running else ''}."
    elif run.journal.state.finished is None:
        yield "bad", f"Incomplete: {left}. {how} continues it."
    elif run.data.left_out.not_run or run.data.interrupted:
        ended = "the run was interrupted" if run.data.interrupted else "the run has ended"
        yield "bad", f"Incomplete: {ended}, and {left}. {how} continues it."
    else:
        lost = f"{run.unfinished} of {many(len(run.facts.plan), 'trial')}"
        yield "warn", f"Without a score, for reasons other than the model: {lost}. {how} tries them again."


def _settings(run: PastRun) -> Iterator[tuple[str, str]]:
    """Yield the options that differ from their defaults, in the words of the command line, then other facts."""
    facts = run.facts
    for name, kept in facts.config.items():
        word = name.replace("_", "-")
        option = SETTINGS.get(word) or SETTINGS.get(f"no-{word}")
        # `--no-wire` is given where `wire` is false
        value = not kept if option is not None and option.negates else kept
        # 0 is a setting, and equals False
        if value is None or value is False or value in ("", []) or (option is not None and value == option.default):
            continue
        told = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        yield f"--{option.name}" if option is not None else name.replace("_", " "), safe_line(told, 300)
    if facts.tools:
        yield "tools", safe_line(", ".join(facts.tools), 300)
    for name, version in facts.versions.items():
        yield f"release of {words(name)}" if name not in ("os", "machine") else name, safe_line(version, 200)
    if facts.containment:
        yield "containment", safe_line(facts.containment, 100)
    total = sum((one.usage for trial in run.attempts.values() for one in trial.outcomes), Usage())
    yield "spent by all attempts", f"{total.total_tokens} tokens, cost: {exact_price(total.known_cost_usd)}"

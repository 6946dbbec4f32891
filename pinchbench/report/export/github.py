"""Export a run as a Markdown summary for a GitHub Actions job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.report.remarks import failed_trials, failure_text, remarks
from pinchbench.report.sentences import score_sentences
from pinchbench.report.text import amount, duration, exact_price, many, mean_text, plain
from pinchbench.results.gate.gate_record import read_gate
from pinchbench.results.overview import overview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.gate.gate_record import GateRecord

MAX_BYTES = 1024 * 1024  # of a step's summary: GitHub drops a longer one entirely
LIST_BYTES = 300 * 1024  # of each list; there are three
MAX_NAME = 120  # characters
MAX_NOTE = 240
# whatever Markdown or GitHub's extensions could interpret as markup
_MARKS = {ord(mark): f"&#{ord(mark)};" for mark in "&<>\"'\\`*_{}[]()#.!|~:@$^"}


def github_lines(run: PastRun) -> Iterator[str]:
    """Yield the run as Markdown: the score, what to know about it, a table by category, and what did not pass and why.

    At most 1 MiB: the lists are truncated, keeping the worst trials. Special characters are numeric entities, and names
    from outside are code, so that nothing can become markup, a link or a mention of a user wherever it is used.
    """
    yield f"## PinchBench: {_code(run.model)}\n\n"
    yield from (f"- **{_escaped(sentence)}**\n" for sentence in score_sentences(run.data))
    yield from (f"- {_escaped(sentence)}\n" for sentence in remarks(run.data, run.outcomes, run.grades, run.files))
    time, usage = duration(run.data.execution_time), run.data.usage
    cost = exact_price(usage.known_cost_usd)
    yield f"- Agents: {time}, {amount(usage.total_tokens)} tokens, cost {_escaped(cost)}.\n"
    if run.unfinished:
        yield f"\n> The run is unfinished: {many(run.unfinished, 'trial')} left.\n"
    if run.data.interrupted:
        yield "\n> It was interrupted.\n"
    if (gate := read_gate(run)) is not None:
        yield from _gate(gate)
    yield "\n"
    yield from _listed(_categories(run), rest="more categories")
    if failed := failed_trials(run):
        yield f"\n<details><summary>{many(len(failed), 'trial')} that did not pass</summary>\n\n"
        yield "| trial | why | time |\n| --- | --- | ---: |\n"
        rows = (
            f"| {_code(str(one.outcome.key))} | {_code(failure_text(one, run.data), width=MAX_NOTE)}"
            f" | {duration(one.outcome.execution_time_s)} |\n"
            for one in failed
        )
        yield from _listed(rows, rest="more trials")
        yield "\n</details>\n"
    release, ours = (run.facts.versions.get(name, "unknown") for name in ("openclaw", "pinchbench_async"))
    yield f"\nRun {_code(run.files.name)}, OpenClaw {_code(release)}, PinchBench async {_code(ours)}.\n"


def _gate(gate: GateRecord) -> Iterator[str]:
    yield f"\n### Gate: {gate.verdict.replace('_', ' ')}\n\n"
    for rule in gate.rules:
        yield f"- {_code(rule.rule)}: **{rule.verdict.replace('_', ' ')}**. {_escaped(rule.sentence)}\n"
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
        yield "\n> The run is incomplete, and its exit code says so, whatever the gate says.\n"


def _categories(run: PastRun) -> Iterator[str]:
    yield "| category | score | 95% interval | trials | passed | excluded | agent time | cost |\n"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    rows = {one.name: one.row for one in overview(run.data).categories}
    for name, group in run.data.categories.items():
        score, row = group.score, rows.get(name)
        cells = (
            _code(name),
            mean_text(score.mean),
            "–" if score.low is None else f"{score.low:.3f} to {score.high:.3f}",
            str(score.trials),
            str(row.passed if row is not None else 0),
            str(group.left_out.total),
            duration(row.time_s) if row is not None else "–",
            exact_price(row.usage.known_cost_usd).translate(_MARKS) if row is not None else "–",
        )
        yield f"| {' | '.join(cells)} |\n"


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


def _escaped(sentence: str) -> str:
    return plain(sentence).translate(_MARKS)


def _code(text: str, *, width: int = MAX_NAME) -> str:
    line = plain(text, width=width)
    return f"<code>{line.translate(_MARKS)}</code>" if line else ""

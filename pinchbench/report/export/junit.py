"""Export a run as JUnit XML: a test suite per category, a test case per trial."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from pinchbench.report.export.trial_rows import State, moment, state_of
from pinchbench.report.remarks import failure_text, failures_of
from pinchbench.report.text import exact_price, many, plain, plain_lines
from pinchbench.results.gate.gate_record import GateVerdict, gate_lines, read_gate
from pinchbench.results.statistics import is_passed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.gate.gate_record import GateRecord
    from pinchbench.results.overview import Failure

NO_CATEGORY = "none"
GATE_SUITE = "gate"
GATE_KINDS = {GateVerdict.FAILED: "failure", GateVerdict.NOT_APPLICABLE: "error"}  # the others pass
MAX_MESSAGE = 300  # characters of an attribute that test lists show in full
# in addition to the control characters, what XML 1.0 can't contain even as a reference
_ILLEGAL = re.compile("[\ufffe\uffff\ud800-\udfff]")

Fields = dict[str, str]


def junit_lines(run: PastRun) -> Iterator[str]:
    """Yield the run as JUnit XML, so that a CI system shows it as test results.

    A score below the pass threshold is a failure; an infrastructure failure is an error; a trial without a score, or
    that was not run (yet), is skipped, with the reason. `time` is the agent's own, in seconds. The transcript's path is
    relative to the output folder. The gate, if one was applied, is a suite of its own, with a case for each rule.
    """
    suites: dict[str, list[TrialKey]] = {}
    for key in run.facts.keys:
        task = run.facts.tasks.get(key.task_id)
        suites.setdefault(task.category if task else NO_CATEGORY, []).append(key)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    gate = read_gate(run)
    fields = {"name": f"{run.model} {run.facts.run_id}", **_with_gate(_counts(run, run.facts.keys), gate)}
    del fields["skipped"]  # the schema allows it only for suites
    yield f"<testsuites{_attributes(fields)}>\n"
    failed = {one.outcome.key: one for one in failures_of(run)}
    for category, keys in suites.items():
        yield from _suite(run, category, keys, failed)
    if gate is not None:
        yield from _gate_suite(run, gate)
    yield "</testsuites>\n"


def _suite(run: PastRun, category: str, keys: Sequence[TrialKey], failed: Mapping[TrialKey, Failure]) -> Iterator[str]:
    began = moment(run.facts.created_at)
    fields = {"name": category, "package": run.model, **_counts(run, keys)}
    if began is not None:
        fields["timestamp"] = began.strftime("%Y-%m-%dT%H:%M:%S")  # without a time zone, as the schema requires
    yield f"  <testsuite{_attributes(fields)}>\n    <properties>\n"
    facts = {
        "run_id": run.facts.run_id,
        "model": run.model,
        "openclaw": run.facts.versions.get("openclaw", ""),
        "pinchbench_async": run.facts.versions.get("pinchbench_async", ""),
        "pass_threshold": f"{run.pass_threshold:g}",
    }
    for name, value in facts.items():
        yield f"      <property{_attributes({'name': name, 'value': value})}/>\n"
    yield "    </properties>\n"
    for key in keys:
        yield from _case(run, category, key, failed)
    yield "  </testsuite>\n"


def _counts(run: PastRun, keys: Sequence[TrialKey]) -> Fields:
    kinds = Counter(kind_of(run, key) for key in keys)
    seconds = sum(run.attempts[key].counting.execution_time_s for key in keys if key in run.attempts)
    return {
        "tests": str(len(keys)),
        "failures": str(kinds["failure"]),
        "errors": str(kinds["error"]),
        "skipped": str(kinds["skipped"]),
        "time": f"{seconds:.3f}",
    }


def kind_of(run: PastRun, key: TrialKey) -> str:
    """Return a trial's kind as a test: empty for passed, `failure`, `error` or `skipped`."""
    match state_of(run, key):
        case State.SCORED:
            score = run.score(key)
            return "" if score is not None and is_passed(score, run.pass_threshold) else "failure"
        case State.INFRASTRUCTURE | State.UNTRUSTED:
            return "error"
        case State.INTERRUPTED | State.PREREQUISITE_MISSING | State.NOT_RUN | State.UNGRADED:
            return "skipped"


def _with_gate(counts: Fields, gate: GateRecord | None) -> Fields:
    """Add the gate's cases to the counts of the trials'."""
    kinds = Counter(GATE_KINDS.get(rule.verdict, "passed") for rule in gate.rules) if gate is not None else Counter()
    more = {"tests": kinds.total(), "failures": kinds["failure"], "errors": kinds["error"]}
    return counts | {name: str(int(counts[name]) + number) for name, number in more.items()}


def _gate_suite(run: PastRun, gate: GateRecord) -> Iterator[str]:
    counts = _with_gate({"tests": "0", "failures": "0", "errors": "0", "skipped": "0", "time": "0.000"}, gate)
    yield f"  <testsuite{_attributes({'name': GATE_SUITE, 'package': run.model, **counts})}>\n"
    for rule in gate.rules:
        yield f"    <testcase{_attributes({'name': f'gate {rule.rule}', 'classname': GATE_SUITE, 'time': '0.000'})}>\n"
        if kind := GATE_KINDS.get(rule.verdict):
            fields = {"message": plain(rule.sentence, width=MAX_MESSAGE), "type": rule.verdict.value}
            yield f"      <{kind}{_attributes(fields)}>{_text(rule.sentence)}</{kind}>\n"
        yield f"      <system-out>{_text(chr(10).join(gate_lines(gate)))}</system-out>\n    </testcase>\n"
    yield "  </testsuite>\n"


def _case(run: PastRun, category: str, key: TrialKey, failed: Mapping[TrialKey, Failure]) -> Iterator[str]:
    attempts, grade = run.attempts.get(key), run.grades.get(key)
    outcome = attempts.counting if attempts is not None else None
    seconds = outcome.execution_time_s if outcome is not None else 0.0
    yield f"    <testcase{_attributes({'name': str(key), 'classname': category, 'time': f'{seconds:.3f}'})}>\n"
    if kind := kind_of(run, key):
        left = f"; {many(run.unfinished, 'trial')} of the run left" if run.unfinished else ""
        why = failure_text(failed[key], run.data) if key in failed else f"not run{left}"
        fields = {"message": plain(why, width=MAX_MESSAGE)}
        if kind != "skipped":  # which has no type in the schema
            fields["type"] = "score" if outcome is None or outcome.reason.is_valid else outcome.reason.value
        notes = [outcome.note] if outcome is not None and outcome.note else []
        if grade is not None:
            notes += [*grade.notes, *(f"{name}: {value:.2f}" for name, value in grade.breakdown.items())]
        yield f"      <{kind}{_attributes(fields)}>{_text(chr(10).join(notes))}</{kind}>\n"
    if outcome is not None and (told := _told(run, key, outcome)):
        yield f"      <system-out>{_text(told)}</system-out>\n"
    yield "    </testcase>\n"


def _told(run: PastRun, key: TrialKey, outcome: Outcome) -> str:
    usage = outcome.usage
    lines = [f"evidence: {run.files.name}/{outcome.evidence}"] if outcome.evidence else []
    if outcome.transcript_length:
        lines = [f"transcript: {run.files.name}/{outcome.evidence}/transcript.jsonl"]
    if (score := run.score(key)) is not None:
        lines.append(f"score: {score:.3f}")
    lines.append(f"requests: {usage.requests}, tokens: {usage.total_tokens}, cost: {exact_price(usage.known_cost_usd)}")
    return "\n".join(lines)


def _attributes(fields: Fields) -> str:
    return "".join(f' {name}="{escape(_legal(plain(value)))}"' for name, value in fields.items())


def _text(text: str) -> str:
    return escape(_legal(plain_lines(text)))


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)

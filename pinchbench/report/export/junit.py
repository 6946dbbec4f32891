"""Export a run as JUnit XML: a test suite per category, a test case per trial."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pinchbench.report.export.trial_rows import State, moment, state_of
from pinchbench.report.remarks import failure_text, failures_of
from pinchbench.report.text import exact_price, many, plain, plain_lines
from pinchbench.results.gate.gate_record import GateRecord, GateVerdict, gate_lines, read_gate
from pinchbench.results.statistics import is_passed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.overview import Failure

NO_CATEGORY = "none"
GATE_SUITE = "gate"
GATE_KINDS = {GateVerdict.FAILED: "failure", GateVerdict.NOT_APPLICABLE: "error"}  # the others pass
MAX_ATTRIBUTE = 300  # characters: test lists show it in full
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
    gate = read_gate(run)
    fields = {"name": f"{run.model} {run.facts.run_id}", **_with_gate(_counts(run, run.facts.keys), gate)}
    del fields["skipped"]  # the schema allows it only for suites
    root = ET.Element("testsuites", _safe(fields))
    failed = {one.outcome.key: one for one in failures_of(run)}
    for category, keys in suites.items():
        _add_suite(root, run, category, keys, failed)
    if gate is not None:
        _add_gate(root, run, gate)
    ET.indent(root)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield ET.tostring(root, encoding="unicode") + "\n"


def _add_suite(
    root: ET.Element, run: PastRun, category: str, keys: Sequence[TrialKey], failed: Mapping[TrialKey, Failure]
) -> None:
    began = moment(run.facts.created_at)
    fields = {"name": category, "package": run.model, **_counts(run, keys)}
    if began is not None:
        fields["timestamp"] = began.strftime("%Y-%m-%dT%H:%M:%S")  # without a time zone, as the schema requires
    suite = ET.SubElement(root, "testsuite", _safe(fields))
    facts = {
        "run_id": run.facts.run_id,
        "model": run.model,
        "openclaw": run.facts.versions.get("openclaw", ""),
        "pinchbench_async": run.facts.versions.get("pinchbench_async", ""),
        "pass_threshold": f"{run.pass_threshold:g}",
    }
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        ET.SubElement(properties, "property", _safe({"name": name, "value": value}))
    for key in keys:
        _add_case(suite, run, category, key, failed.get(key))


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


def _add_gate(root: ET.Element, run: PastRun, gate: GateRecord) -> None:
    counts = _with_gate({"tests": "0", "failures": "0", "errors": "0", "skipped": "0", "time": "0.000"}, gate)
    suite = ET.SubElement(root, "testsuite", _safe({"name": GATE_SUITE, "package": run.model, **counts}))
    for rule in gate.rules:
        case = ET.SubElement(
            suite, "testcase", _safe({"name": f"gate {rule.rule}", "classname": GATE_SUITE, "time": "0.000"})
        )
        if kind := GATE_KINDS.get(rule.verdict):
            _add_text(case, kind, rule.sentence, message=rule.sentence, type=rule.verdict.value)
        _add_text(case, "system-out", "\n".join(gate_lines(gate)))


def _add_case(suite: ET.Element, run: PastRun, category: str, key: TrialKey, failure: Failure | None) -> None:
    attempts, grade = run.attempts.get(key), run.grades.get(key)
    outcome = attempts.counting if attempts is not None else None
    seconds = outcome.execution_time_s if outcome is not None else 0.0
    case = ET.SubElement(suite, "testcase", _safe({"name": str(key), "classname": category, "time": f"{seconds:.3f}"}))
    if kind := kind_of(run, key):
        left = f"; {many(run.unfinished, 'trial')} of the run left" if run.unfinished else ""
        fields = {"message": failure_text(failure, run.data) if failure is not None else f"not run{left}"}
        if kind != "skipped":  # which has no type in the schema
            fields["type"] = "score" if outcome is None or outcome.reason.is_valid else outcome.reason.value
        notes = [outcome.note] if outcome is not None and outcome.note else []
        if grade is not None:
            notes += [*grade.notes, *(f"{name}: {value:.2f}" for name, value in grade.breakdown.items())]
        _add_text(case, kind, "\n".join(notes), **fields)
    if outcome is not None:
        _add_text(case, "system-out", _told(run, key, outcome))


def _told(run: PastRun, key: TrialKey, outcome: Outcome) -> str:
    usage = outcome.usage
    lines = [f"evidence: {run.files.name}/{outcome.evidence}"] if outcome.evidence else []
    if outcome.transcript_length:
        lines = [f"transcript: {run.files.name}/{outcome.evidence}/transcript.jsonl"]
    if (score := run.score(key)) is not None:
        lines.append(f"score: {score:.3f}")
    lines.append(f"requests: {usage.requests}, tokens: {usage.total_tokens}, cost: {exact_price(usage.known_cost_usd)}")
    return "\n".join(lines)


def _add_text(parent: ET.Element, tag: str, text: str, **fields: str) -> None:
    ET.SubElement(parent, tag, _safe(fields)).text = _legal(plain_lines(text))


def _safe(fields: Fields) -> Fields:
    return {name: _legal(plain(value, width=MAX_ATTRIBUTE)) for name, value in fields.items()}


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)

"""A trial as its page shows it: ended attempts as in the report, a running one as far as its files go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from pinchbench.decoding import decode_json
from pinchbench.report.html.calls import calls_json
from pinchbench.report.html.safe_text import safe_line
from pinchbench.report.html.trial_page import (
    CALLS_BYTES,
    STDERR_BYTES,
    TRIAL_BYTES,
    evidence_of,
    log_json,
    read_end,
    size_of,
    trial_json,
)
from pinchbench.results.evidence_files import Evidence
from pinchbench.serve.trial_files import ShownGroup, links_outside, trial_texts

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.model.trial import TrialKey
    from pinchbench.serve.file_sources import TaskSources
    from pinchbench.serve.live_run import Json, LiveRun

MOST_LINE_BYTES = 1_000_000  # of a message of a chat
MOST_READ_BYTES = 100_000_000  # of a transcript or a recording: reading more takes seconds, and memory


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialView:
    """A trial: `data` is JSON for the page's script, `groups` are further texts."""

    data: Json
    groups: tuple[ShownGroup, ...] = ()


def trial_view(run: LiveRun, key: TrialKey, tasks: TaskSources | None, *, attempt: int) -> TrialView:
    """Return a trial, or one attempt at it; 0 is the one that counts. Without `tasks`, there are no groups. Blocks."""
    trial = run.attempts.get(key)
    number, slot = run.slot(key)
    row = run.row(key)
    state = {"text": row.state.value, "badge": row.state.badge, "more": row.reason}
    numbers = () if trial is None else tuple(one.attempt for one in trial.outcomes)
    if trial is None or (attempt and slot is not None and attempt == slot.attempt and attempt not in numbers):
        return TrialView(data={**_begun(run, key), "state": state})
    outcome = next((one for one in reversed(trial.outcomes) if one.attempt == attempt), trial.counting)
    evidence = evidence_of(run, outcome)
    if problem := links_outside(evidence.folder, run.files.folder):
        refused = {"text": "not shown", "badge": "bad", "more": ""}
        return TrialView(data={**_nothing(run, key), "notes": [safe_line(problem)], "state": refused})
    data = trial_json(
        run,
        key,
        run.state.attempt_grades,
        most_bytes=_room(evidence.transcript, TRIAL_BYTES),
        calls_bytes=_room(evidence.wire, CALLS_BYTES),
        attempt=attempt,
    )
    if slot is not None:
        data["facts"] = [["Now", f"attempt {slot.attempt} is running in slot {number}"], *_facts(data)]
    data["state"] = state
    if tasks is None:
        return TrialView(data=data)
    grade = run.state.attempt_grades.get((key, outcome.attempt))
    return TrialView(data=data, groups=trial_texts(evidence, grade, tasks.find(run.facts, outcome)))


def trial_mark(run: LiveRun, key: TrialKey) -> object:
    """Return what changes when the page of a trial does. Blocks."""
    _, slot = run.slot(key)
    trial = run.state.trials.get(key)
    grades = () if trial is None else tuple((key, one.attempt) in run.state.attempt_grades for one in trial.outcomes)
    if slot is None:
        return grades
    evidence = Evidence(folder=run.files.trial(key, slot.attempt))
    files = evidence.wire, evidence.stderr, evidence.transcript, evidence.chat
    return grades, slot.attempt, tuple(map(size_of, files))


def _begun(run: LiveRun, key: TrialKey) -> Json:
    """Return a trial none of whose attempts has ended: what was written of it so far."""
    data = _nothing(run, key)
    number, slot = run.slot(key)
    if slot is None:
        return {**data, "cut": "This trial has not run."}
    folder = run.files.trial(key, slot.attempt)
    if problem := links_outside(folder, run.files.folder):
        return {**data, "notes": [safe_line(problem)]}
    evidence = Evidence(folder=folder)
    return {
        **data,
        "facts": [
            ["Slot", str(number)],
            *([["Node", safe_line(slot.node)]] if slot.node else []),
            ["Attempt", str(slot.attempt)],
            *([["Latest message", safe_line(at)]] if (at := _chatted_at(evidence)) else []),
        ],
        "stderr": log_json(evidence.stderr, STDERR_BYTES),
        "folder": safe_line(folder),
        "cut": "The conversation is kept when the attempt ends. What the model was asked until now is below, as far as "
        "its requests are recorded.",
        "wire": calls_json(
            evidence.wire,
            command=f"pinchbench-async export {run.files.argument} --format wire",
            most_bytes=_room(evidence.wire, CALLS_BYTES),
        ),
    }


def _chatted_at(evidence: Evidence) -> str:
    """Return when the last message of a trial's chat was sent, by its clock, which may be simulated; empty without."""
    lines = read_end(evidence.chat, MOST_LINE_BYTES)[0].splitlines()
    try:
        return "" if not lines else str(decode_json(lines[-1])["at"])
    except (msgspec.DecodeError, LookupError, TypeError):
        return ""


def _nothing(run: LiveRun, key: TrialKey) -> Json:
    return {
        "title": safe_line(key),
        "task": safe_line(run.facts.title_of(key.task_id)),
        "facts": [],
        "notes": [],
        "grade": None,
        "attempts": [],
        "stderr": {"text": "", "left_out": 0},
        "folder": "",
        "sessions": [],
        "cut": "",
        "wire": None,
    }


def _room(path: Path, most: int) -> int:
    return most if size_of(path) <= MOST_READ_BYTES else 0


def _facts(data: Json) -> list[object]:
    facts = data["facts"]
    return facts if isinstance(facts, list) else []

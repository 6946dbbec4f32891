"""Prepare a trial's conversation for other tools: bounded, each tool result matched to its call."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pinchbench.errors import ResultsError
from pinchbench.report.export.trial_rows import moment, ungraded_of
from pinchbench.transcript_lines import writable
from pinchbench.transcripts import Message, Role, ToolCall, read_conversation

if TYPE_CHECKING:
    from pinchbench.model.outcome import Outcome
    from pinchbench.results.finished_run import PastRun

MAX_TEXT = (
    1_000_000  # characters of one text: viewers hold whole conversations in memory; the transcript has the full text
)
MAX_ID = 200  # characters of a call's id
MAX_DEPTH = 64  # of a call's arguments: JSON parsers fail at some hundred levels
MAX_NUMBER = 2**63  # most JSON parsers can't represent larger integers


def conversation_of(run: PastRun, outcome: Outcome) -> tuple[Message, ...]:
    """Return the messages of an attempt as `told` prepares them; empty if there is no transcript. Blocks.

    An unreadable transcript becomes a note that says so: one of thousands must not prevent the export of the others.
    """
    try:
        messages = read_conversation(run.files.trial(outcome.key, outcome.attempt) / "transcript.jsonl")
    except ResultsError:
        return (Message(role=Role.NOTE, text="The transcript can't be read."),)
    return tuple(told(messages))


def told(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the same messages without anything that a document can't represent (pure).

    Long texts are truncated and say so. Each call gets a unique id, since models reuse theirs; a tool's message names
    the call that it answers, or none, and no call is named twice.
    """
    used: set[str] = set()
    times = Counter[str]()
    waiting: dict[str, list[str]] = {}
    for message in messages:
        calls: list[ToolCall] = []
        new: dict[str, list[str]] = {}
        for call in message.calls:
            own = _own_id(call.id, used, times)
            new.setdefault(call.id, []).insert(0, own)
            calls.append(ToolCall(id=own, name=bounded(call.name), arguments=_arguments(call.arguments)))
        waiting.update(new)  # a result belongs to the latest call with that id
        call_id = message.call_id
        if message.role is Role.TOOL:
            open_calls = waiting.get(call_id)
            call_id = open_calls.pop() if open_calls else ""
        yield replace(
            message,
            text=bounded(message.text),
            thinking=bounded(message.thinking),
            calls=tuple(calls),
            call_id=call_id,
            tool=bounded(message.tool),
            model=bounded(message.model),
            stop=bounded(message.stop),
            error=bounded(message.error),
        )


def _own_id(wanted: str, used: set[str], times: Counter[str]) -> str:
    wanted = writable(wanted[:MAX_ID]) or "call"
    own = wanted
    while own in used:
        times[wanted] += 1
        own = f"{wanted}~{times[wanted] + 1}"
    used.add(own)
    return own


def _arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    value = json_value(arguments)
    return value if isinstance(value, dict) else {}


def bounded(text: str) -> str:
    """Return text without unpaired surrogates, truncated with a note on what is missing."""
    text = writable(text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters were cut]"


def json_value(value: object, depth: int = 0) -> object:
    """Return a value that any JSON parser accepts: what JSON can't represent becomes text."""
    match value:
        case None | bool():
            known: object = value
        case int():
            known = value if -MAX_NUMBER <= value < MAX_NUMBER else str(value)
        case float():
            known = value if math.isfinite(value) else str(value)
        case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
            known = "[what is nested deeper was cut]"
        case Mapping():
            known = {bounded(str(name)): json_value(one, depth + 1) for name, one in value.items()}
        case list() | tuple():
            known = [json_value(one, depth + 1) for one in value]
        case _:
            known = bounded(str(value))
    return known


def iso(at: float | None) -> str | None:
    """Format a time as ISO 8601 with its offset, which is UTC; None if it is unknown or out of range."""
    known = moment(at or 0.0)
    return known.isoformat(timespec="milliseconds") if known is not None else None


def trial_facts(run: PastRun, outcome: Outcome) -> dict[str, object]:
    """Return how a trial was run and graded, for formats that take facts of any kind; unknown ones are missing."""
    task, grade = run.facts.tasks.get(outcome.key.task_id), run.grades.get(outcome.key)
    judge = grade.judge if grade is not None else None
    score = run.score(outcome.key)
    facts = {
        "task_id": outcome.key.task_id,
        "repetition": outcome.key.repetition,
        "category": task.category if task is not None else None,
        "grading_type": task.grading_type.value if task is not None else None,
        "digest": outcome.digest,
        "attempt": outcome.attempt,
        "attempts": len(run.attempts[outcome.key].ended),
        "status": outcome.status.value,
        "reason": outcome.reason.value,
        "counts": outcome.reason.is_valid,
        "score": score,
        "left_out": left_out(run, outcome),
        "breakdown": grade.breakdown if grade is not None and score is not None else None,
        "grading_notes": list(grade.notes) if grade is not None else [],
        "started_at": iso(outcome.started_at),
        "ended_at": iso(outcome.ended_at),
        "slot": outcome.slot,
        "setup_s": outcome.setup_s,
        "execution_time_s": outcome.execution_time_s,
        "timeout_s": outcome.timeout_s,
        "exit_code": outcome.exit_code,
        "cost_usd": outcome.usage.known_cost_usd,
        "judge_cost_usd": judge.cost_usd if judge is not None else None,
        "tool_calls": outcome.tool_calls,
        "damaged_lines": outcome.damaged_lines,
        "rate_limits": outcome.rate_limits,
        "models": list(outcome.models),
        "sessions": list(outcome.session_ids),
        "evidence": outcome.evidence,
        "note": outcome.note,
    }
    return {name: json_value(value) for name, value in facts.items() if value is not None}


def left_out(run: PastRun, outcome: Outcome) -> str | None:
    """Return why a trial has no score.

    One of `infrastructure`, `untrusted`, `interrupted`, `prerequisite_missing`, `not_graded`, or its grade's reason.
    """
    if run.score(outcome.key) is not None:
        return None
    if not outcome.reason.is_valid:
        return outcome.reason.ending.value
    return ungraded_of(run.grades.get(outcome.key))

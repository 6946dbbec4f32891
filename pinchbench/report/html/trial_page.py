"""The contents of a trial's page, as JSON for the page's script: its facts, its grade, its conversation."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import UNSET

from pinchbench.defaults import Network
from pinchbench.errors import ResultsError
from pinchbench.files.beneath import open_regular
from pinchbench.report.html.calls import calls_json
from pinchbench.report.html.safe_text import fair_share, safe_line, safe_text, shortened
from pinchbench.report.model_calls import statuses_text
from pinchbench.report.text import amount, duration, exact_price, many, words
from pinchbench.report.what_went_wrong import event_texts
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.overview import trial_score
from pinchbench.transcripts import Message, Role, ToolCall, read_conversation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinchbench.model.facts import LoadFacts, SandboxFacts, WireFacts
    from pinchbench.model.grade import CheckGrade, Grade, JudgeGrade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.manifest import RunFacts
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.run_state import TrialState

TRIAL_BYTES = 1_000_000  # of a transcript; beyond that, its longest texts are truncated
CALLS_BYTES = 200_000  # of what the wire recorded
STDERR_BYTES = 20_000  # the end of the log, where errors are reported
MOST_MESSAGES = 4_000  # of a trial; with more, the first and the last half of this number are shown
LATEST_S = 4_102_444_800  # in the year 2100
LEAST_TEXT = 300  # characters that are kept of a truncated text
MOST_NOTES = 50
CAUSED = "Every attempt failed while other trials worked: the agent may have caused it. The trial is not in the score."

Json = dict[str, object]


class RunTrials(Protocol):
    """The trials of a run and its files, as in `PastRun`."""

    @property
    def files(self) -> RunFiles: ...  # noqa: D102

    @property
    def facts(self) -> RunFacts: ...  # noqa: D102

    @property
    def attempts(self) -> Mapping[TrialKey, TrialState]: ...  # noqa: D102

    @property
    def grades(self) -> Mapping[TrialKey, Grade]: ...  # noqa: D102

    @property
    def caused_by_agent(self) -> frozenset[TrialKey]: ...  # noqa: D102


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it can't be read. Blocks."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def trial_json(
    run: RunTrials,
    key: TrialKey,
    grades: Mapping[tuple[TrialKey, int], Grade],
    *,
    most_bytes: int,
    log_bytes: int = STDERR_BYTES,
    calls_bytes: int = CALLS_BYTES,
    attempt: int = 0,
) -> Json:
    """Gather the data about a trial that has ended at least once. Blocks.

    `grades` are those of the run's attempts; `most_bytes` limits the transcript, `log_bytes` the part of stderr that is
    shown, and `calls_bytes` the calls of the model. `attempt` is the number of the one to be shown: by default, that
    which counts.
    """
    attempts = run.attempts[key]
    counting = next((one for one in reversed(attempts.outcomes) if one.attempt == attempt), attempts.counting)
    grade = grades.get((key, counting.attempt)) or (run.grades.get(key) if not attempt else None)
    evidence = evidence_of(run, counting)
    return {
        "title": safe_line(key),
        "task": safe_line(run.facts.title_of(key.task_id)),
        "score": trial_score(counting, grade),
        "facts": _facts(run, counting),
        "notes": [*([CAUSED] if key in run.caused_by_agent else []), *_notes(counting)],
        "grade": None if grade is None else _grade(grade),
        "attempts": [_attempt(run, one, one is counting) for one in attempts.outcomes],
        "stderr": log_json(evidence.stderr, log_bytes),
        "folder": safe_line(evidence.folder),
        **conversation_json(evidence.transcript, counting, most_bytes),
        "wire": calls_json(
            evidence.wire,
            command=f"pinchbench-async export {run.files.argument} --format wire",
            most_bytes=calls_bytes,
        ),
    }


def evidence_of(run: RunTrials, outcome: Outcome) -> Evidence:
    """Return the files of an attempt, always within the folder of its run."""
    evidence = PurePosixPath(outcome.evidence)
    # a journal from an untrusted source must not lead outside its run
    is_inside = evidence.parts and not evidence.is_absolute() and ".." not in evidence.parts
    return Evidence(folder=run.files.folder / evidence if is_inside else run.files.trial(outcome.key, outcome.attempt))


def _facts(run: RunTrials, one: Outcome) -> list[tuple[str, str]]:
    usage = one.usage
    used = f"{amount(usage.total_tokens)} tokens ({amount(usage.input_tokens)} in, {amount(usage.output_tokens)} out"
    cached = f", {amount(usage.cache_read_tokens)} from the cache)" if usage.cache_read_tokens else ")"
    task = run.facts.tasks.get(one.key.task_id)
    facts = [
        ("Category", task.category if task is not None else ""),
        ("Reused from", one.reused_from),
        ("Ended as", words(one.reason)),
        ("Agent’s time", f"{duration(one.execution_time_s)} (limit {duration(one.timeout_s)})"),
        ("Node", one.node),
        ("Set-up", duration(one.setup_s)),
        ("Used", used + cached),
        ("Cost", exact_price(usage.known_cost_usd)),
        ("Calls", f"{many(usage.requests, 'model call')}, {many(one.tool_calls, 'tool call')}"),
        ("Model", ", ".join(one.models)),
        ("At the provider", _wire(one.wire) if one.wire is not None else ""),
        ("Sandbox", _sandbox(one.sandbox) if one.sandbox is not None else ""),
        (
            "CPU, memory",
            f"{duration(one.cpu_s)}, {one.peak_rss_bytes / 1e6:.0f} MB at most" if one.peak_rss_bytes else "",
        ),
        ("Waited for", _load(one.load) if one.load is not None else ""),
        ("Slot", str(one.slot)),
        ("Exit code", "" if one.exit_code is None else str(one.exit_code)),
        ("Workspace", one.workspace),
    ]
    return [(name, safe_line(value, 400)) for name, value in facts if value]


def _load(load: LoadFacts) -> str:
    """Return for which share of its time a trial waited for what of the machine."""
    shares = [f"{name} {share:.0%}" for name, share in load.shares.items()]
    return f"{', '.join(shares)} of the time{', alone' if load.is_alone else ''}"


def _sandbox(sandbox: SandboxFacts) -> str:
    """Return what a trial could connect to, and what its agent attempted beyond, in words."""
    reach = "the model alone" if sandbox.network == Network.MODEL else "open network"
    return "; ".join([f"{sandbox.integrity.value}, {reach}", *sandbox.attempts])


def _wire(wire: WireFacts) -> str:
    """Return what the wire measured of a trial, in words."""
    parts = [many(wire.calls, "call")]
    if wire.failed:
        parts.append(f"{len(wire.failed)} failed ({statuses_text(wire.failed)})")
    if wire.wire_retries:
        parts.append(f"asked again by the wire after {statuses_text(wire.wire_retries)}")
    if wire.first_token_s is not None:
        parts.append(f"first token after {wire.first_token_s:.2f} s")
    if wire.output_tokens_per_s is not None:
        parts.append(f"{wire.output_tokens_per_s:,.0f} tokens per second")
    if wire.start_s is not UNSET:
        parts.append(f"{duration(wire.start_s)} in OpenClaw's start")
    parts.append(f"{duration(wire.model_s)} in the model, {duration(wire.between_s)} between")
    if wire.queued_s:
        parts.append(f"{duration(wire.queued_s)} held back")
    return ", ".join(parts)


def _notes(one: Outcome) -> list[str]:
    notes = [one.note] if one.note else []
    if one.rate_limits:
        notes.append(f"The provider refused {many(one.rate_limits, 'call')} for their rate (429).")
    if one.damaged_lines:
        notes.append(f"{many(one.damaged_lines, 'line')} of the transcript could not be read.")
    if one.asleep_s:
        notes.append(f"The machine slept {duration(one.asleep_s)} meanwhile; that is in no other time.")
    if one.leftovers:
        notes.append("Still running when the agent had ended, and ended then: " + "; ".join(one.leftovers[:5]))
    if one.not_kept:
        notes.append("Not kept of the workspace: " + "; ".join(one.not_kept[:5]))
    if one.is_unwitnessed:
        notes.append("Unwitnessed: without the wire, OpenClaw’s store alone says what the agent did.")
    notes += [f"{finding}." for finding in one.findings]
    notes += [f"During the trial, {one}." for one in one.services]
    return [safe_line(note, 1000) for note in notes]


def _grade(grade: Grade) -> Json:
    return {
        **_verdict(grade),
        "check": None if grade.check is None else _check(grade.check),
        "judge": None if grade.judge is None else _judge(grade.judge),
    }


def _verdict(part: Grade | CheckGrade | JudgeGrade) -> Json:
    return {
        "score": part.score,
        "ungraded": words(part.ungraded) if part.ungraded is not None else "",
        "notes": _lines(part.notes),
    }


def _check(check: CheckGrade) -> Json:
    return {
        **_verdict(check),
        "breakdown": _breakdown(check.breakdown),
        "notes": _lines((*check.notes, *event_texts(check.events or {}))),
        "time": duration(check.duration_s),
    }


def _judge(judge: JudgeGrade) -> Json:
    cost = "cost not reported" if judge.cost_usd is None else f"${judge.cost_usd:.4f}"
    calls = many(judge.calls, "call") + (f", {judge.cached} from the cache" if judge.cached else "")
    several = () if judge.judges is UNSET else judge.judges
    return {
        **_verdict(judge),
        **({"notes": []} if several else {}),
        "breakdown": _breakdown(judge.breakdown),
        "judges": [_judge(one) for one in several],
        "model": safe_line(judge.model, 200),
        "votes": list(judge.votes),
        "spread": judge.spread,
        "spent": f"{calls}, {amount(judge.usage.total_tokens)} tokens, {cost}, {duration(judge.latency_s)}",
        "reply": safe_text(judge.reply[:STDERR_BYTES]),
    }


def _breakdown(points: Mapping[str, float]) -> list[tuple[str, float]]:
    return [(safe_line(words(name), 200), value) for name, value in points.items()]


def _lines(notes: Sequence[str]) -> list[str]:
    return [safe_text(note[:4000]) for note in notes[:MOST_NOTES]]


def _attempt(run: RunTrials, one: Outcome, is_counting: bool) -> Json:
    return {
        "number": one.attempt,
        "reason": words(one.reason),
        "counts": one.reason.is_valid,
        "chosen": is_counting,
        "time": duration(one.execution_time_s),
        "cost": exact_price(one.usage.known_cost_usd),
        "note": safe_line(one.note, 1000),
        "folder": safe_line(evidence_of(run, one).folder),
    }


def read_end(path: Path, most: int) -> tuple[bytes, int]:
    """Return the end of a regular file, and how many bytes are before it; nothing of any other file. Blocks."""
    try:
        with open_regular(path) as file:
            start = max(0, file.seek(0, os.SEEK_END) - most)
            file.seek(start)
            return file.read(most), start
    except OSError:
        return b"", 0


def log_json(path: Path, most: int) -> Json:
    """Return the end of a log. A missing file counts as empty. Blocks."""
    data, left_out = read_end(path, most)
    return {"text": safe_text(data.decode("utf-8", "replace")), "left_out": left_out}


def conversation_json(transcript: Path, outcome: Outcome, most_bytes: int) -> Json:
    """Return the messages of an attempt by session, about `most_bytes` of text at most. Blocks."""
    where = {"transcript": safe_line(transcript), "sessions": [], "cut": "", "is_left_out": False}
    size = size_of(transcript)
    if not size:
        return {**where, "cut": "There is no transcript."}
    if most_bytes < min(size, LEAST_TEXT):
        return {
            **where,
            "is_left_out": True,
            "cut": f"Left out of this page, which would be too large: {where['transcript']}",
        }
    try:
        messages = read_conversation(transcript)
    except ResultsError as error:
        return {**where, "cut": safe_line(error)}
    cuts = []
    if len(messages) > MOST_MESSAGES:
        cuts.append(f"{len(messages) - MOST_MESSAGES} messages in the middle")
        messages = messages[: MOST_MESSAGES // 2] + messages[-MOST_MESSAGES // 2 :]
    texts = [
        len(text)
        for one in messages
        for text in (one.text, one.thinking, *(arguments_text(call) for call in one.calls))
    ]
    least = max(LEAST_TEXT, fair_share(texts, min(most_bytes, TRIAL_BYTES)))
    if max(texts, default=0) > least:
        cuts.append("parts of long texts")
    began = outcome.started_at + outcome.setup_s
    return {
        **where,
        "sessions": _sessions(messages, began, least),
        "cut": f"Not all is shown here: {' and '.join(cuts)} are left out. The whole is in {where['transcript']}"
        if cuts
        else "",
    }


def arguments_text(call: ToolCall) -> str:
    """Return the arguments of a call as JSON."""
    try:
        return msgspec.json.format(msgspec.json.encode(call.arguments), indent=2).decode()
    except (ValueError, TypeError, RecursionError):
        return "(arguments that can't be written as JSON)"


def _sessions(messages: Sequence[Message], began: float, most: int) -> list[list[Json]]:
    """Return the messages by session; a tool's result is shown with its call."""
    sessions: dict[int, list[Json]] = {}
    waiting: dict[tuple[int, str], list[Json]] = {}
    for one in messages:
        session = sessions.setdefault(one.session, [])
        if one.role is Role.TOOL and (open_calls := waiting.get((one.session, one.call_id))):
            open_calls.pop(0).update(result=shortened(one.text, most), error=one.is_error, after=_after(one.at, began))
            continue
        calls: list[Json] = [
            {"name": safe_line(call.name, 200), "arguments": shortened(_shortest(call), most), "brief": _brief(call)}
            for call in one.calls
        ]
        for call, shown in zip(one.calls, calls, strict=True):
            waiting.setdefault((one.session, call.id), []).append(shown)
        session.append(_message(one, began, most, calls))
    return list(sessions.values())


def _message(one: Message, began: float, most: int, calls: list[Json]) -> Json:
    used = f"{amount(one.usage.total_tokens)} tokens" if one.usage.total_tokens else ""
    return {
        "role": one.role.value,
        "text": shortened(one.text, most),
        "thinking": shortened(one.thinking, most),
        "calls": calls,
        "tool": safe_line(one.tool, 200),
        "is_error": one.is_error,
        "model": safe_line(one.model, 200),
        "stop": safe_line(one.stop, 100),
        "error": safe_text(one.error[:4000]),
        "after": _after(one.at, began),
        "used": used,
    }


def _shortest(call: ToolCall) -> str:
    """Return a single text argument as it is, since a command is easier to read without JSON's quotes; else JSON."""
    values = list(call.arguments.items())
    if len(values) == 1 and isinstance(values[0][1], str):
        return f"{values[0][0]}: {values[0][1]}" if "\n" not in values[0][1] else f"{values[0][0]}:\n{values[0][1]}"
    return arguments_text(call)


def _brief(call: ToolCall) -> str:
    """Return one line about a call: its first text argument."""
    told = next((value for value in call.arguments.values() if isinstance(value, str) and value.strip()), "")
    return safe_line(told[:400], 120)


def _after(at: float | None, began: float) -> str:
    if at is None or not began or not 0 <= (seconds := at - began) < 1e7:  # noqa: PLR2004 - a simulated clock
        return "" if at is None or not 0 <= at < LATEST_S else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
    return f"+{duration(seconds)}"

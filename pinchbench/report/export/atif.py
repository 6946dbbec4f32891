"""Export a run as trajectories in the Agent Trajectory Interchange Format (ATIF), one document per trial."""

from __future__ import annotations

import os
from math import fsum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from pinchbench.model.usage import Usage
from pinchbench.report.export.bounded_conversation import bounded, conversation_of, iso, left_out, trial_facts
from pinchbench.results.paths import whole_folder
from pinchbench.transcripts import Message, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun

Document: TypeAlias = dict[str, object]

SCHEMA = "ATIF-v1.7"
INDEX = "index.json"
NO_RECORD = "A line of the transcript is no record of the session; it stands here as it was found:"
NO_CALL = "An answer of a tool that no call of the transcript asks for:"
EXPLAINED = (
    "Steps of the source `system` are lines of the transcript that belong to no turn; they are no system prompts."
)


def write_atif(run: PastRun, folder: Path) -> None:
    """Write `trials/<task>/<repetition>.json` for each trial with a conversation, and an index of all trials. Blocks.

    For a retried trial this is the attempt that counts. The folder is created completely or not at all; memory is
    bounded by the largest conversation. The same run gives the same bytes. Raises ResultsError if it can't be written
    or already exists.
    """
    with whole_folder(folder) as fresh:
        rows = []
        for key in run.facts.keys:
            attempts = run.attempts.get(key)
            told = trajectory(run, attempts.counting) if attempts is not None else None
            name = f"trials/{key.task_id}/{key.repetition}.json"
            if told is not None:
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                _write(fresh / name, told)
            rows.append(_row(run, key, name if told is not None else None))
        _write(fresh / INDEX, {"schema_version": SCHEMA, **_run(run), "trials": rows})


def trajectory(run: PastRun, outcome: Outcome) -> Document | None:
    """Return an attempt as a trajectory; None if it has no messages. Blocks."""
    messages = conversation_of(run, outcome)
    if not messages:
        return None
    steps = _steps(messages)
    damaged = any(step["source"] == "system" for step in steps)
    notes = [*([EXPLAINED] if damaged else []), *([bounded(outcome.note)] if outcome.note else [])]
    trial_id = f"{run.facts.run_id}/{outcome.key.task_id}/{outcome.key.repetition}"
    return {
        "schema_version": SCHEMA,
        "session_id": trial_id,
        "trajectory_id": f"{trial_id}/{outcome.attempt}",
        "agent": {
            "name": "openclaw",
            "version": run.facts.versions.get("openclaw") or "unknown",
            "model_name": run.model,
            "extra": {"runner": f"pinchbench-async {run.facts.versions.get('pinchbench_async', '')}".strip()},
        },
        "steps": steps,
        **({"notes": "\n".join(notes)} if notes else {}),
        "final_metrics": _totals(messages, len(steps)),
        "extra": {**_run(run), **trial_facts(run, outcome)},
    }


def _steps(messages: Sequence[Message]) -> list[Document]:
    """Return the turns in order; a tool's result is part of the step that has its call."""
    answers = {message.call_id: message for message in messages if message.role is Role.TOOL and message.call_id}
    steps: list[Document] = []
    for message in messages:
        if message.role is Role.TOOL and message.call_id:
            continue
        step: Document = {"step_id": len(steps) + 1}
        if (at := iso(message.at)) is not None:
            step["timestamp"] = at
        extra: Document = {"session": message.session} if message.session > 1 else {}
        match message.role:
            case Role.USER:
                step |= {"source": "user", "message": message.text}
            case Role.ASSISTANT:
                step |= _turn(message, answers)
                extra |= {"stop_reason": message.stop} if message.stop else {}
                extra |= {"error": message.error} if message.error else {}
            case Role.TOOL:
                step |= {
                    "source": "system",
                    "message": NO_CALL,
                    "observation": {"results": [{"content": message.text}]},
                }
                extra["tool"] = message.tool
            case Role.NOTE:
                step |= {"source": "system", "message": f"{NO_RECORD}\n{message.text}"}
        steps.append({**step, "extra": extra} if extra else step)
    return steps


def _turn(message: Message, answers: Mapping[str, Message]) -> Document:
    step: Document = {"source": "agent", "model_name": message.model, "message": message.text}
    if message.thinking:
        step["reasoning_content"] = message.thinking
    if message.calls:
        step["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments} for call in message.calls
        ]
    answered = [answers[call.id] for call in message.calls if call.id in answers]
    if answered:
        step["observation"] = {"results": [_result(one) for one in answered]}
    if _is_known(message.usage):
        step["llm_call_count"] = 1
        cost = message.usage.known_cost_usd
        metrics: Document = {
            "prompt_tokens": message.usage.prompt_tokens,  # in ATIF, those from the cache are included
            "completion_tokens": message.usage.output_tokens,
            "cached_tokens": message.usage.cache_read_tokens,
            **({} if cost is None else {"cost_usd": cost}),
        }
        if message.usage.cache_write_tokens:
            # charged separately; the format has no field for it but this
            metrics["extra"] = {"cache_creation_input_tokens": message.usage.cache_write_tokens}
        step["metrics"] = metrics
    return step


def _result(answer: Message) -> Document:
    """Return a tool's result, and whether it failed, for which the format has no field."""
    result: Document = {"source_call_id": answer.call_id, "content": answer.text}
    return {**result, "extra": {"is_error": True}} if answer.is_error else result


def _is_known(usage: Usage) -> bool:
    """Whether the provider reported any number; a call without a report is not one that used nothing."""
    return bool(usage.prompt_tokens or usage.output_tokens or usage.cost_usd)


def _totals(messages: Sequence[Message], steps: int) -> Document:
    """Return the sums over the steps."""
    usages = [message.usage for message in messages if message.role is Role.ASSISTANT]
    cost = sum(usages, Usage()).known_cost_usd
    return {
        "total_prompt_tokens": sum(usage.prompt_tokens for usage in usages),
        "total_completion_tokens": sum(usage.output_tokens for usage in usages),
        "total_cached_tokens": sum(usage.cache_read_tokens for usage in usages),
        **({} if cost is None else {"total_cost_usd": fsum(usage.cost_usd for usage in usages)}),
        "total_steps": steps,
    }


def _run(run: PastRun) -> Document:
    return {"run": run.files.name, "run_id": run.facts.run_id, "model": run.model, "versions": run.facts.versions}


def _row(run: PastRun, key: TrialKey, name: str | None) -> Document:
    """Return a planned trial for the index; `file` is null if there is no trajectory."""
    row: Document = {"task_id": key.task_id, "repetition": key.repetition, "file": name}
    if (attempts := run.attempts.get(key)) is None:
        return {**row, "reason": None, "score": None, "left_out": "not_run"}
    outcome = attempts.counting
    return {**row, "reason": outcome.reason.value, "score": run.score(key), "left_out": left_out(run, outcome)}


def _write(path: Path, value: object) -> None:
    with path.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())

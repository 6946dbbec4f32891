"""The steps of a script, played in a workspace without an agent, and the transcript an agent would have left."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread

from pinchbench.process.supervise import EndReason, Limits, ProcessEnd, ProcessSpec, supervise
from pinchbench.suite.paths import relative_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.model import Task
    from pinchbench.suite.solution import SolutionTurn, ToolStep

STEP_LIMIT_S = 30.0  # OpenClaw's exec goes on in the background after 10 s: a script's commands must be short
OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024
SHOWN_CHARACTERS = 20_000  # of a tool's result in the transcript; OpenClaw cuts as well
TOOLS = ("write", "read", "exec")
KEPT_VARIABLES = frozenset({"PATH", "LANG", "TZ"})  # never a key


class StepFailedError(Exception):
    """A step can't be played, or its command failed. The message says which and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """Where a script is played: existing folders. `marker` names the processes of its commands."""

    workspace: Path
    home: Path
    output: Path
    marker: str


async def play(turns: Sequence[SolutionTurn], task: Task, stage: Stage) -> list[dict[str, object]]:
    """Play the turns and return the transcript's events, in the shape of OpenClaw's.

    Processes that a command leaves running are ended with it. A cancellation ends the command that runs. Raises
    StepFailedError.
    """
    events: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "rehearsal", "cwd": str(stage.workspace)}
    ]
    for number, (turn, asked) in enumerate(zip(turns, task.turns, strict=True), 1):
        events.append(_message("user", text=asked.prompt))
        for place, step in enumerate(turn.steps, 1):
            call = f"call_{number}_{place}"
            arguments = {"type": "toolCall", "id": call, "name": step.tool, "arguments": dict(step.args)}
            events.append(_message("assistant", content=[arguments]))
            try:
                said = await _play_step(step, stage)
            except StepFailedError as error:
                raise StepFailedError(f"turn {number}, step {place} ({step.tool}): {error}") from error
            events.append(_message("toolResult", text=said, toolCallId=call, toolName=step.tool, isError=False))
        events.append(_message("assistant", text=turn.answer))
    return events


def write_transcript(path: Path, events: Sequence[Mapping[str, object]]) -> None:
    """Write events as a transcript is kept, one a line. Raises OSError."""
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")


def _message(role: str, *, text: str = "", content: object = None, **more: object) -> dict[str, object]:
    parts = content if content is not None else [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": role, "content": parts, **more}}


async def _play_step(step: ToolStep, stage: Stage) -> str:
    match step.tool:
        case "write":
            return await to_thread.run_sync(_write, stage, _argument(step, "path"), _argument(step, "content"))
        case "read":
            return await to_thread.run_sync(_read, stage, _argument(step, "path"))
        case "exec":
            return await _exec(_argument(step, "command"), stage)
        case other:
            raise StepFailedError(f"there is no tool {other!r} without an agent; use {', '.join(TOOLS)}")


def _argument(step: ToolStep, name: str) -> str:
    value = step.args.get(name)
    if value is None:
        raise StepFailedError(f"the argument `{name}` is missing")
    return str(value)


def _inside(stage: Stage, path: str) -> Path:
    try:
        return stage.workspace / relative_path(path)
    except ValueError as error:
        raise StepFailedError(f"the path {path!r} {error}") from error


def _write(stage: Stage, path: str, content: str) -> str:
    target = _inside(stage, path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8", newline="")
    except OSError as error:
        raise StepFailedError(f"{path} can't be written: {error}") from error
    return f"Successfully wrote {len(content.encode())} bytes to {path}"


def _read(stage: Stage, path: str) -> str:
    try:
        return _inside(stage, path).read_text(encoding="utf-8", errors="replace")[:SHOWN_CHARACTERS]
    except OSError as error:
        raise StepFailedError(f"{path} can't be read: {error}") from error


async def _exec(command: str, stage: Stage) -> str:
    stage.output.unlink(missing_ok=True)
    spec = ProcessSpec(
        argv=["sh", "-c", command],
        cwd=stage.workspace,
        env=_environment(stage),
        stdout=stage.output,
        stderr=stage.output,
        marker=stage.marker,
        limits=Limits(grace_s=0.5, sweep_s=0.2, output_limit_bytes=OUTPUT_LIMIT_BYTES),
    )
    end = await supervise(spec, timeout_s=STEP_LIMIT_S)
    said = await to_thread.run_sync(_said, stage)
    if problem := _problem(end):
        raise StepFailedError(f"{problem}{': ' if said else ''}{said[-1000:].strip()}")
    return said


def _problem(end: ProcessEnd) -> str:
    match end.reason:
        case EndReason.EXITED if end.exit_code == 0:
            return ""
        case EndReason.EXITED:
            return f"the command ended with exit code {end.exit_code}"
        case EndReason.TIMED_OUT:
            return f"the command ran for more than {STEP_LIMIT_S:.0f} s"
        case reason:
            return f"the command ended as {reason.value} {end.error}".rstrip()


def _said(stage: Stage) -> str:
    try:
        return stage.output.read_text(encoding="utf-8", errors="replace")[:SHOWN_CHARACTERS]
    except FileNotFoundError:
        return ""


def _environment(stage: Stage) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name in KEPT_VARIABLES or name.startswith("LC_")}
    return {"PATH": os.defpath, **kept, "HOME": str(stage.home), "TMPDIR": str(stage.home)}

"""Scripts, each played in a workspace without an agent, or in a trial of OpenClaw by the built-in model."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import ORACLE
from pinchbench.errors import expected_error
from pinchbench.model.task import Suite, Task
from pinchbench.model.trial import Attempt, TrialKey
from pinchbench.process.spec import EndReason, Limits, ProcessEnd, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.runner.plan.prepare import Prepared, split_unmet
from pinchbench.runner.plan.trial_plan import trial_of
from pinchbench.runner.run_benchmark import run_prepared
from pinchbench.suite.fixtures import relative_path
from pinchbench.suite.solution import Solution, SolutionTurn, ToolStep, turns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pinchbench.config.asked_models import JudgeConfig
    from pinchbench.model.grade import Grade
    from pinchbench.model.outcome import Outcome

POLITE = "Thank you, I am glad to help with that."  # the answer of an agent that does nothing
OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024
SHOWN_CHARACTERS = 20_000  # of a tool's result in the transcript; OpenClaw cuts as well
CHARACTER_BYTES = 4  # at most, in UTF-8
ARGUMENTS = {"write": ("path", "content"), "read": ("path",), "exec": ("command",)}
KEPT_VARIABLES = frozenset({"PATH", "LANG", "TZ"})  # never a key


class StepFailedError(Exception):
    """A step can't be played, or its command failed. The message says which and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayFolders:
    """Where a script is played: existing folders. `marker` names the processes of its commands.

    `env` is what their environment has besides that of all, and `sandbox` the plan of their namespaces, if they
    have any.
    """

    workspace: Path
    home: Path
    output: Path
    marker: str
    env: Mapping[str, str] = field(default_factory=dict)
    sandbox: Mapping[str, Any] | None = None


async def play(turns: Sequence[SolutionTurn], task: Task, stage: PlayFolders) -> list[dict[str, object]]:
    """Play the turns and return the transcript's events, in the shape of OpenClaw's.

    Processes that a command leaves running are ended with it, and make it fail. A cancellation ends the command that
    runs. No command may take longer than the agent may. Raises StepFailedError.
    """
    events: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "rehearsal", "cwd": str(stage.workspace)}
    ]
    replies, last, is_over = 0, "", False
    for number, (turn, asked) in enumerate(zip(turns, turns_of(task, turns), strict=True), 1):
        holds = number == 1 or asked.gate is None or asked.gate.holds(replies, last)
        is_over = not holds or (is_over and not asked.new_session)
        if is_over:
            continue
        replies += len(turn.steps) + 1
        events.append(message("user", text=asked.prompt))
        for place, step in enumerate(turn.steps, 1):
            call = f"call_{number}_{place}"
            arguments = {"type": "toolCall", "id": call, "name": step.tool, "arguments": dict(step.args)}
            events.append(message("assistant", content=[arguments]))
            try:
                said = await _play_step(step, stage, limit_s=task.timeout_s)
            except StepFailedError as error:
                raise StepFailedError(f"turn {number}, step {place} ({step.tool}): {error}") from error
            events.append(message("toolResult", text=said, toolCallId=call, toolName=step.tool, isError=False))
        last = turn.answer
        events.append(message("assistant", text=turn.answer))
    return events


def write_transcript(path: Path, events: Sequence[Mapping[str, object]]) -> None:
    """Write events as a transcript is kept, one a line. Raises OSError."""
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")


def message(role: str, *, text: str = "", content: object = None, **more: object) -> dict[str, object]:
    """Return an event of a transcript: a message with a text, or with other `content`."""
    parts = content if content is not None else [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": role, "content": parts, **more}}


async def _play_step(step: ToolStep, stage: PlayFolders, *, limit_s: float) -> str:
    arguments = _arguments(step)
    match step.tool:
        case "write":
            return await to_thread.run_sync(_write, stage, arguments["path"], arguments["content"])
        case "read":
            return await to_thread.run_sync(_read, stage, arguments["path"])
        case _:
            return await _exec(arguments["command"], stage, limit_s=limit_s)


def _arguments(step: ToolStep) -> dict[str, str]:
    """Return the step's arguments: exactly those that the tool has here, all of them strings."""
    known = ARGUMENTS.get(step.tool)
    if known is None:
        raise StepFailedError(f"there is no tool {step.tool!r} without an agent; use {', '.join(ARGUMENTS)}")
    if strange := sorted(step.args.keys() - set(known)):
        raise StepFailedError(f"the argument `{strange[0]}` is not known here; {step.tool} has {', '.join(known)}")
    arguments: dict[str, str] = {}
    for name in known:
        value = step.args.get(name)
        if not isinstance(value, str):
            raise StepFailedError(f"the argument `{name}` is missing" if value is None else f"`{name}` must be a text")
        arguments[name] = value
    return arguments


def _inside(stage: PlayFolders, path: str) -> Path:
    try:
        place = stage.workspace / relative_path(path)
    except ValueError as error:
        raise StepFailedError(f"the path {path!r} {error}") from error
    if not place.resolve().is_relative_to(stage.workspace.resolve()):
        raise StepFailedError(f"the path {path!r} leaves the workspace through a link")
    return place


def _write(stage: PlayFolders, path: str, content: str) -> str:
    target = _inside(stage, path)
    data = content.encode()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(_opened(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(data)
    except OSError as error:
        raise StepFailedError(f"{path} can't be written: {error}") from error
    return f"Successfully wrote {len(data)} bytes to {path}"


def _read(stage: PlayFolders, path: str) -> str:
    try:
        with os.fdopen(_opened(_inside(stage, path), os.O_RDONLY), "rb") as file:
            data = file.read(SHOWN_CHARACTERS * CHARACTER_BYTES)
    except OSError as error:
        raise StepFailedError(f"{path} can't be read: {error}") from error
    return data.decode("utf-8", "replace")[:SHOWN_CHARACTERS]


def _opened(path: Path, flags: int) -> int:
    """Open a regular file; anything else, such as a pipe that nobody serves, would be waited for without end."""
    number = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError("it is no regular file")
    return number


async def _exec(command: str, stage: PlayFolders, *, limit_s: float) -> str:
    spec = ProcessSpec(
        argv=["sh", "-c", command],
        cwd=stage.workspace,
        env={**_environment(stage), **stage.env},
        stdout=stage.output,
        stderr=stage.output,
        marker=stage.marker,
        limits=Limits(grace_s=0.5, sweep_s=0.2, output_limit_bytes=OUTPUT_LIMIT_BYTES),
        sandbox=stage.sandbox,
    )
    await to_thread.run_sync(partial(stage.output.unlink, missing_ok=True))
    end = await supervise(spec, timeout_s=limit_s)
    said = await to_thread.run_sync(_said, stage)
    if problem := _problem(end, limit_s=limit_s):
        raise StepFailedError(f"{problem}{': ' if said else ''}{said[-1000:].strip()}")
    return said


def _problem(end: ProcessEnd, *, limit_s: float) -> str:
    match end.reason:
        case EndReason.EXITED if end.leftovers:
            names = ", ".join(one.command or str(one.pid) for one in end.leftovers[:3])
            return f"the command leaves processes running ({names[:200]})"
        case EndReason.EXITED if end.exit_code == 0:
            return ""
        case EndReason.EXITED:
            return f"the command ended with exit code {end.exit_code}"
        case EndReason.TIMED_OUT:
            return f"the command ran for more than {limit_s:g} s"
        case (
            EndReason.STOPPED
            | EndReason.OUTPUT_LIMIT
            | EndReason.RESOURCE_LIMIT
            | EndReason.NOT_STARTED
            | EndReason.GUARDIAN_LOST
        ):
            return f"the command ended as {end.reason.value} {end.error}".rstrip()


def _said(stage: PlayFolders) -> str:
    try:
        with stage.output.open("rb") as file:
            return file.read(SHOWN_CHARACTERS * CHARACTER_BYTES).decode("utf-8", "replace")[:SHOWN_CHARACTERS]
    except FileNotFoundError:
        return ""


def _environment(stage: PlayFolders) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name in KEPT_VARIABLES or name.startswith("LC_")}
    return {"PATH": os.defpath, **kept, "HOME": str(stage.home), "TMPDIR": str(stage.home)}


MAX_TOGETHER = 2  # trials: a gateway takes about 1 GB of memory and a CPU


async def play_in_openclaw(
    task: Task,
    scripts: Sequence[Solution],
    *,
    folder: Path,
    judge: JudgeConfig | None = None,
    openclaw: str | None = None,
) -> tuple[str, list[tuple[Outcome, Grade | None]]]:
    """Play scripts as solutions of a task; return what the task lacks on this machine, or how each trial came out.

    Everything is written to `folder`, which the caller removes; the outcomes' `evidence` is absolute. Raises
    OpenClawError if OpenClaw is missing, and other PinchBenchErrors if trials can't run. A cancellation ends all that
    runs.
    """
    played = {f"{task.task_id}-{number}": script for number, script in enumerate(scripts, 1)}
    tasks = tuple(replace(task, task_id=name) for name in played)
    root = folder if task.path is None else task.path.parent
    config = RunConfig(
        model=ORACLE,
        tasks_dir=root,
        output_dir=folder / "results",
        run_root=folder / "run",
        judge=judge,
        openclaw=openclaw,
        concurrency=min(len(tasks), MAX_TOGETHER, os.cpu_count() or 1),
        fail_fast=False,
        preflight=False,
    )
    trials = tuple(
        trial_of(TrialKey(task_id=one.task_id, repetition=1), one, timeout_multiplier=config.timeout_multiplier)
        for one in tasks
    )
    attempts, unmet = await to_thread.run_sync(split_unmet, config, [Attempt(trial=trial) for trial in trials])
    if unmet:
        return unmet[0][1], []
    plan = Prepared(
        config=config, suite=Suite(root=root, tasks=tasks), trials=trials, attempts=tuple(attempts), played=played
    )
    try:
        result = await run_prepared(plan)
    except ExceptionGroup as errors:
        if (expected := expected_error(errors)) is None:
            raise
        raise expected from errors
    outcomes = {one.key.task_id: replace(one, evidence=str(result.folder / one.evidence)) for one in result.outcomes}
    return "", [(outcomes[name], result.grades.get(outcomes[name].key)) for name in played]

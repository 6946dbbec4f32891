"""The scripted model's next reply, always the same for the same conversation (pure)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pinchbench.suite.solution import turns_of

if TYPE_CHECKING:
    from pinchbench.model.task import Task
    from pinchbench.suite.solution import Solution, ToolStep

# OpenClaw moves a command to the background after 10 s, and unlike a model a script can't return to it later.
PATIENCE_MS = 120_000
UNSCRIPTED_ANSWER = "I have no script for this request, so I politely leave everything as it is."


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedTurn:
    """The script of one turn: call its tools one after another, then answer.

    `earlier_results` counts the tool results in the conversation from earlier turns of the same session. `user` is what
    the simulated user says before it; empty in the turns that the task states.
    """

    steps: tuple[ToolStep, ...] = ()
    answer: str = UNSCRIPTED_ANSWER
    earlier_results: int = 0
    user: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A request to run a tool. `arguments` is a JSON object; `call_id` is unique in its conversation."""

    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The final answer of a turn."""

    text: str


Reply: TypeAlias = ToolCall | Answer


def plan_turns(solution: Solution | None, task: Task) -> tuple[ScriptedTurn, ...]:
    """Return a script for every turn of the task, and for those that follow what the solution has its user say.

    Turns beyond the solution's get a polite answer; turns that the task does not have are ignored.
    """
    solved = solution.turns if solution is not None else ()
    planned: list[ScriptedTurn] = []
    results = 0
    for index, turn in enumerate(turns_of(task, solved)):
        if turn.new_session:
            results = 0
        if index < len(solved):
            steps, answer = solved[index].steps, solved[index].answer
            planned.append(ScriptedTurn(steps=steps, answer=answer, earlier_results=results, user=solved[index].user))
            results += len(steps)
        else:
            planned.append(ScriptedTurn(earlier_results=results))
    return tuple(planned)


def next_reply(turn: ScriptedTurn, messages: object) -> Reply:
    """Return the reply that continues the turn after these messages, which may be any JSON.

    Tool results are counted over the whole conversation, not only after the last user message: OpenClaw often appends a
    user message with internal context after the tool results, and the script would restart forever.
    """
    results = _count_tool_results(messages)
    # A compacted conversation can hold fewer results than the earlier turns produced.
    step_index = max(0, results - turn.earlier_results)
    if step_index >= len(turn.steps):
        return Answer(text=turn.answer)
    step = turn.steps[step_index]
    args = {"yieldMs": PATIENCE_MS, **step.args} if step.tool == "exec" else step.args
    return ToolCall(call_id=f"call_{results + 1:04d}", tool=step.tool, arguments=_to_json(args))


def _count_tool_results(messages: object) -> int:
    if not isinstance(messages, list | tuple):
        return 0
    return sum(1 for message in messages if isinstance(message, Mapping) and message.get("role") == "tool")


def _to_json(args: Mapping[str, object]) -> str:
    return json.dumps(dict(args), ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    # The encoder does not support read-only mappings; a date parsed by YAML is written as text.
    return dict(value) if isinstance(value, Mapping) else str(value)

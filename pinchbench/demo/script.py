"""What the scripted model says next: pure, and the same for the same conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pinchbench.model import Task
    from pinchbench.suite.solution import Solution, ToolStep

# OpenClaw puts a command into the background after 10 s, and a script can't come back for it as a model would.
PATIENCE_MS = 120_000
UNSCRIPTED_ANSWER = "I have no script for this request, so I politely leave everything as it is."


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedTurn:
    """What the model does in one turn: call its tools one after another, then answer.

    `earlier_results` counts the tool results that earlier turns of the same session have left in the conversation.
    """

    steps: tuple[ToolStep, ...] = ()
    answer: str = UNSCRIPTED_ANSWER
    earlier_results: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """The model wants a tool to run. `arguments` is a JSON object; `call_id` is unique in its conversation."""

    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The model is done and says so."""

    text: str


Reply: TypeAlias = ToolCall | Answer


def plan_turns(solution: Solution | None, task: Task) -> tuple[ScriptedTurn, ...]:
    """Give every turn of the task its script.

    Turns that the solution does not reach get a polite answer; turns that the task does not have are left out.
    """
    solved = solution.turns if solution is not None else ()
    planned: list[ScriptedTurn] = []
    results = 0
    for index, turn in enumerate(task.turns):
        if turn.new_session:
            results = 0
        if index < len(solved):
            steps, answer = solved[index].steps, solved[index].answer
            planned.append(ScriptedTurn(steps=steps, answer=answer, earlier_results=results))
            results += len(steps)
        else:
            planned.append(ScriptedTurn(earlier_results=results))
    return tuple(planned)


def next_reply(turn: ScriptedTurn, messages: object) -> Reply:
    """Continue the turn after these messages, which are taken as they came over the wire: any JSON at all.

    The whole conversation is counted, never just the part after the last user message: OpenClaw often appends a
    user message with internal context after the tool results, and the script would start over for ever.
    """
    results = _count_tool_results(messages)
    # A conversation that was compacted can hold fewer results than the earlier turns made.
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
    # Read-only mappings are not known to the encoder; a date that YAML made reads best as text.
    return dict(value) if isinstance(value, Mapping) else str(value)

"""The script of a scripted model: its next reply, the same for the same conversation (pure)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from pinchbench.suite.solution import Solution, SolutionTurn, ToolStep, turns_of

if TYPE_CHECKING:
    from pinchbench.model.task import Task


# OpenClaw moves a command to the background after 10 s, and unlike a model a script can't return to it later.
PATIENCE_MS = 120_000
# What OpenClaw adds to a conversation, as a user message of its own that is always near the end.
_INTERNAL = re.compile(r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>", re.DOTALL)
# How OpenClaw reports to an agent that its sub-agents are done: one of them (worded by how busy the agent is), or all.
_ONE_DONE = re.compile(
    r"A background task (?:completed|finished)|\[Internal task completion event\]|sourceTool=subagent_"
)
_ALL_DONE = re.compile(r"Every subagent spawned from this session|sourceTool=subagent_settle")
_REPORT = re.compile(f"{_ONE_DONE.pattern}|{_ALL_DONE.pattern}")
SKIPPED = "Skipped to process an incoming message."  # the result of a call that OpenClaw did not make for a report
SILENT_ANSWER = "NO_REPLY"  # OpenClaw sends it to nobody
# `${{ PATTERN }}` in a script: what the pattern finds, or its first group, in the latest tool result that has it.
_FROM_RESULT = re.compile(r"\$\{\{ (.+?) \}\}")
UNSCRIPTED_ANSWER = "I have no script for this request, so I politely leave everything as it is."


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedTurn:
    """The script of one turn: call its tools one after another, then answer."""

    steps: tuple[ToolStep, ...] = ()
    answer: str = UNSCRIPTED_ANSWER
    earlier_results: int = 0  # the tool results in the conversation from earlier turns of the same session
    user: str = ""  # what the simulated user says before it; empty in the turns that the task states
    # Whether several conversations can go on at the same time. Each plays the script since its last message, or of
    # `cases` the first one whose `when` that message contains; a report that sub-agents are done plays only a case
    # whose `when` is about such reports.
    in_gateway: bool = False
    cases: tuple[SolutionTurn, ...] = ()


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
    if task.needs_gateway:
        cases = solution.cases if solution is not None else ()
        missing = (SolutionTurn(steps=(), answer=UNSCRIPTED_ANSWER),) * (len(task.turns) - len(solved))
        return tuple(
            ScriptedTurn(steps=turn.steps, answer=turn.answer, in_gateway=True, cases=cases)
            for turn in (*solved[: len(task.turns)], *missing)
        )
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


def next_reply(turn: ScriptedTurn, messages: object, *, has_tools: bool = True) -> Reply:
    """Return the reply that continues the turn after these messages, which may be any JSON.

    A request without tools, such as for a summary or about a PDF file, is answered by a text. Outside a gateway, tool
    results are counted over the whole conversation, not only after the last user message: OpenClaw often appends a user
    message with internal context after the tool results, and the script would restart forever.
    """
    if not has_tools:
        return Answer(text=turn.answer or UNSCRIPTED_ANSWER)
    if turn.in_gateway:
        return _reply_in_gateway(turn, messages)
    results = _count_tool_results(messages)
    # A compacted conversation can hold fewer results than the earlier turns produced.
    step_index = max(0, results - turn.earlier_results)
    if step_index >= len(turn.steps):
        return Answer(text=turn.answer)
    return _call(turn.steps[step_index], results)


def _reply_in_gateway(turn: ScriptedTurn, messages: object) -> Reply:
    text, done = _last_message(messages)
    script: SolutionTurn | ScriptedTurn
    if report := _ALL_DONE if _ALL_DONE.search(text) else _ONE_DONE if _ONE_DONE.search(text) else None:
        cases = (case for case in turn.cases if report.search(case.when))
        script = next(cases, ScriptedTurn(answer=SILENT_ANSWER))
    else:
        script = next((case for case in turn.cases if case.when in text), turn)
    if done >= len(script.steps):
        return Answer(text=_filled_text(script.answer, messages))
    step = script.steps[done]
    filled = {name: _filled(value, messages) for name, value in step.args.items()}
    return _call(replace(step, args=filled), _count_tool_results(messages))


def _filled(value: object, messages: object) -> object:
    """Return an argument in which each `${{ PATTERN }}` that is found in a tool result is replaced."""
    if isinstance(value, Mapping):
        return {name: _filled(inner, messages) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, messages) for inner in value]
    return _filled_text(value, messages) if isinstance(value, str) else value


def _filled_text(text: str, messages: object) -> str:
    return _FROM_RESULT.sub(lambda wanted: _found(wanted[1], messages) or wanted[0], text)


def _found(pattern: str, messages: object) -> str:
    for message in reversed(messages) if isinstance(messages, list | tuple) else ():
        if isinstance(message, Mapping) and message.get("role") == "tool":
            found = re.search(pattern, _all_text(message.get("content")), re.DOTALL)
            if found:
                return found[1] if found.re.groups else found[0]
    return ""


def _last_message(messages: object) -> tuple[str, int]:
    """Return what is answered now, and how many tool results came since.

    It is the last user message that has text of its own. OpenClaw also starts a turn, after an answer, with a report on
    sub-agents alone. A report that comes while a turn goes on changes nothing, and neither does the context that
    OpenClaw adds to many requests and that mentions sub-agents, too.
    """
    results, added = 0, ""
    said = [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list | tuple) else []
    for index in range(len(said) - 1, -1, -1):
        content = said[index].get("content")
        match said[index].get("role"):
            case "tool":
                results += _all_text(content).strip() != SKIPPED
            case "assistant" if not said[index].get("tool_calls") and _ONE_DONE.search(added):
                return added, results
            case "user" if text := _INTERNAL.sub("", _all_text(content)).strip():
                if not (_REPORT.search(text) and _is_in_turn(said[:index])):
                    return text, results
            case "user":
                added = added or _all_text(content)
    return "", results


def _is_in_turn(messages: list[Mapping[str, object]]) -> bool:
    """Return whether the results of tools were the last before the user's messages at the end."""
    return next((one.get("role") == "tool" for one in reversed(messages) if one.get("role") != "user"), False)


def _all_text(content: object) -> str:
    """Return a message's text; none if it has pictures, which are a tool's result."""
    parts = content if isinstance(content, list | tuple) else [{"type": "text", "text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return "" if len(texts) < len(parts) else "\n".join(text for text in texts if isinstance(text, str))


def _call(step: ToolStep, results: int) -> ToolCall:
    """Return the call of a step after so many tool results in the whole conversation."""
    args = {"yieldMs": PATIENCE_MS, **step.args} if step.tool == "exec" else step.args
    arguments = json.dumps(dict(args), ensure_ascii=False, default=_plain)
    return ToolCall(call_id=f"call_{results + 1:04d}", tool=step.tool, arguments=arguments)


def _count_tool_results(messages: object) -> int:
    if not isinstance(messages, list | tuple):
        return 0
    return sum(1 for message in messages if isinstance(message, Mapping) and message.get("role") == "tool")


def _plain(value: object) -> object:
    # The encoder does not support read-only mappings; a date parsed by YAML is written as text.
    return dict(value) if isinstance(value, Mapping) else str(value)

"""A trial as a sample of an Inspect AI log, by Inspect's own types."""

from __future__ import annotations

from datetime import UTC, datetime
from math import fsum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import NAMESPACE_OID, uuid5

from inspect_ai.event import InfoEvent, ModelEvent, ToolEvent
from inspect_ai.log import EvalError, EvalRetryError, EvalSample, EvalSampleLimit
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall, ToolCallError

from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage
from pinchbench.report.export.bounded_conversation import bounded, iso, json_value, trial_facts
from pinchbench.transcripts import Message, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinchbench.model.grade import CheckGrade, JudgeGrade
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun

    StopReason: TypeAlias = Literal["stop", "max_tokens", "tool_calls", "unknown"]

FINAL, CHECK, JUDGE = "final", "check", "judge"  # named scorers in Inspect
STOPS: dict[str, StopReason] = {"stop": "stop", "length": "max_tokens", "toolUse": "tool_calls"}  # from OpenClaw's
NOT_A_RECORD = "No record of the session; as in the transcript:"
MAX_ANSWER = 2_000  # characters: the last message has the whole answer


def sample_of(run: PastRun, outcome: Outcome, messages: Sequence[Message], scorers: Sequence[str]) -> EvalSample:
    """Return a trial with its conversation, as `conversation_of` returns it."""
    key = outcome.key
    identity = (run.facts.run_id, run.model, key, outcome.attempt)
    chat = {
        number: _chat_message(f"{key}.{number + 1}", message)
        for number, message in enumerate(messages)
        if message.role is not Role.NOTE
    }
    asked = [one for one in chat.values() if isinstance(one, ChatMessageUser)]
    answers = [(messages[number], one) for number, one in chat.items() if isinstance(one, ChatMessageAssistant)]
    answer = answers[-1][0].text[:MAX_ANSWER] if answers else None
    scores = {
        name: _score(run, key, name, score, answer)
        for name in scorers
        if (score := part_score(run, key, name)) is not None
    }
    usage = outcome.usage
    judge = grade.judge if (grade := run.grades.get(key)) is not None else None
    timed_out = outcome.reason is Reason.TIMED_OUT
    return EvalSample(
        id=key.task_id,
        epoch=key.repetition,
        input=asked[0].text if len(asked) == 1 else [*asked],
        target="",
        messages=[*chat.values()],
        output=_output(*answers[-1], run.model) if answers else ModelOutput(model=run.model),
        scores=scores or None,
        metadata=trial_facts(run, outcome),
        events=list(_events(identity, outcome, messages, chat)),
        model_usage={used_model(run, outcome): usage_of(usage, usage.known_cost_usd)} if usage.requests else {},
        role_usage=judge_usage(judge) if judge is not None else {},
        started_at=iso(outcome.started_at),
        completed_at=iso(outcome.ended_at),
        total_time=outcome.setup_s + outcome.execution_time_s,
        working_time=outcome.execution_time_s,
        uuid=stable_id("sample", *identity),
        error=EvalError(message=_failure(outcome), traceback="", traceback_ansi="")
        if not outcome.reason.is_valid
        else None,
        error_retries=[
            EvalRetryError(message=_failure(one), traceback="", traceback_ansi="")
            for one in run.attempts[key].outcomes
            if one is not outcome
        ]
        or None,
        limit=EvalSampleLimit(type="time", limit=outcome.timeout_s, reason=outcome.note or None) if timed_out else None,
        turn_count=len(answers),
        time_limit=round(outcome.timeout_s) or None,
    )


def _when(at: float | None) -> datetime | None:
    return datetime.fromisoformat(known) if (known := iso(at)) is not None else None


def _failure(outcome: Outcome) -> str:
    note = f": {outcome.note}" if outcome.note else ""
    return bounded(f"{outcome.reason.value}{note}")


def _chat_message(name: str, message: Message) -> ChatMessage:
    about: dict[str, Any] = {"session": message.session} if message.session > 1 else {}
    match message.role:
        case Role.USER:
            return ChatMessageUser(id=name, content=message.text, source="input", metadata=about or None)
        case Role.TOOL:
            return ChatMessageTool(
                id=name,
                content=message.text,
                tool_call_id=message.call_id or None,
                function=message.tool,
                error=_tool_error(message),
                metadata=about or None,
            )
        case _:
            about |= {"error": message.error} if message.error else {}
            return ChatMessageAssistant(
                id=name,
                content=[ContentReasoning(reasoning=message.thinking), ContentText(text=message.text)]
                if message.thinking
                else message.text,
                source="generate",
                model=message.model,
                tool_calls=[
                    ToolCall(id=call.id, function=call.name, arguments=dict(call.arguments)) for call in message.calls
                ]
                or None,
                metadata=about or None,
            )


def _tool_error(message: Message) -> ToolCallError | None:
    return ToolCallError(type="unknown", message=message.text) if message.is_error else None


def _output(message: Message, chat: ChatMessageAssistant, model: str) -> ModelOutput:
    return ModelOutput(
        model=message.model or model,
        choices=[ChatCompletionChoice(message=chat, stop_reason=STOPS.get(message.stop, "unknown"))],
        completion=message.text,
        usage=usage_of(message.usage, message.usage.known_cost_usd),
        error=message.error or None,
    )


def _score(run: PastRun, key: TrialKey, scorer: str, score: float, answer: str | None) -> Score:
    grade = run.grades[key]
    part: CheckGrade | JudgeGrade | None = {CHECK: grade.check, JUDGE: grade.judge}.get(scorer)
    graded = grade if part is None else part
    about: dict[str, Any] = {"breakdown": json_value(graded.breakdown)}
    if part is None:
        about |= {"grading_type": grade.grading_type.value, "graded_at": iso(grade.graded_at)}
    if scorer == JUDGE and grade.judge is not None:
        judge = grade.judge
        about |= {
            "model": judge.model,
            "prompt_version": judge.prompt_version,
            "votes": list(judge.votes),
            "spread": judge.spread,
            "cost_usd": judge.cost_usd,
        }
    explanation = bounded("\n".join(graded.notes)) or None
    return Score(value=score, answer=answer, explanation=explanation, metadata=about)


def _events(
    identity: tuple[object, ...], outcome: Outcome, messages: Sequence[Message], chat: dict[int, ChatMessage]
) -> Iterator[ModelEvent | ToolEvent | InfoEvent]:
    """Yield model and tool calls with their times; a call starts at the time of the message before it."""
    now, session = outcome.started_at, 0
    before: list[ChatMessage] = []  # what the model of this session was given so far
    calls = {call.id: (call, message.at) for message in messages for call in message.calls}
    for number, message in enumerate(messages):
        if message.session != session:
            session, before = message.session, []
        ended = message.at or now
        own = chat.get(number)
        began = now
        if message.role is Role.TOOL and message.call_id:
            began = calls[message.call_id][1] or now
        event: dict[str, Any] = {
            "uuid": stable_id("event", *identity, number),
            "timestamp": _when(began) or _when(outcome.started_at) or datetime.fromtimestamp(0, UTC),
            "working_start": max(0.0, began - outcome.started_at),
        }
        call_times: dict[str, Any] = {"completed": _when(ended), "working_time": max(0.0, ended - began)}
        match own:
            case ChatMessageAssistant():
                yield ModelEvent(
                    **event,
                    **call_times,
                    model=message.model,
                    input=[*before],
                    tools=[],
                    tool_choice="auto",
                    config=GenerateConfig(),
                    output=_output(message, own, message.model),
                    error=message.error or None,
                )
            case ChatMessageTool() if message.call_id:
                call, _ = calls[message.call_id]
                yield ToolEvent(
                    **event,
                    **call_times,
                    id=call.id,
                    function=call.name,
                    arguments={**call.arguments},  # type: ignore[dict-item]
                    result=message.text,
                    error=_tool_error(message),
                    message_id=own.id,
                )
            case None:
                text = f"{NOT_A_RECORD}\n{message.text}"
                yield InfoEvent(**event, source="transcript", data=text)
            case _:
                pass
        if own is not None:
            before.append(own)
        now = ended


def part_score(run: PastRun, key: TrialKey, scorer: str) -> float | None:
    """Return a scorer's score in 0-1; None if it gave none or the trial failed for infrastructure reasons."""
    attempts, grade = run.attempts.get(key), run.grades.get(key)
    if scorer == FINAL:
        return run.score(key)
    if attempts is None or grade is None or not attempts.counting.reason.is_valid:
        return None
    part = grade.check if scorer == CHECK else grade.judge
    return part.score if part is not None and part.score is not None and 0.0 <= part.score <= 1.0 else None


def used_model(run: PastRun, outcome: Outcome) -> str:
    """Return the model name for an attempt's usage: OpenClaw reports one sum for all its models."""
    return bounded(" + ".join(outcome.models)) or run.model


def judge_usage(*parts: JudgeGrade) -> dict[str, ModelUsage]:
    """Return the usage of judging by role; empty if no judge was asked. Without a known price there is no cost."""
    usage = sum((part.usage for part in parts), Usage())
    costs = [part.cost_usd for part in parts if part.cost_usd is not None]
    return {"grader": usage_of(usage, fsum(costs) if costs else None)} if usage.requests else {}


def usage_of(usage: Usage, cost_usd: float | None) -> ModelUsage:
    """Return tokens and cost; in Inspect, cached tokens are not included in the input."""
    return ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        input_tokens_cache_write=usage.cache_write_tokens,
        input_tokens_cache_read=usage.cache_read_tokens,
        total_cost=cost_usd,
    )


def stable_id(*parts: object) -> str:
    """Return an id of 32 hexadecimal digits that is the same for the same parts."""
    return uuid5(NAMESPACE_OID, "/".join(map(str, parts))).hex

"""Export what the wire recorded: training data (`rl`, a line per trial), or each exchange whole (`wire`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from pinchbench.errors import ResultsError
from pinchbench.json_values import canonical, parse
from pinchbench.model.usage import Usage
from pinchbench.report.export.bounded_conversation import json_value, left_out
from pinchbench.results.evidence_files import Evidence
from pinchbench.wire.exchange_facts import facts_of
from pinchbench.wire.protocols.call_facts import Message, ReplyFacts, RequestFacts, Role, Tool
from pinchbench.wire.recording import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pinchbench.defaults import ProtocolName
    from pinchbench.model.outcome import Outcome
    from pinchbench.results.finished_run import PastRun
    from pinchbench.wire.exchange import Exchange

# OpenClaw 2026.9.6 ends each request with one message of its own on running commands, which it does not send again.
MOST_TRANSIENT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A complete reply of the model, to the exchange `number` in a turn, whose request names the model `requested`.

    `prompt` is how many messages of the segment the model had when it replied; `transient` are messages that stood
    after those in its prompt, and that later requests leave out.
    """

    number: int
    turn: int
    protocol: ProtocolName
    requested: str
    prompt: int
    transient: tuple[Message, ...] = ()
    reply: ReplyFacts


@dataclass(kw_only=True, slots=True)
class Segment:
    """A conversation that only grew.

    Attributes:
        system: the system prompt of all its requests.
        tools: the tools that all its requests offered.
        messages: those of its last request, after the system prompt; the last reply is not among them.
        continues: the id of the reply before its first message, if the provider kept what came before and no reply
            with that id was recorded; empty if the messages are the whole conversation.
        calls: the replies, in the order of their prompts.
    """

    system: str
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]
    continues: str = ""
    calls: list[Call] = field(default_factory=list)


class Segments(NamedTuple):
    """The conversations of a trial, in the order of their first replies. `failed` counts calls without a reply."""

    segments: tuple[Segment, ...]
    failed: int


def segments_of(exchanges: Iterable[Exchange]) -> Segments:
    """Return the conversations of a trial. Memory is bounded by them, not by the exchanges.

    A request continues a conversation if it has the same system prompt and tools, and the messages of the request
    before, the reply to that, and perhaps more; at most `MOST_TRANSIENT` messages at the end of the request before may
    be missing. After a compaction, a restart, or for a subagent it begins another one.
    Calls without a complete reply are left out.

    Args:
        exchanges: Those of one trial in the order in which they ended, as a recording has them: a request that
            continues a conversation begins after the reply that it repeats has ended.
    """
    segments: list[Segment] = []
    failed = 0
    for exchange in exchanges:
        facts = facts_of(exchange)
        if facts.protocol is None:
            continue
        if not facts.reply.complete or facts.reply.message is None:
            failed += 1
            continue
        segment = _extended(segments, facts.request)
        call = Call(
            number=exchange.number,
            turn=exchange.turn,
            protocol=facts.protocol,
            requested=facts.request.model,
            prompt=len(segment.messages),
            reply=facts.reply,
        )
        segment.calls.append(call)
    return Segments(tuple(segments), failed)


def _extended(segments: list[Segment], said: RequestFacts) -> Segment:
    """Return the segment that a request continues, with its messages; a new one if it continues none."""
    for segment in reversed(segments):  # the latest is the likeliest
        messages = _continued(segment, said)
        if messages is not None:
            segment.messages = messages
            return segment
    segment = Segment(system=said.system, tools=said.tools, messages=said.messages, continues=said.continues)
    segments.append(segment)
    return segment


def _continued(segment: Segment, said: RequestFacts) -> tuple[Message, ...] | None:
    """Return the messages of a segment with this request; None if it is not part of it."""
    if (segment.system, segment.tools) != (said.system, said.tools):
        return None
    last = segment.calls[-1].reply
    assert last.message is not None  # noqa: S101 - `segments_of` leaves out the others
    if said.continues and said.continues == last.response_id:
        return (*segment.messages, last.message, *said.messages)
    if said.continues != segment.continues:
        return None
    for transient in range(min(MOST_TRANSIENT, len(segment.messages)) + 1):
        at = len(segment.messages) - transient
        left_out = segment.messages[at:]
        if any(one.role not in (Role.USER, Role.SYSTEM) for one in left_out):
            return None
        is_longer = len(said.messages) > at and said.messages[:at] == segment.messages[:at]
        if is_longer and _is_repeated(last.message, said.messages[at]):
            segment.calls[-1] = replace(segment.calls[-1], prompt=at, transient=left_out)
            return said.messages
    return None


def _is_repeated(reply: Message, message: Message) -> bool:
    """Return whether a message of a request is this reply.

    White space, ids of calls, and reasoning, which most providers do not want back, do not count.
    """
    return message.role is Role.ASSISTANT and _essence(reply) == _essence(message)


def _essence(message: Message) -> tuple[str, list[tuple[str, str]]]:
    calls = [(call.name, canonical(call.arguments or "{}")) for call in message.tool_calls]
    return "".join(message.text.split()), calls


Json: TypeAlias = dict[str, object]

SCHEMA = 1
USAGE = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "total_tokens")


def rl_lines(run: PastRun) -> Iterator[str]:
    """Yield a line per trial with a valid attempt, in the order of the plan: the attempt that counts. Blocks.

    Memory is bounded by the conversations of one trial. Raises ResultsError if nothing was recorded.
    """
    outcomes = [run.attempts[key].counting for key in run.facts.keys if key in run.attempts]
    valid = [one for one in outcomes if one.reason.is_valid]
    if valid and not any(_recording(run, one).is_file() for one in valid):
        raise ResultsError(
            f"The requests to the model were not recorded in the run {run.facts.run_id}, so there is no training data;"
            " run it again without --no-wire, with a model whose requests go through the wire."
        )
    for outcome in valid:
        yield msgspec.json.encode(_line(run, outcome)).decode() + "\n"


def wire_lines(run: PastRun) -> Iterator[str]:
    """Yield a line per recorded exchange of each attempt, in the order of the plan. Blocks.

    Bodies are text, in which what is not UTF-8 is replaced. Raises ResultsError if a recording can't be read.
    """
    attempts = [one for key in run.facts.keys if key in run.attempts for one in run.attempts[key].outcomes]
    for outcome in attempts:
        path = _recording(run, outcome)
        try:
            for exchange in RecordingReader(path) if path.is_file() else ():
                record: Json = {"trial": str(outcome.key), "attempt": outcome.attempt, **msgspec.to_builtins(exchange)}
                record["request"] = exchange.request.decode("utf-8", "replace")
                record["chunks"] = [[one.at_s, one.data.decode("utf-8", "replace")] for one in exchange.chunks]
                yield msgspec.json.encode(record).decode() + "\n"
        except OSError as error:
            raise ResultsError(f"{path} can't be read: {error.strerror}.") from error


def _recording(run: PastRun, outcome: Outcome) -> Path:
    return Evidence(folder=run.files.trial(outcome.key, outcome.attempt)).wire


def _line(run: PastRun, outcome: Outcome) -> Json:
    reader = RecordingReader(_recording(run, outcome))
    try:
        found = segments_of(reader)
    except FileNotFoundError:
        found, problem = segments_of(()), "not recorded"
    except OSError as error:
        raise ResultsError(f"{_recording(run, outcome)} can't be read: {error.strerror}.") from error
    else:
        # without its path, which differs from machine to machine
        problem = reader.problem.removeprefix(f"{_recording(run, outcome)}: ")
    calls = [call for segment in found.segments for call in segment.calls]
    used = [usage for call in calls if (usage := call.reply.usage) is not None]
    return {
        "schema": SCHEMA,
        "run_id": run.facts.run_id,
        "task_id": outcome.key.task_id,
        "repetition": outcome.key.repetition,
        "attempt": outcome.attempt,
        "model": run.model,
        "openclaw": run.facts.versions.get("openclaw"),
        "ended_as": outcome.reason.value,
        "reward": run.score(outcome.key),
        "no_reward": left_out(run, outcome),
        "usage": _usage(sum(used, Usage())) if used else None,
        "failed_calls": found.failed,
        "problem": problem or None,
        "segments": list(map(_segment, found.segments)),
    }


def _segment(segment: Segment) -> Json:
    system: list[Json] = [{"role": "system", "content": segment.system}] if segment.system else []
    return {
        "continues": segment.continues or None,
        "tools": list(map(_tool, segment.tools)),
        "messages": [*system, *map(_message, segment.messages)],
        "replies": [_reply(call, len(system)) for call in segment.calls],
    }


def _reply(call: Call, before: int) -> Json:
    reply = call.reply
    return {
        "exchange": call.number,
        "turn": call.turn + 1,
        "protocol": call.protocol.value,
        "requested_model": call.requested,
        "model": reply.model or None,
        "prompt_messages": before + call.prompt,
        "transient_messages": list(map(_message, call.transient)),
        "message": None if reply.message is None else _message(reply.message),
        "stop_reason": reply.stop_reason or None,
        "usage": None if reply.usage is None else _usage(reply.usage),
        "cost_usd": reply.cost_usd,
        # null, never an empty list, where the provider gave nothing
        "prompt_token_ids": reply.prompt_token_ids or None,
        "token_ids": reply.token_ids or None,
        "logprobs": [{"token": one.token, "logprob": one.logprob, "id": one.id} for one in reply.logprobs] or None,
    }


def _message(message: Message) -> Json:
    """Return a message in the form of OpenAI's chat completions, which the chat templates of models take."""
    told: Json = {"role": message.role.value, "content": message.text}
    if message.reasoning:
        told["reasoning_content"] = message.reasoning
    if message.tool_calls:
        told["tool_calls"] = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
            for one in message.tool_calls
        ]
    if message.call_id:
        told["tool_call_id"] = message.call_id
    if message.attachments:
        told["attachments"] = message.attachments
    return told


def _tool(tool: Tool) -> Json:
    parameters = json_value(parse(tool.parameters.encode())) if tool.parameters else None
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _usage(usage: Usage) -> Json:
    return {name: getattr(usage, name) for name in USAGE}

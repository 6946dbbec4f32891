"""Join the exchanges of a trial into conversations in which each request continues the one before (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pinchbench.wire.facts import facts_of
from pinchbench.wire.protocols.json_values import canonical
from pinchbench.wire.protocols.values import Conversation, Message, ReplyFacts, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.protocols.values import ProtocolName, Tool


# OpenClaw 2026.9.6 ends each request with one message of its own on running commands, which it does not send again.
MOST_TRANSIENT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A complete reply of the model.

    Attributes:
        number: that of the exchange.
        turn: the index of the trial's turn.
        protocol: the protocol of the exchange.
        requested: the model that the request names.
        prompt: how many messages of the segment the model had when it replied.
        transient: messages that stood after those in its prompt, and that later requests leave out.
        reply: what it replied.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Segments:
    """The conversations of a trial, in the order of their first replies. `failed` counts calls without a reply."""

    segments: tuple[Segment, ...]
    failed: int = 0


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
        segment = _extended(segments, facts.request.conversation)
        call = Call(
            number=exchange.number,
            turn=exchange.turn,
            protocol=facts.protocol,
            requested=facts.request.model,
            prompt=len(segment.messages),
            reply=facts.reply,
        )
        segment.calls.append(call)
    return Segments(segments=tuple(segments), failed=failed)


def _extended(segments: list[Segment], said: Conversation) -> Segment:
    """Return the segment that a request continues, with its messages; a new one if it continues none."""
    for segment in reversed(segments):  # the latest is the likeliest
        messages = _continued(segment, said)
        if messages is not None:
            segment.messages = messages
            return segment
    segment = Segment(system=said.system, tools=said.tools, messages=said.messages, continues=said.continues)
    segments.append(segment)
    return segment


def _continued(segment: Segment, said: Conversation) -> tuple[Message, ...] | None:
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

"""What the prompts of a trial consist of, and where and why their beginning changed, so that a cache missed (pure)."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING

from pinchbench.model.facts import PrefixBreak, PrefixCause, PromptFacts
from pinchbench.wire.normalise import DAYS, MONTHS
from pinchbench.wire.protocols.call_facts import Message, RequestFacts, Role, Tool
from pinchbench.wire.recording import EARLIER_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinchbench.wire.exchange_facts import ReadExchange

MOST_BREAKS = 20  # that are kept of a trial; all are counted
# What a clock writes into a prompt.
TIME = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?"
    rf"|\b\d\d?:\d\d(?::\d\d)?(?:\.\d+)?|\b1\d{{9}}(?:\d{{3}})?\b"
    rf"|\b{DAYS}[a-z]*\b|\b{MONTHS}[a-z]* \d\d?(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?|\b[AP]M\b"
)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SUMMARY = re.compile(r"compact|summar", re.IGNORECASE)  # what takes the place of the messages that a compaction removed
HEADING_CHARS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptStep:
    """A request to a model next to the most similar one of those that ended shortly before it.

    `before` is empty for the first of a conversation. `broken` says where its beginning differs from that of `before`;
    None if it continues it.
    """

    call: ReadExchange
    before: RequestFacts
    broken: PrefixBreak | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Earlier:
    said: RequestFacts
    size: int
    tokens: int


def prompt_steps(read: Iterable[ReadExchange]) -> Iterator[PromptStep]:
    """Yield the requests to a model among exchanges in the order of their numbers."""
    earlier: deque[_Earlier] = deque(maxlen=EARLIER_REQUESTS)
    turn, place = -1, 0
    for call in read:
        exchange, facts = call.exchange, call.facts
        if facts.protocol is None:
            continue
        turn, place = exchange.turn, place + 1 if exchange.turn == turn else 1
        said, usage = facts.request, facts.reply.usage
        before = max(earlier, key=lambda one: shared(one.said, said), default=None)
        broken = None
        if before is not None and (found := _cause(before.said, said)) is not None:
            cause, where, at = found
            again = 0
            if usage is not None and before.size:
                lost = round(before.tokens * (1 - min(1.0, at / before.size)))
                again = min(lost, usage.input_tokens + usage.cache_write_tokens)
            broken = PrefixBreak(call=exchange.number, in_turn=place, cause=cause, where=where, at=at, again=again)
        tokens = 0 if usage is None else usage.prompt_tokens
        earlier.appendleft(_Earlier(said=said, size=sum(_sizes(said)), tokens=tokens))
        yield PromptStep(call=call, before=RequestFacts() if before is None else before.said, broken=broken)


def prompt_facts(read: Iterable[ReadExchange]) -> PromptFacts:
    """Add up what the prompts of a trial consist of, and list where their beginning changed."""
    breaks: list[PrefixBreak] = []
    added = [0, 0, 0, 0]
    for step in prompt_steps(read):
        added = [a + b for a, b in zip(added, _sizes(step.call.facts.request), strict=True)]
        if step.broken is not None:
            breaks.append(step.broken)
    tools, system, history, results = added
    return PromptFacts(
        tools=tools,
        system=system,
        history=history,
        results=results,
        breaks=tuple(breaks[:MOST_BREAKS]),
        broken=len(breaks),
        again=sum(one.again for one in breaks),
    )


def shared(before: RequestFacts, said: RequestFacts) -> int:
    """Return with how many equal messages two requests begin."""
    return sum(1 for _ in takewhile(bool, map(eq, before.messages, said.messages)))


def _cause(before: RequestFacts, said: RequestFacts) -> tuple[PrefixCause, str, int] | None:
    """Return what changed first in the prompt of a request that continues an earlier one, where, and from where on.

    None if nothing did, or if the request begins a conversation of its own.
    """
    same = shared(before, said)
    if not same and not _is_compacted(before, said):
        return None
    old_tools, new_tools = _tools_text(before.tools), _tools_text(said.tools)
    if old_tools != new_tools:
        return PrefixCause.TOOLS, "", _begin(old_tools, new_tools)
    at = len(new_tools)
    if before.system != said.system:
        begin = _begin(before.system, said.system)
        headings = HEADING.findall(before.system[:begin])
        heading = headings[-1][:HEADING_CHARS] if headings else ""
        return _of_text(before.system, said.system, heading), heading, at + begin
    # OpenClaw ends requests with a message about the moment, which the next one lacks: the beginning is the same
    if same >= len(before.messages) - 1 or said.continues:
        return None
    return _message_cause(before, said, same, at + len(said.system))


def _message_cause(before: RequestFacts, said: RequestFacts, same: int, at: int) -> tuple[PrefixCause, str, int]:
    at += sum(len(_text(one)) for one in said.messages[:same])
    where = f"message {same + 1}"
    if same == len(said.messages):  # the end is missing, as after a retry without it
        return PrefixCause.HISTORY, where, at
    old, new = _text(before.messages[same]), _text(said.messages[same])
    at += _begin(old, new)
    if _is_compacted(before, said):
        return PrefixCause.COMPACTION, where, at
    return (PrefixCause.TIME if TIME.sub("", old) == TIME.sub("", new) else PrefixCause.HISTORY), where, at


def _is_compacted(before: RequestFacts, said: RequestFacts) -> bool:
    """Return whether a summary takes the place of messages that the earlier request had."""
    known = set(before.messages)
    new = [one for one in said.messages if one not in known]
    return (
        said.system == before.system
        and len(said.messages) < len(before.messages)
        and len(new) < len(said.messages)  # the latest messages stay
        and any(SUMMARY.search(one.text) for one in new if one.role is not Role.TOOL)
    )


def _of_text(before: str, said: str, heading: str) -> PrefixCause:
    if TIME.sub("", before) == TIME.sub("", said):
        return PrefixCause.TIME
    return PrefixCause.MEMORY if "memory" in heading.casefold() else PrefixCause.SYSTEM


def _begin(one: str, other: str) -> int:
    """Return with how many equal characters two texts begin."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _sizes(said: RequestFacts) -> tuple[int, int, int, int]:
    """Return the characters of the tools, the system prompt, what was said, and what tools returned."""
    results = sum(len(_text(one)) for one in said.messages if one.role is Role.TOOL)
    history = sum(len(_text(one)) for one in said.messages if one.role is not Role.TOOL)
    return len(_tools_text(said.tools)), len(said.system), history, results


def _tools_text(tools: Iterable[Tool]) -> str:
    return "".join(f"{one.name}{one.description}{one.parameters}" for one in tools)


def _text(message: Message) -> str:
    calls = "".join(f"{one.name}{one.arguments}" for one in message.tool_calls)
    return f"{message.text}{message.reasoning}{calls}{''.join(message.attachments)}"

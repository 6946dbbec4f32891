"""The conversation of a trial's own sessions as the wire saw it, without sub-agents, recaps and summaries (pure)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from pinchbench.defaults import ProtocolName
from pinchbench.json_values import object_at, parse, text_at
from pinchbench.wire.protocols.call_facts import Message, ReplyFacts, RequestFacts, Role

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pinchbench.wire.exchange_facts import ReadExchange
    from pinchbench.wire.protocols.call_facts import ExchangeFacts

# OpenClaw's line about itself, which 2026.9.6 writes with the session into the system prompt or the first message.
ABOUT_ITSELF = re.compile(r"^Runtime: .*$", re.MULTILINE)
SESSION_ID = re.compile(r"\bsessionId=([^\s|]+)")
# An automation's run is named by the key of its job alone, which all its runs share.
SESSION_KEY = re.compile(r"\bsession=([^\s|]+)")
INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
SILENT = "NO_REPLY"  # what OpenClaw's prompt lets a model say instead of nothing
SENDING = ("message", "sessions_spawn")  # tools
AUTOMATION = ":cron:"  # in the key of a session that an automation's run has for itself
TEXT = re.compile(r'"((?:[^"\\]|\\.)*+)"')  # in JSON
RUN = "#"  # between the key of an automation and the number of its run
SAME_CHARS = 1000  # of a system prompt: sub-agents and summaries have another beginning, or other tools
GEMINI_RESULTS = ("output", "error", "result", "content")  # where Google's function responses have their text


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A request of the conversation and its reply.

    Attributes:
        number: that of the exchange.
        session: the session that the request names, or the key of an automation, `#`, and which of its runs it is.
            Empty if it names none.
        at: when the reply had ended, in seconds since the epoch.
        brought: the results of tools at the end of the request, which answer the reply before.
        users: the texts of the user's messages there.
        replayed: the last message of the model in the request: how OpenClaw keeps an earlier reply in memory.
        length: how many messages the request has.
        tools: the names of the tools that were offered.
        is_discarded: whether OpenClaw asked the same again instead of going on with the reply.
        results: what came back for the reply's calls; None if no later request says so.
    """

    number: int
    session: str
    turn: int
    at: float
    provider: str
    model: str
    brought: tuple[Message, ...]
    users: tuple[str, ...]
    replayed: Message | None
    length: int
    tools: frozenset[str]
    reply: ReplyFacts
    is_discarded: bool = False
    results: tuple[Message, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """The steps in their order, and every text of any request or reply but tools' results, which the agent makes.

    `said` are those of replies alone, and what they send to others.
    """

    steps: tuple[Step, ...] = ()
    texts: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()

    def by_session(self) -> dict[str, Thread]:
        """Return the conversation of each session by its id, in the order of their beginnings."""
        sessions = dict.fromkeys(step.session for step in self.steps)
        return {
            name: replace(self, steps=tuple(step for step in self.steps if step.session == name)) for name in sessions
        }


def read_thread(read: Iterable[ReadExchange], session_ids: Collection[str]) -> Thread:
    """Return the conversation of the sessions with these ids, of exchanges in the order of their numbers.

    A release that does not name the session in its requests is understood by its system prompt and its tools, which
    sub-agents do not share.
    """
    known = [one for one in read if one.facts.protocol is not None]
    every = [one.facts for one in known]
    named = _names([facts.request for facts in every])
    own = {_signature(facts) for facts, name in zip(every, named, strict=True) if name in session_ids}
    if not own and (first := next((facts for facts in every if facts.request.tools), None)):
        own = {_signature(first)}
    steps: list[Step] = []
    for one, name in zip(known, named, strict=True):
        step = _step(one, name)
        if name in session_ids or RUN in name or (not name and (not own or _signature(one.facts) in own)):
            steps.append(step)
        elif not name and not step.tools:
            last = {before.session: before for before in steps}
            steps += [replace(step, session=key) for key, empty in last.items() if _replaces(step, empty)][:1]
    messages = [message for facts in every for message in facts.request.messages]
    texts = {message.text for message in messages if message.role is not Role.TOOL}
    replies = [facts.reply.message for facts in every if facts.reply.message is not None]
    said = {reply.text for reply in replies} | {text for reply in replies for text in _sent_texts(reply)}
    texts |= {reply.text for reply in replies}
    read_steps = (
        step for part in Thread(steps=tuple(steps)).by_session().values() for step in _with_results(part.steps)
    )
    return Thread(
        steps=tuple(sorted(read_steps, key=lambda step: step.number)), texts=frozenset(texts), said=frozenset(said)
    )


def is_automation(said: RequestFacts) -> bool:
    """Return whether an automation began this conversation, in a session of its own."""
    found = SESSION_KEY.search(_line_about_itself(said))
    return found is not None and AUTOMATION in found[1]


def _names(conversations: Iterable[RequestFacts]) -> list[str]:
    """Return the session of each request, as `Step.session` says."""
    runs: Counter[str] = Counter()
    last: dict[str, tuple[Message, ...]] = {}
    names = []
    for said in conversations:
        line = _line_about_itself(said)
        name = found[1] if (found := SESSION_ID.search(line)) else ""
        if not name and (found := SESSION_KEY.search(line)):
            key, messages = found[1], tuple(said.messages)
            is_first = all(message.role is not Role.ASSISTANT for message in messages)
            runs[key] += is_first and messages != last.get(key)  # else it is asked again
            last[key] = messages
            name = f"{key}{RUN}{runs[key]}"
        names.append(name)
    return names


def _line_about_itself(said: RequestFacts) -> str:
    """Return OpenClaw's line about itself, which comes last, after what an agent may have written; empty without."""
    first = next((one.text for one in said.messages if one.role is Role.USER), "")
    for text in (said.system, first):
        if lines := ABOUT_ITSELF.findall(text):
            return str(lines[-1])
    return ""


def _sent_texts(reply: Message) -> Iterable[str]:
    """Yield the texts that a reply sends to somebody, which OpenClaw writes down as said."""
    for call in reply.tool_calls:
        if call.name not in SENDING:
            continue
        arguments = parse(call.arguments.encode("utf-8", "replace"))
        if isinstance(arguments, dict):
            yield from (value for value in arguments.values() if isinstance(value, str))


def _signature(facts: ExchangeFacts) -> tuple[str, frozenset[str]]:
    said = facts.request
    return said.system[:SAME_CHARS], frozenset(tool.name for tool in said.tools)


def _step(call: ReadExchange, session: str) -> Step:
    exchange, facts = call.exchange, call.facts
    messages = facts.request.messages
    last = next((at for at in reversed(range(len(messages))) if messages[at].role is Role.ASSISTANT), -1)
    new = messages[last + 1 :]
    results = [one for one in new if one.role is Role.TOOL]
    if facts.protocol is ProtocolName.GEMINI:
        results = [replace(one, text=_of_gemini(one.text)) for one in results]
    return Step(
        number=exchange.number,
        session=session,
        turn=exchange.turn,
        at=exchange.began_at + exchange.ended_s,
        provider=exchange.provider,
        model=facts.request.model,
        brought=tuple(results),
        users=tuple(one.text for one in new if one.role is Role.USER),
        replayed=messages[last] if last >= 0 else None,
        length=len(messages),
        tools=frozenset(tool.name for tool in facts.request.tools),
        reply=facts.reply,
    )


def _replaces(step: Step, empty: Step) -> bool:
    """Return whether a step asks for a final answer in place of an empty one, without tools, as OpenClaw 2026.9.6 does.

    Such a request does not name its session.
    """
    message = empty.reply.message
    is_empty = message is None or (message.text.strip() in ("", SILENT) and not message.tool_calls)
    same = (step.turn, step.brought, step.replayed) == (empty.turn, empty.brought, empty.replayed)
    return same and is_empty and step.replayed is not None


def _of_gemini(text: str) -> str:
    value = object_at(parse(text.encode("utf-8", "replace")))
    return (text_at(value, *GEMINI_RESULTS) if len(value) == 1 else "") or text


def _with_results(steps: Sequence[Step]) -> Iterable[Step]:
    for one, following in zip_longest(steps, steps[1:]):
        message = _promoted(one, following) or one.reply.message
        step = replace(one, reply=replace(one.reply, message=message))
        is_discarded = following is not None and _is_repeated(step, following)
        is_answered = message is not None and message.tool_calls and not is_discarded
        # a request without results is one after a compaction or of a new session, and says nothing of them
        results = (following.brought or None) if is_answered and following is not None else None
        yield replace(step, is_discarded=is_discarded, results=results)


def _promoted(step: Step, following: Step | None) -> Message | None:
    """Return a reply with the calls that OpenClaw 2026.9.6 found in its text, as with Ollama; None if it found none.

    The next request has them, in the same turn, and all that they say is in the text.
    """
    message, seen = step.reply.message, following.replayed if following is not None else None
    if following is None or seen is None or message is None or message.tool_calls or following.turn != step.turn:
        return None
    pieces = [text for call in seen.tool_calls for text in (call.name, *TEXT.findall(call.arguments))]
    said = "".join(message.text.split())
    is_said = following.length > step.length and all(_is_in(text, said) for text in pieces)
    return replace(seen, reasoning=message.reasoning) if pieces and is_said else None


def _is_in(text: str, whole: str) -> bool:
    """Return whether a text without white space has this one, as JSON writes it or as it means."""
    meant = parse(f'"{text}"'.encode("utf-8", "replace"))
    return any("".join(one.split()) in whole for one in (text, str(meant)))


def _is_repeated(step: Step, following: Step) -> bool:
    """Return whether the following request asks the same again, possibly with a word on why."""
    if following.turn != step.turn or following.length >= step.length + 2:
        return False  # a call and its result, which may be the same as before
    return (following.brought, following.replayed) == (step.brought, step.replayed)

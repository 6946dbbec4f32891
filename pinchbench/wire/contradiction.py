"""Find what a transcript says but the model did not send: the agent can write the one, not the other (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.wire.facts import facts_of
from pinchbench.wire.protocols.json_values import canonical, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.protocols.values import Message, ToolCall

MAX_SHOWN_CHARS = 200
# What a model says of its reasoning within its text, which OpenClaw takes out of it.
REASONING = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|$)", re.DOTALL)
TAG = re.compile(r"</?(?:think|thinking|thought|final)>")
# What stands for a key in a transcript: OpenClaw 2026.9.6 masks whatever looks like one in what it writes, such as the
# value in `password = next(word`, and the runner masks those that it knows.
MASKED = re.compile(r"\*{3,}|…redacted…|\S{6}…(?!redacted…)\S{4}|\[key\]")
IGNORED = re.compile(r"[\s\ufffd]+")  # trimmed, joined in another way, or replaced as it is no Unicode


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """An assistant message of a transcript that no reply of the model explains.

    Attributes:
        index: its place among the transcript's assistant messages, from 0.
        said: the beginning of what the transcript has.
        sent: the beginning of the reply that was next; empty if all were accounted for.
        number: the number of that reply's exchange; None if there is none.
    """

    index: int
    said: str
    sent: str = ""
    number: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reply:
    """A reply of the model. `complete`: not cut, so that all of it must be in the transcript."""

    number: int
    message: Message
    complete: bool


def first_contradiction(
    exchanges: Iterable[Exchange], transcript: Sequence[tuple[str, Sequence[ToolCall]]]
) -> Contradiction | None:
    """Return the first assistant message of a transcript that is not what the model sent; None if there is none.

    Each reply explains one message, in any order, as sessions and subagents run beside each other. White space, ids of
    calls, reasoning and the order of an object's keys do not count. A reply that was cut explains a message that is
    its beginning. Arguments that are no JSON are not compared, as OpenClaw repairs them. A mask in the transcript
    stands for any text: it can hide what the model sent, but not replace it by something else.

    Args:
        exchanges: All exchanges of the trial.
        transcript: Text and tool calls of each assistant message, without those that OpenClaw writes itself. Messages
            with neither are left out.
    """
    replies = [reply for one in sorted(exchanges, key=lambda one: one.number) if (reply := _reply(one)) is not None]
    for index, (text, calls) in enumerate(transcript):
        if not text.strip() and not calls:
            continue
        # whole replies first: what is the beginning of a cut one may be another one, complete
        explaining = next(
            (
                reply
                for reply in sorted(replies, key=lambda one: not one.complete)
                if _explains(reply, text, tuple(calls))
            ),
            None,
        )
        if explaining is not None:
            replies.remove(explaining)
            continue
        following = next(iter(replies), None)
        return Contradiction(
            index=index,
            said=_shown(text, calls),
            sent="" if following is None else _shown(following.message.text, following.message.tool_calls),
            number=None if following is None else following.number,
        )
    return None


def _reply(exchange: Exchange) -> _Reply | None:
    reply = facts_of(exchange).reply
    if reply.message is None:
        return None
    return _Reply(number=exchange.number, message=reply.message, complete=reply.complete)


def _explains(reply: _Reply, text: str, calls: tuple[ToolCall, ...]) -> bool:
    sent_text, said = _plain(reply.message.text), _plain(text)
    sent = reply.message.tool_calls
    if reply.complete:
        return _is_same(sent_text, said) and len(sent) == len(calls) and _are_same(sent, calls)
    # The last call of a cut reply may be cut itself; what was parsed of it has its name at least.
    whole = sent[:-1]
    return (
        _is_same(sent_text, said, is_cut=True)
        and len(calls) <= len(sent)
        and _are_same(whole, calls[: len(whole)])
        and all(one.name == other.name for one, other in zip(sent, calls, strict=False))
    )


def _are_same(sent: Sequence[ToolCall], calls: Sequence[ToolCall]) -> bool:
    return all(
        one.name == other.name and _is_same_argument(one.arguments, other.arguments)
        for one, other in zip(sent, calls, strict=False)
    )


def _is_same_argument(sent: str, said: str) -> bool:
    if not sent.strip():
        return canonical(said or "{}") == "{}"
    if parse(sent.encode("utf-8", "replace")) is None:
        return True
    return _is_same(_plain(canonical(sent)), _plain(canonical(said)))


def _is_same(sent: str, said: str, *, is_cut: bool = False) -> bool:
    """Return whether both are the same but for masks, or of a cut reply whether the transcript has its beginning."""
    if sent.startswith(said) if is_cut else sent == said:
        return True
    first, *others = MASKED.split(said)
    if not others or not sent.startswith(first):
        return False
    at = len(first)
    for literal in others[:-1]:
        found = sent.find(literal, at)
        if found < 0:
            return False
        at = found + len(literal)
    return others[-1] in sent[at:] if is_cut else sent[at:].endswith(others[-1])


def _plain(text: str) -> str:
    return IGNORED.sub("", TAG.sub("", REASONING.sub("", text)))


def _shown(text: str, calls: Iterable[ToolCall]) -> str:
    said = " ".join(filter(None, (text.strip(), *(f"{call.name}({call.arguments})" for call in calls))))
    return said if len(said) <= MAX_SHOWN_CHARS else f"{said[:MAX_SHOWN_CHARS]}…"

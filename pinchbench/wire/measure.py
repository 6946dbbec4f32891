"""What the exchanges of a trial measure: calls, tokens, cost, speed, and where the time went (pure)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from statistics import median
from typing import TYPE_CHECKING

from pinchbench.model.facts import WireFacts
from pinchbench.model.usage import Usage
from pinchbench.wire.agent_thread import is_automation
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from pinchbench.wire.exchange_facts import ReadExchange, facts_of
from pinchbench.wire.prompt_prefix import prompt_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinchbench.wire.protocols.call_facts import ExchangeFacts, RequestFacts

FULL_TOKEN_CHARACTERS = 6  # honest prompts have at most 5 a token, and fewer without the tools' descriptions
LEAST_WINDOW = 1024  # servers that count fewer tokens count something else, such as what was not cached
FEWEST_TRUNCATED = 3
BYTES_OF_A_TOKEN = 4  # of a request in English with code, as JSON
DIGITS = 3
RUN = re.compile(r"(.)\1{3,}", re.DOTALL)  # of one character, such as of spaces, which is one token


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurements:
    """What the exchanges of a trial say.

    Attributes:
        facts: the figures. `first_token_s` is from sending a request to the first text, reasoning or tool call.
            `output_tokens_per_s` counts from the first content on; reasoning that a provider does not show counts as
            output but comes before, so that such models seem faster than they are. What a cut reply used and did not
            report is unknown.
        failed: the calls without a complete reply.
        first_at: when the first call began, in seconds since the epoch; 0 if there is none.
        last: the number of the last call that OpenClaw did not give up before a byte of the reply came; 0 if there is
            none.
        last_turn: the index of its turn.
        silent_s: how long OpenClaw waited for the first byte of a later call that it gave up.
        truncated_to: the window of tokens to which the server truncated longer prompts; 0 if it did not.
    """

    facts: WireFacts
    failed: tuple[ReadExchange, ...] = ()
    first_at: float = 0.0
    last: int = 0
    last_turn: int = 0
    silent_s: float = 0.0
    truncated_to: int = 0

    @property
    def last_failure(self) -> ReadExchange | None:
        """Return the last call, see `last`, if its reply is not complete."""
        return next((call for call in self.failed if call.exchange.number == self.last), None)


def measure(read: Sequence[ReadExchange]) -> Measurements:
    """Measure the exchanges of one trial, in the order of their numbers."""
    every = [one.exchange for one in read]
    calls = [one for one in read if one.facts.protocol is not None]
    replies = [one.facts.reply for one in calls]
    used = [reply.usage for reply in replies if reply.usage is not None]
    firsts = ((call.facts.reply.first_content_s, call.exchange.sent_s) for call in calls)
    waits_s = [max(0.0, first_s - sent_s) for first_s, sent_s in firsts if first_s is not None]
    asked = [one.exchange for one in calls]
    last = max((one for one in asked if not _is_given_up(one)), key=_ended_at, default=None)
    given_up = [one for one in asked if _is_given_up(one) and (last is None or _ended_at(one) > _ended_at(last))]
    failed = tuple(call for call in calls if not call.facts.reply.complete)
    facts = WireFacts(
        calls=len(calls),
        failed=tuple(call.exchange.status for call in failed),
        usage=sum(used, Usage()),
        unreported=sum(reply.message is not None and not (reply.usage and reply.usage.has_tokens) for reply in replies),
        models=tuple(dict.fromkeys(reply.model for reply in replies if reply.model)),
        first_token_s=round(median(waits_s), DIGITS) if waits_s else None,
        output_tokens_per_s=_output_rate(calls),
        model_s=_sum(end - begin for begin, end in _united(every, from_sent=True)),
        queued_s=_sum(one.queued_s for one in every),
        between_s=_sum(_gaps_s(every)),
        prompts=prompt_facts(read),
        unasked_tokens=sum(
            one.reply.usage.total_tokens
            for one in (call.facts for call in calls)
            if one.reply.usage is not None and is_automation(one.request)
        ),
    )
    return Measurements(
        facts=facts,
        failed=failed,
        first_at=min((one.began_at for one in asked), default=0.0),
        last=0 if last is None else last.number,
        last_turn=0 if last is None else last.turn,
        silent_s=max((one.ended_s - one.sent_s for one in given_up), default=0.0),
        truncated_to=_window(one.facts for one in calls),
    )


def _is_given_up(one: Exchange) -> bool:
    """Return whether OpenClaw closed the connection before a byte of the reply's body came."""
    return one.end is ExchangeEnd.CLIENT_LEFT and not one.chunks


def _ended_at(one: Exchange) -> float:
    return one.began_at + one.ended_s


def _sum(seconds: Iterable[float]) -> float:
    return round(math.fsum(seconds), DIGITS)


def estimated_usage(exchange: Exchange) -> Usage:
    """Return what a call whose provider reports no usage may have used, going by its bytes."""
    sent, reply = len(exchange.request), facts_of(exchange).reply.message
    said = "" if reply is None else reply.reasoning + reply.text + "".join(one.arguments for one in reply.tool_calls)
    prompt, output = sent // BYTES_OF_A_TOKEN, len(said.encode()) // BYTES_OF_A_TOKEN
    return Usage(requests=1, input_tokens=prompt, output_tokens=output, total_tokens=prompt + output)


def _window(calls: Iterable[ExchangeFacts]) -> int:
    """Return the window to which the server truncated prompts; 0 if it did not.

    From some length on, every prompt has far more characters than its reported tokens can hold, and these are about
    equally many. A server that does not count what was cached reports few for most of its prompts, or more for longer
    ones.
    """
    prompts = [
        (len(_prompt(talk)), usage.prompt_tokens, talk)
        for usage, talk in ((call.reply.usage, call.request) for call in calls)
        if usage is not None
    ]
    window = max((tokens for _, tokens, _ in prompts), default=0)
    if window < LEAST_WINDOW:
        return 0
    short = max((size for size, tokens, _ in prompts if size < FULL_TOKEN_CHARACTERS * tokens), default=0)
    long = [one for one in prompts if one[0] > short]
    is_truncated = len(long) >= FEWEST_TRUNCATED and all(
        2 * tokens >= window and len(RUN.sub(r"\1", _prompt(talk))) >= FULL_TOKEN_CHARACTERS * tokens
        for _, tokens, talk in long
    )
    if not is_truncated:
        return 0
    (least, fewest, _), (most, last, _) = (choose(long, key=itemgetter(0)) for choose in (min, max))
    is_growing = last > fewest and most - least < FULL_TOKEN_CHARACTERS * (last - fewest)
    return 0 if is_growing else window


def _prompt(conversation: RequestFacts) -> str:
    """Return the text of a prompt but for the tools, which some servers do not count."""
    texts = [conversation.system]
    for message in conversation.messages:
        texts += [message.text, *(call.arguments for call in message.tool_calls)]
    return "".join(texts)


def _output_rate(calls: Iterable[ReadExchange]) -> float | None:
    tokens, seconds = 0, 0.0
    for call in calls:
        reply = call.facts.reply
        if reply.complete and reply.usage and reply.first_content_s is not None and reply.last_content_s is not None:
            took_s = reply.last_content_s - reply.first_content_s
            if took_s > 0:
                tokens += reply.usage.output_tokens
                seconds += took_s
    return round(tokens / seconds, DIGITS) if seconds else None


def _united(exchanges: Iterable[Exchange], *, from_sent: bool) -> list[tuple[float, float]]:
    """Return the times of exchanges, from begin to end, joined where they overlap."""
    spans = sorted((one.began_at + (one.sent_s if from_sent else 0.0), one.began_at + one.ended_s) for one in exchanges)
    united: list[tuple[float, float]] = []
    for begin, end in spans:
        if end < begin:  # it was never sent
            continue
        if united and begin <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((begin, end))
    return united


def _gaps_s(exchanges: Iterable[Exchange]) -> Iterable[float]:
    for _, of_turn in groupby(sorted(exchanges, key=attrgetter("turn")), key=attrgetter("turn")):
        for (_, end), (begin, _) in pairwise(_united(of_turn, from_sent=False)):
            yield begin - end

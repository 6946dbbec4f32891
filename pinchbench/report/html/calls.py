"""The calls of the model on a trial's page, as JSON for the page's script: what was new in each, and what came back."""

from __future__ import annotations

from collections import deque
from difflib import unified_diff
from typing import TYPE_CHECKING, TypeAlias

from pinchbench.model.usage import Usage
from pinchbench.report.html.safe_text import fair_share, safe_line, safe_text, shortened
from pinchbench.report.model_calls import break_text, statuses_text
from pinchbench.report.text import amount, duration, many
from pinchbench.wire.exchange_facts import read_each
from pinchbench.wire.prompt_prefix import prompt_steps, shared
from pinchbench.wire.recording import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pinchbench.wire.exchange import Exchange
    from pinchbench.wire.protocols.call_facts import ExchangeFacts, Message, ReplyFacts, RequestFacts, Tool

MOST_CALLS = 200  # of a trial; with more, the first and the last half of this number are shown
CALL_BYTES = 400  # of the facts on a call, without its texts
LEAST_TEXT = 300  # characters that are kept of a shortened text
MOST_TEXT = 50_000  # characters of a text that are kept in memory while a recording is read
MOST_CHANGES = 100  # of a request; a conversation that begins anew may have more messages
MOST_DIFFED = 100_000  # characters of a system prompt: comparing lines takes quadratic time

Json: TypeAlias = dict[str, object]
Change: TypeAlias = tuple[str, str]  # a part of a request that differs from an earlier one: its title and its text


def calls_json(recording: Path, *, command: str, most_bytes: int) -> Json | None:
    """Return the calls of a trial; None if they were not recorded. Blocks.

    Each request is shown as its difference from the most similar one of those that ended shortly before it.

    Args:
        recording: The path of the recording, which may not exist.
        command: What prints all exchanges as they are.
        most_bytes: Limits the text.
    """
    if not recording.is_file():
        return None
    more = f"`{command}` prints each call whole."
    most_calls = min(MOST_CALLS, most_bytes // CALL_BYTES)
    if most_calls < 2:  # noqa: PLR2004 - the first and the last
        return {"calls": [], "count": "", "cut": safe_line(f"Left out of this page, which would be too large. {more}")}
    first: list[_Call] = []
    last: deque[_Call] = deque(maxlen=most_calls - most_calls // 2)
    reader = RecordingReader(recording)
    cuts, total, failed = [], 0, 0
    usage, breaks = Usage(), []
    try:
        for call in _read(reader):
            total += 1
            failed += call.is_failed
            usage += call.usage
            if call.broken:
                breaks.append(f"call {call.number}: {call.broken}")
            (first if len(first) < most_calls // 2 else last).append(call)
    except OSError as error:
        cuts.append(f"{recording} can't be read: {error.strerror}.")
    shown = sorted([*first, *last], key=lambda one: one.number)
    if reader.problem:
        cuts.append(f"{reader.problem}.")
    if total > len(shown):
        cuts.append(f"{many(total - len(shown), 'call')} in the middle are left out.")
    limit = max(LEAST_TEXT, fair_share([len(text) for one in shown for text in one.texts], most_bytes))
    if any(len(text) > limit for one in shown for text in one.texts):
        cuts.append("Long texts are shortened.")
    return {
        "calls": [one.json(limit) for one in shown],
        "count": many(total, "call") + (f", {failed} failed" if failed else ""),
        "cache": _cache_text(usage, breaks),
        "cut": safe_line(" ".join([*cuts, more])) if cuts else "",
    }


def _cache_text(usage: Usage, breaks: Sequence[str]) -> str:
    """Say how much of the prompts the provider had cached, and where they begin otherwise, so that it had to miss."""
    cached = f"{amount(usage.cache_read_tokens)} of {amount(usage.prompt_tokens)} prompt tokens"
    hits = f"{cached} came from the provider's cache."
    changed = f" The prompt's beginning changed in {many(len(breaks), 'call')}, first in {breaks[0]}." if breaks else ""
    return (hits if usage.prompt_tokens else "") + changed


class _Call:
    """What is shown of an exchange; its texts are bounded, so that a long recording can be read."""

    def __init__(self, exchange: Exchange, facts: ExchangeFacts, changes: Iterable[Change], broken: str) -> None:
        reply = facts.reply
        self.broken = broken
        self.usage = reply.usage or Usage()
        self.number = exchange.number
        self.is_failed = not reply.complete
        self._changes = [(title, _kept(text)) for title, text in changes]
        self._reply = _kept("" if reply.message is None else _message_text(reply.message))
        self._head: Json = {
            "number": exchange.number,
            "turn": exchange.turn + 1,
            "failed": statuses_text([exchange.status]) if self.is_failed else "",
            "status": str(exchange.status or "no reply"),
            "model": safe_line(reply.model, 200),
            "timing": ", ".join(_timing(exchange, reply)),
            "error": safe_text((reply.error or exchange.error)[:4000]),
        }

    @property
    def texts(self) -> list[str]:
        """Return what may be shortened."""
        return [self._reply, *(text for _, text in self._changes)]

    def json(self, limit: int) -> Json:
        """Return the call with its texts shortened to `limit` characters."""
        changes = [{"title": safe_line(title, 400), "text": shortened(text, limit)} for title, text in self._changes]
        return {**self._head, "changes": changes, "reply": shortened(self._reply, limit)}


def _kept(text: str) -> str:
    return shortened(text, MOST_TEXT)


def _read(exchanges: Iterable[Exchange]) -> Iterator[_Call]:
    for step in prompt_steps(read_each(exchanges)):
        changes = [*_changes(step.before, step.call.facts.request)]
        if (divergence := step.call.exchange.divergence) is not None:
            changes.append((f"diverges: {divergence.summary}", divergence.details))
        yield _Call(
            step.call.exchange, step.call.facts, changes, "" if step.broken is None else break_text(step.broken)
        )


def _changes(before: RequestFacts, said: RequestFacts) -> Iterator[Change]:
    if said.system != before.system:
        lines = _diff(before.system, said.system) if before.system else said.system
        yield "system prompt, changed" if before.system else "system prompt", lines
    yield from _tool_changes({one.name: one for one in before.tools}, {one.name: one for one in said.tools})
    if said.continues:
        yield f"follows the reply {said.continues}, which the provider keeps", ""
    same = shared(before, said)
    if gone := len(before.messages) - same:
        yield f"{many(gone, 'message')} of the request before not sent again", ""
    new = said.messages[same:]
    yield from ((f"new: {one.role.value}", _message_text(one)) for one in new[:MOST_CHANGES])
    if len(new) > MOST_CHANGES:
        yield f"{len(new) - MOST_CHANGES} more new messages", ""


def _tool_changes(before: dict[str, Tool], now: dict[str, Tool]) -> Iterator[Change]:
    kinds = {
        "new": [name for name in now if name not in before],
        "no longer offered": [name for name in before if name not in now],
        "changed": [name for name in now if name in before and now[name] != before[name]],
    }
    for kind, names in kinds.items():
        if names:
            yield f"{many(len(names), 'tool')} {kind}", ", ".join(names)


def _diff(before: str, now: str) -> str:
    old, new = (text[:MOST_DIFFED].split("\n") for text in (before, now))
    lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]  # without the names of files
    return "\n".join(lines) or f"different beyond the first {MOST_DIFFED:,} characters"


def _message_text(message: Message) -> str:
    lines = (
        f"(reasoning) {message.reasoning}" if message.reasoning else "",
        message.text,
        *(f"calls {call.name} {call.arguments}" for call in message.tool_calls),
        *message.attachments,
    )
    return "\n".join(filter(None, lines))


def _timing(exchange: Exchange, reply: ReplyFacts) -> Iterator[str]:
    if exchange.queued_s:
        yield f"queued {duration(exchange.queued_s)}"
    first_s, last_s = reply.first_content_s, reply.last_content_s
    if first_s is not None:
        yield f"first token after {max(0.0, first_s - exchange.sent_s):.2f} s"
    yield f"took {duration(exchange.ended_s)}"
    if reply.usage is not None:
        cached = reply.usage.cache_read_tokens
        yield f"{amount(reply.usage.total_tokens)} tokens" + (f" ({amount(cached)} cached)" if cached else "")
        if reply.complete and first_s is not None and last_s is not None and last_s > first_s:
            yield f"{reply.usage.output_tokens / (last_s - first_s):,.0f} tokens per second"

"""The sentences about what the wire measured of a run: failed calls, other models, other usage, time (pure)."""

from __future__ import annotations

import re
from collections import Counter
from http import HTTPStatus
from math import fsum
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import UNSET

from pinchbench.model.facts import PrefixCause
from pinchbench.report.text import amount, duration, many, plain, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinchbench.model.facts import PrefixBreak, WireFacts
    from pinchbench.model.usage import Usage
    from pinchbench.results.result_json import Aggregate, TrialEntry

MOST_NAMED = 5  # models
CAUSES = MappingProxyType(
    {
        PrefixCause.TOOLS: "the tools",
        PrefixCause.TIME: "a time stamp",
        PrefixCause.MEMORY: "memory",
        PrefixCause.SYSTEM: "the system prompt",
        PrefixCause.COMPACTION: "a compaction",
        PrefixCause.HISTORY: "an earlier message",
    }
)
# What providers append to the name under which a model is asked for: `-2026-01-31`, `-20260131`, `-001`, `-latest`.
SNAPSHOT = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{3,8}|latest)$")


def model_calls_sentence(data: Aggregate) -> str:
    """Return what OpenClaw hides of the calls: failures, other models, other usage; empty if there is none of it.

    Of retried trials, only the attempts that count are included, here and in `model_time_text`.
    """
    measured = _measured(data)
    facts = [wire for _, wire in measured]
    remarks = "; ".join([*_failed(facts), *_others(facts, data.model), *_usage(measured)])
    return f"{many(sum(one.calls for one in facts), 'model call')}: {remarks}." if remarks else ""


def model_time_text(data: Aggregate) -> str:
    """Return where the time of the agents went, added up over trials; empty without recorded calls."""
    facts = [wire for _, wire in _measured(data)]
    if not facts:
        return ""
    start_s = fsum(one.start_s for one in facts if one.start_s is not UNSET)
    parts = [
        *([f"{duration(start_s)} in OpenClaw's start"] if start_s else []),
        f"{duration(fsum(one.model_s for one in facts))} in the model",
        f"{duration(fsum(one.between_s for one in facts))} between its replies (tools and OpenClaw)",
    ]
    if (queued_s := fsum(one.queued_s for one in facts)) >= 0.05:  # noqa: PLR2004 - less is shown as nothing
        parts.append(f"{duration(queued_s)} in the queue of the wire")
    return ", ".join(parts)


def break_text(found: PrefixBreak) -> str:
    """Say what changed the beginning of a prompt, where, and how much was read again for that."""
    where = f" in {found.where!r}" if found.where else ""
    again = f", {amount(found.again)} tokens read again" if found.again else ""
    return f"{CAUSES[found.cause]}{where}, from character {found.at} on{again}"


def _measured(data: Aggregate) -> list[tuple[TrialEntry, WireFacts]]:
    return [(trial, trial.wire) for trial in data.trials if trial.wire is not UNSET and trial.wire.calls]


def statuses_text(statuses: Iterable[int]) -> str:
    """Name the statuses of failed calls, the most frequent first, in words where there is no error status."""
    return ", ".join(
        f"{number} × {_status(status)}" if number > 1 else _status(status)
        for status, number in Counter(statuses).most_common()
    )


def _status(status: int) -> str:
    if not status:
        return "no reply"
    return "incomplete reply" if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES else str(status)


def _failed(facts: Sequence[WireFacts]) -> Iterator[str]:
    if failed := [status for one in facts for status in one.failed]:
        trials = sum(bool(one.failed) for one in facts)
        yield f"{len(failed)} failed in {many(trials, 'trial')} ({statuses_text(failed)})"
    if retried := [status for one in facts for status in one.wire_retries]:
        yield f"the wire retried {len(retried)} ({statuses_text(retried)})"


def _others(facts: Iterable[WireFacts], asked: str) -> Iterator[str]:
    answered = Counter(name for one in facts for name in one.models)
    others = [(name, number) for name, number in answered.most_common() if _plain_name(name) != _plain_name(asked)]
    if others:
        named = some([f"{plain(name, width=80)} ({many(number, 'trial')})" for name, number in others], MOST_NAMED)
        yield f"models that answered instead of {plain(asked, width=80)}: {named}"


def _plain_name(model: str) -> str:
    """Return a model's name without its provider and its snapshot."""
    return SNAPSHOT.sub("", model.casefold().rpartition("/")[2])


def _usage(measured: Iterable[tuple[TrialEntry, WireFacts]]) -> Iterator[str]:
    differing = [
        (_tokens(trial.usage), _tokens(wire.usage))
        for trial, wire in measured
        if not wire.unreported and _tokens(trial.usage) != _tokens(wire.usage)
    ]
    if differing:
        transcripts, providers = (sum(side) for side in zip(*differing, strict=True))
        yield (
            f"in {many(len(differing), 'trial')} OpenClaw counts {amount(transcripts)} tokens and the provider"
            f" {amount(providers)}"
        )


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens

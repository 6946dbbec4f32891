"""Describe what the wire measured of calls to models, and explain what a model's cost consists of (pure)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from math import fsum
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from pinchbench.model.facts import PrefixBreak, PrefixCause, PromptFacts, WireFacts
from pinchbench.model.usage import Usage
from pinchbench.report.text import amount, duration, many, plain, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pinchbench.results.compare.samples import Sample
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
        tokens
        for trial, wire in measured
        if not wire.unreported and len(set(tokens := (_tokens(trial.usage), _tokens(wire.usage)))) > 1
    ]
    if differing:
        transcripts, providers = (sum(side) for side in zip(*differing, strict=True))
        yield (
            f"in {many(len(differing), 'trial')} OpenClaw counts {amount(transcripts)} tokens and the provider"
            f" {amount(providers)}"
        )


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.output_tokens


WHY = "Why it costs what it costs"
CACHES = (
    "A provider's cache serves a prompt up to where it differs from the one before; what comes after that is read, and"
    " paid, again."
)
FEWER_CACHED = 0.1  # of the prompts: less is no reason for another price
MANY_AGAIN = 0.1  # of the prompts' tokens: less is no reason to be dearer
DEARER = 1.1  # times as much: less needs no reason
PARTS = ("tools", "system prompt", "history", "results of tools")


@dataclass(frozen=True, kw_only=True, slots=True)
class CostReasons:
    """What trials used, and why. Only trials whose prompts were recorded count, of which there must be one.

    `usage` is the provider's, `cost_usd` OpenClaw's, None if it is not known. `parts` are characters, `unasked` the
    tokens that automations used without a request from the user.
    """

    trials: int
    calls: int
    usage: Usage
    cost_usd: float | None
    parts: tuple[int, int, int, int]
    broken: int
    again: int
    causes: Counter[PrefixCause]
    places: Counter[int]
    unasked: int
    failed: tuple[int, ...]
    models: Counter[str]

    @property
    def cached(self) -> float:
        """The part of the prompts that came from the cache, in 0-1."""
        return self.usage.cache_read_tokens / max(1, self.usage.prompt_tokens)

    @property
    def is_breaking(self) -> bool:
        """Whether a tenth of the prompts or more was read again because their beginning had changed."""
        return 0 < self.again >= MANY_AGAIN * self.usage.prompt_tokens

    @property
    def place(self) -> str:
        """At which call of a turn most of the changes were; empty if that differs, or there are none."""
        [(place, times)] = self.places.most_common(1) or [(0, 0)]
        return f" at call {place} of a turn" if 2 * times > self.places.total() else ""

    @property
    def by_part(self) -> dict[str, float]:
        """The tokens of each part of the prompts in a trial, by their characters."""
        whole = sum(self.parts) or 1
        return {
            name: self.usage.prompt_tokens * size / whole / self.trials
            for name, size in zip(PARTS, self.parts, strict=True)
        }


def cost_reasons(trials: Iterable[tuple[Usage, WireFacts | UnsetType | None]]) -> CostReasons | None:
    """Add up what trials of a model used by OpenClaw and by the wire; None if no prompts of them were recorded."""
    known: list[tuple[WireFacts, PromptFacts]] = []
    used: list[Usage] = []
    for usage, wire in trials:
        if wire and wire.prompts and wire.calls:
            known.append((wire, wire.prompts))
            used.append(usage)
    if not known:
        return None
    breaks = [found for _, prompts in known for found in prompts.breaks]
    sizes = [(one.tools, one.system, one.history, one.results) for _, one in known]
    tools, system, history, results = (sum(some) for some in zip(*sizes, strict=True))
    return CostReasons(
        trials=len(known),
        calls=sum(wire.calls for wire, _ in known),
        usage=sum((wire.usage for wire, _ in known), Usage()),
        cost_usd=sum(used, Usage()).known_cost_usd,
        parts=(tools, system, history, results),
        broken=sum(one.broken for _, one in known),
        again=sum(one.again for _, one in known),
        causes=Counter(one.cause for one in breaks),
        places=Counter(one.in_turn for one in breaks),
        unasked=sum(wire.unasked_tokens or 0 for wire, _ in known),
        failed=tuple(status for wire, _ in known for status in (*wire.failed, *wire.wire_retries)),
        models=Counter(name for wire, _ in known for name in wire.models),
    )


def reasons_of(side: Sample) -> CostReasons | None:
    """Return the reasons of one side of a comparison."""
    return cost_reasons((one.usage, one.wire) for task in side.tasks.values() for one in task.valid)


def reason_texts(found: CostReasons) -> dict[str, str]:
    """Return the reasons in words, by subject."""
    parts = ", ".join(
        f"{name} {100 * size / (sum(found.parts) or 1):.0f}%" for name, size in zip(PARTS, found.parts, strict=True)
    )
    prompt = found.usage.prompt_tokens
    share = f" ({100 * found.again / prompt:.0f}% of the prompts)" if prompt else ""
    names = ", ".join(plain(name, width=80) for name, _ in found.models.most_common(MOST_NAMED))
    return {
        "trials": str(found.trials),
        "calls per trial": f"{found.calls / found.trials:.1f}",
        "prompts from the cache": f"{100 * found.cached:.0f}%" if prompt else "–",
        "calls with a changed beginning": breaks_text(found),
        "read again for that": f"{amount(found.again)} tokens{share}",
        "prompts consist of": parts,
        **({"used by automations without a request": _unasked_text(found)} if found.unasked else {}),
        "failed calls": f"{len(found.failed)} ({statuses_text(found.failed)})" if found.failed else "0",
        "answered by": names or "–",
    }


def _unasked_text(found: CostReasons) -> str:
    share = 100 * found.unasked / max(found.unasked, found.usage.total_tokens)
    return f"{amount(found.unasked)} tokens ({share:.0f}% of all)"


def breaking_sentence(found: CostReasons) -> str:
    """Say how much was read again, and why; empty if it was less than a tenth of the prompts."""
    if not found.is_breaking:
        return ""
    return (
        f"Of {amount(found.usage.prompt_tokens)} tokens of prompts, {amount(found.again)} were read again because their"
        f" beginning had changed: {breaks_text(found)}."
    )


def breaks_text(found: CostReasons) -> str:
    """Say in how many calls the prompt's beginning changed, where in a turn, and what changed it."""
    if not found.places:
        return "0"
    where = found.place and f", mostly{found.place}"
    causes = ", ".join(f"{CAUSES[cause]} {number}" for cause, number in found.causes.most_common())
    return f"{found.broken} of {many(found.calls, 'call')}{where} ({causes})"


def why_dearer(sides: Sequence[Sample]) -> str:
    """Say in a sentence why the dearest model costs more than the cheapest; empty if that is unknown."""
    reasons = [(side, reasons_of(side)) for side in sides]
    known = [(side, found) for side, found in reasons if found is not None and found.usage.total_tokens]
    if len(known) < 2:  # noqa: PLR2004 - nothing to compare
        return ""
    is_priced = all(found.cost_usd for _, found in known)
    spent = [((found.cost_usd if is_priced else found.usage.total_tokens) or 0) / found.trials for _, found in known]
    least, most = min(spent), max(spent)
    if not least or most < DEARER * least:
        return ""
    (cheap, of_cheap), (dear, of_dear) = known[spent.index(least)], known[spent.index(most)]
    what = (
        f"{'costs more' if is_priced else 'uses more tokens'} per trial than {cheap.label} ({most / least:.1f} times)"
    )
    return f"{dear.label} {what} because {_because(of_cheap, of_dear, most / least)}."


def _because(cheap: CostReasons, dear: CostReasons, times: float) -> str:
    """Name what differs most, in tokens of a trial or in their price, of which `times` as much are spent."""
    again = dear.again / dear.trials - cheap.again / cheap.trials
    if dear.is_breaking and again > 0:
        cause = CAUSES[dear.causes.most_common(1)[0][0]]
        tokens = amount(round(again))
        return f"its cache breaks{dear.place}: {cause} changed, and {tokens} more tokens per trial are read again"
    more_tokens = dear.usage.total_tokens / dear.trials / (cheap.usage.total_tokens / cheap.trials)
    if times > more_tokens**2:  # which are the lesser factor
        also = f", and it uses {more_tokens:.1f} times as many" if more_tokens >= DEARER else ""
        is_less = dear.cached < cheap.cached - FEWER_CACHED
        cached = f"{100 * dear.cached:.0f}% of its prompts come from the cache instead of {100 * cheap.cached:.0f}%"
        return f"its tokens cost {times / more_tokens:.1f} times as much{f' ({cached})' if is_less else ''}{also}"
    more = {f"its prompts have {{}} more tokens of {name}": n - cheap.by_part[name] for name, n in dear.by_part.items()}
    written, of_cheap = (one.usage.output_tokens / one.trials for one in (dear, cheap))
    text, most = max([*more.items(), ("it writes {} more tokens", written - of_cheap)], key=itemgetter(1))
    calls = f" in {dear.calls / dear.trials:.1f} calls instead of {cheap.calls / cheap.trials:.1f}"
    return f"{text.format(amount(round(most)))} per trial{calls}"

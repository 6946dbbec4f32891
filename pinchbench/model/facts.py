"""What was measured of one attempt: by the wire, of the machine, by the sandbox and of a replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from msgspec import UNSET, UnsetType, structs

from pinchbench.model.usage import Usage

TIMES = ("cpu_stalled_s", "memory_stalled_s", "io_stalled_s", "cpu_wait_s")  # of `LoadFacts`, None if not measured
HIGH_LOAD = 0.2  # of an agent's time: see `LoadFacts.is_high`


class PrefixCause(StrEnum):
    """What changed first in a prompt that continues an earlier one, so that the provider's cache misses the rest."""

    TOOLS = "tools"
    TIME = "time"
    MEMORY = "memory"
    SYSTEM = "system"
    COMPACTION = "compaction"
    HISTORY = "history"


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixBreak:
    """A call whose prompt has another beginning than the one that it continues.

    Attributes:
        call: the number of its exchange, from 1.
        in_turn: which of the turn's calls it is, from 1.
        where: the heading of the part of the system prompt, or the message; empty for the tools.
        at: the first character that differs, from 0: of the tools, the system prompt and the messages, in this order.
        again: tokens that came before and had to be read again; an estimate by characters, at most what was not cached.
    """

    call: int
    in_turn: int
    cause: PrefixCause
    where: str = ""
    at: int = 0
    again: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptFacts:
    """What the prompts of one attempt consist of, in characters over all requests, and where their beginning changed.

    Attributes:
        tools: the descriptions and schemas of tools.
        system: the system prompt.
        history: what user and model said, with the arguments of calls.
        results: what tools returned.
        breaks: the first 20 calls whose beginning changed.
        broken: how many there were.
        again: the sum of their `again`.
    """

    tools: int = 0
    system: int = 0
    history: int = 0
    results: int = 0
    breaks: tuple[PrefixBreak, ...] = ()
    broken: int = 0
    again: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class WireFacts:
    """What the wire measured of one attempt, with the provider's own figures.

    Attributes:
        calls: requests to a model, failed ones included.
        failed: the statuses of the calls without a complete reply; 0 where there was no reply, 200 for a cut one.
        wire_retries: the statuses for which the wire of earlier releases asked again, which OpenClaw did not see.
        usage: as the provider reported it; the cost is 0 where it did not.
        unreported: replies without usage.
        models: the models that answered, as the provider names them.
        first_token_s: the median time to the first token, in seconds; None without a streamed reply.
        output_tokens_per_s: of complete streamed replies; None without one.
        model_s: how long at least one request was at the provider, in seconds.
        queued_s: how long the wire held requests back, summed, in seconds.
        between_s: how long no request was at the provider between two of the same turn: tools, and OpenClaw itself.
        prompts: what the prompts consist of; unset in results of earlier releases.
        unasked_tokens: what automations used in sessions of their own, without a request from the user; unset like
            `prompts`.
        start_s: how long OpenClaw took from its start to its first request, in seconds; unset like `prompts`.
    """

    calls: int = 0
    failed: tuple[int, ...] = ()
    wire_retries: tuple[int, ...] = ()
    usage: Usage = Usage()
    unreported: int = 0
    models: tuple[str, ...] = ()
    first_token_s: float | None = None
    output_tokens_per_s: float | None = None
    model_s: float = 0.0
    queued_s: float = 0.0
    between_s: float = 0.0
    prompts: PromptFacts | UnsetType = UNSET
    unasked_tokens: int | UnsetType = UNSET
    start_s: float | UnsetType = UNSET


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadFacts:
    """How long processes waited for the machine while the agent of one attempt ran, in seconds; None if not measured.

    Attributes:
        measured_s: how long that was.
        cpu_stalled_s: how long any process of the machine waited for a processor, as pressure stall information has it.
        memory_stalled_s: the same for memory.
        io_stalled_s: the same for reading and writing.
        cpu_wait_s: how long threads of the agent's own processes waited for a processor: of each second, the longest
            wait. Those that lived for less than a second may be missing. Earlier releases added all waits up. None with
            `--isolation shared`: its agents are threads of a gateway.
        is_alone: whether it was retried alone, which earlier releases did on request.
    """

    measured_s: float
    cpu_stalled_s: float | None = None
    memory_stalled_s: float | None = None
    io_stalled_s: float | None = None
    cpu_wait_s: float | None = None
    is_alone: bool = False

    def __add__(self, other: LoadFacts) -> LoadFacts:
        """Sum the times of two turns of one attempt."""
        times: dict[str, Any] = {name: _sum(getattr(self, name), getattr(other, name)) for name in TIMES}
        return replace(self, measured_s=round(self.measured_s + other.measured_s, 3), **times)

    @property
    def shares(self) -> dict[str, float]:
        """The share of the time, in 0-1, in which processes waited for `cpu`, `memory` and `io`, as far as measured.

        For a processor it is that of the trial's own processes, or else the machine's, and never more than the latter:
        earlier releases added up threads that wait at the same time.
        """
        cpu_s = min((s for s in (self.cpu_stalled_s, self.cpu_wait_s) if s is not None), default=None)
        waited = {"cpu": cpu_s, "memory": self.memory_stalled_s, "io": self.io_stalled_s}
        return {name: min(1.0, s / self.measured_s) for name, s in waited.items() if s is not None and self.measured_s}

    @property
    def is_high(self) -> bool:
        """Whether processes waited for a resource for a fifth of the time: a limit of 120 s then was one of 96 s."""
        return max(self.shares.values(), default=0.0) >= HIGH_LOAD


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else round(a + b, 3)


class UserEnd(StrEnum):
    """How the part of a simulated user ended: by itself, at its limit of messages, or with the attempt before that."""

    FINISHED = "finished"
    LIMIT = "limit"
    CUT = "cut"


@dataclass(frozen=True, kw_only=True, slots=True)
class UserFacts:
    """What the simulated user of one attempt said and used, which is in no figure of the agent.

    Attributes:
        model: the model that played it; empty where its messages came from a script or a recording alone.
        prompt_version: of the question that the model was asked.
        messages: how many it wrote after the prompt.
        end: how its part ended.
        calls: requests sent to its model, failed ones included.
        usage: as its provider reported it; the cost is in `cost_usd`.
        cost_usd: what they cost, as far as the provider said; None where it said nothing.
        calls_without_cost: those among `calls` of which it did not say.
        latency_s: how long the agent waited for its messages, in seconds.
    """

    model: str = ""
    prompt_version: str = ""
    messages: int = 0
    end: UserEnd = UserEnd.CUT
    calls: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None
    calls_without_cost: int = 0
    latency_s: float = 0.0

    @property
    def paid(self) -> Usage:
        """What counts against budgets."""
        return structs.replace(self.usage, cost_usd=self.usage.cost_usd if self.cost_usd is None else self.cost_usd)


class FindingKind(StrEnum):
    """How OpenClaw's store differs from the wire: it has something else, something more, or lacks something.

    `settings`: the trial has changed a part of OpenClaw's settings.
    """

    CHANGED = "changed"
    ADDED = "added"
    MISSING = "missing"
    SETTINGS = "settings"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A difference between what OpenClaw stored of a trial and what the wire saw. Graders read what the wire saw.

    Either the agent has edited the store, or OpenClaw has repaired what the model sent in a way that is not known here.

    Attributes:
        said: the beginning of what the store has; empty if it lacks that. Of settings, the name of what was changed.
        sent: the beginning of what the wire saw; empty if it saw nothing like that.
        number: the number of the exchange, from 1; None without one.
    """

    kind: FindingKind
    said: str = ""
    sent: str = ""
    number: int | None = None

    def __str__(self) -> str:
        """Describe the difference in one sentence."""
        request = "" if self.number is None else f" (request {self.number})"
        match self.kind:
            case FindingKind.CHANGED:
                return f"OpenClaw's store has {self.said!r}, the wire saw {self.sent!r}{request}"
            case FindingKind.ADDED:
                return f"OpenClaw's store has {self.said!r}, the wire saw nothing like it"
            case FindingKind.MISSING:
                return f"OpenClaw's store lacks {self.sent!r}, which the wire saw{request}"
            case FindingKind.SETTINGS:
                return f"the trial changed {self.said} in OpenClaw's state, which was restored after that turn"


class Integrity(StrEnum):
    """Whether a sandboxed trial's agent attempted what it may not do: nothing, without effect, or with one.

    `tampered` is in results of earlier releases only, which compared OpenClaw's store with the wire.
    """

    CLEAN = "clean"
    PROBED = "probed"
    TAMPERED = "tampered"


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxFacts:
    """What the sandbox of one attempt allowed, and what its agent attempted beyond.

    Attributes:
        network: what it could connect to: `model` or `open`.
        integrity: `probed` if it attempted something that the sandbox prevented.
        attempts: what it attempted, at most 20 sentences; the evidence's `ledger.jsonl` has all.
    """

    network: str = ""
    integrity: Integrity = Integrity.CLEAN
    attempts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayFacts:
    """How the requests of one attempt compare with the recorded ones that it replays.

    Attributes:
        served: requests that got a recorded reply.
        live: requests that a model answered.
        refused: requests that got no reply, because of a divergence.
        divergences: requests that differ from the recorded ones in a way in which no earlier one did.
        unused: recorded replies that were not served.
        first: the first divergence, as a sentence; empty without.
    """

    served: int = 0
    live: int = 0
    refused: int = 0
    divergences: int = 0
    unused: int = 0
    first: str = ""

"""Which isolation a run gets that leaves the choice to us, and why (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from pinchbench.defaults import Isolation
from pinchbench.openclaw.install import release_key

GIB = 1024**3
# From this release on a turn that goes through a gateway costs a fraction of one with a state of its own; 2026.6.5
# saves next to nothing (measured).
GATEWAY_SINCE = (2026, 9)
# A gateway takes about as much CPU time to start as four trials with a state of their own save by it (measured).
WORTH_TRIALS = 5
SANDBOXED_COST = 2  # CPU time of a trial in a sandboxed private home, against one through a gateway (measured)
# Peak memory, measured on 2026.9.6: a gateway and the commands that go through it, against an agent for each slot.
GATEWAY_BYTES = 2 * GIB
COMMAND_BYTES = 300 * 1024**2
PRIVATE_BYTES = int(1.3 * GIB)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The isolation of a run. `why` is a sentence; `warning` one about memory, empty when there is enough."""

    isolation: Isolation
    why: str
    warning: str = ""


def choose_isolation(
    *, release: str, trials: int, slots: int, available_bytes: int, services: bool = False, sandboxed: bool = False
) -> Choice:
    """Choose between private homes and one private gateway for `trials` that are left, on so many slots.

    `services` says whether the user's config brings plugins; a gateway has most of them switched off. `sandboxed` says
    whether private homes are to run in a sandbox, which a gateway does not have.
    """
    worthwhile = release_key(release)[: len(GATEWAY_SINCE)] >= GATEWAY_SINCE and trials >= WORTH_TRIALS
    if sandboxed:
        isolation, why = Isolation.PRIVATE, "a trial with a home of its own can be sandboxed"
        if worthwhile and not services:
            why += (
                f"; it takes about {SANDBOXED_COST} times the CPU time of one through a gateway, which"
                " --isolation gateway --sandbox none gives without protection"
            )
    elif release_key(release)[: len(GATEWAY_SINCE)] < GATEWAY_SINCE:
        isolation, why = Isolation.PRIVATE, f"with OpenClaw {release} a gateway saves next to nothing"
    elif services:
        isolation, why = Isolation.PRIVATE, "your OpenClaw has plugins, most of which a gateway would leave out"
    elif trials < WORTH_TRIALS:
        isolation, why = Isolation.PRIVATE, "for so few trials a gateway is not worth its start"
    else:
        isolation = Isolation.GATEWAY
        why = "a trial through one gateway takes a fraction of the CPU time and memory of one with a home of its own"
    needed = needed_bytes(isolation, slots)
    may_change = not services and not sandboxed
    if may_change and needed > available_bytes and needed > (smaller := needed_bytes(_other(isolation), slots)):
        isolation, needed = _other(isolation), smaller
        why = f"it needs less memory, of which {available_bytes / GIB:.1f} GiB are free"
    warning = ""
    if needed > available_bytes:
        warning = (
            f"{slots} {'slot needs' if slots == 1 else 'slots need'} about {needed / GIB:.1f} GiB of memory,"
            f" {available_bytes / GIB:.1f} GiB are free: a smaller --concurrency may be faster."
        )
    return Choice(isolation=isolation, why=f"Isolation: {isolation}, since {why}.", warning=warning)


def needed_bytes(isolation: Isolation, slots: int) -> int:
    """About how much memory OpenClaw takes on so many slots at its peak."""
    return GATEWAY_BYTES + slots * COMMAND_BYTES if isolation is Isolation.GATEWAY else slots * PRIVATE_BYTES


def _other(isolation: Isolation) -> Isolation:
    return Isolation.PRIVATE if isolation is Isolation.GATEWAY else Isolation.GATEWAY

"""What a machine has for trials, as it says itself: read on each node, and on the machine that asks."""

from __future__ import annotations

import os
import time
from importlib.metadata import version

import anyio
import msgspec
from anyio import to_thread

from pinchbench.cluster.host import DISTRIBUTION, has_token
from pinchbench.errors import OpenClawError
from pinchbench.openclaw.probe import find_openclaw, node_version
from pinchbench.process.memory import available_bytes
from pinchbench.runner.sandboxing import find_support_of_trials
from pinchbench.sandbox.landlock import NETWORK_ABI
from pinchbench.sandbox.levels import Level


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine has.

    Attributes:
        release: of this program.
        openclaw: the release of OpenClaw; empty if there is none.
        openclaw_lacks: why there is none, as a sentence.
        node: the release of the Node.js that runs it.
        sandbox: the strongest level of a trial's sandbox.
        sandbox_refused: why that is not `namespaces`, as a sentence.
        limits_network: whether trials can be limited to the model.
        cpus: how many.
        load: the number of processes that want a CPU, on average of a minute.
        available_bytes: of memory.
        has_token: whether its Ray obeys only those who know its token.
        at: its time, in seconds since the epoch (UTC).
    """

    release: str
    openclaw: str
    openclaw_lacks: str
    node: str
    sandbox: Level
    sandbox_refused: str
    limits_network: bool
    cpus: int
    load: float
    available_bytes: int
    has_token: bool
    at: float


async def read_facts(choice: str | None) -> NodeFacts:
    """Read what this machine has; `choice` is which OpenClaw, as for a run."""
    openclaw = lacks = node = ""
    try:
        found = await find_openclaw(choice)
        openclaw, node = found.version, await node_version(found)
    except OpenClawError as error:
        lacks = str(error)
    support = await to_thread.run_sync(find_support_of_trials)
    return NodeFacts(
        release=version(DISTRIBUTION),
        openclaw=openclaw,
        openclaw_lacks=lacks,
        node=node,
        sandbox=support.best,
        sandbox_refused=support.namespaces_refused,
        limits_network=support.best is Level.NAMESPACES
        or (support.best is Level.LANDLOCK and support.landlock_abi >= NETWORK_ABI),
        cpus=os.cpu_count() or 1,
        load=os.getloadavg()[0],
        available_bytes=await to_thread.run_sync(available_bytes),
        has_token=has_token(),
        at=time.time(),
    )


def read_facts_of_node(choice: str | None) -> bytes:
    """Return what this machine has, encoded, as a task of a cluster does. Blocks."""
    return msgspec.json.encode(anyio.run(read_facts, choice))

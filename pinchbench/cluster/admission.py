"""What a run on a cluster, and a node that takes part in it, must be like."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from anyio import connect_tcp, fail_after

from pinchbench.cluster.host import DISTRIBUTION
from pinchbench.cluster.link import NodeLostError
from pinchbench.cluster.relay_url import endpoint_of, own_endpoint
from pinchbench.defaults import Isolation, Sandbox
from pinchbench.errors import ClusterError, ConfigError, NodeUnavailableError
from pinchbench.runner.sandboxing import available_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.cluster.link import NodeLink
    from pinchbench.cluster.messages import NodeReady
    from pinchbench.config.run import RunConfig
    from pinchbench.runner.prepare import Prepared

MAX_SKEW_S = 5.0  # between the clocks of two machines: times of trials on several are compared
ANSWER_LIMIT_S = 10.0  # for a server on this machine, which may be busy
ALIKE = {"pinchbench_async": "pinchbench-async", "openclaw": "OpenClaw", "node": "Node.js"}  # the same everywhere


async def check_program(name: str, link: NodeLink) -> bool:
    """Raise ClusterError if a node has another release, or a clock that differs by more than `MAX_SKEW_S`.

    Returns whether its Ray obeys only those who know a token.
    """
    asked_at = time.time()
    try:
        release, there, has_token = await link.about()
    except NodeLostError as error:
        raise NodeUnavailableError(f"The node {name} can't take part: {error}.") from error
    if release != (here := version(DISTRIBUTION)):
        raise ClusterError(f"The node {name} has {DISTRIBUTION} {release}, and this machine {here}: install the same.")
    # it was read at some time between the question and the answer
    skew_s = max(asked_at - there, there - time.time())
    if skew_s > MAX_SKEW_S:
        raise ClusterError(
            f"The clock of the node {name} differs by {skew_s:.0f} s from this machine's: set it, with NTP for example."
        )
    return has_token


async def require_endpoint(url: str) -> None:
    """Raise ConfigError if nobody listens at an endpoint of this machine, to which nodes are led."""
    try:
        with fail_after(ANSWER_LIMIT_S):
            async with await connect_tcp(*endpoint_of(url)):
                pass
    except (OSError, ValueError) as error:
        raise ConfigError(f"Nobody listens at {url}, to which --relay would lead the nodes: start it first.") from error


async def settle(config: RunConfig, *, relays: bool = False) -> RunConfig:
    """Return the options of a run as they are on every node. Raises ConfigError for those that make no sense there."""
    if config.isolation is Isolation.SHARED:
        raise ConfigError("--isolation shared uses the OpenClaw of this machine; --cluster needs private or gateway.")
    own_url = own_endpoint(config)
    if own_url is not None and not relays:
        raise ConfigError(
            f"--base-url {own_url} is this machine to itself, and each node to the node: add --relay, which leads the"
            " nodes to it through this command, or let the server listen on an address of the network, and name that."
        )
    if config.isolation is Isolation.AUTO:
        config = replace(config, isolation=Isolation.PRIVATE)
    level, _ = await available_level(config)
    return replace(config, sandbox=Sandbox(level))


def check_alike(name: str, ready: NodeReady, prepared: Prepared, versions: Mapping[str, str]) -> None:
    """Raise ClusterError, naming the node, if it would run something else than this machine asks for (pure)."""
    for key, program in ALIKE.items():
        if (there := ready.versions.get(key)) != (here := versions.get(key)):
            raise ClusterError(f"The node {name} has {program} {there}, and this machine {here}: install the same.")
    tasks = {attempt.key.task_id: attempt.trial.task for attempt in prepared.attempts}
    for task_id, task in tasks.items():
        if ready.digests.get(task_id) != task.digest:
            raise ClusterError(f"The node {name} has another {task_id} than this machine: install the same release.")
        if (lacks := ready.unmet.get(task_id)) is not None:
            raise ClusterError(f"The node {name} can't run {task_id}: {lacks}.")

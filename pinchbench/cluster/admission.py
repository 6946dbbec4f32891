"""What a run on a cluster, and a node that takes part in it, must be like, and when a node is left out."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from pinchbench.cluster.host import DISTRIBUTION
from pinchbench.cluster.messages import NodeLink, NodeLostError, NodeReady
from pinchbench.defaults import Isolation, Network, Sandbox
from pinchbench.errors import ClusterError, ConfigError, NodeUnavailableError
from pinchbench.model.ending import Reason
from pinchbench.runner.setup.sandboxing import available_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinchbench.config.run_config import RunConfig
    from pinchbench.config.served import ServedModel
    from pinchbench.model.outcome import Outcome
    from pinchbench.runner.plan.prepare import Prepared


MAX_SKEW_S = 5.0  # between the clocks of two machines: times of trials on several are compared
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


async def settle(config: RunConfig) -> RunConfig:
    """Return the options of a run as they are on every node. Raises ConfigError for those that make no sense there."""
    if config.isolation is Isolation.SHARED:
        raise ConfigError("--isolation shared uses the OpenClaw of this machine; --cluster needs --isolation private.")
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


def common_served(nodes: Sequence[NodeReady]) -> ServedModel:
    """Return the model as the endpoints of all nodes describe it. Raises ClusterError if they differ (pure)."""
    if any(node.served != nodes[0].served for node in nodes):
        raise ClusterError(
            "The endpoints of the nodes do not say the same of the model, such as another context window: serve it in"
            " the same way everywhere, or describe it under `endpoints` in pinchbench.yaml."
        )
    return nodes[0].served


def common_network(nodes: Iterable[NodeReady]) -> Network:
    """Return what trials can connect to on all nodes. Raises ClusterError if that differs (pure)."""
    networks = {node.network for node in nodes}
    if len(networks) > 1:
        raise ClusterError("Trials can reach the network on some nodes and not on others: set --network.")
    return Network(networks.pop())


MAX_ROW = 3  # trials that end alike for a reason of the machine, until its node is left out
OF_MACHINE = frozenset(
    {
        Reason.AGENT_NOT_STARTED,
        Reason.COMMAND_NOT_FOUND,
        Reason.DISK_FULL,
        Reason.EVIDENCE_LOST,
        Reason.GATEWAY_LOST,
        Reason.GUARDIAN_LOST,
        Reason.WIRE_LOST,
        Reason.WORKSPACE_FAILED,
    }
)


class Row:
    """The last trials of a node that ended alike, for a reason of the machine."""

    def __init__(self) -> None:
        """No trial has ended yet."""
        self._outcomes: list[Outcome] = []

    def take(self, outcome: Outcome) -> None:
        """Take the end of a trial."""
        alike = [before for before in self._outcomes if before.reason is outcome.reason]
        if outcome.reason in OF_MACHINE:
            self._outcomes = [*alike[1 - MAX_ROW :], outcome]
        elif outcome.reason is not Reason.INTERRUPTED:
            self._outcomes = []

    @property
    def why(self) -> str:
        """Why the node should be left out, as a sentence; empty while its trials do not keep failing alike."""
        if len(self._outcomes) < MAX_ROW:
            return ""
        last = self._outcomes[-1]
        return f"{MAX_ROW} trials in a row ended there as {last.reason}: {last.note or 'without a note'}."

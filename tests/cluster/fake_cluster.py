"""A cluster whose nodes come and go as a test says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from cluster.fake_link import READY, FakeLink
from pinchbench.cluster.messages import NodeInfo, NodeReady, Refused
from pinchbench.cluster.pool import SLOT_BYTES
from pinchbench.errors import NodeUnavailableError
from pinchbench.runner.plan.prepare import Prepared

VERSIONS: Mapping[str, str] = {"pinchbench_async": "1", "openclaw": "2", "node": "3", "python": "4"}


def ready(prepared: Prepared, versions: Mapping[str, str] | None = None) -> NodeReady:
    """What a node says that has what this machine has."""
    digests = {task.task_id: task.digest for task in prepared.suite.tasks}
    return replace(READY, versions=dict(versions or VERSIONS), digests=digests)


@dataclass
class FakeCluster:
    """Nodes that come and go as a test says."""

    prepared: Prepared
    live: list[NodeInfo]
    links: dict[str, FakeLink] = field(default_factory=dict)
    refusing: str = ""
    unavailable: frozenset[str] = frozenset()
    is_silent: bool = False
    has_token: bool = True
    versions: Mapping[str, str] = field(default_factory=lambda: VERSIONS)

    async def nodes(self) -> Sequence[NodeInfo]:
        return tuple(self.live)

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> FakeLink:  # noqa: ARG002
        if node.id in self.unavailable:
            raise NodeUnavailableError(f"The node {node.name} has died.")
        agents = ["main"] * (memory_bytes // SLOT_BYTES)
        refusal = Refused(why="No OpenClaw.")
        answer = refusal if node.id == self.refusing else replace(ready(self.prepared, self.versions), agents=agents)
        link = self.links[node.id] = FakeLink(answer=answer, is_silent=self.is_silent, has_token=self.has_token)
        link.ended = node.id == self.refusing
        return link

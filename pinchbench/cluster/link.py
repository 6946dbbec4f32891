"""What the runner needs of the connection to a node, and of the cluster that has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from anyio import fail_after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Mapping, Sequence
    from pathlib import Path

    from anyio import CapacityLimiter

T = TypeVar("T")

LEASE_S = 10.0  # without an answer; a call takes a second at most, and milliseconds beyond


class NodeLostError(Exception):
    """A call to a node was not answered, and will not be."""


class NodeLink(Protocol):
    """The connection to the program of a node; see `NodeHost`. Every call may raise NodeLostError."""

    async def send(self, frames: bytes) -> None:
        """Pass messages on to the program, each in its frame."""

    async def events(self, after: int) -> list[bytes] | None:
        """Return the messages from the program beyond the first `after`; None at its end."""

    async def read(self, path: str, offset: int, size: int) -> bytes:
        """Return a part of a file. Raises OSError too."""

    async def fetch(self, folder: str, names: Collection[str], to: Path, limiter: CapacityLimiter) -> Mapping[str, str]:
        """Copy files of a folder into new ones as fast as the network can, in a thread that `limiter` counts.

        Returns the SHA-256 of each by its name. Those that are left out are not there, and may be read with `read`.
        """

    async def about(self) -> tuple[str, float, bool]:
        """Return the node's release of this program, its time in seconds since the epoch (UTC), and `has_token`."""

    async def close(self) -> None:
        """Let the node go; its program ends, with all that it started. Raises nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeInfo:
    """A node of a cluster: `name` is that of its host, or what the user reads instead if several nodes have that.

    `id` is the cluster's own, and no other node ever has it. `memory_bytes` are for programs.

    `is_draining`: it goes soon. `address` is that of its network; empty if unknown.
    """

    id: str
    name: str
    cpus: float
    memory_bytes: float
    is_draining: bool = False
    address: str = ""


class Cluster(Protocol):
    """A cluster that this process is connected to."""

    async def nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that live, named by their hosts. Raises ClusterError."""

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> NodeLink:
        """Reserve a part of a node and start its program there. Raises NodeUnavailableError."""

    async def has_autoscaler(self) -> bool:
        """Return whether nodes are added if somebody asks for them. Raises ClusterError."""

    async def ask_for(self, asker: object, *, slots: int, slot_bytes: int) -> None:
        """Ask the autoscaler for so many slots, on all nodes together; `asker` asks for nothing else then.

        Of several who ask, the one who asks for most is heard. The request lasts until it is replaced, or this process
        disconnects. Raises ClusterError.
        """


async def within_lease(call: Awaitable[T]) -> T:
    """Await a call to a node for as long as it is given. Raises NodeLostError when there is no answer."""
    try:
        with fail_after(LEASE_S):
            return await call
    except TimeoutError as error:
        raise NodeLostError(f"it did not answer for {LEASE_S:.0f} s") from error

"""Asks the autoscaler of a cluster for the nodes that a run lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import current_time, move_on_after, sleep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pinchbench.cluster.link import Cluster, NodeInfo

LOOK_S = 1.0  # Ray answers in a millisecond
RENEW_S = 30.0  # a request replaces those of other commands, and theirs this one
WAIT_FOR_NODES_S = 900.0  # for a machine that is rented and starts Ray, which takes minutes
WAITS = (
    "No node has room for a slot: waiting for those that Ray's autoscaler is asked for, for"
    f" {WAIT_FOR_NODES_S / 60:.0f} minutes at most."
)


class NodeRequests:
    """What one run asks for: room for so many slots, of so much memory each, on all nodes of its cluster together."""

    def __init__(self, cluster: Cluster, *, slots: int, slot_bytes: int) -> None:
        """Nothing is asked for yet. `cluster` stays the caller's, and withdraws what is asked for at its end."""
        self._cluster = cluster
        self._slots = slots
        self._slot_bytes = slot_bytes
        self._asked_at: float | None = None
        self.are_taken = False  # whether there is an autoscaler; known from `find_out` on

    async def find_out(self) -> None:
        """Find out whether somebody takes requests. Raises ClusterError."""
        self.are_taken = await self._cluster.has_autoscaler()

    async def ask(self, lacking: int) -> None:
        """Ask for nodes while any slots are lacking, and for none from then on. Raises ClusterError."""
        if not self.are_taken:
            return
        if not lacking:
            if self._asked_at is not None:
                self._asked_at = None
                await self._cluster.ask_for(self, slots=0, slot_bytes=self._slot_bytes)
        elif self._asked_at is None or current_time() - self._asked_at >= RENEW_S:
            self._asked_at = current_time()
            await self._cluster.ask_for(self, slots=self._slots, slot_bytes=self._slot_bytes)

    async def give_up(self) -> None:
        """Ask for nothing more: what is added can't be used. Raises ClusterError."""
        try:
            await self.ask(0)
        finally:
            self.are_taken = False

    async def first_nodes(
        self,
        look: Callable[[], Awaitable[Sequence[NodeInfo]]],
        *,
        is_enough: Callable[[Sequence[NodeInfo]], bool],
        waits: Callable[[], None],
    ) -> Sequence[NodeInfo]:
        """Return the nodes, as soon as there are enough, or at once if nobody adds any.

        `waits` is called before the first nodes are asked for. After `WAIT_FOR_NODES_S`, what is there is returned.
        Raises ClusterError.
        """
        nodes = await look()
        if self.are_taken and not is_enough(nodes):
            waits()
            with move_on_after(WAIT_FOR_NODES_S):
                while not is_enough(nodes):
                    await self.ask(self._slots)
                    await sleep(LOOK_S)
                    nodes = await look()
        return nodes

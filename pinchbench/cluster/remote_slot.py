"""A slot on a node of a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pinchbench.cluster.link import NodeLostError
from pinchbench.cluster.node_client import LOST, NodeClient
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinchbench.cluster.places import Places
    from pinchbench.model.trial import Attempt
    from pinchbench.results.node_times import Hardware
    from pinchbench.results.paths import RunFiles
    from pinchbench.runner.slot import TrialCallbacks


class _UsedSoFar:
    """What an attempt is known to have used, as its transcript and the wire were reported while it ran.

    Of an attempt whose node is lost nothing else is known, and its tokens were paid for all the same.
    """

    def __init__(self, callbacks: TrialCallbacks) -> None:
        self.usage = Usage()
        self._told = callbacks
        self.callbacks = replace(callbacks, activity=self._activity, used=self._used)

    def _activity(self, text: str, usage: Usage) -> None:
        self.usage = self.usage.at_least(usage)
        self._told.activity(text, usage)

    def _used(self, usage: Usage) -> None:
        self.usage = self.usage.at_least(usage)
        self._told.used(usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteSlot:
    """A slot on a node: `number` is its number in the run, `on_node` that on the node."""

    number: int
    on_node: int
    agent_id: str
    node: NodeClient
    files: RunFiles
    places: Places

    @property
    def machine(self) -> str:
        """The name of its node."""
        return self.node.info.name

    @property
    def machine_id(self) -> str:
        """Ray's id of its node."""
        return self.node.info.id

    @property
    def hardware(self) -> Hardware | None:
        """That of its node, if this is the first of its slots."""
        ready = self.node.ready
        return ready.hardware if ready is not None and self.on_node == 1 else None

    @property
    def is_closed(self) -> bool:
        """Whether its node is lost, or gets no further trials."""
        return bool(self.node.lost or self.node.retired)

    @property
    def is_taken(self) -> bool:
        """Whether trials of other runs have all places on its node."""
        return self.places.are_taken

    async def run(self, attempt: Attempt, callbacks: TrialCallbacks, done: Callable[[Outcome], None]) -> None:
        """Make one attempt at a trial, as `Slot.run` says."""
        name = self.node.info.name
        outcome = Outcome(
            key=attempt.key,
            reason=Reason.INTERRUPTED,
            digest=attempt.trial.task.digest,
            attempt=attempt.number,
            started_at=time.time(),
            timeout_s=attempt.trial.timeout_s,
            agent_id=self.agent_id,
            evidence=str(self.files.trial(attempt.key, attempt.number).relative_to(self.files.folder)),
            note="cancelled",
        )
        so_far = _UsedSoFar(callbacks)
        self.places.used += 1
        try:
            outcome = await self.node.make(self.on_node, attempt, so_far.callbacks, self.files)
        except NodeLostError as error:
            note = LOST.format(name=name, why=error).removesuffix(".")
            outcome = replace(outcome, reason=Reason.NODE_LOST, note=note, usage=so_far.usage)
        finally:
            self.places.used -= 1
            ended_at = outcome.ended_at or time.time()
            done(replace(outcome, slot=self.number, node=name, ended_at=ended_at))

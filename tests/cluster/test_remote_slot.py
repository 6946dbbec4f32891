"""A slot on a node, whose trials are the run's also when the node is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from anyio import create_task_group

from cluster.fake_link import FakeLink
from cluster.joined_node import joined, made
from fakes import until
from pinchbench.cluster.messages import Activity, StartTrial, Used
from pinchbench.cluster.places import Places
from pinchbench.cluster.remote_slot import RemoteSlot
from pinchbench.model.ending import Reason
from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from pinchbench.model.outcome import Outcome
    from pinchbench.runner.run_context import RunContext

pytestmark = pytest.mark.anyio


async def test_the_trials_of_a_lost_node_say_so_and_keep_what_they_are_known_to_have_used(run: RunContext) -> None:
    link = FakeLink(is_silent=True)
    outcomes: list[Outcome] = []
    heard: list[str] = []

    async def make() -> None:
        outcomes.append(await made(client, run, heard=heard))

    async with joined(link, run) as client:
        async with create_task_group() as group:
            group.start_soon(make)
            while not any(isinstance(message, StartTrial) for message in link.sent):
                await anyio.lowlevel.checkpoint()
            link.put(Used(slot=2, usage=Usage(requests=3, total_tokens=40)))
            link.put(Activity(slot=2, text="works", usage=Usage(requests=2, total_tokens=50)))
            await until(lambda: heard == ["works"])
            link.lost = True
            link.changed.set()
        slot = RemoteSlot(number=1, on_node=1, agent_id="main", node=client, files=run.files, places=Places(most=2))
        assert slot.is_closed
        assert slot.machine == "host1"
        assert (await made(client, run)).reason is Reason.NODE_LOST
    assert outcomes[0].reason is Reason.NODE_LOST
    assert outcomes[0].note == "the node host1 was lost: the link is down"
    assert outcomes[0].usage == Usage(requests=3, total_tokens=50)

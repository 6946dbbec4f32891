"""What a run asks of the autoscaler of its cluster, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from anyio import fail_after

from cluster.fake_cluster import FakeCluster
from fakes import fake_openclaw, run_config
from pinchbench.cluster import autoscaler
from pinchbench.cluster.autoscaler import NodeRequests
from pinchbench.cluster.link import NodeInfo
from pinchbench.runner.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.anyio

SLOTS = 4
NODE = NodeInfo(id="1", name="host1", cpus=4, memory_bytes=8)


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    """A cluster without nodes, whose autoscaler adds one."""
    prepared = prepare(run_config(tmp_path, fake_openclaw(tmp_path), {"task_a": "Do it."}))
    return FakeCluster(prepared, [], grown=[NODE])


async def requests_of(cluster: FakeCluster) -> NodeRequests:
    found = NodeRequests(cluster, slots=SLOTS, slot_bytes=1)
    await found.find_out()
    return found


async def first_nodes(cluster: FakeCluster) -> tuple[Sequence[NodeInfo], int]:
    """The nodes to begin with, and how often somebody was told that they are waited for."""
    told: list[None] = []
    requests = await requests_of(cluster)
    with fail_after(60):
        nodes = await requests.first_nodes(cluster.nodes, is_enough=bool, waits=lambda: told.append(None))
    return nodes, len(told)


async def test_room_for_all_slots_is_asked_for_as_long_as_any_is_lacking(cluster: FakeCluster) -> None:
    requests = await requests_of(cluster)
    for lacking in (3, 1, 0, 0, 2):
        await requests.ask(lacking)
    assert cluster.asked == [SLOTS, 0, SLOTS], "of all nodes together, and not more often than needed"


async def test_a_request_that_another_command_may_have_replaced_is_renewed(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autoscaler, "RENEW_S", 0.0)
    requests = await requests_of(cluster)
    await requests.ask(1)
    await requests.ask(1)
    assert cluster.asked == [SLOTS, SLOTS]


async def test_nothing_is_asked_for_that_nobody_lacks(cluster: FakeCluster) -> None:
    await (await requests_of(cluster)).ask(0)
    assert cluster.asked == []


async def test_nobody_is_asked_where_there_is_no_autoscaler(cluster: FakeCluster) -> None:
    cluster.grown = None
    requests = await requests_of(cluster)
    await requests.ask(2)
    assert await first_nodes(cluster) == ((), 0)
    assert cluster.asked == []


async def test_one_who_has_given_up_asks_no_more(cluster: FakeCluster) -> None:
    requests = await requests_of(cluster)
    await requests.ask(2)
    await requests.give_up()
    await requests.ask(2)
    assert cluster.asked == [SLOTS, 0]


async def test_a_cluster_without_any_node_gets_its_first_one(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autoscaler, "LOOK_S", 0.0)
    assert await first_nodes(cluster) == ((NODE,), 1)


async def test_a_node_that_is_there_is_not_waited_for(cluster: FakeCluster) -> None:
    cluster.live.append(NODE)
    assert await first_nodes(cluster) == ((NODE,), 0)
    assert cluster.asked == []


async def test_the_first_node_is_not_waited_for_without_end(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autoscaler, "WAIT_FOR_NODES_S", 0.0)
    assert cluster.grown is not None
    cluster.grown.clear()
    assert await first_nodes(cluster) == ((), 1)

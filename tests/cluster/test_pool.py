"""How slots are shared out among nodes, and what is refused."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from anyio import Event, create_task_group, fail_after, lowlevel
from hypothesis import given
from hypothesis import strategies as st

from cluster.fake_cluster import VERSIONS, FakeCluster
from cluster.fake_link import HARDWARE
from cluster.joined_node import make_attempt
from fakes import Heard, make_suite, until
from pinchbench.cluster import pool as pool_module
from pinchbench.cluster.messages import End, NodeInfo, StartTrial
from pinchbench.cluster.pool import (
    HOW_TO_CLOSE,
    MAX_LOSSES,
    OPEN_TO_ALL,
    SLOT_BYTES,
    ClusterPool,
    RemoteSlot,
    share_out,
)
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Network, Sandbox
from pinchbench.errors import NodeUnavailableError
from pinchbench.events import TrialBegan
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.openclaw.find import find_openclaw
from pinchbench.results.finished_run import read_run
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.paths import RunFiles
from pinchbench.results.records import NodeUsed, TrialStarted, decode
from pinchbench.results.run_state import RunState
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.run_context import RunContext, make_context
from pinchbench.runner.setup.set_up import versions


def node(number: int, *, cpus: float = 4, slots: float = 100) -> NodeInfo:
    return NodeInfo(id=str(number), name=f"host{number}", cpus=cpus, memory_bytes=slots * SLOT_BYTES)


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(0, 30)), min_size=1, max_size=6), st.integers(1, 100))
def test_every_slot_has_a_node_with_memory_for_it(sizes: list[tuple[int, int]], slots: int) -> None:
    nodes = [node(number, cpus=cpus, slots=room) for number, (cpus, room) in enumerate(sizes)]
    room = {one.id: min(64, one.memory_bytes // SLOT_BYTES) for one in nodes}
    shares = share_out(slots, nodes)
    assert sum(count for _, count in shares) == min(slots, sum(room.values()))
    assert all(0 < count <= room[one.id] for one, count in shares)


async def test_a_cluster_that_is_open_to_everybody_is_named_once(config: RunConfig) -> None:
    async with watched(config, node(1), node(2), has_token=False) as seen:
        pass
    assert [one for one in seen.heard.notices if "Ray runs without a token" in one] == [
        f"{OPEN_TO_ALL}. {HOW_TO_CLOSE}"
    ]


@dataclass
class Watched:
    """A pool that looks after its nodes; `slots` are those of the start, and `added` came later."""

    cluster: FakeCluster
    run: RunContext
    heard: Heard
    slots: list[RemoteSlot]
    added: list[RemoteSlot]
    is_over: Event

    async def make(self, slot: RemoteSlot) -> Outcome:
        """Make an attempt in a slot."""
        return await make_attempt(slot, self.run.prepared.attempts[0])


@asynccontextmanager
async def watched(
    config: RunConfig,
    *nodes: NodeInfo,
    unavailable: frozenset[str] = frozenset(),
    state: RunState | None = None,
    has_token: bool = True,
) -> AsyncGenerator[Watched]:
    """A pool of four slots on nodes."""
    prepared = replace(prepare(replace(config, concurrency=4, runs=2)), state=state)

    heard = Heard()
    run = make_context(prepared, None, heard)
    cluster = FakeCluster(run.prepared, list(nodes), unavailable=unavailable, has_token=has_token)
    pool = ClusterPool(cluster)
    async with create_task_group() as group:
        group.start_soon(run.observer.attend)
        with closing(run.observer), closing(run.interrupt):
            async with create_task_group() as attending, AsyncExitStack() as stack:
                _, slots = await pool.open(run, versions=VERSIONS, group=attending, stack=stack)
                seen = Watched(cluster=cluster, run=run, heard=heard, slots=list(slots), added=[], is_over=Event())

                async def watch() -> None:
                    await pool.watch(seen.added.append)
                    seen.is_over.set()

                async with create_task_group() as watching:
                    watching.start_soon(watch)
                    yield seen
                    watching.cancel_scope.cancel()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that looks all the time."""
    monkeypatch.setattr(pool_module, "LOOK_S", 0.0)
    monkeypatch.setattr(pool_module, "REJOIN_S", 0.0)


@pytest.mark.usefixtures("quick")
async def test_nodes_that_join_get_the_slots_that_are_lacking(config: RunConfig) -> None:
    async with watched(config, node(1, slots=2)) as seen:
        assert len(seen.slots) == 2
        seen.cluster.live += [node(2, slots=1), node(3, slots=8)]
        await until(lambda: len(seen.added) == 2)
        numbers = [slot.number for slot in (*seen.slots, *seen.added)]
        assert sorted(numbers) == [1, 2, 3, 4]
        # the worker of one slot of each node records it
        recorded = [slot.machine for slot in (*seen.slots, *seen.added) if slot.hardware is not None]
        assert sorted(recorded) == sorted({slot.machine for slot in (*seen.slots, *seen.added)})
        assert (await seen.make(seen.added[0])).reason is Reason.COMPLETED


@pytest.mark.usefixtures("quick")
async def test_a_lost_node_that_is_back_is_used_again_but_not_for_ever(config: RunConfig) -> None:
    async with watched(config, node(1, slots=2), node(2, slots=2)) as seen:
        slots = {slot.node.info.id: slot for slot in seen.slots}
        kept = {slot.number for slot in seen.slots if slot.node.info.id == "2"}
        for losses in range(1, MAX_LOSSES + 1):
            link = seen.cluster.links["1"]
            link.lose()
            await until(lambda: slots["1"].is_closed)
            if losses < MAX_LOSSES:
                await until(lambda: len(seen.added) == 2)
                slots["1"] = seen.added[0]
                assert {slot.number for slot in seen.added} == {1, 2, 3, 4} - kept
                seen.added.clear()
        seen.cluster.live.append(node(3, slots=2))
        await until(lambda: seen.added)
        assert {slot.node.info.id for slot in seen.added} == {"3"}


async def test_a_run_is_refused_when_no_node_can_be_used(config: RunConfig) -> None:
    with pytest.RaisesGroup(NodeUnavailableError, flatten_subgroups=True):
        async with watched(config, node(1), node(2), unavailable=frozenset({"1", "2"})):
            pass


@pytest.mark.usefixtures("quick")
async def test_a_node_that_is_drained_gets_no_new_trials(config: RunConfig) -> None:
    async with watched(config, node(1, slots=2), node(2, slots=2)) as seen:
        going = next(slot for slot in seen.slots if slot.node.info.id == "1")
        link = seen.cluster.links["1"]
        link.is_silent = True
        async with create_task_group() as group:
            outcomes: list[Outcome] = []

            async def make() -> None:
                outcomes.append(await seen.make(going))

            group.start_soon(make)
            await until(lambda: isinstance(link.sent[-1], StartTrial))
            seen.cluster.live[0] = replace(seen.cluster.live[0], is_draining=True)
            await until(lambda: going.is_closed)
            assert not any(isinstance(message, End) for message in link.sent), "its trial runs"
            link.end()
        assert outcomes[0].reason is Reason.COMPLETED
        await until(lambda: link.closed)
        assert not seen.added


@pytest.mark.usefixtures("quick")
async def test_a_node_whose_trials_keep_failing_alike_is_left_out_unless_it_is_the_last(config: RunConfig) -> None:
    async with watched(config, node(1, slots=2), node(2, slots=2)) as seen:
        for name in ("1", "2"):
            slot = next(one for one in seen.slots if one.node.info.id == name)
            seen.cluster.links[name].reason = Reason.COMMAND_NOT_FOUND
            for _ in range(3):
                assert not slot.is_closed
                await seen.make(slot)
            if name == "1":
                await until(partial(getattr, slot.node, "retired"))
                assert slot.node.retired.startswith("3 trials in a row ended there as command_not_found: ")
        for _ in range(100):
            await lowlevel.checkpoint()
        assert not slot.is_closed, "the run's own circuit breaker decides for the last one"


@pytest.mark.usefixtures("quick")
async def test_a_pool_without_nodes_is_over_after_a_while(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "WAIT_FOR_NODES_S", 0.01)
    async with watched(config, node(1, slots=4)) as seen:
        seen.cluster.live.clear()
        seen.cluster.links["1"].lose()
        with fail_after(60):
            await seen.is_over.wait()


def on_one_host(number: int) -> NodeInfo:
    return replace(node(number, slots=1), id=f"{number}" * 8, name="host")


@pytest.mark.usefixtures("quick")
async def test_a_node_that_joins_gets_no_name_that_one_of_its_host_had(config: RunConfig) -> None:
    async with watched(config, on_one_host(1)) as seen:
        seen.cluster.live[:] = [on_one_host(2)]
        await until(lambda: seen.added)
        seen.cluster.live += [on_one_host(3), node(4, slots=1)]
        await until(lambda: len(seen.added) == 3)
        names = {slot.machine_id: slot.machine for slot in (*seen.slots, *seen.added)}
    assert names == {"11111111": "host", "22222222": "host-222222", "33333333": "host-333333", "4": "host4"}


async def test_a_resumed_run_knows_its_nodes_again_by_their_ids(config: RunConfig) -> None:
    before = [NodeUsed(at=1.0, name="host", hardware=HARDWARE, id="22222222")]
    async with watched(config, on_one_host(1), on_one_host(2), state=RunState.of(before)) as seen:
        names = {slot.machine_id: slot.machine for slot in seen.slots}
    assert names == {"11111111": "host-111111", "22222222": "host"}


async def test_two_nodes_of_one_host_are_two_in_the_journal_the_events_and_the_result(
    config: RunConfig, tmp_path: Path
) -> None:
    config = replace(config, concurrency=2)
    openclaw = await find_openclaw(config.openclaw)
    releases = await versions(openclaw)
    cluster = FakeCluster(prepare(config), [on_one_host(1), on_one_host(2)], versions=releases, is_silent=True)
    heard = Heard()

    async def end_both() -> None:
        """End the trials when one runs on each node."""
        links = cluster.links
        await until(lambda: [type(one) for link in links.values() for one in link.sent[-1:]] == [StartTrial] * 2)
        for link in links.values():
            link.end()

    async with create_task_group() as group:
        group.start_soon(end_both)
        result = await run_benchmark(config, observer=heard, pool=ClusterPool(cluster))

    names = {"host-111111": "11111111", "host-222222": "22222222"}
    assert sorted(one.node for one in heard.events if isinstance(one, TrialBegan)) == sorted(names)
    [journal] = (tmp_path / "results").glob("*/journal.jsonl")
    records = [decode(line) for line in journal.read_bytes().splitlines()]
    used = {record.name: record for record in records if isinstance(record, NodeUsed)}
    assert {name: record.id for name, record in used.items()} == names
    assert sum(isinstance(record, NodeUsed) for record in records) == 2, "each once"
    assert sorted(record.node or "" for record in records if isinstance(record, TrialStarted)) == sorted(names)
    nodes = result.data.nodes
    assert nodes
    assert {name: (one.trials, one.hardware) for name, one in nodes.items()} == dict.fromkeys(names, (1, HARDWARE))
    assert read_journal(journal).state.node_ids == names


async def test_trials_of_an_earlier_run_are_reused_although_the_nodes_choose_the_sandbox(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_suite(tmp_path, dict.fromkeys(("task_a", "task_b"), "Do it."), check="return {'done': 1}")

    async def settle(config: RunConfig) -> RunConfig:
        return replace(config, sandbox=Sandbox.NONE)

    monkeypatch.setattr(pool_module, "settle", settle)
    first = await run_benchmark(config)
    settled = read_run(RunFiles(output_dir=first.folder.parent, name=first.folder.name)).facts.config["network"]
    monkeypatch.setattr(pool_module, "common_network", lambda _nodes: Network(str(settled)))
    openclaw = await find_openclaw(config.openclaw)
    again = replace(config, reuse=first.run_id, sandbox=Sandbox.AUTO)
    cluster = FakeCluster(prepare(again), [on_one_host(1)], versions=await versions(openclaw), is_silent=True)
    heard = Heard()

    with fail_after(60):
        result = await run_benchmark(again, observer=heard, pool=ClusterPool(cluster))

    assert result.data.reused == {first.folder.name: 2}, heard.events
    assert not any(isinstance(one, StartTrial) for link in cluster.links.values() for one in link.sent)

"""A slot on a node, whose trials are the run's also when the node is lost."""

from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio import create_task_group, fail_after, lowlevel

from cluster.fake_cluster import VERSIONS, FakeCluster
from cluster.fake_link import FakeLink
from cluster.joined_node import joined, made, make_attempt
from cluster.test_pool import node
from fakes import SeenEvents, fake_openclaw, run_config, until
from pinchbench.cluster.messages import Ended, NodeInfo, Seen, StartTrial, encode
from pinchbench.cluster.pool import SLOT_BYTES, ClusterPool, Places, RemoteSlot, SharedNodes
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.usage import Usage
from pinchbench.runner.assembly import _dispatcher
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_context import RunContext, make_context
from pinchbench.runner.run_control import RunControl
from pinchbench.runner.sharing import Rotation, Share, SharedSlots
from pinchbench.runner.signals import Interrupt


async def test_the_trials_of_a_lost_node_say_so_and_keep_what_they_are_known_to_have_used(run: RunContext) -> None:
    link = FakeLink(is_silent=True)
    outcomes: list[Outcome] = []
    seen = SeenEvents()

    async def make() -> None:
        outcomes.append(await made(client, run, events=seen))

    async with joined(link, run) as client:
        async with create_task_group() as group:
            group.start_soon(make)
            await until(lambda: any(isinstance(message, StartTrial) for message in link.sent))
            link.put(Seen(slot=2, method="used", usage=Usage(requests=3, total_tokens=40)))
            link.put(Seen(slot=2, method="activity", text="works", usage=Usage(requests=2, total_tokens=50)))
            await until(lambda: [text for text, _ in seen.activities] == ["works"])
            link.lose()
        slot = RemoteSlot(number=1, on_node=1, agent_id="main", node=client, places=Places(most=2))
        assert slot.is_closed
        assert (await made(client, run)).reason is Reason.NODE_LOST
    assert outcomes[0].reason is Reason.NODE_LOST
    assert outcomes[0].note == "the node host1 was lost: the link is down"
    assert outcomes[0].usage == Usage(requests=3, total_tokens=50)


NODES = [node(1, slots=1), node(2, slots=2)]
RUNS = ("a", "b", "c")
SLOTS = 3


def test_the_run_with_the_most_slots_on_a_node_says_how_many_places_it_has() -> None:
    shared = SharedNodes(2)
    places = shared.places("1", 1)
    assert shared.places("1", 3) is places
    assert shared.places("1", 2).most == 3
    assert shared.places("2", 1).most == 1


@dataclass
class Silent(FakeCluster):
    """Nodes whose trials end when the test says so; `parts` is what was reserved on each."""

    parts: dict[str, tuple[float, int]] = field(default_factory=dict)

    async def start(self, node: NodeInfo, *, cpus: float, memory_bytes: int) -> FakeLink:
        self.parts[node.id] = cpus, memory_bytes
        link = await super().start(
            node, cpus=cpus, memory_bytes=memory_bytes * len(RUNS) + len(RUNS)
        )  # what rounding has taken
        link.is_silent = True
        return link

    def running(self) -> list[tuple[str, FakeLink, StartTrial]]:
        """The trials that have begun and not ended, with their nodes."""
        return [
            (node_id, link, one)
            for node_id, link in self.links.items()
            for one in link.sent
            if isinstance(one, StartTrial)
            and encode(Ended(slot=one.slot, outcome=link.outcome(one))) not in link.events_put
        ]


def running_on(clusters: list[Silent]) -> list[tuple[str, FakeLink, StartTrial]]:
    """The trials that run on the nodes, those of all runs."""
    return [trial for one in clusters for trial in one.running()]


async def work(control: RunControl, slot: RemoteSlot, ended: list[Outcome]) -> None:
    """Make attempts in a slot until there are none left."""
    while (attempt := await control.take(slot)) is not None:
        outcome = await make_attempt(slot, attempt)
        control.ended(attempt, outcome)
        ended.append(outcome)


async def test_runs_share_the_places_of_each_node(tmp_path: Path) -> None:
    config = replace(
        run_config(tmp_path, fake_openclaw(tmp_path), {f"task_{letter}": "Do it." for letter in "abcd"}),
        concurrency=SLOTS,
    )
    slots, shared = SharedSlots(Rotation(RUNS, slots=SLOTS, seed=1)), SharedNodes(len(RUNS))
    clusters: list[Silent] = []
    ended: list[Outcome] = []
    async with create_task_group() as group, AsyncExitStack() as stack:
        for name in RUNS:
            share = Share(run=name, run_id=name, slots=slots, interrupt=Interrupt(), arrange=tuple)
            run = make_context(prepare(config), None, None, share)
            group.start_soon(run.observer.attend)
            stack.enter_context(closing(run.observer))
            stack.enter_context(closing(run.interrupt))
            cluster = Silent(run.prepared, list(NODES))
            clusters.append(cluster)
            pool = ClusterPool(cluster, shared)
            attending = await stack.enter_async_context(create_task_group())
            own = await stack.enter_async_context(AsyncExitStack())
            _, own_slots = await pool.open(run, versions=VERSIONS, group=attending, stack=own)
            assert cluster.parts == {"1": (1 / 3, SLOT_BYTES // 3), "2": (1 / 3, 2 * SLOT_BYTES // 3)}
            control = RunControl(
                _dispatcher(run.prepared, share, "r1"),
                record=lambda _: None,
                interrupt=share.interrupt,
                tell=lambda _: None,
                share=share,
            )
            for slot in own_slots:
                group.start_soon(work, control, slot, ended)
        with fail_after(60):
            while len(ended) < 4 * len(RUNS):
                while len(running := running_on(clusters)) < min(SLOTS, 4 * len(RUNS) - len(ended)):
                    await lowlevel.checkpoint()
                for _ in range(50):  # for one that must not start
                    await lowlevel.checkpoint()
                running = running_on(clusters)
                assert [name for name, *_ in running].count("1") <= 1
                assert [name for name, *_ in running].count("2") <= 2
                _, link, start = running[0]
                before = len(ended)
                link.end(start)
                while len(ended) == before:
                    await lowlevel.checkpoint()
    assert {outcome.reason for outcome in ended} == {Reason.COMPLETED}

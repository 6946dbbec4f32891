"""The nodes of a cluster as the slots of a run: who gets how many, who joins and leaves, and each slot."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import CapacityLimiter, Event, create_task_group, current_time, move_on_after, to_thread

from pinchbench.cluster.admission import check_alike, check_program, common_network, common_served, settle
from pinchbench.cluster.inputs import needs_inputs, pack_inputs, suites_of
from pinchbench.cluster.messages import Begin, Cluster, NodeInfo, NodeLink, NodeLostError, name_nodes
from pinchbench.cluster.node_client import LOST, NodeClient
from pinchbench.defaults import MAX_MACHINE_SLOTS, SuiteFormat
from pinchbench.errors import ClusterError, ConfigError, NodeUnavailableError
from pinchbench.model.ending import Reason
from pinchbench.process.capacity import GIB
from pinchbench.runner.setup.set_up import plain_config
from pinchbench.runner.trial.attempt import outcome_of
from pinchbench.runner.trial.slot import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AsyncExitStack

    from anyio.abc import TaskGroup

    from pinchbench.config.run_config import RunConfig
    from pinchbench.llm.openai_api import Endpoint
    from pinchbench.model.outcome import Outcome
    from pinchbench.model.trial import Attempt, TrialEvents
    from pinchbench.runner.run_context import RunContext


@dataclass(kw_only=True, slots=True)
class Places:
    """How many trials may run on a node at once, those of all runs together, and how many do."""

    most: int = 0
    used: int = 0


class SharedNodes:
    """The places on all nodes, for so many runs that use them at the same time.

    Each run has slots of its own on each node; as many trials run there as the run with the most slots has.
    """

    def __init__(self, runs: int = 1) -> None:
        """`runs` is how many there are, from 1: each reserves its part of what a node needs."""
        self.runs = runs
        self._places: dict[str, Places] = {}

    def places(self, node_id: str, slots: int) -> Places:
        """Return the places on a node, on which a run has so many slots."""
        places = self._places.setdefault(node_id, Places())
        places.most = max(places.most, slots)
        return places


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteSlot(Slot):
    """A slot on a node: `number` is its number in the run, `on_node` that on the node."""

    on_node: int
    node: NodeClient
    places: Places

    @property
    def is_closed(self) -> bool:
        """Whether its node is lost, or gets no further trials."""
        return bool(self.node.lost or self.node.retired)

    @property
    def is_taken(self) -> bool:
        """Whether trials of other runs have all places on its node."""
        return self.places.used >= self.places.most

    async def run(self, attempt: Attempt, events: TrialEvents, done: Callable[[Outcome], None], *, stop: Event) -> None:
        """Make one attempt at a trial, as `Slot.run` says."""
        name, files = self.node.info.name, self.node.files
        evidence = files.trial(attempt.key, attempt.number).relative_to(files.folder)
        facts = {"agent_id": self.agent_id, "evidence": str(evidence), "note": "cancelled"}
        outcome = outcome_of(attempt, Reason.INTERRUPTED, **facts)
        self.places.used += 1
        try:
            outcome = await self.node.make(self.on_node, attempt, events, stop=stop)
        except NodeLostError as error:
            note = LOST.format(name=name, why=error).removesuffix(".")
            outcome = replace(outcome, reason=Reason.NODE_LOST, note=note, usage=error.used)
        finally:
            self.places.used -= 1
            ended_at = outcome.ended_at or time.time()
            done(replace(outcome, slot=self.number, node=name, ended_at=ended_at))


SLOT_BYTES = GIB  # of memory that a slot is counted with, as `--concurrency` says
REJOIN_S = 20.0  # until a lost node that is there is used again: Ray takes 14 s to notice that one is dead
MAX_LOSSES = 3  # of one node, which is left out then
LOOK_S = 1.0  # between two looks at which nodes there are: Ray answers in a millisecond
CLOSE_LIMIT_S = 10.0  # for links to nodes: an actor is killed in milliseconds, if its cluster answers
WAIT_FOR_NODES_S = 60.0  # for another node when every one is lost: a new machine takes about that long
PIECES = 4  # of 16 MB each at most, in memory at once: more are not faster on two cores
OPEN_TO_ALL = "Ray runs without a token: anyone who reaches its machines can run any code on them"
HOW_TO_CLOSE = "Make one with `ray get-auth-token --generate`, copy it to each machine, and start Ray there again."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What the nodes of a run get. Their connections live in `group`, and are closed with `stack`."""

    run: RunContext
    config: RunConfig
    inputs: Path | None
    versions: Mapping[str, str]
    group: TaskGroup
    stack: AsyncExitStack
    user_model: Endpoint | None


class ClusterPool:
    """The nodes of a cluster, for one run."""

    def __init__(self, cluster: Cluster, shared: SharedNodes | None = None) -> None:
        """`cluster` is connected, and stays the caller's; `shared` are its nodes, if other runs use them too."""
        self._cluster = cluster
        self._shared = shared or SharedNodes()
        self._copying = CapacityLimiter(PIECES)
        self._told: set[str] = set()
        self._names: dict[str, str] = {}  # the ids of nodes, by name
        self._plan: _Plan  # from `open` on
        self._clients: dict[str, NodeClient] = {}  # those that live, by the id of their node
        self._slots: dict[str, Sequence[RemoteSlot]] = {}  # theirs
        self._setting_up: dict[str, int] = {}  # how many slots, by the id of the node
        self._programs = count(1)
        self._losses = Counter[str]()  # how often a node was lost, by its id
        self._not_before: dict[str, float] = {}  # when a node may be used again, by its id

    async def open(
        self,
        run: RunContext,
        *,
        versions: Mapping[str, str],
        group: TaskGroup,
        stack: AsyncExitStack,
        user_model: Endpoint | None = None,
    ) -> tuple[RunConfig, Sequence[RemoteSlot]]:
        """Set up the slots of a run on the nodes, as `SlotPool.open` says.

        Raises ConfigError for options that a cluster can't have, and ClusterError, which names the node.
        """
        suite = run.prepared.suite
        if any(part.format is SuiteFormat.WILDCLAW for part in suite.parts or (suite,)):
            raise ConfigError("--cluster does not send WildClawBench's data set to the nodes: run it on this machine.")
        config = await settle(run.prepared.config)
        if (state := run.prepared.state) is not None:
            self._names.update(state.node_ids)
        started = await self._start_programs(run)
        run.observer.set_up(f"setting up slots on {len(started)} nodes")
        inputs = None
        if needs_inputs(run.prepared):
            inputs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inputs-"))) / "inputs.tar.gz"
            await to_thread.run_sync(pack_inputs, run.prepared, inputs)
        self._plan = _Plan(
            run=run, config=config, inputs=inputs, versions=versions, group=group, stack=stack, user_model=user_model
        )
        async with create_task_group() as setting_up:
            for info, number, link in started:
                setting_up.start_soon(self._set_up, info, number, link)
        slots = [slot for info, _, _ in started for slot in self._slots[info.id]]
        listed = ", ".join(f"{number} on {info.name}" for info, number, _ in started)
        lacking = run.prepared.slots - len(slots)
        more = f" There is no room for {lacking} more: nodes that join are used for them." if lacking else ""
        run.observer.tell(f"Slots: {listed}.{more}")
        ready = [client.ready for client in self._clients.values() if client.ready is not None]
        config = replace(config, network=common_network(ready), served=common_served(ready))
        self._plan = replace(self._plan, config=config)
        return self._plan.config, slots

    async def watch(self, add: Callable[[RemoteSlot], None]) -> None:
        """Use nodes that join, and leave out those that are drained or keep failing, as `SlotPool.watch` says."""
        last_seen = current_time()
        async with create_task_group() as joining:
            while current_time() - last_seen < WAIT_FOR_NODES_S:
                await anyio.sleep(LOOK_S)
                try:
                    nodes = await self._nodes()
                except ClusterError:
                    continue  # the next look shows it, or the nodes do not answer
                self._look(nodes)
                if self._clients or self._setting_up:
                    last_seen = current_time()
                for info, number in self._newcomers(nodes):
                    self._setting_up[info.id] = number
                    joining.start_soon(self._join, info, number, add)

    async def _nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that live, with names that no other node of the run has or had. Raises ClusterError."""
        nodes = name_nodes(await self._cluster.nodes(), self._names)
        self._names.update((node.name, node.id) for node in nodes)
        return nodes

    def _look(self, nodes: Sequence[NodeInfo]) -> None:
        """Forget the nodes that are lost, and retire those that are to be left out."""
        for node_id, client in tuple(self._clients.items()):
            if client.lost:
                del self._clients[node_id], self._slots[node_id]
                self._losses[node_id] += 1
                is_left_out = client.retired or self._losses[node_id] >= MAX_LOSSES
                self._not_before[node_id] = math.inf if is_left_out else current_time() + REJOIN_S
        draining = {node.id for node in nodes if node.is_draining}
        for node_id, client in self._clients.items():
            if node_id in draining:
                client.retire("It is being drained.")
            elif client.failing and any(not other.retired for other in self._clients.values() if other is not client):
                client.retire(client.failing)

    def _newcomers(self, nodes: Sequence[NodeInfo]) -> list[tuple[NodeInfo, int]]:
        """Return the nodes that are used from now on, and with how many slots."""
        used = self._clients.keys() | self._setting_up.keys()
        fresh = [
            node
            for node in nodes
            if node.id not in used
            and not node.is_draining
            and current_time() >= self._not_before.get(node.id, -math.inf)
        ]
        taken = sum(map(len, self._slots.values())) + sum(self._setting_up.values())
        return share_out(self._plan.run.prepared.slots - taken, fresh)

    async def _join(self, info: NodeInfo, number: int, add: Callable[[RemoteSlot], None]) -> None:
        """Set up slots on a node that has joined. One that can't take part is left out, with the reason."""
        run = self._plan.run
        try:
            await self._set_up(info, number, await self._start_program(run, info, number))
        except ClusterError as error:
            run.observer.tell(f"{error} It is left out.")
            self._not_before[info.id] = math.inf
        else:
            run.observer.tell(f"The node {info.name} has joined: slots: {number}.")
            for slot in self._slots[info.id]:
                add(slot)
        finally:
            del self._setting_up[info.id]

    async def _set_up(self, info: NodeInfo, number: int, link: NodeLink) -> None:
        """Set up so many slots on a node whose program has started. Raises ClusterError."""
        plan = self._plan
        report = partial(self._report_once, plan.run)
        client = NodeClient(info, link, plan.run, copying=self._copying, report=report, user_model=plan.user_model)
        plan.group.start_soon(client.attend)
        plan.stack.callback(client.close)
        begin = Begin(
            config=plain_config(_on_node(plan.config, number)),
            suites=suites_of(plan.run.prepared.suite),
            tasks=tuple({trial.key.task_id: None for trial in plan.run.prepared.trials}),
            run_id=plan.run.run_id,
            name=plan.run.files.name,
            node=next(self._programs),
            slots=number,
            sends_inputs=plan.inputs is not None,
            has_budget=plan.run.share is not None and plan.run.share.slots.budget is not None,
            user_model=plan.user_model.model if plan.user_model is not None else "",
        )
        try:
            ready = await client.set_up(begin, plan.inputs)
            check_alike(info.name, ready, plan.run.prepared, plan.versions)
        except BaseException:
            client.close()
            raise
        taken = {slot.number for slots in self._slots.values() for slot in slots}
        free = (number for number in count(1) if number not in taken)
        places = self._shared.places(info.id, number)
        self._clients[info.id] = client
        self._slots[info.id] = [
            RemoteSlot(
                number=next(free),
                agent_id=agent_id,
                machine=info.name,
                machine_id=info.id,
                hardware=ready.hardware if on_node == 1 else None,
                on_node=on_node,
                node=client,
                places=places,
            )
            for on_node, agent_id in enumerate(ready.agents, 1)
        ]

    def _report_once(self, run: RunContext, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            run.observer.tell(text)

    async def _start_programs(self, run: RunContext) -> list[tuple[NodeInfo, int, NodeLink]]:
        """Start the programs of the nodes that get slots; return each node with how many, and the link to it.

        A node that can't be used now is left out if others can: Ray lists one that has died for some seconds more.
        Raises ClusterError.
        """
        nodes = [node for node in await self._nodes() if not node.is_draining]
        while shares := share_out(run.prepared.slots, nodes):
            links, unavailable = await self._start_on(run, shares)
            if not unavailable:
                return [(info, number, links[info.id]) for info, number in shares]
            await _close(links.values())  # each gets more slots now, and the actor has reserved memory for fewer
            if len(unavailable) == len(nodes):
                raise next(iter(unavailable.values()))
            for node_id, why in unavailable.items():
                run.observer.tell(f"{why} It is left out.")
                self._not_before[node_id] = current_time() + REJOIN_S
            nodes = [node for node in nodes if node.id not in unavailable]
        raise ClusterError(f"None of the {len(nodes)} nodes of the cluster has 1 GiB of memory for a slot.")

    async def _start_on(
        self, run: RunContext, shares: Sequence[tuple[NodeInfo, int]]
    ) -> tuple[dict[str, NodeLink], dict[str, NodeUnavailableError]]:
        """Start the programs of nodes; return the links, and why nodes can't be used, both by the id of the node."""
        links: dict[str, NodeLink] = {}
        unavailable: dict[str, NodeUnavailableError] = {}

        async def start(info: NodeInfo, number: int) -> None:
            try:
                links[info.id] = await self._start_program(run, info, number)
            except NodeUnavailableError as error:
                unavailable[info.id] = error

        try:
            async with create_task_group() as starting:
                for info, number in shares:
                    starting.start_soon(start, info, number)
        except BaseException:
            with move_on_after(CLOSE_LIMIT_S, shield=True):
                await _close(links.values())
            raise
        return links, unavailable

    async def _start_program(self, run: RunContext, info: NodeInfo, slots: int) -> NodeLink:
        runs = self._shared.runs
        link = await self._cluster.start(info, cpus=1 / runs, memory_bytes=slots * SLOT_BYTES // runs)
        try:
            if not await check_program(info.name, link):
                self._report_once(run, f"{OPEN_TO_ALL}. {HOW_TO_CLOSE}")
        except BaseException:
            with move_on_after(CLOSE_LIMIT_S, shield=True):
                await link.close()
            raise
        return link


def _on_node(config: RunConfig, slots: int) -> RunConfig:
    """Return the options of a run as a node with so many slots has them: judges and users are asked from here."""
    user = config.user and replace(config.user, api_key_env=None)
    return replace(config, concurrency=slots, judge=None, user=user)


async def _close(links: Iterable[NodeLink]) -> None:
    """Close links to nodes. Their programs end by themselves."""
    for link in links:
        await link.close()


def share_out(slots: int, nodes: Sequence[NodeInfo]) -> list[tuple[NodeInfo, int]]:
    """Share slots out among nodes by their CPUs, as far as their memory goes, and no machine has too many (pure)."""
    room = {node.id: min(MAX_MACHINE_SLOTS, int(node.memory_bytes // SLOT_BYTES)) for node in nodes}
    counts = dict.fromkeys(room, 0)
    for _ in range(min(slots, sum(room.values()))):
        fullest = min(
            (node for node in nodes if counts[node.id] < room[node.id]),
            key=lambda node: (counts[node.id] + 1) / max(node.cpus, 0.1),
        )
        counts[fullest.id] += 1
    return [(node, counts[node.id]) for node in nodes if counts[node.id]]

"""A node that has joined a run, over a link that does what a test wants."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
from anyio import CapacityLimiter, create_task_group, fail_after

from cluster.fake_endpoint import FakeEndpoint
from cluster.fake_link import FakeLink
from fakes import fake_openclaw, run_config
from pinchbench.cluster.messages import Begin, NodeInfo
from pinchbench.cluster.node_client import NodeClient
from pinchbench.cluster.pool import Places, RemoteSlot
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import Attempt, TrialEvents
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_context import RunContext, make_context

BEGIN = Begin(config={}, suites=(), tasks=(), run_id="run-1", name="m_run-1", node=1, slots=2, sends_inputs=False)
INFO = NodeInfo(id="1", name="host1", cpus=2, memory_bytes=2**32)


@asynccontextmanager
async def run_of_two_tasks(folder: Path) -> AsyncGenerator[RunContext]:
    """A run whose trials none has made yet."""
    config = run_config(folder, fake_openclaw(folder), {"task_a": "Do it.", "task_b": "Do it."})
    context = make_context(prepare(config), None, None)
    async with create_task_group() as group:
        group.start_soon(context.observer.attend)
        with closing(context.observer), closing(context.interrupt):
            yield context


@asynccontextmanager
async def joined(
    link: FakeLink, run: RunContext, *, user_model: FakeEndpoint | None = None
) -> AsyncGenerator[NodeClient]:
    """A node that has set up its slots."""
    with fail_after(60):
        async with create_task_group() as group:
            client = NodeClient(
                INFO, link, run, copying=CapacityLimiter(1), report=lambda _: None, user_model=user_model
            )
            group.start_soon(client.attend)
            with closing(client):
                await client.set_up(BEGIN, None)
                yield client
    assert link.closed


async def made(
    client: NodeClient, run: RunContext, *, events: TrialEvents | None = None, stop: anyio.Event | None = None
) -> Outcome:
    """Make the first attempt of the run in the second slot of the node."""
    slot = RemoteSlot(number=7, on_node=2, agent_id="main", node=client, places=Places(most=2))
    return await make_attempt(slot, run.prepared.attempts[0], events=events, stop=stop)


async def make_attempt(
    slot: RemoteSlot, attempt: Attempt, *, events: TrialEvents | None = None, stop: anyio.Event | None = None
) -> Outcome:
    """Make an attempt in a slot."""
    outcomes: list[Outcome] = []
    await slot.run(attempt, events or TrialEvents(), outcomes.append, stop=stop or anyio.Event())
    [outcome] = outcomes
    return outcome

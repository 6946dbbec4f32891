"""The program on a node: how long it waits for a word of its runner."""

import socket

import pytest
from anyio import (
    CancelScope,
    create_memory_object_stream,
    create_task_group,
    fail_after,
    sleep_forever,
    wait_all_tasks_blocked,
)
from anyio.abc import UNIXSocketStream

from cluster.joined_node import BEGIN
from pinchbench.cluster import node
from pinchbench.cluster.messages import ToNode, frame


async def test_the_first_word_may_come_after_a_silence_that_ends_a_run_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "LEASE_S", 0.0)
    ours, theirs = socket.socketpair()
    sender, inbox = create_memory_object_stream[ToNode](1)
    received = []
    with fail_after(60):
        async with (
            await UNIXSocketStream.from_socket(ours) as runner,
            await UNIXSocketStream.from_socket(theirs) as stream,
        ):
            with CancelScope() as lease, inbox:
                async with create_task_group() as group:
                    group.start_soon(node.take_in, stream, sender, lease)
                    await wait_all_tasks_blocked()
                    await runner.send(frame(BEGIN))
                    async for message in inbox:
                        received.append(message)  # noqa: PERF401 - the loop ends with the lease
                    await sleep_forever()
    assert received == [BEGIN]
    assert lease.cancelled_caught

"""The proxy's process obeys the runner, and answers what it can not do."""

import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after
from anyio.abc import UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from pinchbench.wire.proxy_process import serve_wire
from pinchbench.wire.wire_messages import (
    Answered,
    Command,
    Configure,
    Failed,
    Lease,
    Provider,
    Ready,
    Release,
    Report,
    decode_report,
    encode,
)


@asynccontextmanager
async def talking() -> AsyncGenerator[Callable[[Command | bytes], Awaitable[Report]]]:
    """Run the server in this process; it ends when the block closes its end."""
    ours, theirs = socket.socketpair()
    with fail_after(60):
        async with create_task_group() as group:
            group.start_soon(serve_wire, theirs)
            async with await UNIXSocketStream.from_socket(ours) as stream:
                lines = BufferedByteReceiveStream(stream)

                async def talk(command: Command | bytes) -> Report:
                    await stream.send(command if isinstance(command, bytes) else encode(command))
                    return decode_report(await lines.receive_until(b"\n", 10_000))

                yield talk


async def test_it_says_where_it_listens_and_answers_commands(tmp_path: Path) -> None:
    path = str(tmp_path / "wire.jsonl.zst")
    async with talking() as talk:
        ready = await talk(Configure(provider=Provider(id="p", base_url="http://127.0.0.1:9"), folder=str(tmp_path)))
        assert isinstance(ready, Ready)
        assert await talk(Lease(token="t", trial="task/1", path=path)) == Answered(token="t")
        again = await talk(Lease(token="t", trial="task/2", path=f"{path}.2"))
        assert again == Answered(token="t", problem="the token has a lease already")
        refused = await talk(Lease(token="u", trial="task/2", path=str(tmp_path)))
        assert isinstance(refused, Answered)
        assert "File exists" in refused.problem
        assert await talk(Release(token="t")) == Answered(token="t")
        unknown = await talk(Release(token="t"))
        assert unknown == Answered(token="t", problem="the token had no lease")


@pytest.mark.parametrize("line", [b"{}\n", b"nonsense\n"])
async def test_a_broken_message_ends_it_with_a_reason(tmp_path: Path, line: bytes) -> None:
    async with talking() as talk:
        await talk(Configure(provider=Provider(id="p", base_url="http://127.0.0.1:9"), folder=str(tmp_path)))
        report = await talk(line)
    assert isinstance(report, Failed)
    assert report.reason.startswith("a message could not be read")

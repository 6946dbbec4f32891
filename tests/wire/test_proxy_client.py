"""The proxy as a process: it starts, serves leases, keeps the key, and ends with the runner."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import psutil
import pytest
from anyio import fail_after
from anyio.abc import SocketStream

from pinchbench.errors import WireError
from pinchbench.wire.exchange import ExchangeEnd
from pinchbench.wire.proxy_client import Wire, new_token, run_wire
from pinchbench.wire.recording import RecordingReader
from pinchbench.wire.wire_messages import CallFailed, Configure, Provider, WireEvent
from scripted_provider import Asked, reply, scripted_provider

KEY = "sk-planted-0123456789abcdef"
LIMIT_S = 60


@asynccontextmanager
async def running_wire(
    folder: Path, base_url: str = "http://127.0.0.1:1", observe: Callable[[WireEvent], None] = lambda _: None
) -> AsyncIterator[Wire]:
    configure = Configure(provider=Provider(id="openai", base_url=base_url, key=KEY), folder=str(folder))
    with fail_after(LIMIT_S):
        async with run_wire(configure, observe=observe) as wire:
            yield wire


def _proxy_process() -> psutil.Process:
    (process,) = [one for one in psutil.Process().children() if "pinchbench.wire" in one.cmdline()]
    return process


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("w")  # short, as paths of sockets have to be


async def test_a_lease_serves_and_records_a_trial_on_both_sockets(folder: Path) -> None:
    async def answer(asked: Asked, stream: SocketStream) -> bool:
        # The provider shows the key that it was sent: it must not be kept.
        await stream.send(reply(f"You sent {asked.header('authorization')}.".encode()))
        return True

    events: list[WireEvent] = []
    token, path = new_token(), folder / "wire.jsonl.zst"
    async with (
        scripted_provider(answer) as provider,
        running_wire(folder, provider.url, events.append) as wire,
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        url = wire.base_url(token) + "/chat/completions"
        assert (await http.post(url)).status_code == 404
        async with wire.lease(token, trial="task/1", path=path) as trial:
            auth = {"Authorization": f"Bearer {token}"}
            assert (await http.post(url, content=b'"one"', headers=auth)).status_code == 200
            await trial.set_turn(1)
            transport = httpx2.AsyncHTTPTransport(uds=wire.places.socket)
            async with httpx2.AsyncClient(transport=transport) as local:
                assert (await local.post(url, content=b'"two"', headers=auth)).status_code == 200
            assert (await anyio.Path(wire.places.socket).stat()).st_mode & 0o777 == 0o600
        assert (await http.post(url)).status_code == 404
        assert not wire.failed.is_set()
        process = _proxy_process()
        assert KEY not in " ".join(process.cmdline())
        with suppress(psutil.AccessDenied):  # only root may read it
            assert KEY not in repr(process.environ())
    recording = [*RecordingReader(path)]
    assert [(one.request, one.turn, one.end) for one in recording] == [
        (b'"one"', 0, ExchangeEnd.COMPLETE),
        (b'"two"', 1, ExchangeEnd.COMPLETE),
    ]
    assert not [event for event in events if isinstance(event, CallFailed)]
    assert KEY not in repr(recording) + repr(events)
    assert token not in repr(recording)
    assert (folder / "wire.log").read_text() == ""
    assert not (folder / "wire.sock").exists()


async def test_leases_fail_once_the_proxy_has_died(folder: Path) -> None:
    async with running_wire(folder) as wire:
        with pytest.raises(WireError, match="has failed"):  # noqa: PT012 - the end of the block raises
            async with wire.lease(new_token(), trial="task/1", path=folder / "wire.jsonl.zst"):
                os.kill(_proxy_process().pid, signal.SIGKILL)
                await wire.failed.wait()
        with pytest.raises(WireError, match="has failed"):
            await wire.lease(new_token(), trial="task/2", path=folder / "wire.jsonl.zst").__aenter__()


async def test_a_recording_that_can_not_be_opened_refuses_the_lease(folder: Path) -> None:
    async with running_wire(folder) as wire:
        with pytest.raises(WireError, match="No such file"):
            async with wire.lease(new_token(), trial="task/1", path=folder / "missing" / "wire"):
                pass
        async with wire.lease(new_token(), trial="task/1", path=folder / "wire.jsonl.zst"):
            pass


async def test_a_cancelled_run_ends_the_process(folder: Path) -> None:
    with anyio.CancelScope() as scope:
        async with (
            running_wire(folder) as wire,
            wire.lease(new_token(), trial="task/1", path=folder / "wire"),
        ):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert not wire.failed.is_set()  # the answer was heard, not given up on
    assert not [one for one in psutil.Process().children() if "pinchbench.wire" in one.cmdline()]

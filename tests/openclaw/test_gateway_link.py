"""The connection of a trial's gateway, with a real socket and a gateway that says what a test wants."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from anyio import EndOfStream, connect_unix, create_task_group, fail_after
from anyio.abc import SocketStream
from anyio.lowlevel import checkpoint
from anyio.streams.buffered import BufferedByteReceiveStream

from pinchbench.errors import GatewayError
from pinchbench.openclaw import gateway_link
from pinchbench.openclaw.gateway_link import GatewayLink, Report, open_link

MAIN = "agent:main:main"


@dataclass(kw_only=True, slots=True)
class Gateway:
    """The gateway's end of the link."""

    stream: SocketStream

    async def say(self, *reports: dict[str, object]) -> None:
        for report in reports:
            await self.stream.send(json.dumps(report).encode() + b"\n")

    async def hear(self) -> dict[str, object]:
        line = await BufferedByteReceiveStream(self.stream).receive_until(b"\n", 10_000)
        asked: dict[str, object] = json.loads(line)
        return asked


@asynccontextmanager
async def linked(folder: Path, seen: list[Report | None] | None = None) -> AsyncGenerator[tuple[GatewayLink, Gateway]]:
    with fail_after(60):
        async with open_link(folder / "link.sock", ([] if seen is None else seen).append) as link:
            stream = await connect_unix(folder / "link.sock")
            async with stream:
                gateway = Gateway(stream=stream)
                await gateway.say({"kind": "ready"})
                await link.ready.wait()
                yield link, gateway
            while link._stream is not None:  # a gateway is dead before its link is closed
                await checkpoint()


async def busy(link: GatewayLink) -> None:
    """Wait until the link knows that something runs."""
    while not any(link._busy.values()):
        await checkpoint()


async def test_what_a_gateway_reports_is_passed_on(tmp_path: Path) -> None:
    seen: list[Report | None] = []
    async with linked(tmp_path, seen) as (link, gateway):
        await gateway.say(
            {"kind": "run_begins", "session": MAIN, "id": "s1"},
            {"kind": "message", "now": 5000.0, "to": "ben", "text": "hi", "media": ["a.png"]},
            {"kind": "job_started", "now": 6000.0, "job": "j", "name": "morning"},
            {"kind": "news of a later plugin", "x": [1]},
        )
        assert await link.has_fired(0, 60)
    assert seen[:4] == [
        Report(kind="ready"),
        Report(kind="run_begins", session=MAIN, id="s1"),
        Report(kind="message", now=5000.0, to="ben", text="hi", media=("a.png",)),
        Report(kind="job_started", now=6000.0, job="j", name="morning"),
    ]


async def test_what_can_not_be_read_is_not_passed_over(tmp_path: Path) -> None:
    seen: list[Report | None] = []
    async with linked(tmp_path, seen) as (link, gateway):
        await gateway.stream.send(b'{"kind": "message", "to": "ben", "text": "\\ud83d"}\n')
        await gateway.say({"kind": "message", "now": 1e300, "to": "ben", "text": "in no year"})
        await gateway.say({"kind": "job_started", "job": "j", "name": "n"})
        assert await link.has_fired(0, 60)
    assert seen == [Report(kind="ready"), None, Report(kind="job_started", job="j", name="n")]


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ({"kind": "run_begins", "session": MAIN}, {"kind": "run_ends", "session": MAIN}),
        ({"kind": "call_begins", "session": MAIN}, {"kind": "call_ends", "session": MAIN}),
        ({"kind": "job_started", "job": "j"}, {"kind": "job_finished", "job": "j"}),
        ({"kind": "interrupted", "id": "in-9"}, {"kind": "handled", "id": "in-9"}),
    ],
    ids=["a run", "a call of the model", "an automation", "an interrupt"],
)
async def test_an_agent_has_settled_when_nothing_of_it_runs_any_more(
    begins: dict[str, object], ends: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_link, "QUIET_S", 0.0)
    async with linked(tmp_path) as (link, gateway):
        link._quiet_s = 0.0
        await gateway.say(begins, {"kind": "message", "to": "sam", "text": "working"})
        await busy(link)
        done = []

        async def wait() -> None:
            await link.settled()
            done.append("settled")

        async with create_task_group() as group:
            group.start_soon(wait)
            for _ in range(5):
                await checkpoint()
            assert not done
            await gateway.say(ends)
    assert done == ["settled"]


@pytest.mark.parametrize("before", ["subagent_begins", "subagent_ends"])
@pytest.mark.parametrize(("session", "is_longer"), [("agent:main:subagent:2", True), (MAIN, False)])
async def test_around_a_sub_agent_s_work_more_silence_is_needed_until_its_parent_has_begun_a_turn(
    before: str, session: str, *, is_longer: bool, tmp_path: Path
) -> None:
    async with linked(tmp_path) as (link, gateway):
        await gateway.say({"kind": before})
        await gateway.say({"kind": "run_begins", "session": session, "id": "s"})
        await busy(link)
        assert (link._quiet_s > gateway_link.QUIET_S) is is_longer


async def test_a_message_counts_as_work_until_the_gateway_has_handled_it(tmp_path: Path) -> None:
    async with linked(tmp_path) as (link, gateway):
        await link.message("ana", "hello", is_owner=True)
        asked = await gateway.hear()
        assert asked == {"kind": "message", "id": "in-1", "from": "ana", "text": "hello", "isOwner": True}
        assert any(link._busy.values())
        await gateway.say({"kind": "handled", "id": "in-1"})
        link._quiet_s = 0.0
        await link.settled()


async def test_a_gateway_says_when_its_next_automation_is_due(tmp_path: Path) -> None:
    async with linked(tmp_path) as (link, gateway), create_task_group() as group:
        found = []

        async def ask() -> None:
            found.append(await link.next_due(60.0))

        group.start_soon(ask)
        assert await gateway.hear() == {"kind": "due", "after": 60_000.0}
        await gateway.say({"kind": "due", "at": 90_000.0})
    assert found == [90.0]


async def test_a_gateway_that_ends_is_an_error_for_who_waits_for_it(tmp_path: Path) -> None:
    async with linked(tmp_path) as (link, gateway):
        await gateway.say({"kind": "run_begins", "session": MAIN})
        await busy(link)
        async with create_task_group() as group:
            group.start_soon(gateway.stream.aclose)
            with pytest.raises(GatewayError, match="has ended"):
                await link.settled()
        with pytest.raises(GatewayError, match="not connected"):
            await link.message("ana", "hello", is_owner=True)


async def test_a_gateway_is_informed_that_the_time_has_moved(tmp_path: Path) -> None:
    async with linked(tmp_path) as (link, gateway):
        await link.time_moved(90.0)
        assert await gateway.hear() == {"kind": "moved", "at": 90_000.0}


async def test_a_message_that_did_not_reach_the_agent_is_an_error(tmp_path: Path) -> None:
    async with linked(tmp_path) as (link, gateway):
        await link.message("ana", "hello", is_owner=True)
        await gateway.say({"kind": "failed", "id": "in-1", "text": "Error: locked"}, {"kind": "handled", "id": "in-1"})
        with pytest.raises(GatewayError, match="has failed: Error: locked"):
            await link.settled()


async def test_a_second_connection_is_refused(tmp_path: Path) -> None:
    async with linked(tmp_path) as (link, gateway):
        async with await connect_unix(tmp_path / "link.sock") as second:
            with pytest.raises(EndOfStream):
                await second.receive()
        await gateway.say({"kind": "job_started", "job": "j", "name": "n"})
        assert await link.has_fired(0, 60)

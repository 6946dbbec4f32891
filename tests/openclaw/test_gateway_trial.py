"""A gateway's trial from its start to its end, and each step of its timeline, against a link that obeys."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from anyio import Event, create_task_group, create_unix_listener, fail_after
from anyio.abc import SocketStream
from anyio.lowlevel import checkpoint

from fakes import make_task
from pinchbench.errors import GatewayError, ServiceError
from pinchbench.model.task import Task, Turn
from pinchbench.model.timeline import Ability, Advance, ChatMessage, Interrupt, ServiceEvent
from pinchbench.model.trial import TrialEvents
from pinchbench.model.usage import Usage
from pinchbench.openclaw import gateway_link, gateway_trial
from pinchbench.openclaw.agent_processes import TaskExecution
from pinchbench.openclaw.agent_progress import Progress
from pinchbench.openclaw.gateway_link import GatewayLink
from pinchbench.openclaw.gateway_trial import ChatLog, TimelinePlayer, run_in_gateway
from pinchbench.openclaw.homes.private import Home
from pinchbench.openclaw.trial_clock import TrialClock
from pinchbench.process.spec import EndReason, Limits, ProcessSpec, StopSignal
from pinchbench.results.evidence_files import Evidence
from pinchbench.sandbox.sandbox_spec import Forward

GATEWAY = """
import json, socket, sys, time

link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
lines = link.makefile("rw")

def say(**report):
    lines.write(json.dumps(report) + "\\n")
    lines.flush()

if sys.argv[2] != "mute":
    say(kind="ready")
for line in lines:
    asked = json.loads(line)
    if asked["kind"] == "step":
        say(kind="step")
    if asked["kind"] == "message":
        if sys.argv[2] == "dies":
            sys.exit(3)
        if sys.argv[2] == "leaves":
            link.shutdown(socket.SHUT_RDWR)
            time.sleep(600)
        say(kind="run_begins", session="agent:a:main", id="../../elsewhere")
        say(kind="run_begins", session="agent:a:main", id="/elsewhere")
        say(kind="run_begins", session="agent:a:main", id="s1")
        say(kind="message", now=5000, to=asked["from"], text="You said " + asked["text"])
        for _ in range(3):
            say(kind="run_ends", session="agent:a:main", id="s1")
        say(kind="handled", id=asked["id"])
"""


def chat(*prompts: str, sender: str = "ana") -> Task:
    turns = (Turn(prompt=prompt, event=ChatMessage(sender=sender, is_owner=True)) for prompt in prompts)
    return make_task(*turns, abilities=(Ability.CHAT,), timezone="Europe/Berlin")


class Shown(TrialEvents):
    """What a live view shows."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def activity(self, text: str, usage: Usage) -> None:
        del usage
        self.lines.append(text)


async def run(folder: Path, how: str, progress: Progress) -> Evidence:
    files = Evidence(folder=folder)
    script = folder / "gateway.py"
    script.write_text(GATEWAY)
    socket = folder / "link.sock"
    spec = ProcessSpec(
        argv=[sys.executable, str(script), str(socket), how],
        cwd=folder,
        env={},
        stdout=files.stdout,
        stderr=files.stderr,
        marker="test/gateway",
        limits=Limits(grace_s=5.0),
    )
    execution = TaskExecution(
        home=cast("Home", SimpleNamespace(sandbox=None, state_dir=folder / "state", agent_id="a")),
        task=chat("one", "two"),
        workspace=folder,
        files=files,
        progress=progress,
        marker="test/gateway",
        timeout_s=300,
        stop_signal=StopSignal(),
    )
    await run_in_gateway(execution, spec, socket)
    return files


@pytest.fixture(autouse=True)
def short_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_link, "QUIET_S", 0.0)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("g"))  # a short path, for the socket


async def test_a_gateway_ends_when_its_timeline_does_and_that_is_a_normal_end(folder: Path) -> None:
    shown = Shown()
    progress = Progress(events=shown, now=lambda: "Mon 2 Mar 07:30")
    files = await run(folder, "talks", progress)
    [end] = progress.ends
    assert (end.reason, end.exit_code) == (EndReason.EXITED, 0)
    assert [session.id for session in progress.sessions] == ["s1"], "other ids are no names of files"
    assert shown.lines == ["Mon 2 Mar 07:30 says to ana: You said one", "Mon 2 Mar 07:30 says to ana: You said two"]
    chat = [json.loads(line) for line in files.chat.read_text().splitlines()]
    assert [(one["from"], one["text"]) for one in chat] == [
        ("ana", "one"),
        ("assistant", "You said one"),
        ("ana", "two"),
        ("assistant", "You said two"),
    ]


async def test_a_gateway_that_dies_is_the_end_of_its_trial(folder: Path) -> None:
    progress = Progress(events=TrialEvents())
    await run(folder, "dies", progress)
    [end] = progress.ends
    assert (end.reason, end.exit_code) == (EndReason.EXITED, 3)
    assert len(progress.sessions) == 1  # of which nothing is found


async def test_a_gateway_that_leaves_its_link_and_goes_on_has_failed_which_counts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_trial, "EXIT_LIMIT_S", 0.0)
    progress = Progress(events=TrialEvents())
    await run(folder, "leaves", progress)
    [end] = progress.ends
    assert (end.reason, end.exit_code) == (EndReason.EXITED, 1)


async def test_a_gateway_that_never_gets_ready_is_a_failure_of_the_infrastructure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_trial, "START_LIMIT_S", 0.5)
    with pytest.raises(GatewayError, match="not ready"):
        await run(folder, "mute", Progress(events=TrialEvents()))


START = 1_772_433_000.0
HOUR_S = 3600.0
OWNER = ChatMessage(sender="ana", is_owner=True)


@dataclass(kw_only=True, slots=True)
class Link:
    """A gateway that is idle at once.

    `due` are the offsets from `START` at which automations are due, `stuck` those that never fire.
    """

    clock: TrialClock | None = None
    due: list[float] = field(default_factory=list)
    asked: list[object] = field(default_factory=list)
    fired: int = 0
    stuck: list[float] = field(default_factory=list)
    ready: Event = field(default_factory=Event)
    interrupted: Event = field(default_factory=Event)
    interrupts: bool = False
    moved: bool = False

    async def begin_step(self) -> None:
        self.asked.append("step")

    async def message(self, sender: str, text: str, *, is_owner: bool) -> None:
        self.asked.append((sender, text, is_owner))

    async def arm(self, sender: str, text: str, *, after: int) -> None:
        self.asked.append(("arm", sender, text, after))
        self.interrupted = Event()
        if self.interrupts:
            self.interrupted.set()

    async def proceed(self) -> None:
        self.asked.append("proceed")

    async def next_due(self, after: float) -> float | None:
        return next((START + one for one in self.due if START + one > after), None)

    async def time_moved(self, at: float) -> None:
        assert self.clock is not None
        assert self.clock.now() >= at
        self.moved = True

    async def has_fired(self, before: int, limit_s: float) -> bool:
        del limit_s
        assert self.clock is not None
        assert self.moved  # OpenClaw would look at its schedule within a minute only
        self.moved = False
        at = self.clock.now() - START
        fires = any(one not in self.stuck and one - 60 < at < one for one in self.due)
        if fires:
            self.asked.append(("fires", round(at)))
            self.fired = before + 1
            self.due = [one for one in self.due if one in self.stuck or one > at + 60]
        return fires

    async def settled(self) -> None:
        if self.interrupts:
            while "proceed" not in self.asked:
                await checkpoint()
        self.asked.append("settled")


def make_player(
    folder: Path,
    turns: list[Turn],
    *,
    link: Link,
    clock: TrialClock | None = None,
    before_turn: Callable[[int], Awaitable[None]] | None = None,
) -> TimelinePlayer:
    link.ready.set()
    link.clock = clock
    task = SimpleNamespace(turns=turns, services=[SimpleNamespace(name="mail")])
    services = (Forward(port=8020, socket=str(folder / "mail.sock")),)
    run = SimpleNamespace(task=task, services=services, clock=clock, seen_workspace=folder, before_turn=before_turn)
    return TimelinePlayer(
        run=cast("TaskExecution", run),
        link=cast("GatewayLink", link),
        chat=ChatLog(path=folder / "chat.jsonl"),
        began_at=0.0,
    )


def make_clock(folder: Path) -> TrialClock:
    return TrialClock(folder / "clock", starts_at=START, library=folder / "none")


async def test_each_step_begins_when_the_one_before_has_settled_and_messages_are_logged(tmp_path: Path) -> None:
    link = Link()
    player = make_player(
        tmp_path,
        [
            Turn(prompt="Hello", event=OWNER),
            Turn(prompt="Who are you?", event=ChatMessage(sender="bob", is_owner=False)),
        ],
        link=link,
    )
    await player.play()
    assert player.finished
    assert link.asked == [
        "step",
        ("ana", "Hello", True),
        "settled",
        "step",
        ("bob", "Who are you?", False),
        "settled",
    ]
    lines = [json.loads(line) for line in (tmp_path / "chat.jsonl").read_text().splitlines()]
    assert [(line["from"], line["to"], line["text"]) for line in lines] == [
        ("ana", "assistant", "Hello"),
        ("bob", "assistant", "Who are you?"),
    ]


async def test_time_halts_at_each_automation_that_is_due_and_then_goes_on_to_its_end(tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    link = Link(due=[HOUR_S, 25 * HOUR_S, 49 * HOUR_S])
    await make_player(tmp_path, [Turn(prompt="", event=Advance(by_s=26 * HOUR_S))], link=link, clock=clock).play()
    lead = -gateway_trial.LEAD_S
    fired = [at for kind, at in (one for one in link.asked if isinstance(one, tuple)) if kind == "fires"]
    assert fired == [pytest.approx(HOUR_S + lead, abs=60), pytest.approx(25 * HOUR_S + lead, abs=60)]
    assert clock.now() - START == pytest.approx(26 * HOUR_S, abs=60)


@pytest.mark.parametrize(("stuck", "fired", "idle"), [(1, 1, 1), (9, 0, 3)])
async def test_time_goes_on_to_what_is_due_next_although_an_automation_does_not_fire(
    stuck: int, fired: int, idle: int, tmp_path: Path
) -> None:
    clock = make_clock(tmp_path)
    due = [HOUR_S * number for number in range(1, stuck + 2)]
    link = Link(due=due, stuck=due[:-1])
    turn = Turn(prompt="", event=Advance(to_s=START + 30 * HOUR_S))
    player = make_player(tmp_path, [turn], link=link, clock=clock)
    await player.play()
    assert clock.now() >= START + 30 * HOUR_S
    assert sum(one[0] == "fires" for one in link.asked if isinstance(one, tuple)) == fired
    assert player.idle_s == idle * gateway_trial.FIRE_LIMIT_S


async def test_an_interrupt_is_armed_before_its_step_begins_and_plays_its_own_part_of_a_script(tmp_path: Path) -> None:
    link = Link(interrupts=True)
    begun: list[object] = []

    async def before_turn(index: int) -> None:
        begun.append(index)
        link.asked.append(index)

    turns = [Turn(prompt="Count", event=OWNER), Turn(prompt="Stop", event=Interrupt(sender="ana", after_calls=5))]
    await make_player(tmp_path, turns, link=link, before_turn=before_turn).play()
    assert link.asked == [0, "step", ("arm", "ana", "Stop", 5), ("ana", "Count", True), 1, "proceed", "settled"]


async def test_an_interrupt_that_does_not_come_delays_nothing(tmp_path: Path) -> None:
    link = Link()
    turns = [Turn(prompt="Hi", event=OWNER), Turn(prompt="Stop", event=Interrupt(sender="ana", after_calls=5))]
    with fail_after(60):
        await make_player(tmp_path, turns, link=link).play()
    assert "proceed" not in link.asked
    assert "Stop" not in (tmp_path / "chat.jsonl").read_text()


@pytest.mark.parametrize("status", [b"204 No Content", b"500 Internal Server Error"])
async def test_an_event_of_a_service_is_a_post_that_it_has_to_take(status: bytes, tmp_path: Path) -> None:
    took = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            took.append(await stream.receive())
            await stream.send(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

    event = ServiceEvent(service="mail", path="/arrive", body={"from": "bob"})
    async with await create_unix_listener(tmp_path / "mail.sock") as listener, create_task_group() as group:
        group.start_soon(listener.serve, serve)
        player = make_player(tmp_path, [Turn(prompt="", event=event)], link=Link())
        if status.startswith(b"2"):
            await player.play()
        else:
            with pytest.raises(ExceptionGroup) as raised:
                await player.play()
            assert raised.group_contains(ServiceError, match="answered /arrive")
        group.cancel_scope.cancel()
    head, _, body = took[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /arrive HTTP/1.1\r\nHost: 127.0.0.1:8020\r\n")
    assert json.loads(body) == {"from": "bob"}


def test_a_chat_that_is_too_large_is_kept_as_far_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_trial, "MAX_CHAT_BYTES", 150)
    chat = ChatLog(path=tmp_path / "chat.jsonl")
    for _ in range(10):
        chat.add(time.time(), "assistant", "ana", "hello")
    assert (tmp_path / "chat.jsonl").read_bytes().count(b"\n") == 1

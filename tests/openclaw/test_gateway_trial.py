"""A gateway's trial from its start to its end, with a program in place of OpenClaw that obeys the link."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fakes import make_task
from pinchbench.errors import GatewayError
from pinchbench.model.task import Task, Turn
from pinchbench.model.timeline import Ability, ChatMessage
from pinchbench.model.trial import TrialEvents
from pinchbench.model.usage import Usage
from pinchbench.openclaw import gateway_link, gateway_trial, play_timeline
from pinchbench.openclaw.agent_processes import TaskExecution
from pinchbench.openclaw.agent_progress import Progress
from pinchbench.openclaw.gateway_trial import run_in_gateway
from pinchbench.openclaw.homes.private import Home
from pinchbench.process.spec import EndReason, Limits, ProcessSpec, StopSignal
from pinchbench.results.evidence_files import Evidence

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
    monkeypatch.setattr(play_timeline, "START_LIMIT_S", 0.5)
    with pytest.raises(GatewayError, match="not ready"):
        await run(folder, "mute", Progress(events=TrialEvents()))

"""Fake installs of OpenClaw, tiny suites, run configs, and a gate that turns of the fake wait at."""

import json
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import anyio
from anyio import create_memory_object_stream, create_task_group, create_tcp_listener, fail_after
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream

from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation, Sandbox
from pinchbench.events import Event, Notice
from pinchbench.model.task import GradingType, Task, Turn
from pinchbench.model.trial import Attempt, Trial, TrialEvents, TrialKey
from pinchbench.model.usage import Usage
from pinchbench.runner.run_context import Observer

# imported, for a script that is run is compiled each time
RUN_FAKE = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import fake_openclaw; fake_openclaw.main()"
LOOK_S = 0.002  # between two looks at what gives no event
LIMIT_S = 60  # for what comes at once, except on a machine that is very busy
TURN_LIMIT_S = 300  # of a turn that waits at a gate while a busy machine starts other programs
OLD_RELEASE, NEW_RELEASE = "2026.6.5", "2026.9.6"
MODEL = "mock/m1"
SEED_KEYS = (
    "agent_id",
    "task_id",
    "status",
    "transcript",
    "workspace",
    "exit_code",
    "timed_out",
    "execution_time",
    "stdout",
    "stderr",
)  # of what `execute_task` returns, as the seed document lists them

# The code of a check: what the model `mock/bad` does scores 0, all else 1.
SCORED_BY_MODEL = """return {"done": 0.0 if "'bad'" in str(transcript) else 1.0}"""


class SeenEvents(TrialEvents):
    """Keeps what is seen of a trial."""

    def __init__(self) -> None:
        self.activities: list[tuple[str, Usage]] = []
        self.waited: list[tuple[str, float]] = []
        self.limited = 0
        self.measured: list[Usage] = []

    def activity(self, text: str, usage: Usage) -> None:
        self.activities.append((text, usage))

    def waits(self, text: str, next_s: float) -> None:
        self.waited.append((text, next_s))

    def rate_limited(self) -> None:
        self.limited += 1

    def used(self, usage: Usage) -> None:
        self.measured.append(usage)


class Heard:
    """An observer of a run, which keeps its events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, events: MemoryObjectReceiveStream[Event]) -> None:
        self.events.extend([event async for event in events])

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def fake_openclaw(folder: Path, *, store: str = "jsonl", release: str | None = None, **settings: object) -> Path:
    """Make an `openclaw` program in `folder/bin`; `settings` go to `fake_openclaw.Fake`. Its calls are logged."""
    program = folder / "bin" / "openclaw"
    program.parent.mkdir(parents=True, exist_ok=True)
    release = release or (OLD_RELEASE if store == "jsonl" else NEW_RELEASE)
    baked = {"release": release, "store": store, "log": str(folder / "bin" / "calls.log"), **settings}
    argv = [sys.executable, "-I", "-S", "-c", RUN_FAKE, json.dumps(baked)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def with_models(program: Path, *models: str) -> Path:
    """Give a fake OpenClaw a catalogue: the provider `mock` has these models, or `m1-large` alone."""
    manifest = program.parent / "dist" / "extensions" / "mock" / "openclaw.plugin.json"
    manifest.parent.mkdir(parents=True)
    rows = {"mock": {"models": [{"id": model} for model in models or ("m1-large",)]}}
    manifest.write_text(json.dumps({"providers": ["mock"], "modelCatalog": {"providers": rows}}), encoding="utf-8")
    return program


def _whole_lines(log: Path) -> list[str]:
    """The lines of a log that somebody may be writing to: what has no end yet is not there."""
    return log.read_text("utf-8").split("\n")[:-1] if log.exists() else []


def calls(program: Path) -> list[list[str]]:
    """Return the command lines the fake was called with."""
    return [json.loads(line) for line in _whole_lines(program.with_name("calls.log"))]


def make_task(*turns: Turn, **changes: Any) -> Task:
    """Return a task of these turns that checks grade; `changes` are other fields of it."""
    task = Task(
        task_id="task_a", name="", category="", grading_type=GradingType.AUTOMATED, prompt="Do it.", turns=turns
    )
    return replace(task, **changes)


def attempts(count: int) -> list[Attempt]:
    """Return the first attempts at so many tasks, `task_0` and so on."""
    return [
        Attempt(
            trial=Trial(key=TrialKey(task_id=task_id, repetition=1), task=make_task(task_id=task_id), timeout_s=60.0)
        )
        for task_id in (f"task_{number}" for number in range(count))
    ]


def make_suite(
    folder: Path,
    prompts: Mapping[str, str],
    *,
    timeout_s: float = 30,
    head: str = "",
    check: str = "",
    kind: GradingType | None = None,
) -> Path:
    """Write one task file for each id and prompt; return their folder.

    `check` is the code of a check, which by default takes the place of a judge.
    """
    root = folder / "tasks"
    root.mkdir(parents=True, exist_ok=True)
    kind = kind or (GradingType.AUTOMATED if check else GradingType.LLM_JUDGE)
    code = "def grade(transcript, workspace_path):\n" + indent(check.strip(), "    ")
    section = ["## Automated Checks", "", "```python", code, "```", ""] if check else []
    for task_id, prompt in prompts.items():
        lines = [f"id: {task_id}", f"grading_type: {kind}", f"timeout_seconds: {timeout_s}", head]
        text = "\n".join(["---", *filter(None, lines), "---", "## Prompt", "", prompt, "", *section])
        (root / f"{task_id}.md").write_text(text, encoding="utf-8")
    return root


def run_config(folder: Path, program: Path, prompts: Mapping[str, str], *, timeout_s: float = 30) -> RunConfig:
    """Return a config for a run of `prompts` with the fake, without delays, everything below `folder`."""
    return RunConfig(
        model=MODEL,
        tasks_dir=make_suite(folder, prompts, timeout_s=timeout_s),
        output_dir=folder / "results",
        run_root=folder / "runs",
        openclaw=str(program),
        retry_delay_s=0.01,
        preflight=False,
        wire=False,
        sandbox=Sandbox.NONE,
        isolation=Isolation.PRIVATE,  # and not as the machine's memory has it
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Guest:
    """A turn of the fake that waits at the gate."""

    pid: int
    agent: str
    session: str
    stream: SocketStream

    async def let_go(self) -> None:
        """Let the turn go on."""
        await self.stream.send(b"\n")

    async def gone(self) -> None:
        """Wait until the process is dead: its connection ends with it."""
        try:
            while await self.stream.receive():
                pass
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A place on loopback where turns with `scenario: gate PORT` say that they run, and wait."""

    port: int
    guests: MemoryObjectReceiveStream[Guest]

    async def next(self, limit_s: float = LIMIT_S) -> Guest:
        """Wait for the next turn."""
        with fail_after(limit_s):
            return await self.guests.receive()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Let all turns go while the block lasts."""

        async def let_all_go() -> None:
            async for guest in self.guests:
                await guest.let_go()

        async with create_task_group() as group:
            group.start_soon(let_all_go)
            yield
            group.cancel_scope.cancel()

    def closing_after(self, turns: int, run: anyio.CancelScope) -> Observer:
        """Return an observer that lets so many turns go, one by one, and cancels the run when the next one waits."""

        async def observer(_: MemoryObjectReceiveStream[Event]) -> None:
            for _number in range(turns):
                await (await self.next()).let_go()
            await self.next()
            run.cancel()

        return observer


@asynccontextmanager
async def open_gate() -> AsyncIterator[Gate]:
    """Open a gate; connections of turns that still wait are closed at the end, which lets them go on."""
    sender, guests = create_memory_object_stream[Guest](1000)
    held: list[SocketStream] = []

    async def welcome(stream: SocketStream) -> None:
        held.append(stream)
        try:
            who = json.loads(await BufferedByteReceiveStream(stream).receive_until(b"\n", 4096))
        except (anyio.IncompleteRead, anyio.BrokenResourceError):
            return  # the turn was ended before it could say who it is
        sender.send_nowait(Guest(pid=who["pid"], agent=who["agent"], session=who["session"], stream=stream))

    async with await create_tcp_listener(local_host="127.0.0.1") as listener, sender, guests:
        async with create_task_group() as group:
            group.start_soon(listener.serve, welcome)
            yield Gate(port=listener.extra(anyio.abc.SocketAttribute.local_port), guests=guests)
            group.cancel_scope.cancel()
        for stream in held:
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(stream)


@contextmanager
def nobody_listening() -> Iterator[int]:
    """A port of loopback that refuses all connections, and that nobody else is given meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


async def poll(condition: Callable[[], object]) -> None:
    """Wait, without a limit, for what gives no event. Between two looks the processor is others', who may need it."""
    while not condition():  # noqa: ASYNC110 - another process has no event to give
        await anyio.sleep(LOOK_S)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what gives no event."""
    with fail_after(LIMIT_S):
        await poll(condition)

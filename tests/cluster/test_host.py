"""The program of a node, behind its host, without Ray."""

import os
import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from anyio import fail_after, move_on_after

from fake_judge import Answer, fake_judge
from fakes import fake_openclaw, make_suite, run_config
from pinchbench.cluster import host
from pinchbench.cluster.host import NodeHost, read_hardware
from pinchbench.cluster.inputs import pack_inputs, suites_of
from pinchbench.cluster.messages import (
    Begin,
    End,
    Ended,
    FromNode,
    InputPart,
    NodeReady,
    Refused,
    StartTrial,
    decode_from_node,
    frame,
)
from pinchbench.files.folders import remove_folder
from pinchbench.model.ending import Reason
from pinchbench.model.task import Suite
from pinchbench.model.trial import TrialKey
from pinchbench.results.evidence_files import file_digest
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.setup.set_up import plain_config
from pinchbench.suite.named import SuitePlace, load_places

MessageT = TypeVar("MessageT", bound=FromNode)


class Caller:
    """Asks a host for events, as the runner does."""

    def __init__(self, host: NodeHost) -> None:
        self.host = host
        self.seen = 0
        self.held: list[FromNode] = []

    async def next(self, kind: type[MessageT]) -> MessageT:
        """Wait for the next message of a kind; others are dropped."""
        while True:
            while self.held:
                if isinstance(message := self.held.pop(0), kind):
                    return message
            events = await self.host.events(self.seen)
            assert events is not None, f"the program ended before it sent {kind}"
            self.seen += len(events)
            self.held += map(decode_from_node, events)

    async def end(self) -> None:
        """Wait for the program's end."""
        while (events := await self.host.events(self.seen)) is not None:
            self.seen += len(events)


@asynccontextmanager
async def started() -> AsyncGenerator[Caller]:
    """A host whose program has started; it ends with the block."""
    host = NodeHost()
    with fail_after(200):
        await host.start()
        try:
            yield Caller(host)
        finally:
            with move_on_after(20, shield=True):
                await host.close()


def begin(folder: Path, suite: Suite | None = None, **changed: object) -> Begin:
    """Return the first message of a run of one task, or of the suites of a union."""
    config = run_config(folder, fake_openclaw(folder), {"task_a": "Do it."})
    suite = suite or prepare(config).suite
    return Begin(
        config={**plain_config(config), **changed},
        suites=suites_of(suite),
        tasks=tuple(suite.by_id),
        run_id="run-1",
        name="m_run-1",
        node=1,
        slots=1,
        sends_inputs=True,
    )


async def send(caller: Caller, folder: Path, message: Begin, suite: Suite | None = None) -> None:
    """Send the first message, and the files of the run below a folder."""
    prepared = prepare(run_config(folder, folder / "bin" / "openclaw", {}))
    archive = folder / "inputs.tar.gz"
    pack_inputs(replace(prepared, suite=suite or prepared.suite), archive)
    for one in (message, InputPart(data=archive.read_bytes()), InputPart(data=b"")):
        await caller.host.send(frame(one))


async def test_a_node_makes_a_trial_and_leaves_nothing(tmp_path: Path) -> None:
    async with started() as caller:
        await send(caller, tmp_path, begin(tmp_path))
        ready = await caller.next(NodeReady)
        key = TrialKey(task_id="task_a", repetition=1)
        await caller.host.send(frame(StartTrial(slot=1, key=key, attempt=1)))
        ended = await caller.next(Ended)
        outcome = ended.outcome
        assert (outcome.key, outcome.reason) == (key, Reason.COMPLETED)
        path = tmp_path / ready.folder / outcome.evidence / "transcript.jsonl"
        data = b""
        while piece := await caller.host.read(str(path), len(data), 100):
            data += piece
        assert outcome.files is not None
        assert file_digest(path) == outcome.files["transcript.jsonl"]
        assert data == path.read_bytes()
        await caller.host.send(frame(End()))
        await caller.end()
    assert list((tmp_path / "runs").iterdir()) == []


async def test_a_node_makes_trials_of_each_of_several_suites(tmp_path: Path) -> None:
    folders = [make_suite(tmp_path / name, {f"task_{name}": "Do it."}) for name in ("one", "two")]
    suite = load_places([SuitePlace(name=path.parent.name, folder=path, format=None) for path in folders]).suite
    async with started() as caller:
        await send(caller, tmp_path, begin(tmp_path, suite), suite)
        for folder in folders:
            remove_folder(folder)  # the node has its own
        ready = await caller.next(NodeReady)
        assert ready.digests == {task.task_id: task.digest for task in suite.tasks}
        for number, task in enumerate(suite.tasks, 1):
            key = TrialKey(task_id=task.task_id, repetition=number)  # as the runner has planned, whatever a task states
            await caller.host.send(frame(StartTrial(slot=1, key=key, attempt=1)))
            ended = await caller.next(Ended)
            assert (ended.outcome.key, ended.outcome.reason) == (key, Reason.COMPLETED)


async def test_the_same_call_gives_the_same_events(tmp_path: Path) -> None:
    async with started() as caller:
        await send(caller, tmp_path, begin(tmp_path))
        first = None
        while not first:
            first = await caller.host.events(0)
        again = await caller.host.events(0)
        assert again is not None
        assert again[: len(first)] == first


async def test_a_node_that_can_not_take_part_says_why_and_ends(tmp_path: Path) -> None:
    async with started() as caller:
        refusing = begin(tmp_path, base_url="http://10.0.0.7/v1", api_key_env="NO_SUCH_KEY")
        await send(caller, tmp_path, refusing)
        refused = await caller.next(Refused)
        assert refused.why == "--api-key-env NO_SUCH_KEY: that environment variable is not set."
        await caller.end()


async def test_a_node_without_its_caller_ends_and_leaves_nothing(tmp_path: Path) -> None:
    async with started() as caller:
        await send(caller, tmp_path, begin(tmp_path))
        await caller.next(NodeReady)
        await caller.host.close()
        with fail_after(60):
            while list((tmp_path / "runs").iterdir()):
                await caller.host.about()


async def test_a_node_asks_an_endpoint_on_its_loopback_before_it_is_ready(tmp_path: Path) -> None:
    models = b'{"data": [{"id": "m", "max_model_len": 32768}]}'
    async with started() as caller, fake_judge(Answer(text="Yes."), models=models) as model:
        await send(caller, tmp_path, begin(tmp_path, base_url=model.base_url, preflight=True))
        said = await caller.next(NodeReady)
        assert model.requests[0].path == "/v1/chat/completions"
        assert (said.served.context_window, said.served.source) == (32_768, "max_model_len in /v1/models")
        await caller.host.send(frame(End()))
        await caller.end()


@pytest.mark.parametrize(
    ("cpu_info", "processor"),
    [
        ("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nmodel name\t: another\n", "Some CPU @ 3 GHz"),
        ("processor\t: 0\nCPU implementer\t: 0x41\n", platform.processor() or platform.machine()),
        (None, platform.processor() or platform.machine()),
    ],
)
def test_a_processor_is_named_by_its_model_or_else_its_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu_info: str | None, processor: str
) -> None:
    path = tmp_path / "cpuinfo"
    if cpu_info is not None:
        path.write_text(cpu_info, encoding="utf-8")
    monkeypatch.setattr(host, "CPU_INFO", path)
    found = read_hardware()
    assert found.processor == processor
    assert 1 <= found.cpus <= (os.cpu_count() or 1)
    assert found.memory_bytes > 2**24
    assert found.kernel.endswith(platform.release())

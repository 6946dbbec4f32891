"""Commands on runs with real processes: each is recorded, done and answered."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from anyio import TaskHandle, create_memory_object_stream, create_task_group, to_thread
from anyio.streams.memory import MemoryObjectReceiveStream

from fakes import Gate, Guest, fake_openclaw, make_suite, open_gate, run_config
from pinchbench.config.run_config import RunConfig
from pinchbench.events import Event as AnyEvent
from pinchbench.events import TrialEnded
from pinchbench.model.trial import TrialKey
from pinchbench.results.finished_run import Result
from pinchbench.results.journal.journal import read_journal
from pinchbench.results.paths import RunFiles, runs_of
from pinchbench.results.records import Control, PaceSet, Record, RunContinued, RunPaused, TrialStarted
from pinchbench.runner.ctl.commands import (
    Budget,
    Command,
    Continue,
    Note,
    Pause,
    Reply,
    Requeue,
    Skip,
    Status,
    StopTrial,
    send_command,
)
from pinchbench.runner.run_benchmark import run_benchmark

pytestmark = pytest.mark.usefixtures("checks_in_process")

LIMIT_S = 90
# Grades 1 for an attempt that is not the first, so that a retry changes the score.
CHECK = 'return {"done": 1.0 if "attempt2" in str(workspace_path) or "~" in str(workspace_path) else 0.5}'


def files_of(config: RunConfig) -> RunFiles:
    [files] = runs_of(config.output_dir)
    return files


def records_of(config: RunConfig) -> tuple[Record, ...]:
    return read_journal(files_of(config).journal).records


def key(task_id: str) -> TrialKey:
    return TrialKey(task_id=task_id, repetition=1)


def a_run(folder: Path, gate: Gate, tasks: str, *, concurrency: int) -> RunConfig:
    """A run of the tasks `task_a` and so on, whose turns wait at the gate."""
    prompts = {f"task_{letter}": f"scenario: gate {gate.port}" for letter in tasks}
    make_suite(folder, prompts, check=CHECK, timeout_s=60)
    return replace(run_config(folder, fake_openclaw(folder), {}), concurrency=concurrency, infra_retries=0)


async def ask(config: RunConfig, command: Command) -> Reply:
    """Send a command as `ctl` does, once somebody listens."""
    while True:
        reply = await to_thread.run_sync(send_command, files_of(config).control_socket, command)
        if reply is not None:
            return reply


@dataclass(kw_only=True)
class Working:
    """A run that works in this process, and its user at another terminal."""

    config: RunConfig
    ended: MemoryObjectReceiveStream[TrialKey]  # whose end is on the disk
    task: TaskHandle[Result]

    @property
    def result(self) -> Result:
        """What it came to, after the block."""
        return self.task.return_value

    async def ask(self, command: Command) -> Reply:
        return await ask(self.config, command)


@asynccontextmanager
async def working(config: RunConfig) -> AsyncIterator[Working]:
    """Work on a run while the block lasts, and to its end."""
    sender, ended = create_memory_object_stream[TrialKey](100)

    async def observer(events: MemoryObjectReceiveStream[AnyEvent]) -> None:
        async for event in events:
            if isinstance(event, TrialEnded):
                sender.send_nowait(event.outcome.key)

    with sender, ended:
        async with create_task_group() as group:
            task = group.create_task(run_benchmark(config, observer=observer))
            yield Working(config=config, ended=ended, task=task)


def waits_at(guest: Guest) -> str:
    return guest.session.rpartition("_")[0]


async def guests_at(gate: Gate, number: int) -> dict[str, Guest]:
    """The next turns by task."""
    return {waits_at(guest): guest for guest in [await gate.next() for _ in range(number)]}


async def test_a_paused_run_starts_nothing_until_it_continues(tmp_path: Path) -> None:
    async with open_gate() as gate, working(a_run(tmp_path, gate, "ab", concurrency=1)) as run:
        first = await gate.next()
        assert (await run.ask(Pause())).text == "Paused: no trial starts; 1 that run go on."
        work = as_object((await run.ask(Status())).data["work"])
        assert [work[name] for name in ("standing", "waiting", "limit", "slots")] == ["paused", 1, 0, 1]
        await first.let_go()
        assert await run.ended.receive() == key("task_a")
        assert not any(isinstance(one, TrialStarted) and one.key == key("task_b") for one in records_of(run.config))
        assert (await run.ask(Continue())).ok
        await (await gate.next()).let_go()
    assert run.result.complete
    assert not files_of(run.config).control_socket.exists()
    asked = [one for one in records_of(run.config) if isinstance(one, Control | PaceSet)]
    assert [type(one) for one in asked] == [RunPaused, PaceSet, RunContinued, PaceSet]
    assert [one.limit for one in asked if isinstance(one, PaceSet)] == [0, 1]


def as_object(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


async def test_a_stopped_trial_is_dead_when_the_answer_comes_and_in_no_score(tmp_path: Path) -> None:
    async with open_gate() as gate, working(a_run(tmp_path, gate, "ab", concurrency=2)) as run:
        two = await guests_at(gate, 2)
        reply = await run.ask(StopTrial("task_a"))
        assert reply.text == "task_a has been stopped; it is skipped, and in no score."
        await two["task_a"].gone()
        assert (await run.ask(StopTrial("task_a"))).text.startswith("task_a does not run. Running: task_b.")
        await two["task_b"].let_go()
    result = run.result
    assert not result.complete
    assert result.unfinished == 0
    assert [outcome.key.task_id for outcome in result.outcomes] == ["task_b"]
    assert result.data.left_out.skipped == 1
    assert result.data.left_out.total == 1
    assert result.data.score.mean == 0.5


async def test_what_is_skipped_is_not_run_and_is_counted(tmp_path: Path) -> None:
    async with open_gate() as gate, working(a_run(tmp_path, gate, "abc", concurrency=1)) as run:
        first = await gate.next()
        assert (await run.ask(Skip("task_b"))).text == "Skipped, and in no score: task_b."
        assert "skip task_a --stop" in (await run.ask(Skip("task_a"))).text
        await first.let_go()
        third = await gate.next()
        assert waits_at(third) == "task_c"
        await third.let_go()
    data = json.loads(run.result.path.read_text("utf-8"))
    assert data["control"] == {
        "skipped": [{"task_id": "task_b", "repetition": 1, "stopped": False}],
        "requeued": [],
        "score_without_requeued": None,
        "overridden": [],
        "score_with_overrides": None,
        "notes": [],
    }
    assert data["left_out"]["skipped"] == 1
    assert data["left_out"]["not_run"] == 0
    assert data["counts"]["planned"] == 3


async def test_the_score_is_reported_with_and_without_what_was_retried_by_hand(tmp_path: Path) -> None:
    async with open_gate() as gate, working(a_run(tmp_path, gate, "ab", concurrency=1)) as run:
        first = await gate.next()
        assert "skip task_a --stop" in (await run.ask(Requeue("task_a"))).text
        assert (await run.ask(Requeue("task_b"))).text == "task_b waits for its turn already."
        await first.let_go()
        second = await gate.next()
        assert (await run.ask(Requeue("task_a", "the disk was slow"))).text == "task_a gets another attempt."
        await second.let_go()
        await (await gate.next()).let_go()
    control = run.result.data.control
    assert control
    assert [(one.task_id, one.reason) for one in control.requeued] == [("task_a", "the disk was slow")]
    assert control.score_without_requeued is not None
    assert control.score_without_requeued.mean == 0.5
    assert {one.key.task_id: one.attempt for one in run.result.outcomes} == {"task_a": 2, "task_b": 1}
    assert run.result.complete


async def test_a_higher_budget_lets_a_run_go_on_and_a_used_up_one_ends_it(tmp_path: Path) -> None:
    async with open_gate() as gate:
        config = replace(a_run(tmp_path, gate, "abc", concurrency=1), max_cost=100.0)
        async with working(config) as run:
            await (await gate.next()).let_go()
            second = await gate.next()
            work = as_object((await run.ask(Status())).data["work"])
            assert work["max_usd"] == 100.0
            assert work["used_usd"] == pytest.approx(0.006)
            assert (await run.ask(Budget(0.001))).ok
            await second.gone()
    assert run.result.stopped.startswith("--max-cost $0.001 is reached")
    assert run.result.data.limits.max_cost == 0.001


async def test_a_note_is_kept_and_shown_and_keys_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret-secret")
    async with open_gate() as gate, working(a_run(tmp_path, gate, "a", concurrency=1)) as run:
        first = await gate.next()
        assert (await run.ask(Note("the fan is loud; sk-secret-secret-secret"))).text == "Noted."
        await first.let_go()
    assert run.result.data.control
    [note] = run.result.data.control.notes
    assert note.text.startswith("the fan is loud; ")
    assert b"sk-secret" not in files_of(run.config).journal.read_bytes()

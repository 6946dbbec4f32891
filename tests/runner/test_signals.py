"""Signals and sudden death: what the user asked for happens, and nobody lives on."""

import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from fakes import fake_openclaw, make_suite, open_gate, until
from pinchbench.model.ending import Reason
from pinchbench.model.outcome import Outcome
from pinchbench.process.leftovers import find_marked
from pinchbench.results.journal.journal import Journal, read_journal
from pinchbench.results.records import RunFinished, TrialStarted
from pinchbench.runner.signals import Interrupt
from processes import living
from sampling import sampled

STEP_LIMIT_S = 60  # one step of a runner, its start included, on a busy machine

RUNNER = """
import json, sys
from pathlib import Path
import anyio
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Sandbox
from pinchbench.runner.run_benchmark import run_benchmark

folder, program, concurrency = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def say(**line):
    print(json.dumps(line), flush=True)

async def observer(events):
    async for event in events:
        say(event=type(event).__name__, text=getattr(event, "text", ""), run_id=getattr(event, "run_id", ""))

async def main():
    config = RunConfig(model="mock/m1", tasks_dir=folder / "tasks", output_dir=folder / "results",
                       run_root=folder / "runs", openclaw=program, concurrency=concurrency,
                       sandbox=Sandbox.NONE)
    try:
        result = await run_benchmark(config, observer=observer, handle_signals=True)
    except* Exception as group:
        say(event="failed", text=repr(group.exceptions))
    else:
        say(event="result", path=str(result.path), interrupted=result.interrupted)

anyio.run(main)
"""


@dataclass(kw_only=True)
class Runner:
    """A run in a process of its own, which says in lines what happens."""

    folder: Path
    process: Process
    lines: BufferedByteReceiveStream
    heard: list[dict[str, str]] = field(default_factory=list)

    async def wait_for(self, event: str, text: str = "") -> dict[str, str]:
        with fail_after(STEP_LIMIT_S):
            while True:
                line: dict[str, str] = json.loads(await self.lines.receive_until(b"\n", 1_000_000))
                self.heard.append(line)
                if line["event"] == event and text in line.get("text", ""):
                    return line

    async def ended(self) -> int:
        with fail_after(STEP_LIMIT_S):
            return await self.process.wait()

    def journal(self) -> Journal:
        [path] = self.folder.glob("results/*/journal.jsonl")
        return read_journal(path)

    def outcomes(self) -> tuple[Outcome, ...]:
        return self.journal().state.outcomes


def read_json(path: str) -> dict[str, object]:
    data: dict[str, object] = json.loads(Path(path).read_text("utf-8"))
    return data


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@asynccontextmanager
async def runner(folder: Path, program: Path, *, concurrency: int = 1, ignored: str = "") -> AsyncIterator[Runner]:
    argv = [sys.executable, "-c", RUNNER, str(folder), str(program), str(concurrency)]
    if ignored:
        argv = ["sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh", *argv]
    async with await anyio.open_process(argv, stderr=None, cwd=folder) as process:
        assert process.stdout is not None
        try:
            yield Runner(folder=folder, process=process, lines=BufferedByteReceiveStream(process.stdout))
        finally:
            if process.returncode is None:
                process.kill()


def watch_them_go(folder: Path, marker: str = "") -> float:
    """Look until no process of a run is left; return how many seconds that took."""
    began = time.monotonic()
    while left := [*living(folder / "runs"), *(find_marked(marker) if marker else [])]:
        assert time.monotonic() - began < STEP_LIMIT_S, left
    return time.monotonic() - began


async def test_the_first_signal_stops_the_second_hurries() -> None:
    told: list[str] = []
    interrupt = Interrupt()
    assert not interrupt.stop.is_set()
    interrupt.take(signal.SIGTERM, told.append)
    assert interrupt.signal is signal.SIGTERM
    await interrupt.stop.wait()
    assert interrupt.setup.cancel_called
    assert not interrupt.hurry.is_set()
    interrupt.take(signal.SIGINT, told.append)
    assert interrupt.signal is signal.SIGTERM
    assert interrupt.hurry.is_set()
    assert told[0].startswith("SIGTERM: no new trials")
    assert "The next Ctrl-C kills them" in told[0]
    assert "The next Ctrl-C exits immediately" in told[1]


@pytest.mark.parametrize("number", sampled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], {signal.SIGINT}))
async def test_one_signal_ends_the_running_agents_and_writes_the_result(tmp_path: Path, number: signal.Signals) -> None:
    async with open_gate() as gate:
        prompts = {f"task_{n}": f"scenario: gate {gate.port}" for n in range(5)}
        make_suite(tmp_path, prompts)
        async with runner(tmp_path, fake_openclaw(tmp_path), concurrency=2) as run:
            first, second = await gate.next(), await gate.next()
            await first.let_go()
            third = await gate.next()
            run.process.send_signal(number)
            result = await run.wait_for("result")
            await second.gone()
            await third.gone()
            assert await run.ended() == 0
    assert result["interrupted"] == number.name
    assert sum(line["event"] == "Notice" and line["text"].startswith(number.name) for line in run.heard) == 1
    data = read_json(result["path"])
    counts = data["counts"]
    assert isinstance(counts, dict)
    assert (counts["planned"], counts["success"], counts["not_run"]) == (5, 1, 2)
    assert counts["reasons"] == {"completed": 1, "interrupted": 2}
    assert data["interrupted"] == number.name
    assert sorted(one.reason for one in run.outcomes()) == [Reason.COMPLETED, Reason.INTERRUPTED, Reason.INTERRUPTED]
    assert living(tmp_path / "runs") == []
    assert not list((tmp_path / "runs").glob("*/.homes"))


async def test_three_signals_leave_at_once_and_nobody_lives_on(tmp_path: Path) -> None:
    async with open_gate() as gate:
        prompt = f"scenario: ignore_term\nscenario: gate {gate.port}"
        make_suite(tmp_path, dict.fromkeys(("task_a", "task_b"), prompt))
        async with runner(tmp_path, fake_openclaw(tmp_path), concurrency=2) as run:
            guests = [await gate.next(), await gate.next()]
            # three different ones: equal ones would melt into one on their way
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                run.process.send_signal(number)
            assert await run.ended() in {129, 130, 143}
            watch_them_go(tmp_path)
            for guest in guests:
                await guest.gone()
    assert sum(isinstance(record, TrialStarted) for record in run.journal().records) == 2


async def test_nobody_outlives_a_runner_that_is_killed_with_eight_agents_in_flight(tmp_path: Path) -> None:
    async with open_gate() as gate:
        prompt = f"scenario: ignore_term\nscenario: daemonise\nscenario: gate {gate.port}"
        make_suite(tmp_path, {f"task_{n}": prompt for n in range(9)})
        async with runner(tmp_path, fake_openclaw(tmp_path), concurrency=8) as run:
            began = await run.wait_for("RunBegan")
            guests = [await gate.next() for _ in range(8)]
            assert len(find_marked(began["run_id"])) >= 16  # agents and their guardians
            # each agent and two whom its shell, which has gone on by itself, may still have to start
            await until(lambda: len(living(tmp_path / "runs")) >= 24)
            os.kill(run.process.pid, signal.SIGKILL)
            took_s = watch_them_go(tmp_path, began["run_id"])
            assert await run.ended() == -9
            for guest in guests:
                await guest.gone()
    print(f"the last of 8 trees was gone after {took_s:.2f} s")  # noqa: T201 - measured, shown with -s
    journal = run.journal()
    assert sum(isinstance(record, TrialStarted) for record in journal.records) == 8
    assert journal.state.outcomes == ()
    assert not any(isinstance(record, RunFinished) for record in journal.records)


async def test_a_signal_during_the_setup_runs_nothing(tmp_path: Path) -> None:
    make_suite(tmp_path, {"task_a": "Hi"})
    async with runner(tmp_path, fake_openclaw(tmp_path, add_hangs=True)) as run:
        await run.wait_for("Notice", "Setting up")
        run.process.send_signal(signal.SIGINT)
        failed = await run.wait_for("failed")
        assert "RunInterruptedError('SIGINT came during the set-up; nothing was run.')" in failed["text"]
        assert await run.ended() == 0
    assert living(tmp_path) == []
    assert names_in(tmp_path / "runs") == []
    assert not (tmp_path / "results").exists()

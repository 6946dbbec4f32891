"""The wire on real OpenClaw: what it records, whose it is, and that a run with it comes to the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fakes import NEW_RELEASE, OLD_RELEASE
from pinchbench import Isolation, Reason, RunConfig, run_benchmark
from pinchbench.results.evidence import Evidence
from pinchbench.wire.facts import facts_of
from pinchbench.wire.recording import read_recording
from pinchbench.wire.replay import Divergence, Replay
from real_openclaw import TaskFile, UserHome, write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw
    from pinchbench.results.finished_run import Result
    from pinchbench.wire.exchange import Exchange

pytestmark = [pytest.mark.openclaw, pytest.mark.anyio]

NAMES = ("a", "b")
TASKS = [
    TaskFile(
        task_id=f"task_{name}",
        turns=[
            (
                f"Write {name}.txt.",
                [("write", {"path": f"{name}.txt", "content": f"{name}\n"})],
                f"I wrote {name}.txt.",
            ),
            ("What is in it?", [("exec", {"command": f"cat {name}.txt"})], f"It says {name}."),
        ],
        timeout_s=300,
    )
    for name in NAMES
]


async def _run(folder: Path, openclaw: OpenClaw, isolation: Isolation, *, wire: bool = True) -> Result:
    config = RunConfig(
        model="demo/oracle",
        tasks_dir=write_suite(folder / "suite", TASKS),
        openclaw=openclaw.version,
        isolation=isolation,
        concurrency=2,
        output_dir=folder / "results",
        run_root=folder / "runs",
        preflight=False,
        wire=wire,
    )
    return await run_benchmark(config)


def _answers(result: Result) -> dict[str, list[str]]:
    """What the model said in each trial, as the recordings have it."""
    said = {}
    for outcome in result.outcomes:
        recording = read_recording(Evidence(folder=result.folder / outcome.evidence).wire)
        assert recording.problem == ""
        messages = [facts_of(one).reply.message for one in recording.exchanges]
        said[str(outcome.key)] = [one.text for one in messages if one is not None and one.text]
    return said


@pytest.mark.parametrize(
    ("openclaw", "isolation"),
    [
        (NEW_RELEASE, Isolation.PRIVATE),
        (NEW_RELEASE, Isolation.GATEWAY),
        pytest.param(OLD_RELEASE, Isolation.PRIVATE, marks=pytest.mark.long),  # its short form is in test_replay
    ],
    indirect=["openclaw"],
)
async def test_every_call_of_a_trial_is_recorded_as_its_own_and_replays_without_a_divergence(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, isolation: Isolation
) -> None:
    before = home.snapshot()

    result = await _run(tmp_path / "one", openclaw, isolation)
    again = await _run(tmp_path / "two", openclaw, isolation)

    assert [one.reason for one in result.outcomes] == [Reason.COMPLETED] * len(TASKS), result.outcomes
    assert _answers(result) == {f"task_{name}": [f"I wrote {name}.txt.", f"It says {name}."] for name in NAMES}
    told = json.loads(result.path.read_bytes())
    for task in told["tasks"]:
        [run] = task["runs"]
        assert (run["wire"]["calls"], run["wire"]["failed"]) == (4, [])
        names = ("requests", "input_tokens", "output_tokens", "cache_read_tokens")
        assert [run["wire"]["usage"][name] for name in names] == [run["usage"][name] for name in names]
    for first, second in zip(_recordings(result), _recordings(again), strict=True):
        replay = Replay(first)
        for one in second:
            assert not isinstance(
                found := replay.match(one.path, one.request, at=one.began_at, turn=one.turn), Divergence
            ), found
    assert home.snapshot() == before


def _recordings(result: Result) -> list[list[Exchange]]:
    outcomes = sorted(result.outcomes, key=lambda one: one.key)
    recordings = [read_recording(Evidence(folder=result.folder / one.evidence).wire) for one in outcomes]
    return [sorted(one.exchanges, key=lambda exchange: exchange.number) for one in recordings]

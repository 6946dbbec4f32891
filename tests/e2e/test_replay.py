"""Replays on real OpenClaw that diverge from their recording, or go on from it with another model."""

from dataclasses import replace
from pathlib import Path

import pytest

from pinchbench import Reason, run_benchmark
from pinchbench.config.rerun_configs import ReplayConfig
from pinchbench.config.run_config import ReplaySettings
from pinchbench.defaults import DivergencePolicy
from pinchbench.openclaw.command import OpenClaw
from pinchbench.results.finished_run import Result
from pinchbench.runner.again.rerun import replay
from real_openclaw import TaskFile, calls_of, newest_release, run_config, write_suite

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long]

TASK = TaskFile(
    task_id="task_a",
    turns=[
        ("Write a.txt.", [("write", {"path": "a.txt", "content": "a\n"})], "I wrote a."),
        ("What is in it?", [("exec", {"command": "cat a.txt"})], "It says a."),
    ],
    timeout_s=300,
)


async def _record(folder: Path, openclaw: OpenClaw) -> Result:
    config = run_config(folder, openclaw, [TASK])
    return await run_benchmark(config)


async def _replay(recorded: Result, settings: ReplaySettings | None = None, **options: object) -> Result:
    config = ReplayConfig(run=str(recorded.folder), settings=options, replay=settings or ReplaySettings(folder=""))
    return await replay(config)


def _said(result: Result) -> dict[str, list[str]]:
    said = {}
    for outcome in sorted(result.outcomes, key=lambda one: one.key):
        messages = [one.reply.message for one in calls_of(result, outcome)]
        said[str(outcome.key)] = [one.text for one in messages if one is not None and one.text]
    return said


@newest_release
async def test_a_changed_prompt_is_found_at_its_first_message_and_a_fork_goes_on_with_another_model(
    openclaw: OpenClaw, tmp_path: Path
) -> None:
    recorded = await _record(tmp_path, openclaw)

    forked = await _replay(recorded, ReplaySettings(folder="", fork_turn=2, model="demo/null"))
    (message, calls, reply), second = TASK.turns
    suite = write_suite(tmp_path / "changed", [replace(TASK, turns=[(f"Please {message}", calls, reply), second])])
    stopped = await _replay(recorded, tasks_dir=suite)
    continued = await _replay(
        recorded, ReplaySettings(folder="", on_divergence=DivergencePolicy.CONTINUE), tasks_dir=suite
    )

    for outcome in forked.outcomes:
        assert outcome.replay is not None
        assert (outcome.replay.served, outcome.replay.live >= 1, outcome.replay.divergences) == (2, True, 0)
    for said in _said(forked).values():
        assert said[0].startswith("I wrote")
        assert not any(text.startswith("It says") for text in said)
    assert {one.reason for one in stopped.outcomes} == {Reason.DIVERGED}
    for outcome in stopped.outcomes:
        assert outcome.replay is not None
        assert "message 0 (user) is different" in outcome.replay.first
    assert {one.reason for one in continued.outcomes} == {Reason.COMPLETED}
    assert _said(continued) == _said(recorded)

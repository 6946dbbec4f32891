"""A simulated user on real OpenClaw, played by its solution or by a model, and its replay without either."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fake_judge import Answer, Asked, fake_judge
from pinchbench import Reason, RunConfig, run_benchmark
from pinchbench.config.asked_models import UserModelConfig
from pinchbench.config.rerun_configs import ReplayConfig
from pinchbench.config.run_config import ReplaySettings
from pinchbench.model.facts import UserEnd
from pinchbench.openclaw.command import OpenClaw
from pinchbench.results.finished_run import Result
from pinchbench.runner.again.rerun import replay
from real_openclaw import UserHome, newest_release, run_config
from suite_packs import put

pytestmark = [pytest.mark.real_openclaw, pytest.mark.long, newest_release]

TASK = """
    ---
    id: task_table
    timeout_seconds: 600
    ---

    ## Prompt

    Book a table, and write its day to booking.txt.

    ## Simulated User

    You are Ada. Only when asked, you say that it is for Friday. You are done when the table is booked.

    ## Automated Checks

    ```python
    from pathlib import Path

    def grade(transcript, workspace_path):
        messages = [one["message"] for one in transcript if one.get("type") == "message"]
        said = [one["role"] for one in messages if "Friday" in str(one["content"])]
        return {%s}
    ```
"""
BOOKED = '"booked": float("Friday" in Path("booking.txt").read_text() if Path("booking.txt").exists() else 0)'
TALKED = '"talked": float(said == ["user", "assistant"])'
SOLUTION = """
    turns:
      - answer: For which day?
      - user: For Friday.
        steps:
          - {tool: write, args: {path: booking.txt, content: "Friday"}}
        answer: Booked for Friday.
"""


def _config(folder: Path, openclaw: OpenClaw, model: str, check: str) -> RunConfig:
    put(folder / "tasks" / "task_table.md", TASK % check)
    put(folder / "tasks" / "solutions" / "task_table.yaml", SOLUTION)
    return run_config(folder, openclaw, folder / "tasks", model=model)


async def _replayed(recorded: Result) -> Result:
    """Replay a run without any model, and show that every request and every message was served."""
    again = await replay(ReplayConfig(run=str(recorded.folder), replay=ReplaySettings(folder="")))
    [outcome] = again.outcomes
    assert (outcome.reason, outcome.note) == (Reason.COMPLETED, "")
    assert outcome.replay is not None
    assert (outcome.replay.live, outcome.replay.divergences, outcome.replay.unused) == (0, 0, 0)
    assert outcome.user is not None
    assert (outcome.user.messages, outcome.user.calls) == (1, 0)
    return again


def _scores(result: Result) -> list[float | None]:
    return [grade.score for grade in result.grades.values()]


async def test_a_solution_plays_its_user_too_and_its_replay_scores_the_same(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    before = home.snapshot()
    solved = await run_benchmark(_config(tmp_path, openclaw, "demo/oracle", BOOKED))
    again = await _replayed(solved)
    idle = await run_benchmark(_config(tmp_path, openclaw, "demo/null", BOOKED))
    assert (_scores(solved), _scores(again), _scores(idle)) == ([1.0], [1.0], [0.0])
    assert [one.user and (one.user.messages, one.user.end) for one in idle.outcomes] == [(0, UserEnd.FINISHED)]
    assert home.snapshot() == before


async def test_a_model_plays_the_user_and_is_not_asked_again_in_a_replay(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path
) -> None:
    del home

    def agent(asked: Asked) -> Answer:
        told = [one for one in asked.messages if one["role"] == "user" and "For Friday." in str(one["content"])]
        return Answer(text="Booked for Friday." if told else "For which day?")

    def user(asked: Asked) -> Answer:
        is_finished = "Booked" in str(asked.messages[-1]["content"])
        return Answer(text=json.dumps({"is_finished": is_finished, "message": "" if is_finished else "For Friday."}))

    async with fake_judge(choose=agent) as model, fake_judge(choose=user) as player:
        config = replace(
            _config(tmp_path, openclaw, "local/m1", TALKED),
            base_url=model.base_url,
            user=UserModelConfig(model="user-1", base_url=player.base_url),
        )
        recorded = await run_benchmark(config)
        [outcome] = recorded.outcomes
        assert (outcome.reason, outcome.note) == (Reason.COMPLETED, "")
        assert outcome.user is not None
        assert (outcome.user.messages, outcome.user.calls, outcome.user.end) == (1, 2, UserEnd.FINISHED)
        asked = len(model.requests), len(player.requests)
        again = await _replayed(recorded)
        assert (len(model.requests), len(player.requests)) == asked
    assert (_scores(recorded), _scores(again)) == ([1.0], [1.0])

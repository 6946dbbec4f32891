"""Suites of other formats on real OpenClaw: their solutions scored by their own rules."""

from pathlib import Path

import pytest

from fake_judge import fake_judge, good
from pinchbench import JudgeConfig, run_benchmark
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.install import TRIED_RELEASES
from real_openclaw import UserHome, run_config
from suite_packs import write_harbor, write_qwenclaw

pytestmark = [
    pytest.mark.real_openclaw,
    pytest.mark.long,
    pytest.mark.parametrize("openclaw", [TRIED_RELEASES[0]], indirect=True),
]


async def test_qwenclaw_tasks_are_scored_exactly(openclaw: OpenClaw, home: UserHome, tmp_path: Path) -> None:
    del home
    expected = {"task_00001_ledger": 0.4 + 0.6 * 0.5, "task_00003_weights": 0.95 / 1.2}
    async with fake_judge(good(0.5, scores={"Clarity": 1.0, "Order": 0.0})) as judge:
        config = run_config(
            tmp_path,
            openclaw,
            write_qwenclaw(tmp_path / "pack"),
            suite=",".join(expected),
            concurrency=2,
            judge=JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False),
        )
        result = await run_benchmark(config)
    assert {key.task_id: grade.score for key, grade in result.grades.items()} == pytest.approx(expected)


async def test_a_task_finds_the_paths_that_it_states(openclaw: OpenClaw, home: UserHome, tmp_path: Path) -> None:
    del home
    config = run_config(tmp_path, openclaw, write_harbor(tmp_path / "pack"))
    result = await run_benchmark(config)
    [grade] = result.grades.values()
    assert grade.check is not None
    assert grade.check.breakdown == {"given": 1.0, "env": 1.0, "reward": 0.5}, grade
    assert grade.score == 0.5

"""Suites of other formats on real OpenClaw: their solutions and doing nothing, scored by their own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core_pack import IDLE, SOLVED, write_clawbench_core
from fake_judge import fake_judge, good
from pinchbench import JudgeConfig, RunConfig, run_benchmark
from pinchbench.openclaw.install import TRIED_RELEASES
from suite_packs import write_claw_bench, write_harbor, write_qwenclaw, write_wildclaw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinchbench.openclaw.command import OpenClaw
    from real_openclaw import UserHome

pytestmark = [
    pytest.mark.openclaw,
    pytest.mark.anyio,
    pytest.mark.parametrize("openclaw", [TRIED_RELEASES[0]], indirect=True),
]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            "demo/oracle",
            {"task_00001_ledger": 0.4 + 0.6 * 0.5, "task_00003_weights": 0.95 / 1.2},
        ),
        # the check of task_00002_calls raises: a score of 0 by the suite's rule
        ("demo/null", {"task_00001_ledger": 0.4 * 0.25, "task_00002_calls": 0}),
    ],
)
async def test_qwenclaw_tasks_are_scored_exactly(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, model: str, expected: dict[str, float]
) -> None:
    del home
    async with fake_judge(good(0.5, scores={"Clarity": 1.0, "Order": 0.0})) as judge:
        config = RunConfig(
            model=model,
            tasks_dir=write_qwenclaw(tmp_path / "pack"),
            suite=",".join(expected),
            openclaw=openclaw.version,
            concurrency=2,
            output_dir=tmp_path / "results",
            run_root=tmp_path / "pb",
            judge=JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False),
        )
        result = await run_benchmark(config)
    assert {key.task_id: grade.score for key, grade in result.grades.items()} == pytest.approx(expected)


@pytest.mark.parametrize(("model", "score"), [("demo/oracle", 19 / 20), ("demo/null", 4 / 20)])
async def test_claw_bench_tasks_are_scored_exactly(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, model: str, score: float
) -> None:
    del home
    config = RunConfig(
        model=model,
        tasks_dir=write_claw_bench(tmp_path / "pack"),
        suite="mail-001",
        openclaw=openclaw.version,
        output_dir=tmp_path / "results",
        run_root=tmp_path / "pb",
    )
    result = await run_benchmark(config)
    [grade] = result.grades.values()
    assert grade.score == pytest.approx(score), grade


@pytest.mark.parametrize(
    ("model", "scores"),
    [("demo/oracle", {"t1-note": SOLVED, "t4-phases": 1.0}), ("demo/null", {"t1-note": IDLE, "t4-phases": 0.0})],
)
async def test_clawbench_core_tasks_are_scored_exactly(
    openclaw: OpenClaw, home: UserHome, tmp_path: Path, model: str, scores: dict[str, float]
) -> None:
    del home
    config = RunConfig(
        model=model,
        tasks_dir=write_clawbench_core(tmp_path / "pack"),
        openclaw=openclaw.version,
        concurrency=2,
        output_dir=tmp_path / "results",
        run_root=tmp_path / "pb",
    )
    result = await run_benchmark(config)
    assert {key.task_id: grade.score for key, grade in result.grades.items()} == pytest.approx(scores), result.grades


@pytest.mark.parametrize(
    ("write", "model", "points"),
    [
        (write_harbor, "demo/oracle", {"given": 1.0, "env": 1.0, "reward": 0.5}),
        (write_harbor, "demo/null", {"given": 1.0, "env": 1.0, "reward": 0.0}),
        (write_wildclaw, "demo/null", {"given": 1.0, "skill": 1.0, "told": 1.0, "overall_score": 0.0}),
    ],
)
async def test_tasks_find_the_paths_that_they_state(  # noqa: PLR0917 - fixtures and a table
    openclaw: OpenClaw,
    home: UserHome,
    tmp_path: Path,
    write: Callable[[Path], Path],
    model: str,
    points: dict[str, float],
) -> None:
    del home
    config = RunConfig(
        model=model,
        tasks_dir=write(tmp_path / "pack"),
        openclaw=openclaw.version,
        output_dir=tmp_path / "results",
        run_root=tmp_path / "pb",
    )
    result = await run_benchmark(config)
    [grade] = result.grades.values()
    assert grade.check is not None
    assert grade.check.breakdown == points, grade
    assert grade.score == points.get("reward", points.get("overall_score"))

"""Runs of suites of other formats: with the fake agent, whole, scored by their own rule."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from anyio import fail_after

from fake_judge import fake_judge, good
from fakes import fake_openclaw, run_config
from pinchbench.config import JudgeConfig, RegradeConfig
from pinchbench.errors import SuiteError
from pinchbench.runner.regrade import regrade
from pinchbench.runner.run import run_benchmark
from suite_packs import write_claw_bench, write_qwenclaw, write_wildclaw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def test_a_qwenclaw_run_is_scored_by_the_suites_rule_and_names_it(tmp_path: Path) -> None:
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), {}), tasks_dir=write_qwenclaw(tmp_path / "pack"))
    # the mean by the rubric's weights would be 0.8: this rule takes the judge's own total
    async with fake_judge(good(0.5, scores={"Clarity": 1.0, "Order": 0.0})) as judge:
        config = replace(config, judge=JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False))
        with fail_after(60):
            result = await run_benchmark(config)
    scores = {key.task_id: grade.score for key, grade in result.grades.items()}
    assert scores == {
        "task_00001_ledger": pytest.approx(0.4 * 1.0 + 0.6 * 0.5),  # 0.5 and 1.5: each counts as it is
        "task_00002_calls": 1.0,
        "task_00003_weights": pytest.approx((0.7 * 1.0 + 0.5 * 0.5) / 1.2),
    }
    data = json.loads(result.path.read_bytes())
    assert data["suite_format"] == "qwenclaw"
    assert "less than 0.75" in data["score_rule"]
    again = await regrade(RegradeConfig(run=result.path.stem, output_dir=tmp_path / "results", run_root=tmp_path))
    assert {key.task_id: grade.score for key, grade in again.grades.items()} == scores


async def test_a_claw_bench_run_is_set_up_and_scored_by_its_tests(tmp_path: Path) -> None:
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), {}), tasks_dir=write_claw_bench(tmp_path / "pack"))
    with fail_after(90):
        result = await run_benchmark(config)
    scores = {key.task_id: grade.score for key, grade in result.grades.items()}
    # the fake agent writes hello to out.txt: all but the report and `missing.txt`, and one test is skipped
    assert scores == {"mail-001": pytest.approx(12 / 20), "sums-001-total": 1.0}, result.grades
    assert json.loads(result.path.read_bytes())["suite_format"] == "claw-bench"
    assert not list((tmp_path / "pack").rglob("*beside*"))


async def test_a_wildclaw_run_does_not_start(tmp_path: Path) -> None:
    tasks = write_wildclaw(tmp_path / "pack") / "01_Office"
    config = replace(run_config(tmp_path, fake_openclaw(tmp_path), {}), tasks_dir=tasks, skip_broken=True)
    with pytest.raises(SuiteError, match="every agent would get a wrong score"):
        await run_benchmark(config)

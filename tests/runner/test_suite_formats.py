"""Runs of suites of other formats: with the fake agent, whole, scored by their own rule."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core_pack import SOLVED, write_clawbench_core
from fake_judge import fake_judge, good
from fakes import fake_openclaw, run_config
from pinchbench.authoring.added_suites import add_pack
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.rerun_configs import RegradeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.model.ending import Reason
from pinchbench.results.finished_run import Result
from pinchbench.runner.again.grade_again import regrade
from pinchbench.runner.run_benchmark import run_benchmark
from suite_packs import write_claw_bench, write_harbor, write_qwenclaw, write_wildclaw


def a_run(folder: Path, tasks: Path | None) -> RunConfig:
    return replace(run_config(folder, fake_openclaw(folder), {}), tasks_dir=tasks)


def scores_of(result: Result) -> dict[str, float | None]:
    return {key.task_id: grade.score for key, grade in result.grades.items()}


async def test_a_qwenclaw_run_is_scored_by_the_suites_rule_and_names_it(tmp_path: Path) -> None:
    config = a_run(tmp_path, write_qwenclaw(tmp_path / "pack"))
    # the mean by the rubric's weights would be 0.8: this rule takes the judge's own total
    async with fake_judge(good(0.5, scores={"Clarity": 1.0, "Order": 0.0})) as judge:
        config = replace(config, judge=JudgeConfig(model="judge-1", base_url=judge.base_url, cache=False))
        result = await run_benchmark(config)
        again = await regrade(RegradeConfig(run=str(result.folder), run_root=tmp_path))
    scores = scores_of(result)
    assert scores == {
        "task_00001_ledger": pytest.approx(0.4 * 1.0 + 0.6 * 0.5),  # 0.5 and 1.5: each counts as it is
        "task_00002_calls": 1.0,
        "task_00003_weights": pytest.approx((0.7 * 1.0 + 0.5 * 0.5) / 1.2),
    }
    data = json.loads(result.path.read_bytes())
    assert data["suite_format"] == "qwenclaw"
    assert "less than 0.75" in data["score_rule"]
    assert scores_of(again) == scores


async def test_a_run_of_an_added_suite_records_its_source_and_digest_and_can_be_regraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    source = write_qwenclaw(tmp_path / "pack")
    pack, _ = add_pack("ours", source.parent)
    result = await run_benchmark(replace(a_run(tmp_path, None), suite="ours:task_00002_calls"))
    suite = json.loads((result.path.with_suffix("") / "run.json").read_bytes())["suite"]
    expected = {"name": "ours", "source": str(source.parent), "commit": "", "digest": pack.digest, "format": "qwenclaw"}
    assert suite.items() >= expected.items()
    assert scores_of(result) == {"task_00002_calls": 1.0}
    again = await regrade(RegradeConfig(run=str(result.folder), run_root=tmp_path))
    assert scores_of(again) == {"task_00002_calls": 1.0}


async def test_a_claw_bench_run_is_set_up_and_scored_by_its_tests(tmp_path: Path) -> None:
    result = await run_benchmark(a_run(tmp_path, write_claw_bench(tmp_path / "pack")))
    scores = scores_of(result)
    # the fake agent writes hello to out.txt: all but the report and `missing.txt`, and one test is skipped
    assert scores == {"mail-001": pytest.approx(12 / 20), "sums-001-total": 1.0}, result.grades
    assert json.loads(result.path.read_bytes())["suite_format"] == "claw-bench"
    assert not list((tmp_path / "pack").rglob("*beside*"))


async def test_a_run_of_clawbench_core_scores_the_completion_alone_and_says_so(tmp_path: Path) -> None:
    result = await run_benchmark(a_run(tmp_path, write_clawbench_core(tmp_path / "pack")))
    scores = scores_of(result)
    # the fake agent writes hello to out.txt in each turn, and copies nothing
    assert scores == {"t1-note": pytest.approx(SOLVED), "t4-phases": 0}, result.grades
    data = json.loads(result.path.read_bytes())
    assert data["suite_format"] == "clawbench-core"
    assert "completion alone (C)" in data["score_rule"]
    sessions = {outcome.key.task_id: len(outcome.session_ids) for outcome in result.outcomes}
    assert sessions == {"t1-note": 1, "t4-phases": 2}


@pytest.mark.parametrize("write", [write_wildclaw, write_harbor])
async def test_tasks_that_state_paths_are_not_run_without_namespaces(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    result = await run_benchmark(a_run(tmp_path, write(tmp_path / "pack")))
    [outcome] = result.outcomes
    assert outcome.reason is Reason.PREREQUISITE_MISSING
    assert "--sandbox namespaces" in outcome.note
    assert result.data.score.mean is None

"""Trials of an earlier run that count in another one: only where all is the same, each once, and always marked."""

import json
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from anyio import CancelScope, to_thread

from command_line import call, clean_environment
from fake_judge import fake_judge, good
from fakes import SCORED_BY_MODEL, TURN_LIMIT_S, Heard, calls, fake_openclaw, make_suite, open_gate, run_config
from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.rerun_configs import ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.errors import AlteredRunError
from pinchbench.model.trial import TrialKey
from pinchbench.publish.leaderboard.payload import obstacles
from pinchbench.publish.leaderboard.public_names import PrivateNames
from pinchbench.report.export.github import github_lines
from pinchbench.report.export.trial_rows import trial_rows
from pinchbench.report.html.report_page import write_report
from pinchbench.report.remarks import remarks
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.samples import find_sides, side_of
from pinchbench.results.compare.verdict import warnings
from pinchbench.results.finished_run import PastRun, Result, read_run
from pinchbench.results.journal.journal import JournalWriter
from pinchbench.results.paths import RunFiles
from pinchbench.results.records import RunResumed
from pinchbench.results.run_list import past_runs
from pinchbench.results.verification import State, check_run
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.plan.prepare import prepare
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.setup.set_up import planned_reuse

pytestmark = pytest.mark.usefixtures("checks_in_process")


def a_run(folder: Path, prompt: str = "Write out.txt.") -> RunConfig:
    """A run of three tasks with checks, by a fake OpenClaw."""
    config = run_config(folder, fake_openclaw(folder), {})
    write_tasks(folder, dict.fromkeys(("task_a", "task_b", "task_c"), prompt))
    return replace(config, infra_retries=0)


def write_tasks(folder: Path, prompts: dict[str, str]) -> None:
    make_suite(folder, prompts, check=SCORED_BY_MODEL, timeout_s=TURN_LIMIT_S)


def files_of(result: Result) -> RunFiles:
    return RunFiles(output_dir=result.folder.parent, name=result.folder.name)


def past(result: Result) -> PastRun:
    return read_run(files_of(result))


def turns(folder: Path) -> int:
    """How often the fake OpenClaw was asked for a turn."""
    return sum(call[0] == "agent" and "--help" not in call for call in calls(folder / "bin" / "openclaw"))


def reusing(config: RunConfig, result: Result, **changes: object) -> RunConfig:
    return replace(config, reuse=result.run_id, **changes)  # type: ignore[arg-type]


async def test_a_run_that_was_interrupted_is_reused_and_each_trial_counts_once(tmp_path: Path) -> None:
    async with open_gate() as gate:
        config = a_run(tmp_path, f"scenario: gate {gate.port}")
        with CancelScope() as scope:
            await run_benchmark(config, observer=gate.closing_after(1, scope))
        [first] = config.output_dir.glob("*/journal.jsonl")
        name = first.parent.name
        before = first.read_bytes()
        heard = Heard()
        async with gate.opened():
            result = await run_benchmark(replace(config, reuse=name), observer=heard)

    assert [one.reused_from for one in result.outcomes] == [name, "", ""]
    assert turns(tmp_path) == 2 + 2, "the interrupted one, too, is run anew"
    assert f"Reused from {name}: 1 of 3 trials." in heard.notices
    assert sorted(one for one in heard.notices if one.startswith("Run anew")) == [
        "Run anew: 1 (no valid attempt there).",
        "Run anew: 1 (not run there).",
    ]
    assert result.complete
    assert (result.data.score.mean, result.data.score.trials, result.data.reused) == (1.0, 3, {name: 1})
    assert check_run(files_of(result)).state is State.VERIFIED
    assert first.read_bytes() == before
    run = past(result)
    told = " ".join(remarks(run.data, run.outcomes, run.grades, run.files))
    assert f"Reused: 1 from {name}, of 3 trials." in told
    page = tmp_path / "report.html"
    write_report([run], page)
    assert "Reused: 1 from" in page.read_text("utf-8")
    assert "Reused from" in page.read_text("utf-8")
    assert [one.reused for one in past_runs(config.output_dir) if one.run == result.folder.name] == [1]


async def test_more_repetitions_reuse_those_that_were_made(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    first = await run_benchmark(config)
    second = await run_benchmark(reusing(config, first, runs=2))
    third = await run_benchmark(reusing(config, second, runs=2))
    assert turns(tmp_path) == 3 + 3 + 0
    assert second.data.reused == {first.folder.name: 3}
    assert third.data.reused == {first.folder.name: 3, second.folder.name: 3}, "the run that made each is named"
    assert [check_run(files_of(one)).state for one in (second, third)] == [State.VERIFIED] * 2
    assert second.data.score.trials == 6
    run = past(second)
    assert [row["reused_from"] for row in trial_rows(run)] == [first.folder.name] * 3 + [None] * 3
    assert "3 of its trials were reused from earlier runs" in obstacles(run, {}, PrivateNames())
    assert "Reused: 3 from" in unescape("".join(github_lines(run)))
    evidence = second.folder / second.outcomes[0].evidence
    assert (evidence / "transcript.jsonl").read_bytes() == (
        first.folder / second.outcomes[0].evidence / "transcript.jsonl"
    ).read_bytes()
    pooled = side_of([past(second), past(first), past(third)])
    assert sum(len(task.scores) for task in pooled.tasks.values()) == 6, "what several runs count is taken once"
    [comparison] = compare(find_sides([first.run_id, second.run_id], config.output_dir))
    told = list(warnings(comparison))
    assert "3 trials are on both sides, as a run reuses them: they can show no difference." in told
    assert f"{second.folder.name} counts trials of earlier runs: 3 of {first.folder.name}." in told


SETTINGS: dict[str, dict[str, object]] = {
    "--thinking: not given → high": {"thinking": "high"},
    "--model: mock/m1 → mock/m2": {"model": "mock/m2"},
    "--infra-retries: 0 → 1": {"infra_retries": 1},
    "--max-disk: 10.0 → 3.0": {"max_disk": 3.0},
    "--env: {} → {'LEVEL': '2'}": {"env": {"LEVEL": "2"}},
}


async def test_nothing_is_reused_if_a_setting_differs_that_a_trial_may_depend_on(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    first = await run_benchmark(config)
    for why, changes in SETTINGS.items():
        planned = planned_reuse(prepare(reusing(config, first, **changes)))
        assert (len(planned.reused), len(planned.attempts)) == (0, 3)
        assert planned.run_anew == {why: 3}

    # nor is a run that was resumed with another setting
    with JournalWriter(files_of(first).journal, go_on=True) as journal:
        options = {**past(first).facts.config, "infra_retries": 3}
        journal.append([RunResumed(at=9.0, trials=0, config=options, versions=past(first).facts.versions)])
    for retries, why in ((0, "--infra-retries: 3 → 0"), (3, "--infra-retries: 0 → 3")):
        assert planned_reuse(prepare(reusing(config, first, infra_retries=retries))).run_anew == {why: 3}


async def test_a_dry_run_plans_and_forecasts_the_rest_alone(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    first = await run_benchmark(config)
    write_tasks(tmp_path, {"task_b": "Write out.txt, and do it well."})
    planned = planned_reuse(prepare(reusing(config, first, pass_threshold=0.9, max_cost=3.0, concurrency=4)))
    assert [one.key.task_id for one in planned.attempts] == ["task_b"]
    assert planned.run_anew == {"the task has changed": 1}


async def test_another_openclaw_makes_all_trials_anew_and_says_so(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    said = Heard()
    first = await run_benchmark(config)
    fake_openclaw(tmp_path, release="2026.7.1")
    second = await run_benchmark(reusing(config, first), observer=said)
    assert "reused" not in json.loads(second.path.read_bytes())
    assert "Run anew: 3 (openclaw: 2026.6.5 → 2026.7.1)." in said.notices


async def test_an_interrupted_run_that_reuses_is_resumed_and_keeps_what_it_reuses(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    first = await run_benchmark(config)
    async with open_gate() as gate:
        write_tasks(tmp_path, {"task_c": f"scenario: gate {gate.port}"})
        with CancelScope() as scope:
            await run_benchmark(reusing(config, first), observer=gate.closing_after(0, scope))
        async with gate.opened():
            result = await resume(ResumeConfig(output_dir=config.output_dir))
    assert result.data.reused == {first.folder.name: 2}
    assert result.complete
    assert check_run(files_of(result)).state is State.VERIFIED


async def test_another_judge_grades_reused_work_again(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    make_suite(tmp_path, {"task_a": "Write out.txt."})
    async with fake_judge(good(0.5)) as one, fake_judge(good(0.25)) as other:
        config = replace(config, judge=JudgeConfig(model="judge-1", base_url=one.base_url, cache=False))
        first = await run_benchmark(config)
        asked = len(one.requests)
        same = await run_benchmark(reusing(config, first))
        judge = JudgeConfig(model="judge-2", base_url=other.base_url, cache=False)
        second = await run_benchmark(reusing(config, first, judge=judge))
    key = TrialKey(task_id="task_a", repetition=1)
    assert len(one.requests) == asked
    assert turns(tmp_path) == 3
    assert [run.grades[key].score for run in (first, same, second)] == [0.5, 0.5, 0.25]
    assert [check_run(files_of(run)).state for run in (same, second)] == [State.VERIFIED] * 2


async def test_a_trial_counts_again_with_a_score_and_its_evidence_as_it_was_written(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    make_suite(tmp_path, {"task_b": "Write out.txt."})  # needs a judge
    first = await run_benchmark(config)
    transcript = first.folder / "trials" / "task_a" / "1" / "transcript.jsonl"
    transcript.rename(tmp_path / "elsewhere")
    planned = planned_reuse(prepare(reusing(config, first, runs=2)))
    assert [one.key for one, _ in planned.reused] == [TrialKey(task_id="task_c", repetition=1)]
    assert planned.run_anew == {"its evidence is not all there": 1, "without a score there": 1, "not run there": 3}

    transcript.symlink_to(tmp_path / "elsewhere")  # the sender of a run could name any file in this way
    with pytest.raises(AlteredRunError):
        prepare(reusing(config, first))
    transcript.unlink()
    transcript.write_text("{}\n", encoding="utf-8")
    with pytest.raises(AlteredRunError):
        prepare(reusing(config, first))


async def test_the_command_says_before_anything_starts_what_would_be_reused(tmp_path: Path) -> None:
    config = a_run(tmp_path)
    first = await run_benchmark(config)
    before = turns(tmp_path)
    suite = ("--model", "mock/m1", "--tasks-dir", "tasks", "--output-dir", "results", "--infra-retries", "0")
    own = ("--openclaw", str(config.openclaw), "--sandbox", "none", "--no-wire", "--runs", "2")
    command = ("run", *suite, *own, "--reuse", first.run_id, "--dry-run", "--json")
    done = await to_thread.run_sync(partial(call, *command, cwd=tmp_path, env=clean_environment(tmp_path)))
    planned = json.loads(done.stdout)
    assert (planned["reused"], planned["run_anew"], len(planned["trials"])) == (3, {"not run there": 3}, 3)
    assert f"Reused from {first.folder.name}: 3 of 6 trials." in done.stderr
    assert turns(tmp_path) == before

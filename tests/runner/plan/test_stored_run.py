"""What is read back of an earlier run: its suites, of which each has its own score, and nothing that came with it."""

import io
import json
from dataclasses import replace
from html import unescape
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET, UnsetType
from rich.console import Console

from fakes import fake_openclaw, run_config
from form_suite import suite as suite_with_forms
from pinchbench.authoring.added_suites import add_pack
from pinchbench.config.asked_models import JudgeConfig, UserModelConfig
from pinchbench.config.rerun_configs import RegradeConfig, ResumeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.defaults import Isolation
from pinchbench.errors import ChangedError, ConfigError, SuiteError
from pinchbench.files.user_data import bundled_tasks_dir
from pinchbench.model.task import GradingType
from pinchbench.report.export.github import github_lines
from pinchbench.report.terminal.summary import print_summary
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.samples import side_of
from pinchbench.results.finished_run import PastRun, Result, read_run
from pinchbench.results.manifest import RunFacts, TaskFacts
from pinchbench.results.paths import RunFiles
from pinchbench.results.run_list import past_runs
from pinchbench.runner.again.grade_again import regrade
from pinchbench.runner.again.rerun import resume
from pinchbench.runner.plan.stored_run import (
    load_suite_again,
    require,
    setting_changes,
    stored_config,
    task_changes,
    tool_changes,
)
from pinchbench.runner.run_benchmark import run_benchmark
from pinchbench.runner.setup.set_up import plain_config
from suite_packs import write_claw_bench, write_qwenclaw


def past(result: Result) -> PastRun:
    return read_run(RunFiles(output_dir=result.path.parent, name=result.path.stem))


async def test_a_run_of_several_suites_has_a_score_for_each_and_none_across_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pinchbench.report.export.inspect_log import write_inspect

    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    add_pack("qwen", write_qwenclaw(tmp_path / "pack").parent)
    config = run_config(tmp_path, fake_openclaw(tmp_path), {})
    claw = write_claw_bench(tmp_path / "claw")
    config = replace(config, tasks_dir=claw, suite="all;qwen:task_00002_calls")
    result = await run_benchmark(config)
    data = json.loads(result.path.read_bytes())
    assert {name: one["score"]["mean"] for name, one in data["suites"].items()} == {
        "claw": pytest.approx((12 / 20 + 1.0) / 2),
        "qwen": 1.0,
    }
    assert (data["score"]["mean"], data["score"]["tasks"], data["pass"]["k"]) == (None, 3, {})
    assert data["retries"]["first_attempts"]["score"]["mean"] is None

    run = past(result)
    console = Console(file=io.StringIO(), width=200)
    print_summary(console, run.data, run.outcomes, run.grades, folder=Path("results/r"))
    assert isinstance(console.file, io.StringIO)
    for told in (console.file.getvalue(), unescape("".join(github_lines(run)))):
        assert "Suite claw: score 0.800" in told
        assert "There is no mean across suites" in told
        assert "0.867" not in told  # the mean of the three tasks

    (listed,) = past_runs(tmp_path / "results")
    assert listed.suites == {"claw": pytest.approx(0.8), "qwen": 1.0}

    write_inspect(run, tmp_path / "run.json")
    exported = json.loads((tmp_path / "run.json").read_bytes())["results"]
    means = {one["name"]: one["metrics"]["mean"]["value"] for one in exported["scores"]}
    assert (means["qwen: final"], means["claw: final"]) == (1.0, pytest.approx(0.8))
    assert "final" not in means
    assert exported.get("headline") is None

    comparisons = compare([side_of([run]), side_of([run])])
    assert [(one.suite, one.difference.tasks) for one in comparisons] == [("claw", 2), ("qwen", 1)]

    again = await regrade(RegradeConfig(run=result.path.stem, output_dir=tmp_path / "results", run_root=tmp_path))
    assert again.data.suites == result.data.suites
    went_on = await resume(ResumeConfig(run=result.path.stem, output_dir=tmp_path / "results"))
    assert went_on.data.suites == result.data.suites
    with pytest.raises(ConfigError, match="can't stand for the 2 suites of this run: claw, qwen"):
        load_suite_again(run.facts, run.files, named=tmp_path, suite_format=None)


def _facts(folder: Path | str, *, form: int | None = None) -> RunFacts:
    return RunFacts(
        run_id="r1",
        created_at=0.0,
        config={"model": "m", "form": form},
        versions={},
        containment="guardian",
        agents=[],
        suite={"folder": str(folder), **({} if form is None else {"form_of": str(folder)})},
        tasks={},
        plan=[],
    )


def test_a_suite_that_may_have_come_with_a_run_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    files = RunFiles(output_dir=tmp_path, name="run")
    own = suite_with_forms(files.folder)
    monkeypatch.chdir(files.folder)

    for place in (Path("tasks"), own, files.folder / ".." / "run" / "tasks"):
        with pytest.raises(ConfigError, match=r"nothing that came with a run's folder.*--tasks-dir"):
            load_suite_again(_facts(place), files, named=None, suite_format=None)
    assert load_suite_again(_facts("tasks"), files, named=own, suite_format=None).suite.by_id


def test_a_form_is_made_by_no_program_that_only_a_run_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    files = RunFiles(output_dir=tmp_path / "results", name="run")
    root = suite_with_forms(tmp_path)
    with pytest.raises(ConfigError, match=r"form 7 of run has to be made by a program in .*--tasks-dir"):
        load_suite_again(_facts(root, form=7), files, named=None, suite_format=None)

    assert load_suite_again(_facts(root, form=7), files, named=root, suite_format=None).suite.by_id
    assert load_suite_again(_facts(root, form=7), files, named=None, suite_format=None).suite.by_id  # it is there now


@pytest.mark.parametrize("program", ["./openclaw", "bin/openclaw"])
def test_an_openclaw_that_may_have_come_with_a_run_has_to_be_named(tmp_path: Path, program: str) -> None:
    files = RunFiles(output_dir=tmp_path, name="run")
    with pytest.raises(ConfigError, match=f"name {program} as its OpenClaw.*--openclaw"):
        stored_config({"model": "p/m", "openclaw": program}, {}, files)
    assert stored_config({"model": "p/m", "openclaw": program}, {"openclaw": program}, files).openclaw == program


def test_a_run_through_one_gateway_is_not_gone_on_with_but_can_be_replayed_in_private_homes(tmp_path: Path) -> None:
    files = RunFiles(output_dir=tmp_path, name="run")
    stored = {"model": "p/m", "isolation": "gateway"}
    with pytest.raises(ConfigError, match=r"run ran through one gateway .*--isolation private"):
        stored_config(stored, {}, files)
    assert stored_config(stored, {"isolation": Isolation.PRIVATE}, files).isolation is Isolation.PRIVATE
    assert stored_config({**stored, "isolation": "auto"}, {}, files).isolation is Isolation.PRIVATE


def test_a_suite_that_is_not_where_it_was_is_the_one_of_its_name_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCHBENCH_DATA", str(tmp_path / "data"))
    files = RunFiles(output_dir=tmp_path / "results", name="run")
    elsewhere = _facts("/home/*****/tasks")
    bundled = load_suite_again(elsewhere, files, named=None, suite_format=None)
    assert bundled.suite.root == bundled_tasks_dir()

    add_pack("qwen", write_qwenclaw(tmp_path / "pack").parent)
    suite = {"folder": "/home/*****/tasks", "name": "qwen"}
    config = {"model": "m", "tasks_dir": "/home/*****/tasks"}
    added = msgspec.structs.replace(elsewhere, suite=suite, config=config)
    assert load_suite_again(added, files, named=None, suite_format=None).suite.root.is_relative_to(tmp_path / "data")

    unknown = msgspec.structs.replace(added, suite={"folder": "/home/*****/tasks"})
    with pytest.raises(SuiteError, match="home"):
        load_suite_again(unknown, files, named=None, suite_format=None)


CONFIG = RunConfig(model="mock/m1")
USER = UserModelConfig(model="u", base_url="http://127.0.0.1:9/v1")
JUDGE = JudgeConfig(model="j", base_url="http://127.0.0.1:9/v1")


def facts(digest: str) -> TaskFacts:
    return TaskFacts(digest=digest, category="c", grading_type=GradingType.AUTOMATED, timeout_s=1.0)


@pytest.mark.parametrize(
    ("before", "now", "named"),
    [
        (["exec", "read"], ("exec", "read"), []),
        (UNSET, ("exec",), []),
        (["exec", "ls"], ("exec", "edit", "read"), ["OpenClaw's tools: now without ls and with edit, read"]),
        (["exec"], (), ["OpenClaw's tools: now without exec"]),
    ],
)
def test_tools_that_agents_have_lost_or_got_are_named(
    before: list[str] | UnsetType, now: tuple[str, ...], named: list[str]
) -> None:
    assert list(tool_changes(before, now)) == named


JUDGED = replace(CONFIG, judge=JUDGE)
TWO_JUDGES = replace(CONFIG, judge=replace(JUDGE, further=(replace(JUDGE, model="k"),)))
OTHER_TWO = replace(CONFIG, judge=replace(JUDGE, further=(replace(JUDGE, model="l", votes=3),)))
WITH_USER = replace(CONFIG, user=USER)
USER_ELSEWHERE = "base-url of --user-model: http://127.0.0.1:9/v1 → http://127.0.0.1:8/v1"


@pytest.mark.parametrize(
    ("before", "now", "named"),
    [
        (CONFIG, CONFIG, []),
        (JUDGED, JUDGED, []),
        (CONFIG, replace(CONFIG, model="mock/m2"), ["--model: mock/m1 → mock/m2"]),
        (CONFIG, replace(CONFIG, thinking="high"), ["--thinking: not given → high"]),
        (CONFIG, replace(CONFIG, timeout_multiplier=2.0), ["--timeout-multiplier: 1.0 → 2.0"]),
        (CONFIG, replace(CONFIG, base_url=JUDGE.base_url), ["--base-url: not given → http://127.0.0.1:9/v1"]),
        # how a run is made
        (CONFIG, replace(CONFIG, concurrency=9, verbose=True, infra_retries=0), []),
        (CONFIG, replace(CONFIG, max_cost=1.0, fail_fast=False, seed=7), []),
        # judges
        (CONFIG, JUDGED, ["--judge: not given → j"]),
        (JUDGED, replace(CONFIG, judge=replace(JUDGE, votes=3, concurrency=9)), ["--judge-votes: 1 → 3"]),
        (JUDGED, replace(CONFIG, judge=replace(JUDGE, model="k")), ["--judge: j → k"]),
        (TWO_JUDGES, TWO_JUDGES, []),
        (TWO_JUDGES, OTHER_TWO, ["--judge: k → l", "--judge-votes: 1 → 3"]),
        (JUDGED, TWO_JUDGES, ["--judge: j → j, k"]),
        # the user's model
        (CONFIG, WITH_USER, ["--user-model: not given → u"]),
        (WITH_USER, replace(CONFIG, user=replace(USER, model="v")), ["--user-model: u → v"]),
        (WITH_USER, replace(CONFIG, user=replace(USER, api_key_env="HOME")), []),
        (WITH_USER, replace(CONFIG, user=replace(USER, base_url="http://127.0.0.1:8/v1")), [USER_ELSEWHERE]),
    ],
)
def test_settings_that_the_numbers_depend_on_are_named_when_they_change(
    before: RunConfig, now: RunConfig, named: list[str]
) -> None:
    assert list(setting_changes(plain_config(before), plain_config(now))) == named


def test_tasks_that_are_others_or_gone_are_named_and_new_ones_are_nobodys_business() -> None:
    before = {"task_a": facts("1"), "task_b": facts("2"), "task_c": facts("3")}
    now = {"task_a": facts("1"), "task_b": facts("9"), "task_d": facts("4")}
    assert list(task_changes(before, now)) == ["task_b has changed", "task_c is no longer in the suite"]


def test_changes_are_refused_by_name_unless_they_are_accepted() -> None:
    with pytest.raises(ChangedError, match=r"task_b has changed[\s\S]*--accept-changes"):
        require(["task_b has changed"], accepted=False, run="r")
    require(["task_b has changed"], accepted=True, run="r")
    require([], accepted=False, run="r")

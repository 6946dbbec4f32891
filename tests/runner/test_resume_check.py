"""Changes between a run and its resumption: each is named, and none slips through."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pinchbench.config.judge import JudgeConfig
from pinchbench.config.run import RunConfig
from pinchbench.config.user_model import UserModelConfig
from pinchbench.errors import ChangedError
from pinchbench.model.task import GradingType
from pinchbench.results.manifest import TaskFacts
from pinchbench.runner.provenance import plain_config
from pinchbench.runner.resume_check import require, setting_changes, task_changes

CONFIG = RunConfig(model="mock/m1")
USER = UserModelConfig(model="u", base_url="http://127.0.0.1:9/v1")
JUDGE = JudgeConfig(model="j", base_url="http://127.0.0.1:9/v1")


def changes(before: RunConfig, now: RunConfig) -> list[str]:
    return list(setting_changes(plain_config(before), plain_config(now)))


def facts(digest: str) -> TaskFacts:
    return TaskFacts(digest=digest, category="c", grading_type=GradingType.AUTOMATED, timeout_s=1.0)


def test_the_same_settings_are_no_change() -> None:
    assert changes(CONFIG, CONFIG) == []
    assert changes(replace(CONFIG, judge=JUDGE), replace(CONFIG, judge=JUDGE)) == []


@pytest.mark.parametrize(
    ("now", "named"),
    [
        (replace(CONFIG, model="mock/m2"), "--model: mock/m1 → mock/m2"),
        (replace(CONFIG, thinking="high"), "--thinking: not given → high"),
        (replace(CONFIG, timeout_multiplier=2.0), "--timeout-multiplier: 1.0 → 2.0"),
        (replace(CONFIG, base_url="http://127.0.0.1:1/v1"), "--base-url: not given → http://127.0.0.1:1/v1"),
        (replace(CONFIG, retry_timeouts=True), "--retry-timeouts: False → True"),
        (replace(CONFIG, judge=JUDGE), "--judge: not given → j"),
    ],
)
def test_a_setting_that_the_numbers_depend_on_is_named(now: RunConfig, named: str) -> None:
    assert changes(CONFIG, now) == [named]


def test_the_options_of_a_judge_are_compared_one_by_one() -> None:
    before, now = replace(CONFIG, judge=JUDGE), replace(CONFIG, judge=replace(JUDGE, votes=3, concurrency=9))
    assert changes(before, now) == ["--judge-votes: 1 → 3"]
    assert changes(before, replace(CONFIG, judge=replace(JUDGE, model="k"))) == ["--judge: j → k"]


def test_the_options_of_the_users_model_are_compared_but_for_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    before = replace(CONFIG, user=USER)
    assert changes(before, replace(CONFIG, user=replace(USER, api_key_env="OTHER_KEY"))) == []
    assert changes(CONFIG, before) == ["--user-model: not given → u"]
    assert changes(before, replace(CONFIG, user=replace(USER, model="v"))) == ["--user-model: u → v"]
    elsewhere = replace(USER, base_url="http://127.0.0.1:8/v1")
    assert changes(before, replace(CONFIG, user=elsewhere)) == [
        "--user-base-url: http://127.0.0.1:9/v1 → http://127.0.0.1:8/v1"
    ]


def test_what_only_concerns_how_a_run_is_made_is_no_change() -> None:
    now = replace(CONFIG, concurrency=9, verbose=True, infra_retries=0, max_cost=1.0, fail_fast=False, seed=7)
    assert changes(CONFIG, now) == []


def test_tasks_that_are_others_or_gone_are_named_and_new_ones_are_nobodys_business() -> None:
    before = {"task_a": facts("1"), "task_b": facts("2"), "task_c": facts("3")}
    now = {"task_a": facts("1"), "task_b": facts("9"), "task_d": facts("4")}
    assert list(task_changes(before, now)) == ["task_b has changed", "task_c is no longer in the suite"]


def test_changes_are_refused_by_name_unless_they_are_accepted() -> None:
    with pytest.raises(ChangedError, match=r"task_b has changed[\s\S]*--accept-changes"):
        require(["task_b has changed"], accepted=False, run="r")
    require(["task_b has changed"], accepted=True, run="r")
    require([], accepted=False, run="r")

"""The settings of an experiment's file are the options of a run."""

from __future__ import annotations

from dataclasses import fields

from pinchbench.cli.run import run
from pinchbench.config.judge import JudgeConfig
from pinchbench.config.run import RunConfig
from pinchbench.config.user_model import UserModelConfig
from pinchbench.experiment.settings import SETTINGS, Scope

# What an experiment does not take: it uploads nothing, prints its own lines, asks models, and has one suite.
NOT_TAKEN = {
    "upload",
    "upload_notes",
    "verbose",
    "replay",
    "retry_delay_s",
    "linger_s",
    "judge",
    "user",
    "mean_across_suites",
}


def test_every_option_that_a_run_depends_on_is_a_setting() -> None:
    of_run = {one.field for one in SETTINGS.values() if one.scope not in (Scope.JUDGE, Scope.USER)}
    of_judge = {one.field for one in SETTINGS.values() if one.scope is Scope.JUDGE}
    of_user = {one.field for one in SETTINGS.values() if one.scope is Scope.USER}
    assert of_run == {one.name for one in fields(RunConfig)} - NOT_TAKEN
    assert of_judge == {one.name for one in fields(JudgeConfig)}
    assert of_user == {one.name for one in fields(UserModelConfig)}


def test_settings_have_the_names_of_the_options() -> None:
    options = {name for parameter in run.params for name in parameter.opts}
    assert {f"--{name}" for name in SETTINGS} <= options

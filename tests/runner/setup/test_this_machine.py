"""What is read of this machine for a run, and what is left alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from pinchbench.config.asked_models import JudgeConfig
from pinchbench.config.run_config import RunConfig
from pinchbench.config.served import INPUTS, ServedModel
from pinchbench.defaults import Isolation, Network
from pinchbench.errors import OpenClawError
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.command import OpenClaw
from pinchbench.openclaw.model_catalogue import Catalogue, Provider
from pinchbench.runner.setup.this_machine import Machine, read_machine_for


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An OpenClaw of a user whose settings can't be read."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "openclaw.json").write_text("{", encoding="utf-8")
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state))
    path = tmp_path / "openclaw"
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_the_built_in_models_need_nothing_of_the_users_openclaw(program: str) -> None:
    machine = read_machine_for(RunConfig(model="demo/null", openclaw=program))
    assert machine.user.config == {}


@pytest.mark.parametrize("judge", [None, JudgeConfig(model="openclaw:acme/judge")])
def test_settings_that_can_not_be_read_are_an_error_where_they_are_needed(
    program: str, judge: JudgeConfig | None
) -> None:
    model = "acme/model" if judge is None else "demo/null"
    with pytest.raises(OpenClawError):
        read_machine_for(RunConfig(model=model, openclaw=program, judge=judge))


@pytest.mark.parametrize(
    ("config", "takes"),
    [
        (RunConfig(model="demo/oracle"), True),
        (RunConfig(model="local/m1", base_url="http://127.0.0.1:9/v1"), False),
        (RunConfig(model="local/m1", base_url="http://127.0.0.1:9/v1", served=ServedModel(input=INPUTS)), True),
        (RunConfig(model="acme/blind"), False),
        (RunConfig(model="acme/unlisted"), None),
    ],
)
def test_whether_the_model_takes_images_is_stated_or_in_the_catalogue(config: RunConfig, *, takes: bool | None) -> None:
    catalogue = Catalogue(providers={"acme": Provider(takes_images={"blind": False})})
    machine = Machine(openclaw=OpenClaw(program=Path("openclaw"), version="2026.9.6"), catalogue=catalogue)

    assert machine.takes_images(config) is takes
    assert ("view_image" in machine.tools(config)) is (takes is not False)
    assert set(machine.unusable(config)) == {Ability.BROWSER, *([Ability.IMAGES] if takes is False else [])}
    assert replace(machine, browser=Path("chromium")).unusable(RunConfig(model="acme/unlisted")) == {}


def test_an_older_release_has_no_gateway_for_a_trial() -> None:
    machine = Machine(
        openclaw=OpenClaw(program=Path("openclaw"), version="2026.6.5"), catalogue=Catalogue(), browser=Path("chromium")
    )

    assert set(machine.unusable(RunConfig(model="demo/oracle"))) == {
        Ability.CHAT,
        Ability.AUTOMATIONS,
        Ability.SUBAGENTS,
    }


def test_the_tools_of_a_run_are_less_what_its_settings_deny_and_the_users_own_where_agents_share_that() -> None:
    machine = Machine(openclaw=OpenClaw(program=Path("openclaw"), version="2026.9.6"), catalogue=Catalogue())
    settings = {"tools": {"deny": ["exec", "process"]}}
    private = RunConfig(model="acme/m1", network=Network.MODEL, openclaw_config=settings)

    assert machine.allowed(private) == ("apply_patch", "edit", "ls", "read", "view_image", "write")
    assert machine.allowed(RunConfig(model="acme/m1", isolation=Isolation.SHARED)) == ()

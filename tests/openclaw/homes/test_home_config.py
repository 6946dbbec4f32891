"""The config of a private home, and the tools in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinchbench.model.timeline import Ability
from pinchbench.openclaw.homes.credentials import Json, UserState, merge
from pinchbench.openclaw.homes.home_config import (
    allowed_by,
    private_config,
    tool_settings,
    tools_of,
    tools_of_all,
    with_abilities,
    with_settings,
)

TOOLS: Json = {
    "allow": ["exec", "read"],
    "toolSearch": False,
    "sessions": {"visibility": "tree"},
    "exec": {"notifyOnExit": False},
}


def test_a_private_config_has_no_fallbacks_and_keeps_the_users_providers(tmp_path: Path) -> None:
    user = UserState(config={"models": {"providers": {"p": {"apiKey": "k"}}}, "tools": {"allow": ["message"]}})
    config = private_config("p/m", user, None, tmp_path / "work", release="2026.9.6", tools=("exec", "read"))
    assert config["agents"] == {
        "defaults": {
            "model": {"primary": "p/m", "fallbacks": []},
            "skipBootstrap": True,
            "heartbeat": {"every": "0m"},
            "workspace": str(tmp_path / "work"),
        }
    }
    assert config["models"] == {"providers": {"p": {"apiKey": "k"}}}
    assert config["tools"] == TOOLS
    assert config["logging"] == {"file": str(tmp_path / "state" / "openclaw.log")}, "where sandboxes let it write"


@pytest.mark.parametrize(("release", "known"), [("2026.6.5", False), ("2026.9.0", True), ("2027.1.1", True)])
def test_no_release_recalls_or_learns_from_other_trials_or_gets_plugins(
    tmp_path: Path, release: str, known: bool
) -> None:
    config = private_config("p/m", UserState(), None, tmp_path, release=release, tools=())
    expected: dict[str, object] = {
        "memory": {"search": {"rememberAcrossConversations": False}},
        "skills": {"workshop": {"autonomous": {"mode": "off"}}},
        "plugins": {"entries": {"perplexity": {"enabled": False}}},
    }
    found = {name: config[name] for name in expected if name in config}
    assert found == (expected if known else {}), "2026.6.5 refuses a config with names that it does not know"


OLD, NEW = "2026.6.5", "2026.9.6"
FILES_AND_SHELL = ("apply_patch", "edit", "exec", "process", "read", "write")


@pytest.mark.parametrize(
    ("release", "takes_images", "further"),
    [
        (OLD, False, ()),
        (OLD, True, ()),
        (NEW, False, ("ls",)),
        (NEW, True, ("ls", "view_image")),
        ("2027.1.1", False, ("ls",)),
    ],
)
def test_every_task_has_files_and_shell_and_what_its_model_can_use(
    release: str, further: tuple[str, ...], *, takes_images: bool
) -> None:
    assert tools_of_all(release, takes_images=takes_images) == tuple(sorted([*FILES_AND_SHELL, *further]))


@pytest.mark.parametrize("release", [OLD, NEW])
def test_a_task_that_states_an_open_network_has_the_tools_for_the_web(release: str) -> None:
    assert tools_of([], release, has_web=True) == ("web_fetch", "web_search")


@pytest.mark.parametrize(
    ("ability", "old", "new"),
    [
        (Ability.CHAT, ("message",), ("message",)),
        (Ability.AUTOMATIONS, ("cron",), ("automations",)),
        (Ability.SUBAGENTS, *[("sessions_spawn", "sessions_yield", "subagents")] * 2),
        (Ability.BROWSER, ("browser",), ("browser",)),
        (Ability.MEMORY, *[("memory_get", "memory_search")] * 2),
        (Ability.IMAGES, ("image", "pdf"), ("pdf", "view_image")),
    ],
)
def test_an_ability_adds_tools_under_the_names_of_the_release(
    ability: Ability, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    assert tools_of([ability], OLD, has_web=False) == old
    assert tools_of([ability], NEW, has_web=False) == new


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, ("exec", "read")),
        ({"tools": {"deny": ["read", "write"]}}, ("exec",)),
        ({"tools": {"allow": ["read", "tts"]}}, ("read", "tts")),
        ({"tools": {"alsoAllow": ["mine", "read"]}}, ("exec", "mine", "read")),
        ({"mcp": {"servers": {"mine": {"command": "mine"}}}}, ("bundle-mcp", "exec", "read")),
    ],
)
def test_a_run_can_add_and_deny_tools(settings: dict[str, object], allowed: tuple[str, ...]) -> None:
    config = with_settings({"tools": tool_settings(("exec", "read"), NEW)}, settings)
    assert allowed_by(config) == allowed
    assert "alsoAllow" not in str(config), "OpenClaw refuses it next to a list of allowed tools"


def test_without_any_tool_all_are_denied() -> None:
    assert tool_settings((), NEW) == {"deny": ["*"]}


@pytest.mark.parametrize(
    ("release", "ability", "added"),
    [
        (NEW, Ability.MEMORY, {"memory": {"search": {"provider": "none"}}}),
        (OLD, Ability.MEMORY, {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}),
        (NEW, Ability.IMAGES, {"agents": {"defaults": {"pdfModel": {"primary": "p/m"}}}}),
        (NEW, Ability.CHAT, {}),
    ],
)
def test_an_ability_adds_settings_that_its_tools_need(release: str, ability: Ability, added: dict[str, object]) -> None:
    config: Json = {"agents": {"defaults": {"model": {"primary": "p/m"}}}}
    assert with_abilities(config, [ability], release) == merge(config, added)


def test_a_browser_has_the_program_that_was_found_and_reaches_the_loopback_alone() -> None:
    program = Path("/opt/chrome")
    assert with_abilities({}, [Ability.BROWSER], NEW, program)["browser"] == {
        "enabled": True,
        "executablePath": "/opt/chrome",
        "headless": True,
        "noSandbox": True,
        "ssrfPolicy": {"allowedHostnames": ["127.0.0.1", "localhost"]},
    }


def test_a_users_embeddings_stay() -> None:
    config: Json = {"memory": {"search": {"provider": "openai-compatible"}}}
    assert with_abilities(config, [Ability.MEMORY], NEW) == config

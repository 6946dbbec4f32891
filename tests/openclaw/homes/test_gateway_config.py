"""The config of a private gateway."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.homes.gateway_config import AgentBinding, brings_services, gateway_config, with_agents

if TYPE_CHECKING:
    from pinchbench.openclaw.homes.credentials import Json

HOME: Json = {
    "gateway": {"port": 18789, "auth": {"mode": "none"}},
    "models": {"providers": {"a": {"x": 1}}},
    "agents": {"defaults": {"workspace": "/w"}},
}


def made(home: Json, *, watch_skills: bool = False) -> Json:
    return gateway_config(home, port=1234, token="t", model="a/m", slots=7, watch_skills=watch_skills)


@pytest.mark.parametrize(("watch_skills", "watched"), [(False, False), (True, "as the user wants it")])
def test_skills_are_watched_only_where_a_later_turn_could_see_new_ones(watched: object, *, watch_skills: bool) -> None:
    users: Json = {"load": {"watch": "as the user wants it", "extraDirs": ["/d"]}, "entries": {"s": {"enabled": True}}}

    skills = made({**HOME, "skills": users}, watch_skills=watch_skills)["skills"]

    assert skills == {"load": {"watch": watched, "extraDirs": ["/d"]}, "entries": {"s": {"enabled": True}}}
    assert ("skills" in made(HOME, watch_skills=watch_skills)) is not watch_skills


def test_it_serves_loopback_alone_and_as_many_turns_as_there_are_slots() -> None:
    config = made(HOME)
    assert config["models"] == {"providers": {"a": {"x": 1}}}
    assert config["agents"] == {"defaults": {"workspace": "/w", "maxConcurrent": 7}}
    gateway = config["gateway"]
    assert isinstance(gateway, dict)
    assert (gateway["port"], gateway["bind"], gateway["auth"]) == (1234, "loopback", {"mode": "token", "token": "t"})
    assert HOME["gateway"] == {"port": 18789, "auth": {"mode": "none"}}


def test_only_the_trials_limit_ends_a_silent_turn() -> None:
    users: Json = {"diagnostics": {"enabled": True, "flags": ["a"]}}
    assert made({**HOME, **users})["diagnostics"] == {"enabled": False, "flags": ["a"]}


def test_of_the_users_plugins_only_the_providers_stays_on() -> None:
    entries = {"a": {"config": {"x": 1}}, "imap": {"enabled": True, "config": {"host": "h"}}}
    plugins = made({**HOME, "plugins": {"entries": entries, "slots": {"memory": "mine"}, "deny": ["b"]}})["plugins"]
    assert plugins == {"entries": {"a": {"config": {"x": 1}}, "imap": {"enabled": False}}, "deny": ["b"]}
    assert "plugins" not in made(HOME)


@pytest.mark.parametrize(("plugins", "brought"), [(None, False), ({}, False), ({"entries": {"imap": {}}}, True)])
def test_services_come_with_plugins(plugins: object, brought: object) -> None:
    assert brings_services({"plugins": plugins}) is brought


@pytest.mark.parametrize("shape", ["entries", "list"])
def test_agents_are_made_after_the_templates_own(shape: str) -> None:
    own: dict[str, Json] = {"main": {"workspace": "/m"}, "bench": {"workspace": "/b", "identity": {"name": "bench"}}}
    listed = [{"id": name, **one} for name, one in own.items()]
    config: Json = {"agents": {"defaults": {}, shape: own if shape == "entries" else listed}, "x": 1}
    agents = {"bench-2": AgentBinding(workspace=Path("/t/task"), model="a/m")}
    changed = with_agents(config, "bench", agents, Path("/state"))
    section = changed["agents"]
    assert isinstance(section, dict)
    found = section[shape] if shape == "entries" else {one.pop("id"): one for one in section[shape]}
    assert found.keys() == {"main", "bench-2"}
    assert found["bench-2"] == {
        "workspace": "/t/task",
        "identity": {"name": "bench"},
        "agentDir": "/state/agents/bench-2/agent",
        "model": "a/m",
    }
    assert changed["x"] == 1
    assert with_agents(config, "bench", {}, Path("/state"))["agents"] != config["agents"]

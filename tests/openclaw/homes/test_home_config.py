"""The config of a private OpenClaw: the user's providers, and nothing that has effects outside the trial."""

from pathlib import Path

import pytest

from pinchbench.openclaw.homes.credentials import Json, UserState
from pinchbench.openclaw.homes.home_config import private_config

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

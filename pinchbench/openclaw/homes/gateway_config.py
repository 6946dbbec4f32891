"""The config of a private gateway and its agents (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.openclaw.homes.credentials import Json, merge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Disables services that a gateway starts, unlike an embedded turn, and that a benchmark does not need: channels (which
# a key in the environment enables), timers, mail, and discovery on the local network.
SILENCE = {
    "OPENCLAW_SKIP_CHANNELS": "1",
    "OPENCLAW_SKIP_CRON": "1",
    "OPENCLAW_SKIP_GMAIL_WATCHER": "1",
    "OPENCLAW_DISABLE_BONJOUR": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentBinding:
    """The workspace and the model of an agent."""

    workspace: Path
    model: str


def gateway_config(
    config: Json,
    *,
    port: int,
    token: str,
    model: str,
    slots: int,
    watch_skills: bool,
) -> Json:
    """Return a private home's config, changed for a gateway on loopback.

    Of the user's plugins, only that of the model's provider stays enabled: others may log in to a mailbox or open a
    port. OpenClaw runs as many turns at once as there are slots; with a lower limit, trials would lose time in its
    queue.

    `watch_skills` is whether later turns of a session must see skills that earlier ones wrote. OpenClaw reads skills
    when a session begins, and then only if its watcher reports a change. In sessions with a single turn, the watcher
    has no effect on the model's input, but makes OpenClaw read all skills again after each change in any trial's
    workspace.
    """
    own: Json = {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": {"mode": "token", "token": token},
            "controlUi": {"enabled": False},
        },
        "agents": {"defaults": {"maxConcurrent": slots}},
        "cron": {"enabled": False},
        # Its heartbeat may abort a turn whose model or tool is silent for minutes. Only the trial's time limit should
        # do so, as in an embedded turn, where diagnostics never run. Its records are not used.
        "diagnostics": {"enabled": False},
    }
    if not watch_skills:
        own["skills"] = {"load": {"watch": False}}
    plugins = config.get("plugins")
    if isinstance(plugins, dict):
        config = {**config, "plugins": _quiet(plugins, model.partition("/")[0])}
    return merge(config, own)


def _quiet(plugins: Json, provider: str) -> Json:
    entries = plugins.get("entries")
    named = entries if isinstance(entries, dict) else {}
    kept = {name: value for name, value in plugins.items() if name != "slots"}
    return {**kept, "entries": {name: one if name == provider else {"enabled": False} for name, one in named.items()}}


def brings_services(config: Json) -> bool:
    """Return whether the user's config contains plugins, whose services only a gateway would start."""
    plugins = config.get("plugins")
    return isinstance(plugins, dict) and bool(plugins)


def with_agents(config: Json, base_id: str, agents: Mapping[str, AgentBinding], state: Path) -> Json:
    """Return the config with these agents, made from its agent `base_id`, which is removed if it isn't one of them.

    The agents are stored as the release does: in `agents.entries` by id, or in `agents.list`.
    """
    section = config["agents"]
    assert isinstance(section, dict)  # noqa: S101 - `agent_entry` has found an agent in it
    is_list = not isinstance(section.get("entries"), dict)
    known: dict[str, Json] = section["entries"] if not is_list else {str(one.get("id")): one for one in section["list"]}
    made = {
        name: {
            **known[base_id],
            **({"id": name} if is_list else {}),
            "workspace": str(one.workspace),
            "agentDir": str(state / "agents" / name / "agent"),
            "model": one.model,
        }
        for name, one in agents.items()
    }
    new = {**{name: one for name, one in known.items() if name != base_id}, **made}
    shaped = {"list": list(new.values())} if is_list else {"entries": new}
    return {**config, "agents": {**section, **shaped}}

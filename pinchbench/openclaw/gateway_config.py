"""The config of a private gateway, and its agents in it (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.openclaw.credentials import Json, merge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A gateway also runs what an embedded turn never starts: channels that a key in the environment is enough to switch on,
# timers, mail, discovery on the local network. None of that is a benchmark's business.
SILENCE = {
    "OPENCLAW_SKIP_CHANNELS": "1",
    "OPENCLAW_SKIP_CRON": "1",
    "OPENCLAW_SKIP_GMAIL_WATCHER": "1",
    "OPENCLAW_DISABLE_BONJOUR": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointing:
    """Where an agent works, and which model answers it."""

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
    """Make a private home's config that of a gateway on loopback.

    Of the user's plugins only that of the model's provider stays switched on: others may log in to a mailbox or open a
    port. As many turns run at once as there are slots; OpenClaw would let the others wait, on their trials' time.

    `watch_skills` says whether a later turn must learn of skills that an earlier one has written. OpenClaw looks for skills
    when a session begins, and after that only when its watcher reports a change; without later turns the watcher changes
    nothing that a model sees, but makes OpenClaw read all skills again after each change in any trial's workspace.
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
        # Its heartbeat may abort a turn whose model or tool is silent for minutes. Only the trial's limit should, as in
        # an embedded turn, where this never runs; what else it records, nobody reads.
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
    """Whether the user's config brings plugins, whose services only a gateway would start."""
    plugins = config.get("plugins")
    return isinstance(plugins, dict) and bool(plugins)


def with_agents(config: Json, base_id: str, agents: Mapping[str, Pointing], state: Path) -> Json:
    """Put agents into a config that has one, `base_id`, after whose pattern they are made; it goes unless it is among them.

    In the shape that the release has: `agents.entries` by id, or `agents.list`.
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

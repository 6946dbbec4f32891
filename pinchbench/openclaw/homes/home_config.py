"""The config of a private OpenClaw: what a trial's agent may use, and nothing that has effects outside the trial."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.command import release_key
from pinchbench.openclaw.homes.abilities import tool_settings
from pinchbench.openclaw.homes.credentials import Json, UserState, merge

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Since this release, OpenClaw recalls other conversations in a new one, and reviews long turns afterwards to write
# skills for later sessions. Both call the model outside the trials and carry content from one trial to another.
LEARNS_SINCE = (2026, 9)
# OPENROUTER_API_KEY is also a key of this web search. OpenClaw would get its plugin from npm in every trial, which
# takes minutes without a network, and the sandbox would report it as the agent's attempt (measured on 2026.9.6).
UNWANTED_PLUGINS: Json = {"plugins": {"entries": {"perplexity": {"enabled": False}}}}
STATE = "state"  # relative to the home's root
CONFIG = "openclaw.json"  # relative to the state
# What else OpenClaw executes or obeys, and does not change by itself during a turn.
SETTINGS = (".env", "extensions", "hooks", "npm", "skills")
# Relative to the home's root, of which a sandbox lets OpenClaw write to the state alone.
LOG = f"{STATE}/openclaw.log"


def moved_config(template: Path, root: Path, *, seen_as: str | None = None) -> Json:
    """Return the config of a template for its copy `root`, which OpenClaw sees as `seen_as` unless that is None.

    Blocks. Raises OSError.
    """
    text = (template / STATE / CONFIG).read_text(encoding="utf-8")
    old, new = (json.dumps(str(place))[1:-1] for place in (template, root if seen_as is None else seen_as))
    config: Json = json.loads(text.replace(old, new))
    return config


def agent_entry(config: Json, agent_id: str) -> Json:
    """Return the agent's object in an OpenClaw config: from `agents.entries` or, in older releases, `agents.list`.

    Raises OpenClawError if neither contains it.
    """
    agents = config.get("agents")
    if isinstance(agents, dict):
        entries = agents.get("entries")
        if isinstance(entries, dict) and isinstance(entry := entries.get(agent_id), dict):
            return entry
        for entry in agents.get("list") or []:
            if isinstance(entry, dict) and entry.get("id") == agent_id:
                return entry
    raise OpenClawError(f"OpenClaw added no agent {agent_id} to its config; is this release of OpenClaw supported?")


def write_private(path: Path, text: str) -> None:
    """Write a file that only the user can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def private_config(
    model: str,
    user: UserState,
    provider: tuple[str, Json] | None,
    workspace: Path,
    *,
    release: str,
    tools: Sequence[str],
) -> Json:
    """Return a private home's config: the given model without fallbacks, these tools, and the user's provider settings.

    Features that have effects outside the trial are disabled.
    """
    config: Json = {
        "agents": {
            "defaults": {
                "model": {"primary": model, "fallbacks": []},
                "skipBootstrap": True,  # no onboarding files in the workspace or the prompt
                "heartbeat": {"every": "0m"},  # only its trial may start a turn of an agent
                "workspace": str(workspace),
            }
        },
        # a trial sees only the sessions that it started itself, as in older releases without this setting
        "tools": {
            **tool_settings(tools, release),
            "sessions": {"visibility": "tree"},
            "exec": {"notifyOnExit": False},  # otherwise the exit of a background command starts another turn
        },
        "session": {"maintenance": {"mode": "warn"}},  # saves about 5 CPU-seconds per trial (measured on 2026.9.6)
        "logging": {"file": str(workspace.parent / LOG)},  # the default place can be read by the next trial
        "update": {"checkOnStart": False},
    }
    user_config = user.config
    if release_key(release) >= LEARNS_SINCE:
        config["memory"] = {"search": {"rememberAcrossConversations": False}}
        config["skills"] = {"workshop": {"autonomous": {"mode": "off"}}}
        user_config = merge(UNWANTED_PLUGINS, user_config)
    config = merge(user_config, config)
    if provider is not None:
        name, entry = provider
        config = merge(config, {"models": {"mode": "merge", "providers": {name: entry}}})
    return config

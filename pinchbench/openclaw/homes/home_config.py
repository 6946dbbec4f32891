"""The config of a private OpenClaw: which tools its agent has, and nothing that has effects outside the trial."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from pinchbench.errors import OpenClawError
from pinchbench.json_values import object_at, texts_in
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.command import release_key
from pinchbench.openclaw.homes.credentials import Json, UserState, merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FILES_AND_SHELL = ("apply_patch", "edit", "exec", "ls", "process", "read", "write")
IMAGE_VIEWER = "view_image"
WEB = ("web_fetch", "web_search")
OF_ABILITY = {
    Ability.CHAT: ("message",),
    Ability.AUTOMATIONS: ("automations",),
    Ability.SUBAGENTS: ("sessions_spawn", "sessions_yield", "subagents"),
    Ability.BROWSER: ("browser",),
    Ability.MEMORY: ("memory_get", "memory_search"),
    Ability.IMAGES: ("pdf", IMAGE_VIEWER),
}
# Since this release tools have the names above. Unless `tools.toolSearch` is off, `tool_call` reaches all other tools.
RENAMED_SINCE = (2026, 9)
EARLIER_NAMES = {"automations": ("cron",), "ls": (), IMAGE_VIEWER: ("image",)}
# A sandbox within ours is not possible, and no screen is there. Sites are services of the task.
BROWSER: Json = {
    "enabled": True,
    "headless": True,
    "noSandbox": True,
    "ssrfPolicy": {"allowedHostnames": ["127.0.0.1", "localhost"]},
}
MCP_SERVERS = "bundle-mcp"  # allows the tools of all MCP servers


def tools_of_all(release: str, *, takes_images: bool) -> tuple[str, ...]:
    """Return the tools that agents have in every task.

    `takes_images` is whether the model does.
    """
    sees = (IMAGE_VIEWER,) if takes_images and _is_renamed(release) else ()
    return _named((*FILES_AND_SHELL, *sees), release)


def tools_of(abilities: Iterable[Ability], release: str, *, has_web: bool) -> tuple[str, ...]:
    """Return the tools that a task with these abilities adds; `has_web` is whether it states an open network."""
    names = [name for ability in abilities for name in OF_ABILITY[ability]]
    return _named((*names, *(WEB if has_web else ())), release)


def tool_settings(tools: Sequence[str], release: str) -> Json:
    """Return the section `tools` of a config that allows these tools alone."""
    if not tools:  # OpenClaw allows everything if the list is empty
        return {"deny": ["*"]}
    return {"allow": [*tools], **({"toolSearch": False} if _is_renamed(release) else {})}


def with_settings(config: Json, settings: Json) -> Json:
    """Return a home's config with the settings that a run adds.

    Their `tools.allow` takes the place of the home's list. It is made longer by `tools.alsoAllow`, which OpenClaw does
    not accept next to it, and by the tools of their MCP servers.
    """
    merged = merge(config, settings)
    tools = {**object_at(merged, "tools")}
    further = texts_in(tools.pop("alsoAllow", None))
    return with_tools({**merged, "tools": tools}, [*further, *([MCP_SERVERS] if "mcp" in settings else [])])


def with_tools(config: Json, tools: Iterable[str]) -> Json:
    """Return a config that allows these tools besides. What it denies stays denied."""
    listed = texts_in(object_at(config, "tools").get("allow"))
    return merge(config, {"tools": {"allow": [*dict.fromkeys((*listed, *tools))]}})


def with_abilities(config: Json, abilities: Iterable[Ability], release: str, browser: Path | None = None) -> Json:
    """Return a home's config with what abilities need besides tools; what the config says already stays.

    `browser` is the program of one.
    """
    settings: Json = {}
    for ability in abilities:
        match ability:
            case Ability.MEMORY:  # by words, since no endpoint for embeddings is known
                by_words: Json = {"provider": "none"}
                renamed = _is_renamed(release)
                needed: Json = {"memory": {"search": by_words}} if renamed else _defaults({"memorySearch": by_words})
            case Ability.IMAGES:  # without a model of its own, there is no tool for PDF files
                needed = _defaults({"pdfModel": object_at(config, "agents", "defaults").get("model")})
            case Ability.BROWSER:
                needed = {"browser": {**BROWSER, "executablePath": str(browser)}}
            case Ability.CHAT | Ability.AUTOMATIONS | Ability.SUBAGENTS:
                needed = {}
        settings = merge(settings, needed)
    return merge(settings, config)


def _defaults(settings: Json) -> Json:
    return {"agents": {"defaults": settings}}


def allowed_by(config: Json) -> tuple[str, ...]:
    """Return the tools that a config allows, sorted."""
    tools = object_at(config, "tools")
    return tuple(sorted({*texts_in(tools.get("allow"))} - {*texts_in(tools.get("deny"))}))


def _is_renamed(release: str) -> bool:
    return release_key(release) >= RENAMED_SINCE


def _named(names: Iterable[str], release: str) -> tuple[str, ...]:
    if not _is_renamed(release):
        names = [earlier for name in names for earlier in EARLIER_NAMES.get(name, (name,))]
    return tuple(sorted(set(names)))


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

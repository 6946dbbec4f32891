"""Which of OpenClaw's tools the agents of private homes get: a few in each task, and those of its abilities (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.json_values import object_at, texts_in
from pinchbench.model.timeline import Ability
from pinchbench.openclaw.command import release_key
from pinchbench.openclaw.homes.credentials import merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pinchbench.openclaw.homes.credentials import Json

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

"""Where a key of a provider may stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.openclaw.homes.credentials import ASSIGNMENT, UserState

if TYPE_CHECKING:
    from collections.abc import Mapping


def places_of_key(provider: str, names: tuple[str, ...], *, env: Mapping[str, str], user: UserState) -> tuple[str, ...]:
    """Where there is a key for a provider, in words without the key (pure)."""
    stored = stored_names(user)
    places = [f"{name} in the environment" for name in names if env.get(name, "").strip()]
    places += [f"{name} in your OpenClaw's settings" for name in names if name in stored]
    if _configured(user, provider):
        places.append("your OpenClaw's models.providers")
    if logins := sum(one == provider for one in login_providers(user)):
        places.append("a login of your OpenClaw" if logins == 1 else f"{logins} logins of your OpenClaw")
    return tuple(places)


def stored_names(user: UserState) -> set[str]:
    """The variables that the user's OpenClaw sets for itself, in its `.env` or its settings."""
    return {match[1] for match in ASSIGNMENT.finditer(user.dotenv)} | _config_names(user.config.get("env"))


def login_providers(user: UserState) -> tuple[str, ...]:
    """The provider of each stored login."""
    profiles = user.logins.get("profiles")
    found = profiles.values() if isinstance(profiles, dict) else ()
    return tuple(sorted(str(one["provider"]) for one in found if isinstance(one, dict) and "provider" in one))


def _config_names(section: object) -> set[str]:
    """The variables that the section `env` of openclaw.json sets, directly or below `vars`."""
    if not isinstance(section, dict):
        return set()
    inner = section.get("vars")
    return {str(name) for name, value in section.items() if isinstance(value, str)} | (
        {str(name) for name in inner} if isinstance(inner, dict) else set()
    )


def _configured(user: UserState, provider: str) -> bool:
    section: object = user.config
    for name in ("models", "providers", provider):
        section = section.get(name) if isinstance(section, dict) else None
    return isinstance(section, dict) and bool(section.get("apiKey"))

"""Selects the parts of the user's environment and OpenClaw state that the model under test needs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pinchbench.json_values import Object, object_at
from pinchbench.openclaw.homes.credentials import Json, UserState, kept_dotenv, merge, points_home
from pinchbench.redaction import known_secrets, secrets_in, secrets_in_dotenv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinchbench.openclaw.model_catalogue import Catalogue

# Variables that programs need to run, to reach the network and to write files as this user. All others are excluded.
PASSED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TZDIR", "TERM", "COLORTERM"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
        *("NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY", "NODE_OPTIONS", "LD_LIBRARY_PATH"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    }
)
# Cloud logins consist of many variables, which no manifest lists.
CLOUDS = {
    "amazon-bedrock": ("AWS_",),
    "amazon-bedrock-mantle": ("AWS_",),
    "anthropic-vertex": ("GOOGLE_", "GCLOUD_", "CLOUDSDK_", "ANTHROPIC_VERTEX_", "CLOUD_ML_"),
    "google-vertex": ("GOOGLE_CLOUD_", "GOOGLE_APPLICATION_", "GCLOUD_", "CLOUDSDK_"),
    "microsoft-foundry": ("AZURE_",),
}
# A provider's address is not secret, but without these variables the run would use another endpoint.
ADDRESSES = ("BASE_URL", "API_BASE", "API_BASE_URL", "HOST")
# The logins of subscriptions are stored under another provider name than that of the models.
LOGINS = {"openai": ("openai-codex",), "anthropic": ("claude-cli",)}
PLUGIN_SWITCHES = ("enabled", "allow", "deny", "load", "installs", "slots")
REFERENCE = re.compile(r"\$\{(\w+)\}|^\$(\w+)$")


def secrets_of(user: UserState, *names: str | None) -> tuple[str, ...]:
    """Return the keys that agents and judges may see, from the environment and the user's OpenClaw.

    `names` are further variables that hold keys.
    """
    known = known_secrets(os.environ, (name for name in names if name))
    return (*known, *secrets_in([user.config, user.logins]), *secrets_in_dotenv(user.dotenv))


def needed_for(
    model: str,
    *,
    env: Mapping[str, str],
    user: UserState,
    catalogue: Catalogue,
    own_endpoint: bool = False,
    passed: tuple[str, ...] = (),
) -> tuple[dict[str, str], UserState]:
    """Select the environment and the part of the user's OpenClaw that a model needs.

    `passed` are further variables. With `own_endpoint`, the run configures the endpoint and its key, so the user's
    settings and logins of the provider with the same name are excluded.
    """
    provider = model.partition("/")[0]
    known = catalogue.providers.get(provider)
    names: set[str] = set()
    prefixes: tuple[str, ...] = ()
    if own_endpoint:
        kept = UserState(config=_without_providers(user.config))
    else:
        logins = {provider, *LOGINS.get(provider, ()), *([known.login_as] if known and known.login_as else [])}
        stored = _logins_of(user.logins, logins)
        kept = UserState(config=_config_of(user.config, provider, logins, stored), logins=stored)
        for one in logins & {provider, known.login_as if known else provider}:
            stem = re.sub(r"[^A-Za-z0-9]", "_", one).upper()
            names |= {*catalogue.key_names(one), *(f"{stem}_{name}" for name in ADDRESSES)}
        names |= set(known.further_names) if known else set()
        names |= set(_references([kept.config, kept.logins]))
        prefixes = CLOUDS.get(provider, ())
    several = re.compile("|".join(f"{re.escape(name)}(?:S|_\\d+)" for name in sorted(names)) or "(?!)")

    def is_credential(name: str) -> bool:
        return name in names or name.startswith(prefixes) or several.fullmatch(name) is not None

    def is_needed(name: str) -> bool:
        return name in PASSED or name.startswith("LC_") or name in passed or is_credential(name)

    return (
        {name: value for name, value in env.items() if is_needed(name) and not points_home(name)},
        UserState(
            config=_with_env(user.config.get("env"), kept.config, is_credential),
            logins=kept.logins,
            dotenv=kept_dotenv(user.dotenv, is_credential),
        ),
    )


def _config_of(config: Json, provider: str, logins: set[str], stored: Json) -> Json:
    kept = _without_providers(config)
    if provider in (providers := object_at(config, "models", "providers")):
        kept = merge(kept, {"models": {"providers": {provider: providers[provider]}}})
    if auth := object_at(config, "auth"):
        kept["auth"] = _logins_of(auth, logins)
    if provider in (entries := object_at(config, "plugins", "entries")):
        others = {**object_at(kept, "plugins", "entries"), provider: entries[provider]}
        kept["plugins"] = {**object_at(kept, "plugins"), "entries": others}
    used = set(_sources([kept, stored]))
    sources = {name: one for name, one in object_at(config, "secrets", "providers").items() if name in used}
    if sources:
        kept["secrets"] = {"providers": sources}
    return kept


def _without_providers(config: Json) -> Json:
    """Return the settings that concern all providers: how catalogues are merged, and which plugins are enabled."""
    kept: Json = {}
    models, plugins = object_at(config, "models"), object_at(config, "plugins")
    if "mode" in models:
        kept["models"] = {"mode": models["mode"]}
    if plugins:
        entries = {
            name: {"enabled": one["enabled"]}
            for name, one in object_at(plugins, "entries").items()
            if isinstance(one, dict) and isinstance(one.get("enabled"), bool)
        }
        kept["plugins"] = {
            **{name: plugins[name] for name in PLUGIN_SWITCHES if name in plugins},
            **({"entries": entries} if entries else {}),
        }
    return kept


def _logins_of(store: Object, providers: set[str]) -> Json:
    """Return the part of an auth profile store that belongs to these providers."""
    profiles = {
        name: one
        for name, one in object_at(store, "profiles").items()
        if isinstance(one, dict) and one.get("provider") in providers
    }
    if not profiles:
        return {}
    order = {name: one for name, one in object_at(store, "order").items() if name in providers}
    version = {"version": store["version"]} if isinstance(store.get("version"), int) else {}
    return {**version, "profiles": profiles, **({"order": order} if order else {})}


def _with_env(section: object, kept: Json, is_credential: Callable[[str], bool]) -> Json:
    """Return the config `kept` with the credentials in the user's section `env`."""
    env = object_at(section)
    names = {name: value for name, value in env.items() if isinstance(value, str) and is_credential(name)}
    inner = {name: value for name, value in object_at(env, "vars").items() if is_credential(name)}
    whole = {**names, **({"vars": inner} if inner else {})}
    return {**kept, "env": whole} if whole else kept


def _references(settings: object) -> Iterator[str]:
    """Yield the variables that settings refer to: `${NAME}`, or `{"source": "env", "id": "NAME"}`."""
    for value in _all_in(settings):
        match value:
            case str():
                yield from (one[1] or one[2] for one in REFERENCE.finditer(value))
            case {"source": "env", "id": str(name)}:
                yield name


def _sources(settings: object) -> Iterator[str]:
    """Yield the secret providers that settings refer to: `{"source": …, "provider": NAME, "id": …}`."""
    for value in _all_in(settings):
        match value:
            case {"source": str(), "provider": str(name), "id": _}:
                yield name


def _all_in(value: object) -> Iterator[object]:
    """Yield a JSON value and all that is in it."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _all_in(one)

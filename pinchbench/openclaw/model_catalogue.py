"""The providers and models that an installed OpenClaw knows, read from its plugins' manifests without running it."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinchbench.config.served import NO_ENDPOINTS, Endpoint
from pinchbench.defaults import DEMO_MODELS, JUDGE_PROVIDERS
from pinchbench.json_values import Object, object_at, objects_at, texts_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MOST_SUGGESTIONS = 3
# OpenClaw's provider names of servers that need no key
KEYLESS = frozenset({"ollama", "lmstudio", "vllm", "sglang", "litellm", "copilot-proxy", "apple-fm"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A provider as OpenClaw knows it.

    Attributes:
        key_names: the environment variables that may contain its key.
        further_names: other variables of its login: a credentials file, a project, a region.
        login_as: the provider whose logins it uses, if that is another one; otherwise empty.
        base_url: the base URL of its API; empty if no manifest contains it.
        api: OpenClaw's name of the protocol, such as `anthropic-messages`.
        models: the ids and aliases of its models; empty if OpenClaw requests them from the provider.
        thoughtless: those of its models for which OpenClaw refuses every thinking level but `off`.
        takes_images: whether they do, for those of its models of which that is known.
    """

    key_names: tuple[str, ...] = ()
    further_names: tuple[str, ...] = ()
    login_as: str = ""
    base_url: str = ""
    api: str = ""
    models: frozenset[str] = frozenset()
    thoughtless: frozenset[str] = frozenset()
    takes_images: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """The providers of one release by name; empty if the program is not part of OpenClaw's npm package."""

    providers: Mapping[str, Provider] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The models of all providers with a list of models, as `provider/model`, sorted."""
        return tuple(sorted(f"{name}/{model}" for name, one in self.providers.items() for model in one.models))

    @property
    def open_providers(self) -> tuple[str, ...]:
        """The providers without a list of models, sorted."""
        return tuple(sorted(name for name, one in self.providers.items() if not one.models))

    def key_names(self, provider: str) -> tuple[str, ...]:
        """Return the variables that may contain a provider's key: from the manifests, else the conventional name."""
        known = self.providers.get(provider)
        if known is not None and known.key_names:
            return known.key_names
        _, usual = JUDGE_PROVIDERS.get(provider, ("", f"{re.sub(r'[^A-Za-z0-9]', '_', provider).upper()}_API_KEY"))
        return (usual,)

    def takes_images(self, model: str) -> bool | None:
        """Return whether a model takes images; None if this release does not say it."""
        provider, _, name = model.partition("/")
        known = self.providers.get(provider)
        return None if known is None else known.takes_images.get(name)

    def complaint(
        self, model: str, *, own: frozenset[str] = frozenset(), endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS
    ) -> str:
        """Return why this release can't run a model with this name, and suggest others; empty if nothing is wrong.

        `own` are providers that the user's config describes, whose models are not checked; `endpoints` are those of the
        settings file.
        """
        if not names_provider(model):
            return self._without_provider(model.strip("/"), endpoints)
        provider, _, name = model.partition("/")
        if provider in own or not self.providers:
            return ""
        known = self.providers.get(provider)
        if known is None:
            what = f"this OpenClaw has no provider {provider}"
            if close := difflib.get_close_matches(provider, [*endpoints, *self.providers], MOST_SUGGESTIONS, 0.7):
                return f"{what}; did you mean {' or '.join(close)}?"
            return (
                f"{what}; if {provider} is a server of yours, say where it is with --base-url http://HOST:PORT/v1, or"
                " name it under `endpoints` in pinchbench.yaml."
            )
        if not known.models or name in known.models:
            return ""
        close = difflib.get_close_matches(name, sorted(known.models), MOST_SUGGESTIONS, 0.6) or sorted(known.models)
        meant = " or ".join(f"{provider}/{one}" for one in close[:MOST_SUGGESTIONS])
        return f"this OpenClaw knows no model {name} of {provider}; did you mean {meant}?"

    def _without_provider(self, name: str, endpoints: Mapping[str, Endpoint]) -> str:
        known = sorted([*self.names, *DEMO_MODELS])
        names = {one.partition("/")[2]: one for one in reversed(known)}
        having = [f"{one}/{name}" for one, at in endpoints.items() if not at.models or name in at.models]
        having += [one for one in known if name in one.split("/", 1)]
        having = having or [names[one] for one in difflib.get_close_matches(name, names, MOST_SUGGESTIONS, 0.8)]
        meant = " or ".join(having[:MOST_SUGGESTIONS] or ["anthropic/claude-sonnet-4-6"])
        what = "model" if name in self.providers else "provider"
        return (
            f"it names no {what}; write PROVIDER/MODEL, such as {meant}, or ENDPOINT/MODEL with an endpoint of"
            " pinchbench.yaml."
        )


def names_provider(model: str) -> bool:
    """Return whether a model is written as `provider/name`."""
    provider, _, name = model.partition("/")
    return bool(provider and name)


def read_catalogue(program: Path | None) -> Catalogue:
    """Read the manifests next to an OpenClaw program: some 100 small files, about 0.04 s. Blocks."""
    package = package_of(program) if program is not None else None
    found: dict[str, Provider] = {}
    if package is not None:
        for path in sorted(package.glob("dist/extensions/*/openclaw.plugin.json")):
            manifest = read_json(path)
            if isinstance(manifest, dict):
                found.update(_providers(manifest))
    return Catalogue(providers=found)


def package_of(program: Path) -> Path | None:
    """Return the folder of the npm package that a program links to; None if the link can't be resolved."""
    try:
        return program.resolve().parent
    except (OSError, RuntimeError):
        return None


def read_json(path: Path) -> object:
    """Read a JSON file of OpenClaw; return None if it can't be read or exceeds `MAX_MANIFEST_BYTES`. Blocks."""
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            return None
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value


def _providers(manifest: dict[str, object]) -> Iterator[tuple[str, Provider]]:
    """Yield the providers of a plugin; supports the manifest formats of all tested releases."""
    rows, setups = object_at(manifest, "modelCatalog", "providers"), objects_at(manifest.get("setup"), "providers")
    older, aliases = object_at(manifest, "providerAuthEnvVars"), object_at(manifest, "providerAuthAliases")
    names = [*texts_in(manifest.get("providers")), *rows, *aliases]
    names += [str(one["id"]) for one in setups if "id" in one]
    normal = object_at(manifest, "modelIdNormalization", "providers")
    for name in dict.fromkeys(names):
        row = object_at(rows, name)
        mine = [one for one in setups if one.get("id") in (name, aliases.get(name))]
        rows_of_models = [one for one in objects_at(row, "models") if "id" in one]
        models = frozenset(str(one["id"]) for one in rows_of_models)
        # a provider of other vendors' models, with names such as `moonshotai/Kimi-K2.6`, has more than it lists
        is_open = any("/" in one for one in models)
        yield (
            name,
            Provider(
                key_names=tuple(dict.fromkeys([*_texts_of(mine, "envVars"), *texts_in(older.get(name))])),
                further_names=tuple(_further(mine)),
                login_as=str(aliases.get(name, "")),
                base_url=str(row.get("baseUrl") or ""),
                api=str(row.get("api") or ""),
                takes_images={
                    str(one["id"]): "image" in texts_in(one["input"]) for one in rows_of_models if "input" in one
                },
                thoughtless=frozenset(str(one["id"]) for one in rows_of_models if one.get("reasoning") is False),
                models=models | _aliases(normal.get(name)) if models and not is_open else frozenset(),
            ),
        )


def _aliases(normal: object) -> frozenset[str]:
    """Return aliases of models and the models they refer to, some of which are listed nowhere else."""
    aliases = object_at(normal, "aliases")
    return frozenset([*aliases, *texts_in(list(aliases.values()))])


def _further(setups: Iterable[Object]) -> Iterator[str]:
    for evidence in (item for one in setups for item in objects_at(one, "authEvidence")):
        yield from texts_in([evidence.get("fileEnvVar")])
        yield from _texts_of([evidence], "requiresAnyEnv", "requiresAllEnv")


def _texts_of(values: Iterable[Object], *keys: str) -> Iterator[str]:
    return (text for one in values for key in keys for text in texts_in(one.get(key)))

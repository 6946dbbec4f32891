"""Named endpoints, and what OpenClaw has to know of a model that one serves."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations of run.json's config
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pinchbench.defaults import COMPLETIONS, OPENCLAW_JUDGE
from pinchbench.errors import ConfigError

INPUTS = ("text", "image")


GUESSED_CONTEXT_TOKENS = 128_000
MOST_REPLY_TOKENS = 8192  # unless it is stated: a quarter of a small window is left for the reply


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """What OpenClaw has to know of a model that is in no catalogue; None where nobody has said it.

    Attributes:
        context_window: tokens that fit into a request and its reply together.
        max_tokens: tokens of a reply at most.
        reasoning: whether the model thinks before it answers.
        input: what it reads, of `INPUTS`.
        price_cached: USD for a million tokens of the request that were cached; None for that of other input.
        price_written: USD for a million tokens that were written to a cache; None for that of other input.
        compat: OpenClaw's `compat` of the model.
        params: OpenClaw's `params` of the model, such as a temperature.
        source: where the endpoint says the context window, such as `max_model_len in /v1/models`.
    """

    context_window: int | None = None
    max_tokens: int | None = None
    reasoning: bool | None = None
    input: tuple[str, ...] | None = None
    price_cached: float | None = None
    price_written: float | None = None
    compat: Mapping[str, Any] = field(default_factory=dict, hash=False)
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: str = ""

    @property
    def window(self) -> int:
        """The context window, if need be a guess."""
        return self.context_window or GUESSED_CONTEXT_TOKENS

    @property
    def reply_tokens(self) -> int:
        """Tokens of a reply at most."""
        return self.max_tokens or min(MOST_REPLY_TOKENS, max(1, self.window // 4))

    def completed(self, reported: ServedModel) -> ServedModel:
        """Return this with what an endpoint reports where nothing is stated."""
        missing = [one for one in ("context_window", "max_tokens", "reasoning", "input") if getattr(self, one) is None]
        found = {one: value for one in missing if (value := getattr(reported, one)) is not None}
        source = reported.source if "context_window" in found else self.source
        return replace(self, **found, source=source)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointModel:
    """A model of an endpoint: what OpenClaw has to know of it, and its prices in USD for a million tokens."""

    served: ServedModel = ServedModel()
    price_in: float | None = None
    price_out: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where models are served: `NAME/MODEL` means one of them.

    Attributes:
        base_url: its address.
        api: its protocol, of `defaults.APIS`.
        api_key_env: the name (never the value) of the environment variable that holds its key; None without one.
        models: what is known of its models by name; empty if any name will do.
        place: the file that declares it, for sentences.
    """

    base_url: str
    api: str = COMPLETIONS
    api_key_env: str | None = None
    models: Mapping[str, EndpointModel] = field(default_factory=dict)
    place: str


NO_ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType({})


def run_at(endpoints: Mapping[str, Endpoint], model: str) -> dict[str, Any]:
    """Return the fields of `RunConfig` that say where a model is asked; none if it names no endpoint.

    Raises ConfigError for a model that its endpoint does not have.
    """
    if (endpoint := endpoints.get(model.partition("/")[0])) is None:
        return {}
    known = _model(endpoint, model, option="--model")
    found = {
        "base_url": endpoint.base_url,
        "api": endpoint.api,
        "api_key_env": endpoint.api_key_env,
        "price_in": known.price_in,
        "price_out": known.price_out,
        "served": known.served,
    }
    return {name: value for name, value in found.items() if value is not None}


def chat_at(endpoints: Mapping[str, Endpoint], model: str, *, option: str) -> dict[str, Any]:
    """Return the fields of `JudgeConfig` or `UserModelConfig` for a model; its name alone if it names no endpoint.

    Raises ConfigError for a model that its endpoint does not have, and for a protocol that the runner does not speak.
    """
    is_openclaw = model.startswith(OPENCLAW_JUDGE)
    name = model.removeprefix(OPENCLAW_JUDGE)
    if (endpoint := endpoints.get(name.partition("/")[0])) is None:
        return {"model": model}
    known = _model(endpoint, name, option=option)
    if endpoint.api != COMPLETIONS:
        raise ConfigError(
            f"{option} {model}: it is asked with {COMPLETIONS}, and this endpoint of {endpoint.place} has the api"
            f" {endpoint.api}. Name an address of it that has that one."
        )
    found: dict[str, Any] = {"model": model if is_openclaw else name.partition("/")[2], "base_url": endpoint.base_url}
    found |= {} if endpoint.api_key_env is None else {"api_key_env": endpoint.api_key_env}
    if known.price_in is not None and known.price_out is not None:
        found["prices"] = known.price_in, known.price_out
    return {**found, "served": known.served} if is_openclaw else found


def _model(endpoint: Endpoint, model: str, *, option: str) -> EndpointModel:
    name, _, served = model.partition("/")
    if not served:
        raise ConfigError(f"{option} {model} names an endpoint of {endpoint.place}: write {name}/MODEL.")
    if endpoint.models and served not in endpoint.models:
        raise ConfigError(
            f"{option} {model}: the endpoint {name} has no such model; it has {', '.join(endpoint.models)}."
            f" Add it under `models` in {endpoint.place}."
        )
    return endpoint.models.get(served, EndpointModel())

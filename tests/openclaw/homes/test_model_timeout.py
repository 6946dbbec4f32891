"""How long OpenClaw lets a call of the model be silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.homes.model_timeout import LONGEST_S, MARGIN_S, with_model_timeout, without_overlay

if TYPE_CHECKING:
    from pinchbench.openclaw.homes.credentials import Json

LIMIT = {"timeoutSeconds": 660}


def provider(config: Json) -> object:
    assert config["agents"] == {"defaults": LIMIT}
    assert isinstance(config["models"], dict)
    return config["models"]["providers"]


def test_a_call_of_the_model_may_take_as_long_as_the_longest_trial() -> None:
    config = with_model_timeout({}, "anthropic/claude-sonnet-4-6", 599.2)
    assert config["models"] == {"mode": "merge", "providers": {"anthropic": LIMIT}}
    assert provider(config) == {"anthropic": LIMIT}
    forever = with_model_timeout({}, "a/m", float("inf"))["agents"]
    assert forever == {"defaults": {"timeoutSeconds": LONGEST_S + MARGIN_S}}


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("openai/m", "OpenAI"),
        ("zai/m", "z.ai"),
        ("xai/m", "x-ai"),
        ("mock/m", "mock"),
        ("openrouter/a/m", "openrouter"),
    ],
)
def test_the_users_own_entry_stays_the_only_one_and_its_limit_is_ours(model: str, known: str) -> None:
    entry: Json = {"baseUrl": "http://127.0.0.1:1/v1", "timeoutSeconds": 8}
    config = with_model_timeout({"models": {"mode": "replace", "providers": {known: entry, "b": {}}}}, model, 600)
    assert config["models"] == {"mode": "replace", "providers": {known: {**entry, **LIMIT}, "b": {}}}


def test_a_name_without_a_provider_leaves_the_providers_alone() -> None:
    assert with_model_timeout({"models": {"x": 1}}, "m", 600) == {"models": {"x": 1}, "agents": {"defaults": LIMIT}}


@pytest.mark.parametrize("models", [None, 3, {}, {"providers": 3}])
def test_a_config_of_any_shape_can_do_without_an_overlay(models: object) -> None:
    assert without_overlay({"models": models}) == {"models": models}


def test_only_what_says_nothing_but_the_limit_is_taken_out() -> None:
    providers = {"foo": LIMIT, "mock": {"baseUrl": "x", **LIMIT}, "bar": {}}
    assert without_overlay({"models": {"providers": providers}, "x": 1}) == {
        "models": {"providers": {"mock": {"baseUrl": "x", **LIMIT}, "bar": {}}},
        "x": 1,
    }

"""What a home's environment has where the wire stands in for the provider."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pinchbench.openclaw.catalogue import Catalogue, Provider
from pinchbench.openclaw.homes.credentials import UserState
from pinchbench.runner.native_provider import NativeProvider, choose_native, native_env

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.openclaw.homes.credentials import Json

PROVIDER = NativeProvider(
    base_url="https://api.anthropic.com", key="sk-secret", key_name="A_KEY", key_names=("A_OAUTH_TOKEN", "A_KEY")
)
CATALOGUE = Catalogue(
    providers={
        "acme": Provider(key_names=("A_OAUTH_TOKEN", "A_KEY"), base_url="https://api.acme.example/v1"),
        "near": Provider(base_url="http://127.0.0.1:9/v1"),
    }
)
USER = UserState()
KEYS = {"A_OAUTH_TOKEN": " ", "A_KEY": "sk-secret"}


def _choose(name: str, env: Mapping[str, str], user: UserState = USER) -> NativeProvider | str:
    return choose_native(name, CATALOGUE, user, env=env, needs_key=True)


def test_a_provider_with_one_key_is_asked_at_the_host_of_its_address() -> None:
    assert _choose("acme", KEYS) == replace(PROVIDER, base_url="https://api.acme.example")


@pytest.mark.parametrize(
    ("name", "env", "why"),
    [
        ("acme", {}, "with a login"),
        ("acme", {"A_OAUTH_TOKEN": "t"}, "with a login"),
        ("acme", {**KEYS, "A_OAUTH_TOKEN": "t"}, "a key of OpenClaw's choice"),
        ("acme", {**KEYS, "https_proxy": "http://proxy"}, "names a proxy"),
        ("near", {"NEAR_API_KEY": "k"}, "is not known"),
        ("unknown", {"UNKNOWN_API_KEY": "k"}, "is not known"),
    ],
)
def test_a_provider_that_the_wire_can_not_stand_in_for_has_a_reason(name: str, env: dict[str, str], why: str) -> None:
    assert why in str(_choose(name, env))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"models": {"providers": {"acme": {"baseUrl": "https://own.example"}}}}, "an address or in a way of its own"),
        ({"models": {"providers": {"acme": {"request": {"proxy": {"mode": "explicit"}}}}}}, "in a way of its own"),
        ({"env": {"vars": {"HTTPS_PROXY": "http://proxy"}}}, "names a proxy"),
    ],
)
def test_settings_of_the_user_that_lead_past_the_wire_are_a_reason(config: Json, why: str) -> None:
    assert why in str(_choose("acme", KEYS, UserState(config=config)))


def test_a_replay_is_asked_with_the_variable_of_a_key() -> None:
    found = choose_native("acme", CATALOGUE, UserState(), env={}, needs_key=False)

    assert isinstance(found, NativeProvider)
    assert (found.key, found.key_name) == ("", "A_KEY")


def test_the_token_stands_in_for_the_key_wherever_the_key_stands() -> None:
    env = {"A_KEY": "sk-secret", "A_KEYS": "sk-secret,sk-other", "LANG": "C", "HTTPS_PROXY": "http://old"}

    told = native_env(env, PROVIDER, token="t", proxy_url="http://slot:t@127.0.0.1:9", certificates="/c.pem")

    assert told["A_KEY"] == "t"
    assert "A_KEYS" not in told
    assert "sk-secret" not in str(told)
    assert (told["LANG"], told["HTTPS_PROXY"], told["NODE_EXTRA_CA_CERTS"]) == (
        "C",
        "http://slot:t@127.0.0.1:9",
        "/c.pem",
    )


def test_the_token_is_no_login_where_the_variable_of_a_login_is_blank() -> None:
    told = native_env({"A_OAUTH_TOKEN": "", "A_KEY": "sk-secret"}, PROVIDER, token="t", proxy_url="p", certificates="c")

    assert "A_OAUTH_TOKEN" not in told
    assert told["A_KEY"] == "t"


def test_a_replay_needs_no_key() -> None:
    keyless = replace(PROVIDER, key="")

    told = native_env({"LANG": "C"}, keyless, token="t", proxy_url="p", certificates="c")

    assert (told["A_KEY"], told["LANG"]) == ("t", "C")


def test_the_host_is_that_of_the_address() -> None:
    assert PROVIDER.host == "api.anthropic.com"

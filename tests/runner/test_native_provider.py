"""What a home's environment has where the wire stands in for the provider."""

from __future__ import annotations

from dataclasses import replace

from pinchbench.runner.native_provider import NativeProvider, native_env

PROVIDER = NativeProvider(
    base_url="https://api.anthropic.com", key="sk-secret", key_name="A_KEY", key_names=("A_OAUTH_TOKEN", "A_KEY")
)


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

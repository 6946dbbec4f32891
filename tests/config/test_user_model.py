"""Which model plays users: the option's value, its provider, and its key."""

from __future__ import annotations

import pytest

from pinchbench.config.user_model import UserModelConfig
from pinchbench.errors import ConfigError


def test_a_known_provider_brings_its_address_and_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    endpoint = UserModelConfig(model="openai/gpt-5.5").endpoint
    assert (endpoint.model, endpoint.api_key_env) == ("gpt-5.5", "OPENAI_API_KEY")
    assert endpoint.base_url.startswith("https://")
    assert endpoint.is_steady


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("demo/oracle", "can't play a user"),
        ("qwen3", "--user-model qwen3 needs --user-base-url, unless it begins with openai/"),
        ("openclaw:anthropic/x", "needs --user-base-url"),
        ("openai/gpt-5.5", "needs a key in OPENAI_API_KEY"),
    ],
)
def test_a_model_that_can_not_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch, model: str, said: str) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=said):
        UserModelConfig(model=model)

"""The judge and the model that plays users: their options, and the providers that fill them in."""

import dataclasses

import pytest

from pinchbench.config.asked_models import JudgeConfig, UserModelConfig
from pinchbench.errors import ConfigError

URL = "http://127.0.0.1:8000/v1"


def test_a_judge_has_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    known = JudgeConfig(model="openai/gpt-5")
    assert (known.model, known.base_url, known.api_key_env) == ("gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY")
    assert dataclasses.replace(known, votes=3) == JudgeConfig(
        model="gpt-5", base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY", votes=3
    )
    own = JudgeConfig(model="openai/gpt-5", base_url=URL)
    assert (own.model, own.base_url, own.api_key_env) == ("openai/gpt-5", URL, None)
    agent = JudgeConfig(model="openclaw:openai/gpt-5")
    assert (agent.is_openclaw, agent.model_id, agent.base_url) == (True, "openai/gpt-5", None)
    assert "secret" not in repr(known)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "m1"}, r"m1 begins neither with openai/, .* declare one in pinchbench\.yaml.*--judge-base-url"),
        ({"model": "openrouter/a/b"}, "--judge openrouter/a/b needs a key in OPENROUTER_API_KEY"),
        ({"model": "openclaw:a/b", "api_key_env": "HOME"}, "judge's api-key-env goes with a base-url"),
        ({"model": "openclaw:b", "base_url": URL}, "openclaw:provider/name"),
        ({"model": "m1", "base_url": "localhost"}, "The judge's base-url is not a URL"),
        ({"model": "m1", "base_url": "http://me:key@127.0.0.1/v1"}, "base-url must not hold a user name or key"),
        ({"model": "m1", "base_url": URL, "api_key_env": "sk-123"}, "The judge's api-key-env takes the name"),
        ({"model": "demo/oracle", "base_url": URL}, "--judge demo/oracle: the built-in models play tasks"),
        ({"model": "openclaw:demo/null", "base_url": URL}, "--judge openclaw:demo/null: the built-in models play"),
        ({"model": "openclaw:"}, "--judge '' is not a model name"),
    ],
)
def test_what_a_judge_lacks_is_reported(monkeypatch: pytest.MonkeyPatch, options: dict[str, str], said: str) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=said):
        JudgeConfig(**options)  # type: ignore[arg-type]


def test_a_known_provider_brings_its_address_and_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    user = UserModelConfig(model="openai/gpt-5.5")
    assert (user.model, user.api_key_env, user.is_steady) == ("gpt-5.5", "OPENAI_API_KEY", True)
    assert (user.base_url or "").startswith("https://")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("demo/oracle", "can't play a user"),
        ("qwen3", "--user-model qwen3 begins neither with openai/"),
        ("openclaw:anthropic/x", "begins neither with openai/"),
        ("openai/gpt-5.5", "needs a key in OPENAI_API_KEY"),
    ],
)
def test_a_model_that_can_not_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch, model: str, said: str) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=said):
        UserModelConfig(model=model)

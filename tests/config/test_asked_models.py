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


def test_what_a_judge_lacks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"m1 begins neither with openai/, .* declare one in pinchbench\.yaml"):
        JudgeConfig(model="m1")
    with pytest.raises(ConfigError, match="--judge openrouter/a/b needs a key in OPENROUTER_API_KEY"):
        JudgeConfig(model="openrouter/a/b")
    with pytest.raises(ConfigError, match="judge's api-key-env goes with a base-url"):
        JudgeConfig(model="openclaw:a/b", api_key_env="HOME")
    with pytest.raises(ConfigError, match="openclaw:provider/name"):
        JudgeConfig(model="openclaw:b", base_url=URL)
    with pytest.raises(ConfigError, match="The judge's base-url is not a URL"):
        JudgeConfig(model="m1", base_url="localhost")
    with pytest.raises(ConfigError, match="The judge's base-url must not hold a user name or key"):
        JudgeConfig(model="m1", base_url="http://me:key@127.0.0.1/v1")
    with pytest.raises(ConfigError, match="The judge's api-key-env takes the name"):
        JudgeConfig(model="m1", base_url=URL, api_key_env="sk-123")
    for built_in in ("demo/oracle", "openclaw:demo/null"):
        with pytest.raises(ConfigError, match=f"--judge {built_in}: the built-in models play tasks"):
            JudgeConfig(model=built_in, base_url=URL)
    with pytest.raises(ConfigError, match="--judge '' is not a model name"):
        JudgeConfig(model="openclaw:")


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
        ("qwen3", "--user-model qwen3 begins neither with openai/"),
        ("openclaw:anthropic/x", "begins neither with openai/"),
        ("openai/gpt-5.5", "needs a key in OPENAI_API_KEY"),
    ],
)
def test_a_model_that_can_not_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch, model: str, said: str) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=said):
        UserModelConfig(model=model)

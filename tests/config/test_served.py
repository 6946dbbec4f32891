"""Names of endpoints in names of models."""

import pytest

from pinchbench.config.served import Endpoint, EndpointModel, ServedModel, chat_at, run_at
from pinchbench.errors import ConfigError

SERVED = ServedModel(context_window=32_768, reasoning=True, price_cached=0.01)
URL = "http://127.0.0.1:8000/v1"
LOCAL = Endpoint(
    base_url=URL,
    api_key_env="KEY",
    models={"qwen3": EndpointModel(served=SERVED, price_in=0.1, price_out=0.4)},
    place="pinchbench.yaml",
)
ENDPOINTS = {"local": LOCAL, "claude": Endpoint(base_url=URL, api="anthropic-messages", place="pinchbench.yaml")}


def test_a_model_under_test_is_asked_at_its_endpoint() -> None:
    assert run_at(ENDPOINTS, "local/qwen3") == {
        "base_url": URL,
        "api": "openai-completions",
        "api_key_env": "KEY",
        "price_in": 0.1,
        "price_out": 0.4,
        "served": SERVED,
    }
    assert run_at(ENDPOINTS, "claude/any")["api"] == "anthropic-messages"
    assert run_at(ENDPOINTS, "openai/gpt-5.5") == {}


def test_a_judge_and_a_user_are_asked_at_their_endpoint() -> None:
    at = {"base_url": URL, "api_key_env": "KEY", "prices": (0.1, 0.4)}
    assert chat_at(ENDPOINTS, "local/qwen3", option="--judge") == {"model": "qwen3", **at}
    agent = chat_at(ENDPOINTS, "openclaw:local/qwen3", option="--judge")
    assert agent == {"model": "openclaw:local/qwen3", **at, "served": SERVED}
    assert chat_at(ENDPOINTS, "openai/gpt-5.5", option="--judge") == {"model": "openai/gpt-5.5"}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("local", "write local/MODEL"),
        ("local/qwen4", "it has qwen3. Add it under `models` in pinchbench.yaml."),
        ("claude/any", "asked with openai-completions"),
    ],
)
def test_what_an_endpoint_can_not_serve_is_named(model: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        chat_at(ENDPOINTS, model, option="--judge")

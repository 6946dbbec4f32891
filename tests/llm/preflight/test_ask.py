"""What servers of each kind say of their models, asked over HTTP, and what a run uses of it."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from anyio import fail_after

from failing_endpoints import Case, endpoint, refusal, reply
from pinchbench.config.served import ServedModel
from pinchbench.defaults import ProtocolName
from pinchbench.llm.preflight.ask import ask_about, of_ollama, read_answers, said_of
from pinchbench.llm.preflight.question import Target
from pinchbench.model.finding import Level

LIMIT_S = 60.0
SEEING = ("text", "image")
OLLAMA = {"parameters": "stop x\nnum_ctx   8192", "capabilities": ["completion", "tools", "vision", "thinking"]}
OPENROUTER = {
    "id": "m1",
    "context_length": 200_000,
    "top_provider": {"max_completion_tokens": 64_000},
    "architecture": {"input_modalities": ["text", "image"]},
    "supported_parameters": ["tools", "reasoning"],
}
LITELLM = {"max_input_tokens": 65_536, "max_output_tokens": 4096, "supports_vision": True, "supports_reasoning": False}


def models(**entry: object) -> dict[str, object]:
    return {"data": [{"id": "other", "max_model_len": 1}, {"id": "m1", **entry}]}


SERVERS: Mapping[str, tuple[Mapping[str, object], ServedModel]] = {
    "vLLM": (
        {"/v1/models": models(max_model_len=32_768)},
        ServedModel(context_window=32_768, source="max_model_len in /v1/models"),
    ),
    "llama.cpp": (
        {
            "/v1/models": models(meta={"n_ctx_train": 131_072}),
            "/props": {"default_generation_settings": {"n_ctx": 16_384}, "modalities": {"vision": True}},
        },
        ServedModel(context_window=16_384, input=SEEING, source="n_ctx in /props"),
    ),
    "Ollama": (
        {"/v1/models": models(), "/api/show": OLLAMA},
        ServedModel(context_window=8192, input=SEEING, reasoning=True, source="num_ctx in /api/show"),
    ),
    "Ollama, loaded without its tag": (
        {"/api/ps": {"models": [{"name": "m1:latest", "context_length": 8192}, {"name": "m2", "context_length": 1}]}},
        ServedModel(context_window=8192, source="context_length in /api/ps"),
    ),
    "Ollama, with another model loaded": (
        {"/api/ps": {"models": [{"name": "m2:latest", "context_length": 4096}]}},
        ServedModel(),
    ),
    "LM Studio": (
        {
            "/v1/models": models(),
            "/api/v0/models": {"data": [{"id": "m1", "type": "vlm", "loaded_context_length": 4096}]},
        },
        ServedModel(context_window=4096, input=SEEING, source="loaded_context_length in /api/v0/models"),
    ),
    "LiteLLM": (
        {"/v1/models": models(), "/v1/model/info": {"data": [{"model_name": "m1", "model_info": LITELLM}]}},
        ServedModel(context_window=65_536, max_tokens=4096, input=SEEING, source="max_input_tokens in /v1/model/info"),
    ),
    "OpenRouter": (
        {"/v1/models": {"data": [OPENROUTER]}},
        ServedModel(
            context_window=200_000,
            max_tokens=64_000,
            input=SEEING,
            reasoning=True,
            source="context_length in /v1/models",
        ),
    ),
    "Azure": ({"/v1/models": models()}, ServedModel()),
    "nonsense": ({"/v1/models": ["no", {"data": 7}]}, ServedModel()),
}


@pytest.mark.parametrize(("answers", "expected"), SERVERS.values(), ids=SERVERS)
async def test_each_kind_of_server_is_asked_where_it_tells(
    answers: Mapping[str, object], expected: ServedModel
) -> None:
    # the longer path first: the fake answers by the beginning of a path
    paths = sorted(answers, key=len, reverse=True)
    replies = {path: reply(200, json.dumps(answers[path]).encode()) for path in paths}
    with fail_after(LIMIT_S):
        async with endpoint(Case(replies={**replies, "/": refusal(404, "no")}, words=())) as base_url:
            asked = Target(subject="model", model="m1", base_url=base_url, key="sk-key")
            found = await ask_about(asked, limit_s=LIMIT_S)

    assert read_answers(found, "m1") == expected
    for api, is_warned in (
        (ProtocolName.OPENAI_CHAT, isinstance(answers.get("/api/ps"), dict)),
        (ProtocolName.OLLAMA, False),
    ):
        root = base_url.removesuffix("/v1")
        told = [one.do for one in of_ollama(replace(asked, api=api), found)]
        assert told == [f"Use --api ollama and --base-url {root}."] * is_warned


def test_what_is_stated_wins_and_what_nobody_says_is_a_guess_that_is_named() -> None:
    reported = ServedModel(context_window=4096, max_tokens=1000, input=SEEING, source="n_ctx in /props")
    stated = ServedModel(context_window=32_768, reasoning=True)

    assert stated.completed(reported) == replace(reported, context_window=32_768, reasoning=True, source="")
    assert stated.completed(ServedModel()) == stated
    assert (ServedModel().reply_tokens, ServedModel(context_window=4096).reply_tokens) == (8192, 1024)
    assert said_of("local/m1", reported).said == (
        "local/m1: a context window of 4,096 tokens, replies of up to 1,000, input: text and image, thinking: no"
        " (by n_ctx in /props)."
    )
    guess = said_of("local/m1", ServedModel())
    assert guess.level is Level.WARNING
    assert "128,000 tokens are a guess" in guess.said
    assert "models: {m1: {context-window: N}}" in guess.do

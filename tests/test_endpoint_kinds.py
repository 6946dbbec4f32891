"""Servers of seven kinds: what a run uses of what they say, and whose doing it is when they refuse; as a page says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from pinchbench.config.served import ServedModel
from pinchbench.llm.preflight.ask import read_answers
from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.runner.setup.make_homes import endpoint
from pinchbench.runner.trial.wire_facts import witnessed
from pinchbench.wire.exchange import Exchange
from pinchbench.wire.exchange_facts import read_all
from pinchbench.wire.measure import measure
from wire.exchanges import CHAT, exchange, sse

PAGE = Path(__file__).parents[1] / "docs/guides/your-model.md"
OLLAMA_CHAT = "/api/chat"
GUESS = "a guess, with a warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What a kind of server says, and what the page says of it.

    Attributes:
        answers: to the questions of the preflight, by their paths.
        window: the context window that OpenClaw gets, `source` where it comes from.
        thinks: whether it says of a model that it thinks, and `sees` that it reads images; None if it says neither.
        overflow: its refusal of a conversation that is too long: status and body.
        busy: its refusal for its load.
    """

    answers: Mapping[str, object] = field(default_factory=dict)
    window: int = 128_000
    source: str = GUESS
    thinks: bool | None = None
    sees: bool | None = None
    overflow: tuple[int, object]
    busy: tuple[int, object]
    path: str = CHAT

    def row(self, name: str) -> str:
        """The row of the page."""
        said = {True: "as it says", None: "no, unless stated"}
        source = f"`{self.source.replace(' in ', '` in `')}`" if " in " in self.source else self.source
        return f"| {name} | {source} | {said[self.thinks]} | {said[self.sees]} | {self.overflow[0]} | {self.busy[0]} |"

    def refusal(self, refused: tuple[int, object], number: int = 2) -> Exchange:
        """The call that it refuses after one that it has answered."""
        status, body = refused
        text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return exchange(self.path, {}, text, number=number, status=status, began_at=number * 10, reply_headers=())

    def answer(self) -> Exchange:
        """A reply that says nothing of its usage."""
        if self.path == OLLAMA_CHAT:
            body = b'{"message": {"content": "ok"}, "done": true, "done_reason": "stop"}\n'
        else:
            body = sse({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}, end="[DONE]")
        return exchange(self.path, {}, body, number=1, began_at=10)


def listed(**entry: object) -> dict[str, object]:
    return {"data": [{"id": "m1", **entry}]}


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


TOO_LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
OLLAMA = {"/api/show": {"parameters": "num_ctx 8192", "capabilities": ["completion", "tools", "vision", "thinking"]}}
KINDS: Mapping[str, Kind] = {
    "vLLM": Kind(
        answers={"/v1/models": listed(max_model_len=8192)},
        window=8192,
        source="max_model_len in /v1/models",
        overflow=(400, {"object": "error", "message": TOO_LONG, "type": "BadRequestError", "code": 400}),
        busy=(503, "Service Unavailable"),
    ),
    "llama.cpp": Kind(
        answers={"/props": {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": True}}},
        window=8192,
        source="n_ctx in /props",
        sees=True,
        overflow=(400, error("the request exceeds the available context size", type="exceed_context_size_error")),
        busy=(503, error("Loading model", type="unavailable_error", code=503)),
    ),
    "Ollama": Kind(
        answers=OLLAMA,
        window=8192,
        source="num_ctx in /api/show",
        thinks=True,
        sees=True,
        overflow=(400, {"error": "prompt too long; exceeded max context length by 17 tokens"}),
        busy=(503, {"error": "server busy, please try again.  maximum pending requests exceeded"}),
        path=OLLAMA_CHAT,
    ),
    "LM Studio": Kind(
        answers={"/api/v0/models": listed(type="vlm", loaded_context_length=8192)},
        window=8192,
        source="loaded_context_length in /api/v0/models",
        sees=True,
        overflow=(400, {"error": "Trying to keep the first 9000 tokens when context the overflows."}),
        busy=(429, {"error": "Too many requests"}),
    ),
    "LiteLLM": Kind(
        answers={
            "/v1/model/info": {
                "data": [
                    {
                        "model_name": "m1",
                        "model_info": {"max_input_tokens": 8192, "supports_vision": True, "supports_reasoning": True},
                    }
                ]
            }
        },
        window=8192,
        source="max_input_tokens in /v1/model/info",
        thinks=True,
        sees=True,
        overflow=(400, error(f"litellm.ContextWindowExceededError: litellm.BadRequestError: {TOO_LONG}", code="400")),
        busy=(429, error("litellm.RateLimitError: RateLimitError: OpenAIException", type="throttling_error")),
    ),
    "Azure": Kind(
        answers={"/v1/models": listed(capabilities={"chat_completion": True})},
        overflow=(400, error(TOO_LONG, code="context_length_exceeded", param="messages")),
        busy=(429, error("Requests have exceeded token rate limit of your pricing tier. Please retry after 7 s.")),
    ),
    "OpenRouter": Kind(
        answers={
            "/v1/models": listed(
                context_length=8192,
                architecture={"input_modalities": ["text", "image"]},
                supported_parameters=["tools", "reasoning"],
            )
        },
        window=8192,
        source="context_length in /v1/models",
        thinks=True,
        sees=True,
        overflow=(400, error("This endpoint's maximum context length is 8192 tokens. However, you requested 9000.")),
        busy=(429, error("Provider returned error", metadata={"raw": "m1 is temporarily rate-limited upstream."})),
    ),
}  # fmt: skip
each_kind = pytest.mark.parametrize("kind", [pytest.param(one, id=name) for name, one in KINDS.items()])


@each_kind
def test_what_a_server_says_of_window_thinking_and_images_is_what_openclaw_gets(kind: Kind) -> None:
    served = ServedModel().completed(read_answers(kind.answers, "m1"))
    entry = endpoint("http://127.0.0.1:9", "m1", served=served, with_key=False)

    [model] = cast("list[dict[str, object]]", entry["models"])
    assert (model["contextWindow"], served.source or GUESS) == (kind.window, kind.source)
    assert (model["reasoning"], "image" in cast("list[str]", model["input"])) == (bool(kind.thinks), bool(kind.sees))


def an_outcome(reason: Reason) -> Outcome:
    return Outcome(key=TrialKey(task_id="t", repetition=1), reason=reason, digest="d")


@each_kind
def test_a_reply_without_usage_counts_and_its_use_is_unknown_not_nothing(kind: Kind) -> None:
    found = measure(read_all([kind.answer()]))

    assert (found.facts.unreported, found.facts.usage.requests, found.failed) == (1, 0, ())
    assert witnessed(an_outcome(Reason.COMPLETED), found, turn=0)[0] is Reason.COMPLETED


@each_kind
def test_a_conversation_that_became_too_long_is_the_models_doing_and_counts(kind: Kind) -> None:
    found = measure(read_all([kind.answer(), kind.refusal(kind.overflow)]))

    reason, note = witnessed(an_outcome(Reason.NONZERO_EXIT), found, turn=0)
    assert (reason, "context overflow" in note, reason.is_valid) == (Reason.MODEL_ERROR, True, True), note


@each_kind
def test_a_server_that_is_too_busy_is_retried_and_never_a_score_of_the_model(kind: Kind) -> None:
    found = measure(read_all([kind.answer(), kind.refusal(kind.busy)]))

    reason, _ = witnessed(an_outcome(Reason.NONZERO_EXIT), found, turn=0)
    assert (reason, reason.ending) == (Reason.PROVIDER_ERROR, Ending.INFRASTRUCTURE)


@pytest.mark.parametrize("name", KINDS)
def test_the_page_has_the_row_of_each_kind(name: str) -> None:
    assert KINDS[name].row(name) in PAGE.read_text("utf-8").split("\n")

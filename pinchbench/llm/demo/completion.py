"""A reply of the scripted model in OpenAI's wire format, its usage, and what OpenClaw must know of the model (pure)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.llm.demo.script import Answer, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinchbench.llm.demo.script import Reply

# OpenClaw computes a trial's cost from the provider config.
INPUT_USD_PER_MTOK = 1.0
OUTPUT_USD_PER_MTOK = 2.0
CACHE_READ_USD_PER_MTOK = 0.1
CACHE_WRITE_USD_PER_MTOK = 0.0

CONTEXT_WINDOW_TOKENS = 200_000
MAX_OUTPUT_TOKENS = 8192
API_KEY = "sk-local-demo"
CHARACTERS_PER_TOKEN = 4
ANSWER_CHUNKS = 4
# A real date would make two identical runs differ; the value is never read.
CREATED = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One reply of the model and its token counts. `cached_tokens` is included in `prompt_tokens`."""

    model: str
    reply: Reply
    prompt_tokens: int
    cached_tokens: int

    @property
    def completion_tokens(self) -> int:
        """The number of completion tokens, at least 1 as with real providers."""
        return max(1, count_tokens(self._message()))

    def whole(self) -> dict[str, object]:
        """Return the body of a reply that is not streamed."""
        choice = {"index": 0, "message": self._message(), "logprobs": None, "finish_reason": self._finish_reason()}
        return {**self._envelope("chat.completion"), "choices": [choice], "usage": self._wire_usage()}

    def chunks(self) -> list[dict[str, object]]:
        """Return the events of a streamed reply: the content, the finish reason, then the usage without a choice."""
        deltas: list[dict[str, object]] = [{"role": "assistant", **delta} for delta in self._deltas()[:1]]
        deltas += self._deltas()[1:]
        return [
            *(self._chunk(delta, None) for delta in deltas),
            self._chunk({}, self._finish_reason()),
            {**self._envelope("chat.completion.chunk"), "choices": [], "usage": self._wire_usage()},
        ]

    def _deltas(self) -> list[dict[str, object]]:
        match self.reply:
            case ToolCall(call_id=call_id, tool=tool, arguments=arguments):
                # Split on purpose, as providers do: a client that parses only the first part must fail here.
                middle = len(arguments) // 2
                head = {"name": tool, "arguments": arguments[:middle]}
                return [
                    {
                        "content": None,
                        "tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": head}],
                    },
                    {"tool_calls": [{"index": 0, "function": {"arguments": arguments[middle:]}}]},
                ]
            case Answer(text=text):
                size = max(1, -(-len(text) // ANSWER_CHUNKS))
                return [{"content": text[start : start + size]} for start in range(0, max(1, len(text)), size)]

    def _message(self) -> dict[str, object]:
        match self.reply:
            case ToolCall(call_id=call_id, tool=tool, arguments=arguments):
                function = {"name": tool, "arguments": arguments}
                call = {"id": call_id, "type": "function", "function": function}
                return {"role": "assistant", "content": None, "tool_calls": [call]}
            case Answer(text=text):
                return {"role": "assistant", "content": text}

    def _finish_reason(self) -> str:
        return "tool_calls" if isinstance(self.reply, ToolCall) else "stop"

    def _envelope(self, kind: str) -> dict[str, object]:
        return {"id": "chatcmpl-scripted", "object": kind, "created": CREATED, "model": self.model}

    def _chunk(self, delta: dict[str, object], finish_reason: str | None) -> dict[str, object]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._envelope("chat.completion.chunk"), "choices": [choice]}

    def _wire_usage(self) -> dict[str, object]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


def count_tokens(value: object) -> int:
    """Return an approximate token count that is the same on every machine."""
    return len(json.dumps(value)) // CHARACTERS_PER_TOKEN


def count_cached_tokens(messages: Sequence[object], previous: Sequence[object]) -> int:
    """Return the tokens of the messages with which both conversations begin, like a provider's prompt cache."""
    shared = 0
    for message, earlier in zip(messages, previous, strict=False):
        if message != earlier:
            break
        shared += 1
    return count_tokens(list(messages[:shared]))


def error_body(message: str, kind: str, code: str | None = None) -> dict[str, object]:
    """Return the JSON of an error in OpenAI's format."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def provider_config(base_url: str, model_id: str) -> dict[str, object]:
    """Return the value of `models.providers.<name>` with which OpenClaw uses the model at this address."""
    return {
        "baseUrl": base_url,
        "apiKey": API_KEY,
        "api": "openai-completions",
        "models": [
            {
                "id": model_id,
                "name": model_id,
                "reasoning": False,
                "input": ["text", "image"],
                "cost": {
                    "input": INPUT_USD_PER_MTOK,
                    "output": OUTPUT_USD_PER_MTOK,
                    "cacheRead": CACHE_READ_USD_PER_MTOK,
                    "cacheWrite": CACHE_WRITE_USD_PER_MTOK,
                },
                "contextWindow": CONTEXT_WINDOW_TOKENS,
                "maxTokens": MAX_OUTPUT_TOKENS,
            }
        ],
    }

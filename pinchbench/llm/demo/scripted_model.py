"""The scripted model as a provider: a server on loopback like OpenAI's, its replies, and what it plays for whom."""

from __future__ import annotations

import json
import socket
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import h11
from anyio import create_task_group
from anyio.abc import SocketListener

from pinchbench.llm.demo.script import Answer, Reply, ScriptedTurn, ToolCall, next_reply
from pinchbench.wire.http1 import LOST, Inbound
from pinchbench.wire.reply_body import LAST_CHUNK, chunked
from pinchbench.wire.request_route import response_head
from pinchbench.wire.transport import TransportStream, serve_clients

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence


# In USD for a million tokens: OpenClaw computes a trial's cost from the provider config.
COST = {"input": 1.0, "output": 2.0, "cacheRead": 0.1, "cacheWrite": 0.0}
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
    shared = sum(1 for _ in takewhile(bool, map(eq, messages, previous)))
    return count_tokens(list(messages[:shared]))


def error_body(message: str, kind: str, code: str | None = None) -> dict[str, object]:
    """Return the JSON of an error in OpenAI's format."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def provider_config(base_url: str, model_id: str) -> dict[str, object]:
    """Return the value of `models.providers.<name>` with which OpenClaw uses the model at this address."""
    named = {"id": model_id, "name": model_id, "reasoning": False, "input": ["text", "image"]}
    model = {**named, "cost": COST, "contextWindow": CONTEXT_WINDOW_TOKENS, "maxTokens": MAX_OUTPUT_TOKENS}
    return {"baseUrl": base_url, "apiKey": API_KEY, "api": "openai-completions", "models": [model]}


MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0, "owned_by": "pinchbench"}]}
NO_MESSAGES = "The request's body must be a JSON object whose `messages` is a list."


@dataclass(kw_only=True, slots=True)
class _TurnProgress:
    """A turn in progress. `cached` holds the messages of its last completed request, like a provider's cache."""

    turn: ScriptedTurn
    cached: list[object] = field(default_factory=list)


class ScriptedModel:
    """A running scripted model, created by `scripted_model`. Not thread-safe.

    `asked` counts the completions of each slot.
    """

    def __init__(self, *, port: int) -> None:
        """Take the port of the server."""
        self._port = port
        self._playing: dict[str, _TurnProgress] = {}  # by slot
        self.asked = Counter[str]()

    def base_url(self, slot: str) -> str:
        """Return the base URL for this slot's provider config. A slot's name must not contain `/`."""
        return self.origin + self.path(slot)

    @property
    def origin(self) -> str:
        """The URL of the server, without a path."""
        return f"http://127.0.0.1:{self._port}"

    def path(self, slot: str) -> str:
        """Return the path of `base_url`."""
        return f"/{quote(slot, safe='')}/v1"

    def play(self, slot: str, turn: ScriptedTurn) -> None:
        """Play this turn on this slot for the requests that come from now on."""
        self._playing[slot] = _TurnProgress(turn=turn)

    async def serve(self, stream: TransportStream) -> None:
        """Answer a client until it closes the connection, which is closed in any case."""
        async with stream:
            with suppress(h11.RemoteProtocolError, *LOST):
                inbound = Inbound(stream)
                while (head := await inbound.next_request()) is not None:
                    parts = []
                    while part := await inbound.receive_body():
                        parts.append(part)
                    if not inbound.is_complete:
                        return
                    await self._answer(stream, head.target.decode("latin-1"), b"".join(parts))
                    if not inbound.keeps_alive:
                        return

    async def _answer(self, stream: TransportStream, target: str, body: bytes) -> None:
        name, _, endpoint = target.removeprefix("/").partition("/v1/")
        slot, asked = unquote(name), _asked(body)
        playing = self._playing.get(slot)
        if endpoint == "chat/completions" and asked is None:
            await _send(stream, HTTPStatus.BAD_REQUEST, error_body(NO_MESSAGES, "invalid_request_error"))
        elif playing is None or endpoint not in ("models", "chat/completions"):
            problem = f"The scripted model plays nothing for slot {slot!r}; call play() before its agent asks."
            await _send(stream, HTTPStatus.NOT_FOUND, error_body(problem, "invalid_request_error", "nothing_played"))
        elif endpoint == "models" or asked is None:
            await _send(stream, HTTPStatus.OK, MODELS)
        else:
            self.asked[slot] += 1
            await self._complete(stream, playing, *asked)

    async def _complete(
        self, stream: TransportStream, playing: _TurnProgress, asked: dict[str, object], messages: list[object]
    ) -> None:
        completion = Completion(
            model=str(asked.get("model", "scripted")),
            reply=next_reply(playing.turn, messages, has_tools=bool(asked.get("tools"))),
            prompt_tokens=count_tokens(messages),
            cached_tokens=count_cached_tokens(messages, playing.cached),
        )
        is_streamed = asked.get("stream") is True
        if is_streamed:
            await _send_events(stream, completion)
        playing.cached = messages  # before the client knows that it has the whole reply
        await (stream.send(LAST_CHUNK) if is_streamed else _send(stream, HTTPStatus.OK, completion.whole()))


def _asked(body: bytes) -> tuple[dict[str, object], list[object]] | None:
    """Return what a request asks for, and its messages; None if it has none."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return None
    messages = asked.get("messages") if isinstance(asked, dict) else None
    return (asked, messages) if isinstance(messages, list) else None


async def _send(stream: TransportStream, status: HTTPStatus, answer: Mapping[str, object]) -> None:
    body = json.dumps(answer).encode()
    headers = [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(body)).encode())]
    await stream.send(response_head(status, status.phrase.encode(), headers) + body)


async def _send_events(stream: TransportStream, completion: Completion) -> None:
    """Send a streamed reply but for its last chunk."""
    headers = [(b"Content-Type", b"text/event-stream"), (b"Transfer-Encoding", b"chunked")]
    await stream.send(response_head(HTTPStatus.OK, b"OK", headers))
    for text in (*map(json.dumps, completion.chunks()), "[DONE]"):
        await stream.send(chunked(f"data: {text}\n\n".encode()))


@asynccontextmanager
async def scripted_model() -> AsyncGenerator[ScriptedModel]:
    """Run a scripted model on a free port of 127.0.0.1 for as long as the context is open.

    On exit and on cancellation, all connections are aborted immediately; no task, socket or thread is left. It runs in
    a task group, so exceptions of the body are raised in an `ExceptionGroup`, and the context must be entered and
    exited in the same task. The event loop must be anyio's asyncio backend. Raises OSError if there is no free port.
    """
    # asyncio disables Nagle's algorithm, a delay of 40 ms per reply, only for sockets with an explicit protocol.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        bound.setblocking(False)
        model = ScriptedModel(port=bound.getsockname()[1])
        async with await SocketListener.from_socket(bound) as listener, create_task_group() as group:
            group.start_soon(serve_clients, listener, model.serve)
            yield model
            group.cancel_scope.cancel()

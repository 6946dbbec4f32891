"""The scripted model as a provider: an OpenAI-compatible server on loopback, and what it plays for whom."""

from __future__ import annotations

import json
import socket
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import h11
from anyio import create_task_group
from anyio.abc import SocketListener

from pinchbench.llm.demo.completion import Completion, count_cached_tokens, count_tokens, error_body
from pinchbench.llm.demo.script import next_reply
from pinchbench.wire.http1 import LAST_CHUNK, LOST, Inbound, chunked
from pinchbench.wire.request_route import response_head
from pinchbench.wire.transport import serve_clients

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from pinchbench.llm.demo.script import ScriptedTurn
    from pinchbench.wire.transport import TransportStream

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

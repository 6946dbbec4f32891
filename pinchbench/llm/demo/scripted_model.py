"""The scripted model as a provider: an OpenAI-compatible server on loopback, and what it plays for whom."""

from __future__ import annotations

import json
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from pinchbench.llm.demo.completion import (
    Completion,
    count_cached_tokens,
    count_tokens,
    error_body,
)
from pinchbench.llm.demo.loopback_server import LoopbackServer, silent_uvicorn
from pinchbench.llm.demo.script import next_reply
from pinchbench.model.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from pinchbench.llm.demo.script import ScriptedTurn
    from pinchbench.model.trial import TrialKey

HTTP_BAD_REQUEST = 400
HTTP_NOT_FOUND = 404


@dataclass(kw_only=True, slots=True)
class _TurnProgress:
    """A turn in progress. `cached` holds the messages of its last completed request, like a provider's cache."""

    key: TrialKey
    turn: ScriptedTurn
    cached: list[object] = field(default_factory=list)


class ScriptedModel:
    """A running scripted model, created by `scripted_model`. Not thread-safe."""

    def __init__(self, *, port: int) -> None:
        """Take the port of the server."""
        self._port = port
        self._playing: dict[str, _TurnProgress] = {}  # by slot
        self._counted: dict[TrialKey, Usage] = {}

    @property
    def counted(self) -> Mapping[TrialKey, Usage]:
        """The usage of each trial, as counted by the server; a live view.

        Only replies with status 200 count, and streams only once they were sent completely. A trial's count continues
        over several turns and attempts; a trial without requests counts 0.
        """
        return MappingProxyType(self._counted)

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

    def play(self, slot: str, key: TrialKey, turn: ScriptedTurn) -> None:
        """Play this turn on this slot from now on, and count its requests for this trial.

        A request that is already being answered still gets, and counts for, the turn that was playing when it arrived.
        """
        self._playing[slot] = _TurnProgress(key=key, turn=turn)
        self._counted.setdefault(key, Usage())

    def routes(self) -> list[Route]:
        """Return the routes for the server."""
        return [
            Route("/{slot}/v1/models", self._models),
            Route("/{slot}/v1/chat/completions", self._complete, methods=["POST"]),
        ]

    async def _models(self, request: Request) -> ASGIApp:
        slot: str = request.path_params["slot"]
        if slot not in self._playing:
            return _nothing_played(slot)
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "pinchbench"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _complete(self, request: Request) -> ASGIApp:
        body = await request.body()
        # Nothing is awaited from here on, so the whole request belongs to one turn.
        try:
            asked = json.loads(body)
            messages = asked["messages"] if isinstance(asked, dict) else None
        except (ValueError, KeyError, RecursionError):
            messages = None
        if not isinstance(messages, list):
            problem = "The request's body must be a JSON object whose `messages` is a list."
            return JSONResponse(error_body(problem, "invalid_request_error"), status_code=HTTP_BAD_REQUEST)
        slot: str = request.path_params["slot"]
        playing = self._playing.get(slot)
        if playing is None:
            return _nothing_played(slot)
        completion = Completion(
            model=str(asked.get("model", "scripted")),
            reply=next_reply(playing.turn, messages, has_tools=bool(asked.get("tools"))),
            prompt_tokens=count_tokens(messages),
            cached_tokens=count_cached_tokens(messages, playing.cached),
        )

        def count() -> None:
            self._counted[playing.key] += completion.usage
            playing.cached = messages

        if asked.get("stream") is True:
            return StreamingResponse(_events(completion, count), media_type="text/event-stream")
        count()
        return JSONResponse(completion.whole())


async def _events(completion: Completion, count: Callable[[], None]) -> AsyncGenerator[bytes]:
    """Yield the events of a streamed reply, and call `count` once the last one was passed to the socket."""
    for chunk in completion.chunks():
        yield b"data: %s\n\n" % json.dumps(chunk).encode()
    yield b"data: [DONE]\n\n"
    count()


def _nothing_played(slot: str) -> JSONResponse:
    problem = f"The scripted model plays nothing for slot {slot!r}; call play() before its agent asks."
    return JSONResponse(error_body(problem, "invalid_request_error", "nothing_played"), status_code=HTTP_NOT_FOUND)


@asynccontextmanager
async def scripted_model() -> AsyncGenerator[ScriptedModel]:
    """Run a scripted model on a free port of 127.0.0.1 for as long as the context is open.

    On exit and on cancellation, all connections are aborted immediately; after at most the loopback server's
    `STOP_LIMIT_S` no task, socket or thread is left. It runs in a task group, so exceptions of the body are raised in
    an `ExceptionGroup`, and the context must be entered and exited in the same task.

    uvicorn requires asyncio: the event loop must be anyio's asyncio backend, not trio. While it runs, other uvicorn
    servers of the process have no error log. Raises OSError if there is no free port.
    """
    # asyncio disables Nagle's algorithm, a delay of 40 ms per reply, only for sockets with an explicit protocol.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener, silent_uvicorn():
        listener.bind(("127.0.0.1", 0))
        model = ScriptedModel(port=listener.getsockname()[1])
        server = LoopbackServer(Starlette(routes=model.routes()))
        async with anyio.create_task_group() as group:
            group.start_soon(server.run_until_cancelled, listener)
            await server.listening.wait()
            yield model
            group.cancel_scope.cancel()

"""The scripted model as a provider: an OpenAI-compatible server on loopback, with faults on demand."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

import anyio
import uvicorn
from anyio.lowlevel import checkpoint
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from pinchbench.demo.completion import (
    CACHE_READ_USD_PER_MTOK,
    CACHE_WRITE_USD_PER_MTOK,
    INPUT_USD_PER_MTOK,
    OUTPUT_USD_PER_MTOK,
    Completion,
    count_cached_tokens,
    count_tokens,
    error_body,
)
from pinchbench.demo.script import next_reply
from pinchbench.model import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from pinchbench.demo.script import ScriptedTurn
    from pinchbench.model import TrialKey

# Stopping aborts every connection and cancels every request, which takes a few turns of the event loop. The limit is
# there for a loop that is starved, not for anything the server waits for.
STOP_LIMIT_S = 5.0

# Longer than any client keeps a connection it does not use: a server that closes first can do so just as the client
# sends the next request, and that would look like a fault nobody asked for.
KEEP_ALIVE_S = 120

CONTEXT_WINDOW_TOKENS = 200_000
MAX_OUTPUT_TOKENS = 8192
API_KEY = "sk-local-demo"
RUNTIME = re.compile(r"Runtime: agent=([\w-]+) \|")

HTTP_BAD_REQUEST = 400
HTTP_NOT_FOUND = 404
HTTP_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, kw_only=True, slots=True)
class Faults:
    """How the server misbehaves.

    `latency_s` passes before each reply, `chunk_delay_s` between the events of a stream. Then at most one of three:
    `hang` (accepts, never answers), `status` (an error response, with a `Retry-After` if given) or `drop` (cuts the
    connection in the middle of the reply), in this order when several are set. `times` says for how many requests
    of a slot, from the moment the faults were set; None is for ever.
    """

    latency_s: float = 0.0
    chunk_delay_s: float = 0.0
    status: int | None = None
    retry_after_s: float | None = None
    drop: bool = False
    hang: bool = False
    times: int | None = None


NO_FAULTS = Faults()


@dataclass(kw_only=True, slots=True)
class _Playing:
    """One turn being played. `cached` holds the messages of its last completed request, as a provider's cache would."""

    key: TrialKey
    turn: ScriptedTurn
    cached: list[object] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class _SlotState:
    """What one slot plays, and the faults it has left."""

    faults: Faults
    faulty_requests: int = 0
    playing: _Playing | None = None

    def take_faults(self) -> Faults:
        """Use up one request's worth of faults; once they are used up only the delays are left."""
        if self.faults.times is not None and self.faulty_requests >= self.faults.times:
            return Faults(latency_s=self.faults.latency_s, chunk_delay_s=self.faults.chunk_delay_s)
        self.faulty_requests += 1
        return self.faults


class ScriptedModel:
    """A running scripted model; `scripted_model` makes it. Not for use from other threads."""

    def __init__(self, *, port: int, faults: Faults) -> None:
        """Take the port it is reached at and the faults of every slot that has none of its own."""
        self._port = port
        self._faults = faults
        self._slots: dict[str, _SlotState] = {}
        self._counted: dict[TrialKey, Usage] = {}

    @property
    def counted(self) -> Mapping[TrialKey, Usage]:
        """What each trial used, by the server's own count; a live view.

        Only replies with status 200 that were sent to the end count. A trial that is played again, in another turn
        or another attempt, goes on counting; one that never asked anything counts 0.
        """
        return MappingProxyType(self._counted)

    def base_url(self, slot: str | None = None) -> str:
        """Give the address for this slot's provider config. A slot's name has no `/` in it.

        Without a slot, it is an address for several agents: each plays what is played for its id, as OpenClaw tells it
        in the prompt.
        """
        path = "" if slot is None else f"/{quote(slot, safe='')}"
        return f"http://127.0.0.1:{self._port}{path}/v1"

    def play(self, slot: str, key: TrialKey, turn: ScriptedTurn) -> None:
        """Play this turn on this slot, or for the agent of this id, from now on; count its requests to this trial.

        A request that is being answered already still ends as, and counts to, what was played when it came.
        """
        self._state(slot).playing = _Playing(key=key, turn=turn)
        self._counted.setdefault(key, Usage())

    def set_faults(self, slot: str, faults: Faults) -> None:
        """Give this slot faults of its own, and start their `times` anew."""
        state = self._state(slot)
        state.faults, state.faulty_requests = faults, 0

    def routes(self) -> list[Route]:
        """Give the endpoints, for the server that carries them."""
        return [
            Route("/{slot}/v1/models", self._models),
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/{slot}/v1/chat/completions", self._complete, methods=["POST"]),
        ]

    def _state(self, slot: str) -> _SlotState:
        return self._slots.setdefault(slot, _SlotState(faults=self._faults))

    async def _models(self, request: Request) -> ASGIApp:
        slot: str = request.path_params["slot"]
        if self._state(slot).playing is None:
            return _nothing_played(slot)
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "pinchbench"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _complete(self, request: Request) -> ASGIApp:
        body = await request.body()
        # Nothing is awaited from here on, so the request belongs to one turn whole.
        try:
            asked = json.loads(body)
            messages = asked["messages"] if isinstance(asked, dict) else None
        except (ValueError, KeyError, RecursionError):
            messages = None
        if not isinstance(messages, list):
            problem = "The request's body must be a JSON object whose `messages` is a list."
            return JSONResponse(error_body(problem, "invalid_request_error"), status_code=HTTP_BAD_REQUEST)
        slot = str(request.path_params.get("slot") or agent_of(messages))
        state = self._state(slot)
        playing = state.playing
        if playing is None:
            return _nothing_played(slot)
        completion = Completion(
            model=str(asked.get("model", "scripted")),
            reply=next_reply(playing.turn, messages),
            prompt_tokens=count_tokens(messages),
            cached_tokens=count_cached_tokens(messages, playing.cached),
        )

        def count() -> None:
            self._counted[playing.key] += completion.usage
            playing.cached = messages

        return _Performance(
            completion=completion, stream=asked.get("stream") is True, faults=state.take_faults(), count=count
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Performance:
    """One reply being sent, as an ASGI response. `count` is called when all of it was handed to the socket."""

    completion: Completion
    stream: bool
    faults: Faults
    count: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Perform until the end, or until the client is gone: a hanging reply must not outlive its agent."""
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_when_disconnected, receive, group.cancel_scope)
            await self._perform(scope, receive, send)
            group.cancel_scope.cancel()

    async def _perform(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self.faults
        await anyio.sleep(faults.latency_s)
        if faults.hang:
            await anyio.sleep_forever()
        elif faults.status is not None:
            await _fault_response(faults.status, faults.retry_after_s)(scope, receive, send)
        elif self.stream:
            await self._send_stream(send)
        else:
            await self._send_whole(send)

    async def _send_stream(self, send: Send) -> None:
        events = [b"data: %s\n\n" % json.dumps(chunk).encode("utf-8") for chunk in self.completion.chunks()]
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            if self.faults.drop:
                # uvicorn closes the connection of an application that returns in the middle of its response.
                return
            await anyio.sleep(self.faults.chunk_delay_s)
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})
        self.count()

    async def _send_whole(self, send: Send) -> None:
        body = json.dumps(self.completion.whole()).encode("utf-8")
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if self.faults.drop:
            await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
            return
        await send({"type": "http.response.body", "body": body, "more_body": False})
        self.count()


def agent_of(messages: Iterable[object]) -> str:
    """The id of the agent that asks, as OpenClaw tells the model; empty where it does not.

    2026.6.5 tells it in the system prompt, 2026.9.6 in a user's message (measured). What tools and the model have said is
    not looked at.
    """
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ("system", "user"):
            continue
        if found := RUNTIME.search(json.dumps(message.get("content"), ensure_ascii=False)):
            return found[1]
    return ""


async def _cancel_when_disconnected(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _nothing_played(slot: str) -> JSONResponse:
    problem = f"The scripted model plays nothing for slot {slot!r}; call play() before its agent asks."
    return JSONResponse(error_body(problem, "invalid_request_error", "nothing_played"), status_code=HTTP_NOT_FOUND)


def _fault_response(status: int, retry_after_s: float | None) -> JSONResponse:
    kind = "rate_limit_error" if status == HTTP_TOO_MANY_REQUESTS else "server_error"
    headers = {} if retry_after_s is None else {"retry-after": f"{retry_after_s:g}"}
    body = error_body(f"The scripted model was told to answer with status {status}.", kind, "scripted_fault")
    return JSONResponse(body, status_code=status, headers=headers)


class _LoopbackServer(uvicorn.Server):
    """uvicorn inside somebody else's event loop: it takes no signals, and it stops when told, not when all is quiet."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        # uvicorn sets it on startup, which a cancellation may forestall.
        self.servers: list[asyncio.base_events.Server] = []
        self.listening = anyio.Event()

    async def run_until_cancelled(self, listener: socket.socket) -> None:
        """Serve until cancelled, then close everything."""
        try:
            await self.serve([listener])
        finally:
            with anyio.move_on_after(STOP_LIMIT_S, shield=True):
                await self._close_everything()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals to the runner."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening. Shielded: cut short, it would leave a listener that nobody knows. It waits for nothing."""
        with anyio.CancelScope(shield=True):
            await super().startup(sockets)

    async def main_loop(self) -> None:
        """Wait to be cancelled, instead of ticking: the ticks keep a date header that is switched off."""
        self.listening.set()
        await anyio.sleep_forever()

    async def _close_everything(self) -> None:
        # uvicorn's own shutdown waits for requests to end, and one that hangs never does.
        for server in self.servers:
            server.close()
        for connection in self.server_state.connections:
            cast("H11Protocol", connection).transport.abort()
        tasks = tuple(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        # An aborted transport closes its socket in the next turn of the loop.
        await checkpoint()
        for server in self.servers:
            await server.wait_closed()


@contextmanager
def _silent_uvicorn() -> Generator[None]:
    # Without handlers Python prints warnings to stderr, and a scripted fault is not worth one. A filter of our own,
    # unlike a level or a handler, can be taken away again whatever others did to the logger meanwhile.
    def reject(_record: logging.LogRecord) -> bool:
        return False

    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(reject)
    try:
        yield
    finally:
        logger.removeFilter(reject)


@asynccontextmanager
async def scripted_model(*, faults: Faults = NO_FAULTS) -> AsyncGenerator[ScriptedModel]:
    """Run a scripted model on a free port of 127.0.0.1 for as long as the context is open.

    On exit, a cancellation included, connections are cut at once, whatever they were doing; after at most
    `STOP_LIMIT_S` no task, socket or thread is left. It runs in a task group, so an exception of the body comes out
    in an `ExceptionGroup`, and like any task group it is entered and left in the same task.

    uvicorn speaks asyncio only: the event loop must be anyio's asyncio backend, not trio. While it runs, other
    uvicorn servers of the process lose their error log.

    Args:
        faults: How every slot misbehaves that is not told otherwise by `set_faults`.

    Raises:
        OSError: There is no free port.
    """
    # asyncio switches Nagle's delay of 40 ms a reply off only for sockets that name their protocol.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener, _silent_uvicorn():
        listener.bind(("127.0.0.1", 0))
        model = ScriptedModel(port=listener.getsockname()[1], faults=faults)
        server = _LoopbackServer(_uvicorn_config(Starlette(routes=model.routes())))
        async with anyio.create_task_group() as group:
            group.start_soon(server.run_until_cancelled, listener)
            await server.listening.wait()
            yield model
            group.cancel_scope.cancel()


def _uvicorn_config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        # The implementation that is always there, rather than whichever is installed.
        http=H11Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )


def provider_config(model: ScriptedModel, slot: str | None, model_id: str) -> dict[str, object]:
    """Give the value of `models.providers.<name>` that makes OpenClaw use this slot, or none, as its provider.

    OpenClaw is given the prices that `counted` uses, so the cost in a transcript and the cost counted here agree.
    """
    return {
        "baseUrl": model.base_url(slot),
        "apiKey": API_KEY,
        "api": "openai-completions",
        "models": [
            {
                "id": model_id,
                "name": model_id,
                "reasoning": False,
                "input": ["text"],
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

"""Endpoints that fail in the ways that users meet, each a real server on loopback or an address where there is none."""

import json
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio import create_task_group, create_tcp_listener
from anyio.abc import SocketStream

from pinchbench.model.finding import Level

GONE = "gone"  # nothing listens
NOWHERE = "http://no-such-host.invalid/v1"
PAGE = b"<!doctype html><html><body>Welcome</body></html>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What an endpoint does, and what has to be said of it: `words` are in the message, `level` is the finding's.

    `replies` holds what is answered by the beginning of the request's path; an empty reply is silence.
    """

    replies: Mapping[str, bytes] | None
    words: tuple[str, ...]
    level: Level = Level.PROBLEM
    path: str = "/v1"


def reply(status: int, body: bytes, kind: str = "application/json") -> bytes:
    """A whole HTTP response."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def refusal(status: int, message: str, **more: str) -> bytes:
    return reply(status, json.dumps({"error": {"message": message, **more}}).encode())


NO_TOOLS = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
UNPARSED = '<tool_call>\n{"name": "report_ready", "arguments": {}}\n</tool_call>'


def text_reply(text: str) -> bytes:
    """A model's reply that has text and no tool call."""
    return reply(200, json.dumps({"choices": [{"message": {"content": text}}]}).encode())


def text_stream(*pieces: str) -> bytes:
    """The same in pieces."""
    events = "".join(f"data: {json.dumps({'choices': [{'delta': {'content': one}}]})}\n\n" for one in pieces)
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{events}".encode()


MODELS = reply(200, b'{"data": [{"id": "m1"}]}')
CASES: Mapping[str, Case] = {
    "good": Case(replies={"/v1": reply(200, b'{"choices": []}')}, words=(), level=Level.OK),
    "good, streaming": Case(
        replies={"/v1": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n"},
        words=(),
        level=Level.OK,
    ),
    "401": Case(replies={"/v1": refusal(401, "Incorrect API key")}, words=("key in MY_KEY was refused", "401")),
    "unknown model": Case(
        replies={"/v1": refusal(404, "The model `m1` does not exist", code="model_not_found")},
        words=("does not know the model", "Check --model: http", "/v1/models lists its models"),
    ),
    "unknown model, as 400": Case(
        replies={"/v1": refusal(400, "invalid model: m1")}, words=("does not know the model", "Check --model")
    ),
    "HTML page": Case(replies={"/v1": reply(200, PAGE, "text/html")}, words=("web page", "--base-url")),
    "HTML page, as 404": Case(replies={"/v1": reply(404, PAGE, "text/html")}, words=("no such API", "--base-url")),
    "/v1 missing": Case(
        replies={"/v1/models": MODELS, "/": refusal(404, "Not Found")}, words=("no such API", "/v1."), path=""
    ),
    "DNS failure": Case(replies=None, words=("cannot be found (DNS)",), path=NOWHERE),
    "connection refused": Case(replies=None, words=("connection was refused",)),
    "not HTTP": Case(replies={"/v1": b"SSH-2.0-OpenSSH_9.2\r\n"}, words=("connection failed",)),
    "silence": Case(replies={"/v1": b""}, words=("no answer within",), level=Level.WARNING),
    "429": Case(replies={"/v1": refusal(429, "Rate limit reached")}, words=("limits the rate",), level=Level.WARNING),
    "no credit": Case(
        replies={"/v1": refusal(429, "You exceeded your quota", code="insufficient_quota")}, words=("credit",)
    ),
    "text instead of a call": Case(replies={"/v1": text_reply("I am ready.")}, words=(), level=Level.OK),
    "no tool parser (vLLM)": Case(
        replies={"/v1": refusal(400, NO_TOOLS)}, words=("does not accept tools (400", "--tool-call-parser")
    ),
    "no template (llama.cpp)": Case(
        replies={"/v1": refusal(500, "tools param requires --jinja flag")}, words=("does not accept tools", "--jinja")
    ),
    "unparsed call": Case(replies={"/v1": text_reply(UNPARSED)}, words=("did not parse (<tool_call>)", "--jinja")),
    "unparsed call, streaming": Case(
        replies={"/v1": text_stream('{"name": "report', '_ready", "argu', 'ments": {}}')},
        words=("did not parse", "--tool-call-parser"),
    ),
    "500": Case(replies={"/v1": refusal(500, "overloaded")}, words=("fails at the moment",), level=Level.WARNING),
}


@asynccontextmanager
async def endpoint(case: Case) -> AsyncGenerator[str]:
    """The base URL of an endpoint that does what the case says, for as long as the block lasts."""
    if case.path.startswith("http"):
        yield case.path
        return
    if case.replies is None:
        with socket.socket() as closed:  # bound, so that nobody else gets the port, and never listening
            closed.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{closed.getsockname()[1]}{case.path}"
        return
    replies = case.replies

    async def answer(stream: SocketStream) -> None:
        async with stream:
            request = await stream.receive()
            path = request.split(b" ")[1].decode()
            found = next((data for start, data in replies.items() if path.startswith(start)), b"")
            if not found:
                await anyio.sleep_forever()
            await stream.send(found)

    listener = await create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, create_task_group() as group:
        port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        group.start_soon(listener.serve, answer)
        yield f"http://127.0.0.1:{port}{case.path}"
        group.cancel_scope.cancel()

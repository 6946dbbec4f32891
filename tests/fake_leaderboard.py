"""A leaderboard behind a real HTTP server on loopback that enforces its rules, and misbehaves as it is told."""

from __future__ import annotations

import json
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio
import h11
from anyio import create_task_group, create_tcp_listener, fail_after

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from anyio.abc import SocketStream

MAX_BYTES = 1_000_000
REGISTRATIONS_AN_HOUR = 10
RESULTS_A_DAY = 100
REQUIRED = {
    "submission_id": str,
    "timestamp": str,
    "model": str,
    "total_score": float,
    "max_score": float,
    "tasks": list,
}
TAKEN = {
    *REQUIRED,
    *("client_version", "benchmark_version", "provider", "run_id", "openclaw_version", "total_execution_time_seconds"),
    *("total_cost_usd", "usage_summary", "metadata"),
}
TAKEN_OF_TASKS = {
    *("task_id", "score", "max_score", "grading_type", "timed_out", "execution_time_seconds", "breakdown", "notes"),
    *("frontmatter", "category"),
}
TAKEN_OF_USAGE = {"total_input_tokens", "total_output_tokens", "total_requests", "total_cost_usd"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A response. A `cut` one ends in the middle of its body, a `silent` one never comes; `drip` sends it byte by byte, for ever."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    silent: bool = False
    drip: bool = False
    after: bool = False  # the request was carried out before the reply went wrong


def error(status: int, message: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=json.dumps({"error": message}).encode(), headers=named)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request as it came; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


class FakeLeaderboard:
    """A running leaderboard; `fake_leaderboard` makes it. `faults` come first, one a request."""

    def __init__(self, port: int, faults: list[Reply]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.requests: list[Asked] = []
        self.entries: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, int] = {"tok-known-0123456789": 0}
        self.registered = 0
        self.faults = faults
        self._news = anyio.Event()

    async def wait_for_requests(self, number: int) -> None:
        with fail_after(20):
            while len(self.requests) < number:
                await self._news.wait()

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                await self._converse(stream, h11.Connection(h11.SERVER))
            except (anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError):
                return  # the client has gone, or was cut off

    async def _converse(self, stream: SocketStream, connection: h11.Connection) -> None:
        while (asked := await _receive(stream, connection)) is not None:
            self.requests.append(asked)
            self._news.set()
            self._news = anyio.Event()
            reply = self.faults.pop(0) if self.faults else None
            if reply is None or reply.after:
                proper = self._carry_out(asked)
                reply = reply or proper
            await _send(stream, connection, reply)
            if connection.our_state is not h11.DONE:
                return
            connection.start_next_cycle()

    def _carry_out(self, asked: Asked) -> Reply:
        if asked.method != "POST":
            return error(405, "POST only")
        match asked.path:
            case "/api/register":
                return self._register(asked)
            case "/api/results":
                return self._take(asked)
            case _:
                return error(404, "no such place")

    def _register(self, asked: Asked) -> Reply:
        if asked.json != {}:
            return error(400, "the body must be {}")
        if self.registered >= REGISTRATIONS_AN_HOUR:
            return error(429, "too many registrations", retry_after="3600")
        self.registered += 1
        token = f"tok-{self.registered}-0123456789"
        self.tokens[token] = 0
        told = {
            "token": token,
            "api_key": f"key-{self.registered}-987654",
            "claim_url": f"{self.url}/claim/{self.registered}",
        }
        return Reply(status=201, body=json.dumps(told).encode())

    def _refusal(self, asked: Asked, token: str) -> Reply | None:
        if token not in self.tokens:
            return error(401, f"unknown token {token}")
        if not asked.headers.get("x-pinchbench-version"):
            return error(400, "no X-PinchBench-Version")
        if len(asked.body) > MAX_BYTES:
            return error(413, "larger than 1 MB")
        try:
            problem = problem_of(asked.json)
        except ValueError:
            return error(400, "no JSON, id or date")
        return error(422, problem) if problem else None

    def _take(self, asked: Asked) -> Reply:
        token = asked.headers.get("x-pinchbench-token", "")
        if (refusal := self._refusal(asked, token)) is not None:
            return refusal
        result = asked.json
        identity = result["submission_id"]
        is_new = identity not in self.entries
        if is_new:
            if self.tokens[token] >= RESULTS_A_DAY:
                return error(429, "too many results", retry_after="40000")
            self.tokens[token] += 1
            self.entries[identity] = result
        told = {
            "status": "accepted" if is_new else "known",
            "submission_id": identity,
            "official": bool(asked.headers.get("x-pinchbench-official-key")),
            "rank": 3,
            "percentile": 87.5,
            "leaderboard_url": f"{self.url}/r/{identity}",
        }
        return Reply(status=201 if is_new else 200, body=json.dumps(told).encode())


def problem_of(result: dict[str, Any]) -> str:
    """What the leaderboard's rules say against a result; empty when it may stand."""
    wrong = [name for name, kind in REQUIRED.items() if not isinstance(result.get(name), kind)]
    if wrong:
        return f"missing or of the wrong type: {', '.join(wrong)}"
    return next(_problems(result), "")


def _problems(result: dict[str, Any]) -> Iterator[str]:
    yield from _unknown(result, TAKEN)
    yield from _unknown(result.get("usage_summary", {}), TAKEN_OF_USAGE)
    if uuid.UUID(result["submission_id"]).version != 4:
        yield "submission_id is no UUIDv4"
    if datetime.fromisoformat(result["timestamp"]).tzinfo is None:
        yield "timestamp has no zone"
    if not result["tasks"]:
        yield "no tasks"
    if not 0 <= result["total_score"] <= result["max_score"]:
        yield "total_score is larger than max_score"
    for task in result["tasks"]:
        yield from _unknown(task, TAKEN_OF_TASKS)
        if not 0 <= task["score"] <= task["max_score"]:
            yield "score is larger than max_score"


def _unknown(members: dict[str, Any], known: set[str]) -> Iterator[str]:
    if unknown := members.keys() - known:
        yield f"unknown: {', '.join(sorted(unknown))}"


async def _receive(stream: SocketStream, connection: h11.Connection) -> Asked | None:
    """Read one request; None when the client has closed the connection."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            try:
                connection.receive_data(await stream.receive())
            except anyio.EndOfStream:
                connection.receive_data(b"")
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return Asked(
                method=head.method.decode(),
                path=head.target.decode(),
                headers={name.decode(): value.decode() for name, value in head.headers},
                body=bytes(body),
            )
        else:
            return None


async def _send(stream: SocketStream, connection: h11.Connection, reply: Reply) -> None:
    if reply.silent:
        await anyio.sleep_forever()
    length = {} if reply.drip else {"Content-Length": str(len(reply.body))}
    fields = [(name.encode(), value.encode()) for name, value in {**length, **reply.headers}.items()]
    await stream.send(connection.send(h11.Response(status_code=reply.status, headers=fields)) or b"")
    while reply.drip:
        await stream.send(connection.send(h11.Data(data=b" ")) or b"")
        await anyio.sleep(0.01)
    body = reply.body[: len(reply.body) // 2] if reply.cut else reply.body
    await stream.send(connection.send(h11.Data(data=body)) or b"")
    if reply.cut:
        await anyio.aclose_forcefully(stream)
        raise anyio.EndOfStream
    await stream.send(connection.send(h11.EndOfMessage()) or b"")


@asynccontextmanager
async def fake_leaderboard(*faults: Reply) -> AsyncGenerator[FakeLeaderboard]:
    """Run a leaderboard that gives `faults` first, one a request. At the end its connections are cut."""
    async with await create_tcp_listener(local_host="127.0.0.1") as listener:
        server = FakeLeaderboard(listener.extra(anyio.abc.SocketAttribute.local_port), list(faults))
        async with create_task_group() as group:
            group.start_soon(listener.serve, server.serve)
            yield server
            group.cancel_scope.cancel()

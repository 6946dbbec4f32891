"""A leaderboard behind a real HTTP server on loopback that enforces its rules, and misbehaves as a test asks."""

import json
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from http_server import HttpServer, Request, Response, running

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
class Reply(Response):
    """A response that goes wrong before the request is carried out, or `after` that."""

    after: bool = False


def error(status: int, message: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=json.dumps({"error": message}).encode(), headers=named)


class FakeLeaderboard(HttpServer[Request]):
    """A leaderboard; `fake_leaderboard` runs it. `faults` come first, one a request."""

    def __init__(self, faults: list[Reply]) -> None:
        super().__init__()
        self.entries: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, int] = {"tok-known-0123456789": 0}
        self.registered = 0
        self.faults = faults

    @property
    def url(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self.port}"

    async def respond(self, request: Request) -> Response:
        self.record(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not fault.after:
            return fault
        proper = self._carry_out(request)
        return fault or proper

    def _carry_out(self, asked: Request) -> Reply:
        if asked.method != "POST":
            return error(405, "POST only")
        match asked.path:
            case "/api/register":
                return self._register(asked)
            case "/api/results":
                return self._take(asked)
            case _:
                return error(404, "no such place")

    def _register(self, asked: Request) -> Reply:
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

    def _refusal(self, asked: Request, token: str) -> Reply | None:
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

    def _take(self, asked: Request) -> Reply:
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


@asynccontextmanager
async def fake_leaderboard(*faults: Reply) -> AsyncGenerator[FakeLeaderboard]:
    """Run a leaderboard that gives `faults` first, one a request."""
    async with running(FakeLeaderboard(list(faults))) as server:
        yield server

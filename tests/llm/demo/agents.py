"""Clients of the scripted model, as OpenClaw is one."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2

from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import ScriptedModel, scripted_model
from pinchbench.suite.solution import ToolStep

STEP = ToolStep(tool="write", args={"path": "Grüße.txt", "content": "a\n\"b\" \\ 'c' 🦀"})
TURN = ScriptedTurn(steps=(STEP,), answer="I wrote the file, just as you asked.")
USER: dict[str, object] = {"role": "user", "content": "Write the file, please."}
TOOL: dict[str, object] = {"role": "tool", "tool_call_id": "call_0001", "content": "done"}


class Agent:
    """A client as OpenClaw is one, of one slot."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str) -> None:
        self.http = http
        self.base_url = base_url

    async def ask(self, *messages: object, stream: bool = True) -> httpx2.Response:
        tools = [{"type": "function", "function": {"name": "exec"}}]
        body = {"model": "m1", "messages": messages, "stream": stream, "tools": tools}
        with anyio.fail_after(60):
            return await self.http.post(f"{self.base_url}/chat/completions", json=body)


@asynccontextmanager
async def client() -> AsyncGenerator[httpx2.AsyncClient]:
    # Each wait has its own fail_after, and a proxy has no business on loopback.
    async with httpx2.AsyncClient(timeout=None, trust_env=False) as http:
        yield http


@asynccontextmanager
async def playing(turn: ScriptedTurn = TURN) -> AsyncGenerator[tuple[ScriptedModel, Agent]]:
    async with scripted_model() as model, client() as http:
        model.play("slot-1", turn)
        yield model, Agent(http, model.base_url("slot-1"))


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    *parts, end = response.text.split("\n\n")
    assert end == ""
    assert parts.pop() == "data: [DONE]"
    assert all(part.startswith("data: ") for part in parts)
    return [json.loads(part.removeprefix("data: ")) for part in parts]


def deltas(response: httpx2.Response) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events(response) if event["choices"]]


def streamed_text(response: httpx2.Response) -> str:
    return "".join(delta.get("content") or "" for delta in deltas(response))

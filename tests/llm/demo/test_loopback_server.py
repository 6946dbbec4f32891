"""The web server of the scripted model ends with its context, whatever is going on, and leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import json
import threading

import anyio
import httpx2
import psutil
import pytest

from llm.demo.agents import KEY, TURN, USER, Agent, client
from pinchbench.llm.demo.completion import provider_config
from pinchbench.llm.demo.scripted_model import ScriptedModel, scripted_model


async def _refuses_connections(model: ScriptedModel) -> bool:
    async with client() as http:
        try:
            with anyio.fail_after(60):
                await http.get(model.base_url("slot-1"))
        except httpx2.ConnectError:
            return True
    return False


async def test_a_cancelled_model_stops_and_lets_the_cancellation_through() -> None:
    with anyio.fail_after(60):
        with anyio.CancelScope() as scope:
            async with scripted_model() as model:
                model.play("slot-1", KEY, TURN)
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        assert await _refuses_connections(model)


async def test_an_exception_of_the_body_stops_the_model_and_comes_out() -> None:
    models: list[ScriptedModel] = []

    async def fail() -> None:
        async with scripted_model() as model:
            models.append(model)
            raise LookupError

    with pytest.RaisesGroup(LookupError):
        await fail()
    assert await _refuses_connections(models[0])


async def test_a_stopped_model_leaves_no_task_thread_file_or_listener() -> None:
    async with scripted_model(), client():
        pass  # what is made once and kept, by whichever library, is made here
    gc.collect()
    tasks, threads, files = asyncio.all_tasks(), threading.enumerate(), psutil.Process().num_fds()

    async with client() as http, scripted_model() as model:
        model.play("slot-1", KEY, TURN)
        await Agent(http, model.base_url("slot-1")).ask(USER)
        unfinished = await anyio.connect_tcp("127.0.0.1", httpx2.URL(model.origin).port or 0)
        await unfinished.send(b"POST /slot-1/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        await Agent(http, model.base_url("slot-1")).ask(USER)

    await unfinished.aclose()
    assert await _refuses_connections(model)
    assert asyncio.all_tasks() == tasks
    assert set(threading.enumerate()) <= set(threads)  # one of another test may have ended meanwhile
    assert psutil.Process().num_fds() == files


async def test_the_provider_config_has_the_shape_openclaw_reads() -> None:
    async with scripted_model() as model:
        base_url = model.base_url("slot-1")
        config = provider_config(model.base_url("slot-1"), "m1")

    assert base_url.startswith("http://127.0.0.1:")
    assert base_url.endswith("/slot-1/v1")
    assert json.loads(json.dumps(config)) == {
        "baseUrl": base_url,
        "apiKey": "sk-local-demo",
        "api": "openai-completions",
        "models": [
            {
                "id": "m1",
                "name": "m1",
                "reasoning": False,
                "input": ["text", "image"],
                "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0},
                "contextWindow": 200000,
                "maxTokens": 8192,
            }
        ],
    }

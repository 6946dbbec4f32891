"""The scripted model over real loopback connections, and the wire format of its replies."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from contextlib import nullcontext
from typing import Any

import anyio
import httpx2
import psutil
import pytest

from llm.demo.agents import STEP, TOOL, TURN, USER, Agent, client, deltas, events, playing, streamed_text
from pinchbench.llm.demo.script import ScriptedTurn, next_reply
from pinchbench.llm.demo.scripted_model import (
    Completion,
    ScriptedModel,
    count_cached_tokens,
    provider_config,
    scripted_model,
)
from pinchbench.suite.solution import ToolStep


def completion(*messages: object) -> Completion:
    return Completion(model="m1", reply=next_reply(TURN, messages), prompt_tokens=40, cached_tokens=10)


def choices(*messages: object) -> list[dict[str, Any]]:
    """Return the choices of a streamed reply, whose last event is the usage alone."""
    *others, usage = completion(*messages).chunks()
    assert usage["choices"] == []
    assert usage["usage"] == completion(*messages).whole()["usage"]
    return [choice for event in others for choice in event["choices"]]  # type: ignore[attr-defined]


def test_a_streamed_tool_call_reassembles_to_its_arguments() -> None:
    first, second, finish = choices(USER)
    calls = [choice["delta"]["tool_calls"][0] for choice in (first, second)]
    parts = [call["function"]["arguments"] for call in calls]
    assert all(parts)
    assert json.loads("".join(parts)) == STEP.args
    assert calls[0]["function"]["name"] == "write"
    assert calls[0]["id"]
    assert (finish["delta"], finish["finish_reason"]) == ({}, "tool_calls")


def test_a_streamed_answer_comes_in_several_pieces() -> None:
    *pieces, finish = choices(USER, TOOL, USER)
    assert "".join(piece["delta"]["content"] for piece in pieces) == TURN.answer
    assert len(pieces) > 1
    assert pieces[0]["delta"]["role"] == "assistant"
    assert (finish["delta"], finish["finish_reason"]) == ({}, "stop")


@pytest.mark.parametrize(("messages", "reason"), [((USER,), "tool_calls"), ((USER, TOOL), "stop")])
def test_without_streaming_the_same_reply_comes_as_one_body(messages: tuple[object, ...], reason: str) -> None:
    body: dict[str, Any] = completion(*messages).whole()
    [choice] = body["choices"]
    calls = [call["function"] for call in choice["message"].get("tool_calls", ())]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == [("write", STEP.args)] * (
        reason == "tool_calls"
    )
    assert choice["message"]["content"] == (None if calls else TURN.answer)
    assert (body["model"], choice["finish_reason"]) == ("m1", reason)


def test_only_the_messages_both_requests_begin_with_come_from_the_cache() -> None:
    assert count_cached_tokens([USER, USER, TOOL], [USER, TOOL]) == len(json.dumps([USER])) // 4


def wire_usage(response: httpx2.Response) -> dict[str, Any]:
    usages = [event["usage"] for event in events(response) if "usage" in event]
    assert len(usages) == 1
    assert events(response)[-1]["choices"] == []
    usage: dict[str, Any] = usages[0]
    return usage


@pytest.mark.parametrize("stream", [True, False])
async def test_usage_is_reported_with_what_the_request_before_had_and_a_new_turn_has_nothing_of(stream: bool) -> None:
    async with playing() as (model, agent):
        replies = [await agent.ask(*messages, stream=stream) for messages in ([USER], [USER, TOOL], [USER, TOOL, USER])]
        model.play("slot-1", TURN)
        replies.append(await agent.ask(USER, stream=stream))
        assert model.asked == {"slot-1": 4}

    reported = [wire_usage(reply) if stream else reply.json()["usage"] for reply in replies]
    prompts = [len(json.dumps(messages)) // 4 for messages in ([USER], [USER, TOOL], [USER, TOOL, USER], [USER])]
    assert [usage["prompt_tokens"] for usage in reported] == prompts
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in reported] == [0, *prompts[:2], 0]


async def test_sixteen_slots_at_once_do_not_mix() -> None:
    answers: dict[int, str] = {}

    async def run_trial(model: ScriptedModel, http: httpx2.AsyncClient, n: int) -> None:
        step = ToolStep(tool="write", args={"slot": n})
        model.play(f"slot-{n}", ScriptedTurn(steps=(step,), answer=f"slot {n}"))
        agent = Agent(http, model.base_url(f"slot-{n}"))
        first, second, _ = deltas(await agent.ask(USER))
        parts = [delta["tool_calls"][0]["function"]["arguments"] for delta in (first, second)]
        assert json.loads("".join(parts)) == {"slot": n}
        answers[n] = streamed_text(await agent.ask(USER, TOOL, USER))

    async with scripted_model() as model, client() as http:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for n in range(1, 17):
                    group.start_soon(run_trial, model, http, n)
        assert model.asked == {f"slot-{n}": 2 for n in range(1, 17)}

    assert answers == {n: f"slot {n}" for n in range(1, 17)}


async def test_a_slot_that_plays_nothing_is_reported_so() -> None:
    async with scripted_model() as model, client() as http:
        completion = await Agent(http, model.base_url("idle")).ask(USER)
        models = await http.get(f"{model.base_url('idle')}/models")

    for response in (completion, models):
        assert response.status_code == 404
        assert "plays nothing for slot 'idle'" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[]", b"null", b"{}", b'{"messages": "tool"}', b"[" * 100_000, b'{"messages": null}']
)
async def test_a_malformed_request_is_refused_and_not_counted(body: bytes) -> None:
    async with playing() as (model, agent):
        with anyio.fail_after(60):
            response = await agent.http.post(f"{agent.base_url}/chat/completions", content=body)

        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"
        assert not model.asked


async def _refuses_connections(model: ScriptedModel) -> bool:
    async with client() as http:
        try:
            with anyio.fail_after(60):
                await http.get(model.base_url("slot-1"))
        except httpx2.ConnectError:
            return True
    return False


@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancelled", "by an exception"])
async def test_a_model_stops_however_its_block_ends(*, is_cancelled: bool) -> None:
    with anyio.fail_after(60):
        ends = nullcontext() if is_cancelled else pytest.RaisesGroup(LookupError)
        with ends, anyio.CancelScope() as scope:
            async with scripted_model() as model:
                if not is_cancelled:
                    raise LookupError
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught is is_cancelled
        assert await _refuses_connections(model)


async def test_a_stopped_model_leaves_no_task_thread_file_or_listener() -> None:
    async with scripted_model(), client():
        pass  # what is made once and kept, by whichever library, is made here
    gc.collect()
    tasks, threads, files = asyncio.all_tasks(), threading.enumerate(), psutil.Process().num_fds()

    async with client() as http, scripted_model() as model:
        model.play("slot-1", TURN)
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

"""The scripted model over real loopback connections."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
import pytest

from llm.demo.agents import (
    KEY,
    TOOL,
    TURN,
    USER,
    Agent,
    client,
    deltas,
    events,
    playing,
    streamed_text,
)
from pinchbench.llm.demo.script import ScriptedTurn
from pinchbench.llm.demo.scripted_model import ScriptedModel, scripted_model
from pinchbench.model.trial import TrialKey
from pinchbench.model.usage import Usage
from pinchbench.suite.solution import ToolStep


def wire_usage(response: httpx2.Response) -> dict[str, Any]:
    usages = [event["usage"] for event in events(response) if "usage" in event]
    assert len(usages) == 1
    assert events(response)[-1]["choices"] == []
    usage: dict[str, Any] = usages[0]
    return usage


@pytest.mark.parametrize("stream", [True, False])
async def test_the_usage_reported_to_the_client_is_the_usage_counted(stream: bool) -> None:
    async with playing() as (model, agent):
        replies = [await agent.ask(*messages, stream=stream) for messages in ([USER], [USER, TOOL], [USER, TOOL, USER])]
        counted = model.counted[KEY]

    reported = [wire_usage(reply) if stream else reply.json()["usage"] for reply in replies]
    prompt = sum(usage["prompt_tokens"] for usage in reported)
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in reported)
    output = sum(usage["completion_tokens"] for usage in reported)
    assert counted == Usage(
        requests=3,
        input_tokens=prompt - cached,
        output_tokens=output,
        cache_read_tokens=cached,
        total_tokens=prompt + output,
        cost_usd=counted.cost_usd,
    )
    assert counted.cost_usd == pytest.approx(((prompt - cached) * 1.0 + output * 2.0 + cached * 0.1) / 1_000_000)
    assert [usage["prompt_tokens"] for usage in reported] == [
        len(json.dumps(messages)) // 4 for messages in ([USER], [USER, TOOL], [USER, TOOL, USER])
    ]
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in reported] == [
        0,
        reported[0]["prompt_tokens"],
        reported[1]["prompt_tokens"],
    ]


async def test_a_new_turn_has_nothing_in_its_cache_and_goes_on_counting() -> None:
    async with playing() as (model, agent):
        await agent.ask(USER)
        model.play("slot-1", KEY, TURN)
        usage = wire_usage(await agent.ask(USER))

        assert usage["prompt_tokens_details"]["cached_tokens"] == 0
        assert model.counted[KEY].requests == 2


async def test_sixteen_slots_at_once_do_not_mix() -> None:
    answers: dict[int, str] = {}

    async def run_trial(model: ScriptedModel, http: httpx2.AsyncClient, n: int) -> None:
        step = ToolStep(tool="write", args={"slot": n})
        model.play(f"slot-{n}", TrialKey(task_id="t", repetition=n), ScriptedTurn(steps=(step,), answer=f"slot {n}"))
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
        counted = dict(model.counted)

    assert answers == {n: f"slot {n}" for n in range(1, 17)}
    assert {key: usage.requests for key, usage in counted.items()} == {
        TrialKey(task_id="t", repetition=n): 2 for n in range(1, 17)
    }


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
        assert model.counted[KEY] == Usage()

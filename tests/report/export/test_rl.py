"""Training data: what was recorded is read back from the lines."""

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from past_runs import Made, PlannedRun, write_run
from pinchbench.model.ending import Reason
from pinchbench.model.grade import Ungraded
from pinchbench.report.export.rl import rl_lines, segments_of
from pinchbench.results.evidence_files import Evidence
from pinchbench.results.finished_run import read_run
from pinchbench.wire.exchange import Exchange, ExchangeEnd
from wire.exchanges import CHAT, RESPONSES, exchange, sse

USER = {"role": "user", "content": "Read it."}
FUNCTION = {"name": "read", "arguments": '{"path": "a", "lines": 1}'}


def _plain(*messages: object) -> object:
    return {"model": "m", "messages": list(messages)}


def _said(*, end: str = "[DONE]") -> bytes:
    delta = {
        "content": "I read\n it.",
        "reasoning_content": "hm",
        "tool_calls": [{"index": 0, "id": "call_1", "function": FUNCTION}],
    }
    return sse({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": end and "stop"}]}, end=end)


def _echo(arguments: str = FUNCTION["arguments"], text: str = "I read it.") -> object:
    call = {"id": "call1", "type": "function", "function": {**FUNCTION, "arguments": arguments}}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


@pytest.mark.parametrize(
    ("echo", "count"),
    [
        pytest.param(_echo(), 1, id="without its reasoning, other white space, another id of the call"),
        pytest.param(_echo('{"lines":1,"path":"a"}'), 1, id="arguments in another order"),
        pytest.param(_echo('{"lines":2,"path":"a"}'), 2, id="other arguments"),
        pytest.param(_echo(text="I wrote it."), 2, id="another text"),
        pytest.param({"role": "user", "content": "I read it."}, 2, id="a user's message"),
    ],
)
def test_a_request_that_repeats_the_reply_continues_it(echo: object, count: int) -> None:
    found = segments_of(
        [
            exchange(CHAT, _plain(USER), _said(), number=1),
            exchange(CHAT, _plain(USER, echo, USER), _said(), number=2),
        ]
    )

    assert len(found.segments) == count
    assert [call.prompt for call in found.segments[-1].calls][-1] == 3


def test_failed_calls_are_counted_and_do_not_break_a_conversation() -> None:
    found = segments_of(
        [
            exchange(CHAT, _plain(USER), _said(), number=1),
            exchange(CHAT, _plain(USER, _echo(), USER), b"", number=2, status=500),
            exchange(CHAT, _plain(USER, _echo(), USER), _said(end=""), number=3, end=ExchangeEnd.CUT),
            exchange("/v1/models", number=4),
            exchange(CHAT, _plain(USER, _echo(), USER), _said(), number=5),
        ]
    )

    (segment,) = found.segments
    assert [call.number for call in segment.calls] == [1, 5]
    assert found.failed == 2


def test_a_message_that_openclaw_only_ends_a_request_with_belongs_to_that_call_alone() -> None:
    running = {"role": "user", "content": "Active exec sessions: none"}
    found = segments_of(
        [
            exchange(CHAT, _plain(USER, running), _said(), number=1),
            exchange(CHAT, _plain(USER, _echo(), USER, running), _said(), number=2),
        ]
    )

    (segment,) = found.segments
    first, second = segment.calls
    assert (first.prompt, [one.text for one in first.transient]) == (1, ["Active exec sessions: none"])
    assert (second.prompt, second.transient) == (4, ())
    assert [one.text for one in segment.messages] == ["Read it.", "I read it.", "Read it.", running["content"]]


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "read", "description": "Reads a file.", "parameters": SCHEMA}}
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
RESULT = {"role": "tool", "content": "text of a", "tool_call_id": "c1"}


def _chat(content: str, *, calls: object = None, **more: object) -> bytes:
    delta = {"role": "assistant", "content": content, "tool_calls": calls or []}
    choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls" if calls else "stop"}
    return sse({"id": "r", "model": "m1-2026", "choices": [{**choice, **more}]}, end="[DONE]")


def _asked(*messages: object, tools: object = (TOOL,), system: object = SYSTEM) -> dict[str, object]:
    return {"model": "m1", "messages": [system, *messages], "tools": list(tools) if isinstance(tools, tuple) else tools}


def _lines(folder: Path, trials: Mapping[str, tuple[Made, ...]]) -> list[dict[str, Any]]:
    run = read_run(write_run(folder, PlannedRun(trials=trials)))
    return [json.loads(line) for line in rl_lines(run)]


def _line(folder: Path, *exchanges: Exchange) -> dict[str, Any]:
    (line,) = _lines(folder, {"task_a": (Made(score=0.75, exchanges=exchanges),)})
    return line


def test_every_field_of_a_chat_is_read_back(tmp_path: Path) -> None:
    logprobs = {"content": [{"token": "I", "logprob": -0.5}, {"token": " read", "logprob": -1.25}]}
    first = sse(
        {
            "model": "m1-2026",
            "prompt_token_ids": [1, 2, 3],
            "choices": [
                {
                    "index": 0,
                    "delta": {"reasoning_content": "hm", "content": "I read", "tool_calls": [{"index": 0, **CALL}]},
                    "token_ids": [40, 41],
                    "logprobs": logprobs,
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {
                "prompt_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens": 2,
                "total_tokens": 12,
                "cost": 0.5,
            },
        },
        end="[DONE]",
    )
    echo = {"role": "assistant", "content": "I read", "tool_calls": [CALL]}
    line = _line(
        tmp_path,
        exchange(CHAT, _asked(USER), b"slow down", number=1, status=429, reply_headers=()),
        exchange(CHAT, _asked(USER), first, number=2),
        exchange(CHAT, _asked(USER, echo, RESULT), _chat("Done."), number=3, turn=1),
    )

    usage = {"input_tokens": 6, "cache_read_tokens": 4, "cache_write_tokens": 0, "output_tokens": 2, "total_tokens": 12}
    nothing = dict.fromkeys(("usage", "cost_usd", "prompt_token_ids", "token_ids", "logprobs"))
    named = {"protocol": "openai-completions", "requested_model": "m1", "model": "m1-2026"}
    assert line == {
        "schema": 1,
        "run_id": "20260102-030000-0001",
        "task_id": "task_a",
        "repetition": 1,
        "attempt": 1,
        "model": "mock/m1",
        "openclaw": "2026.9.6",
        "ended_as": "completed",
        "reward": 0.75,
        "no_reward": None,
        "usage": usage,
        "failed_calls": 1,
        "problem": None,
        "segments": [
            {
                "continues": None,
                "tools": [TOOL],
                "messages": [SYSTEM, USER, echo, RESULT],
                "replies": [
                    {
                        **named,
                        "exchange": 2,
                        "turn": 1,
                        "prompt_messages": 2,
                        "transient_messages": [],
                        "message": {**echo, "reasoning_content": "hm"},
                        "stop_reason": "tool_calls",
                        "usage": usage,
                        "cost_usd": 0.5,
                        "prompt_token_ids": [1, 2, 3],
                        "token_ids": [40, 41],
                        "logprobs": [
                            {"token": "I", "logprob": -0.5, "id": None},
                            {"token": " read", "logprob": -1.25, "id": None},
                        ],
                    },
                    {
                        **named,
                        "exchange": 3,
                        "turn": 2,
                        "prompt_messages": 4,
                        "transient_messages": [],
                        "message": {"role": "assistant", "content": "Done."},
                        "stop_reason": "stop",
                        **nothing,
                    },
                ],
            }
        ],
    }


def test_responses_are_read_back_and_follow_the_reply_that_the_provider_keeps(tmp_path: Path) -> None:
    def asked(*items: object, **more: object) -> dict[str, object]:
        tool = {"type": "function", **TOOL["function"]}  # type: ignore[dict-item]
        return {"model": "m1", "instructions": "Be brief.", "input": list(items), "tools": [tool], **more}

    def said(response_id: str, text: str) -> bytes:
        done = {"id": response_id, "model": "m1-2026", "status": "completed"}
        usage = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}
        logprobs = [{"token": text, "logprob": -0.25}]
        delta = {"type": "response.output_text.delta", "output_index": 0, "delta": text, "logprobs": logprobs}
        return sse(delta, {"type": "response.completed", "response": {**done, "usage": usage}})

    line = _line(
        tmp_path,
        exchange(RESPONSES, asked({"role": "user", "content": "One."}), said("r1", "Hi"), number=1),
        exchange(
            RESPONSES, asked({"role": "user", "content": "Two."}, previous_response_id="r1"), said("r2", "Ho"), number=2
        ),
        exchange(RESPONSES, asked(USER, previous_response_id="r0"), said("r3", "Ha"), number=3),
    )

    kept, unknown = line["segments"]
    assert [one["content"] for one in kept["messages"]] == ["Be brief.", "One.", "Hi", "Two."]
    assert kept["tools"] == [TOOL]
    assert [(one["prompt_messages"], one["message"]["content"]) for one in kept["replies"]] == [(2, "Hi"), (4, "Ho")]
    first = kept["replies"][0]
    assert first["protocol"] == "openai-responses"
    assert first["model"] == "m1-2026"
    assert first["stop_reason"] == "completed"
    assert first["logprobs"] == [{"token": "Hi", "logprob": -0.25, "id": None}]
    assert line["usage"]["total_tokens"] == 18
    assert (kept["continues"], unknown["continues"]) == (None, "r0")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(_asked({"role": "user", "content": "Summary: read a."}), id="compacted"),
        pytest.param(_asked(USER), id="restarted"),
        pytest.param(_asked(USER, {"role": "assistant", "content": "Something else."}, USER), id="another reply"),
        pytest.param(_asked(USER, {"role": "assistant", "content": "One."}, USER, tools=()), id="other tools"),
        pytest.param(
            _asked(USER, {"role": "assistant", "content": "One."}, USER, system={"role": "system", "content": "x"}),
            id="another system prompt",
        ),
    ],
)
def test_a_changed_past_begins_another_segment(tmp_path: Path, changed: dict[str, object]) -> None:
    line = _line(
        tmp_path,
        exchange(CHAT, _asked(USER), _chat("One."), number=1),
        exchange(CHAT, changed, _chat("Two."), number=2),
    )

    assert [[one["exchange"] for one in segment["replies"]] for segment in line["segments"]] == [[1], [2]]
    assert line["segments"][1]["replies"][0]["prompt_messages"] == len(line["segments"][1]["messages"])


def test_invalid_attempts_are_excluded_and_ungraded_trials_say_why(tmp_path: Path) -> None:
    one = (exchange(CHAT, _asked(USER), _chat("One.")),)
    lines = _lines(
        tmp_path,
        {
            "task_a": (Made(score=None, reason=Reason.PROVIDER_ERROR, exchanges=one),),
            "task_b": (Made(score=None, ungraded=Ungraded.JUDGE_UNREACHABLE, exchanges=one),),
            "task_c": (Made(score=0.0, reason=Reason.TIMED_OUT),),
            "task_d": (Made(score=0.5, retried=(Reason.PROVIDER_ERROR,), exchanges=one),),
        },
    )

    told = [(line["task_id"], line["attempt"], line["reward"], line["no_reward"], line["problem"]) for line in lines]
    assert told == [
        ("task_b", 1, None, "judge_unreachable", None),
        ("task_c", 1, 0.0, None, "not recorded"),
        ("task_d", 2, 0.5, None, None),
    ]
    assert lines[1]["segments"] == []


def test_a_damaged_recording_is_named_and_its_beginning_kept(tmp_path: Path) -> None:
    one = exchange(CHAT, _asked(USER), _chat("One."))
    files = write_run(tmp_path, PlannedRun(trials={"task_a": (Made(exchanges=(one, one)),)}))
    path = Evidence(folder=files.folder / "trials" / "task_a" / "1").wire
    path.write_bytes(path.read_bytes()[:-10])
    (line,) = (json.loads(line) for line in rl_lines(read_run(files)))

    assert line["problem"] == "exchange 2 is cut off, as its writer ended meanwhile"
    assert len(line["segments"]) == 1


def test_memory_is_bounded_by_one_trial(tmp_path: Path) -> None:
    text = "x" * 500_000
    asked = _asked({"role": "user", "content": text})
    made = Made(exchanges=(exchange(CHAT, asked, _chat("One.")),))
    run = read_run(write_run(tmp_path, PlannedRun(trials={f"task_{number:02d}": (made,) for number in range(40)})))
    lines = rl_lines(run)
    next(lines)
    tracemalloc.start()
    try:
        assert sum(len(line) > len(text) for line in lines) == 39
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10 * len(text)

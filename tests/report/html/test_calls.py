"""The calls of the model on a trial's page: what was new in each, what came back, and what does not fit."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pinchbench.report.html.calls import calls_json
from pinchbench.wire.exchange import Chunk, Exchange
from pinchbench.wire.recording import RecordingWriter
from wire.exchanges import CHAT, exchange, sse

USER = {"role": "user", "content": "Read it."}
ECHO = {"role": "assistant", "content": "One."}
COMMAND = "pinchbench-async export r --format wire"


def _asked(*messages: object, system: str = "Be brief.\nBe kind.", tools: tuple[str, ...] = ("read",)) -> object:
    functions = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *messages], "tools": functions}


def _said(text: str) -> tuple[Chunk, ...]:
    begin = {"model": "m-2", "choices": [{"index": 0, "delta": {"content": text}}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    more = {"choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}], "usage": usage}
    return (Chunk(at_s=0.5, data=sse(begin)), Chunk(at_s=1.0, data=sse(more, end="[DONE]")))


def _shown(folder: Path, *exchanges: Exchange, most_bytes: int = 100_000) -> dict[str, Any]:
    path = folder / "wire.jsonl.zst"
    with RecordingWriter(path) as recording:
        for one in exchanges:
            recording.append(one)
    told = calls_json(path, command=COMMAND, most_bytes=most_bytes)
    assert told is not None
    return told


def test_a_call_shows_what_was_new_what_came_back_and_how_long_it_took(tmp_path: Path) -> None:
    queued = msgspec.structs.replace(
        exchange(CHAT, _asked(USER), _said("One"), number=2), queued_s=0.2, sent_s=0.25, ended_s=1.5
    )
    told = _shown(
        tmp_path,
        exchange(CHAT, _asked(USER), b"slow down", number=1, status=429, reply_headers=()),
        queued,
        exchange(CHAT, _asked(USER, ECHO, USER), _said("Two"), number=3, turn=1),
    )

    first, second, third = told["calls"]
    assert (told["count"], told["cut"]) == ("3 calls, 1 failed", "")
    assert (first["failed"], first["error"], first["reply"]) == ("429", "slow down", "")
    assert [(one["title"], one["text"]) for one in first["changes"]] == [
        ("system prompt", "Be brief.\nBe kind."),
        ("1 tool new", "read"),
        ("new: user", "Read it."),
    ]
    assert second["changes"] == []  # OpenClaw's retry of the same request
    assert second["timing"] == ("queued 0.2 s, first token after 0.25 s, took 1.5 s, 30 tokens, 40 tokens per second")
    assert (second["failed"], second["model"], second["reply"]) == ("", "m-2", "One.")
    assert (third["number"], third["turn"]) == (3, 2)
    assert [one["title"] for one in third["changes"]] == ["new: assistant", "new: user"]


def test_a_changed_prompt_is_a_diff_and_a_compaction_says_what_is_gone(tmp_path: Path) -> None:
    told = _shown(
        tmp_path,
        exchange(CHAT, _asked(USER, ECHO, USER, tools=("read", "exec")), _said("One"), number=1),
        exchange(
            CHAT, _asked({"role": "user", "content": "Summary."}, system="Be brief.\nBe quick."), _said("Two"), number=2
        ),
    )

    changes = {one["title"]: one["text"] for one in told["calls"][1]["changes"]}
    assert changes == {
        "system prompt, changed": "@@ -1,2 +1,2 @@\n Be brief.\n-Be kind.\n+Be quick.",
        "1 tool no longer offered": "exec",
        "3 messages of the request before not sent again": "",
        "new: user": "Summary.",
    }


def _cached(read: int) -> tuple[Chunk, ...]:
    usage = {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": read}, "total_tokens": 1010}
    choice = {"index": 0, "delta": {"content": "Done"}, "finish_reason": "stop"}
    return (Chunk(at_s=0.5, data=sse({"model": "m-2", "choices": [choice], "usage": usage}, end="[DONE]")),)


@pytest.mark.parametrize(
    ("third", "cause"),
    [
        ({"system": "Be brief.\nIt is 12:01."}, "the system prompt, from character 22 on, 560 tokens read again"),
        ({"tools": ("exec", "read")}, "the tools, from character 0 on, 1.0k tokens read again"),
        ({}, ""),
    ],
)
def test_what_the_cache_missed_has_the_first_call_that_changed_the_beginning_of_the_prompt(
    tmp_path: Path, third: dict[str, Any], cause: str
) -> None:
    both: dict[str, Any] = {"tools": ("read", "exec")}
    told = _shown(
        tmp_path,
        exchange(CHAT, _asked(USER, **both), _cached(0), number=1),
        exchange(CHAT, _asked(USER, ECHO, USER, **both), _cached(900), number=2),
        exchange(CHAT, _asked(USER, ECHO, USER, ECHO, USER, **{**both, **third}), _cached(0), number=3),
    )
    changed = f" The prompt's beginning changed in 1 call, first in call 3: {cause}." if cause else ""
    assert told["cache"] == f"900 of 3.0k prompt tokens came from the provider's cache.{changed}"
    assert "1.0k tokens (900 cached)" in told["calls"][1]["timing"]


def test_a_request_is_compared_with_the_most_similar_of_those_before(tmp_path: Path) -> None:
    told = _shown(
        tmp_path,
        exchange(CHAT, _asked(USER), _said("One"), number=1),
        exchange(CHAT, _asked({"role": "user", "content": "A subagent's."}), _said("Sub"), number=2),
        exchange(CHAT, _asked(USER, ECHO, USER), _said("Two"), number=3),
    )

    assert [one["title"] for one in told["calls"][2]["changes"]] == ["new: assistant", "new: user"]


def test_long_texts_are_shortened_and_many_calls_left_out_with_the_command_that_prints_them(tmp_path: Path) -> None:
    long = {"role": "user", "content": "x" * 60_000 + "END"}
    calls = [exchange(CHAT, _asked(long), _said("y" * 500_000), number=number) for number in range(1, 31)]
    told = _shown(tmp_path, *calls, most_bytes=8_000)

    assert [one["number"] for one in told["calls"]] == [*range(1, 11), *range(21, 31)]
    assert told["count"] == "30 calls"
    assert told["cut"] == (
        f"10 calls in the middle are left out. Long texts are shortened. `{COMMAND}` prints each call whole."
    )
    assert "characters left out" in told["calls"][0]["reply"]
    assert len(msgspec.json.encode(told)) < 3 * 8_000


def test_a_damaged_recording_shows_its_beginning_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl.zst"
    one = exchange(CHAT, _asked(USER), _said("One"))
    with RecordingWriter(path) as recording:
        recording.append(one)
        recording.append(one)
    path.write_bytes(path.read_bytes()[:-5])
    told = calls_json(path, command=COMMAND, most_bytes=100_000)

    assert told is not None
    assert told["count"] == "1 call"
    assert "exchange 2 is cut off" in str(told["cut"])

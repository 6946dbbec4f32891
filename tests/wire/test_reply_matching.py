"""Recorded replies are served to the same requests of another run, and other requests are named."""

from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest

from pinchbench.wire.exchange import DivergenceNote, Exchange, ExchangeEnd
from pinchbench.wire.reply_matching import Choice, Replay
from wire.exchanges import CHAT, MESSAGES, RESPONSES, exchange, sse

RECORDED_AT = 1_795_398_600.0  # 2026-11-23 01:50 UTC
LATER = RECORDED_AT + 86_400 * 10


def request(
    *replies: str,
    system: str = "Be kind.",
    user: str = "Do it.",
    tools: Mapping[str, str] | None = None,
    model: str = "m",
    results: Sequence[str] = (),
) -> dict[str, object]:
    """Build the request that follows these replies, each of which has called a tool."""
    messages: list[dict[str, object]] = [
        {"role": "system", "content": f"{system}\nWorking directory: /tmp/a/task_1\n"},
        {"role": "user", "content": user},
    ]
    for number, reply in enumerate(replies):
        call = {"id": f"call_{number}", "function": {"name": "exec", "arguments": '{"a": 1}'}}
        messages.append({"role": "assistant", "content": reply, "tool_calls": [call]})
        result = results[number] if number < len(results) else f"result of {reply}"
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result})
    offered = [
        {"type": "function", "function": {"name": name, "description": said}}
        for name, said in (tools or {"exec": "run"}).items()
    ]
    return {"model": model, "messages": messages, "tools": offered}


def recorded(*requests: dict[str, object], turns: Sequence[int] = ()) -> list[Exchange]:
    return [
        exchange(
            CHAT,
            one,
            sse({"choices": [{"delta": {"content": str(number)}}]}),
            number=number,
            began_at=RECORDED_AT,
            turn=turns[number - 1] if turns else 0,
        )
        for number, one in enumerate(requests, start=1)
    ]


def match(replay: Replay, asked: object, *, turn: int = 0, path: str = CHAT) -> Choice:
    return replay.match(path, exchange(path, asked).request, at=LATER, turn=turn)


def number(found: Choice) -> int:
    assert found.divergence is None
    assert found.exchange is not None
    return found.exchange.number


def diverged(found: Choice) -> tuple[int | None, DivergenceNote]:
    """Return the number of the exchange with which a request is compared, and how it differs."""
    assert found.divergence is not None
    return found.exchange.number if found.exchange is not None else None, found.divergence


def test_the_requests_of_a_conversation_get_their_replies() -> None:
    conversation = [request(), request("a"), request("a", "b")]
    replay = Replay(recorded(*conversation))

    assert [number(match(replay, one)) for one in conversation] == [1, 2, 3]


def test_parallel_conversations_match_in_any_order() -> None:
    requests = [request(user="one"), request(user="two"), request("a", user="one"), request("b", user="two")]

    for order in permutations(range(4)):
        replay = Replay(recorded(*requests))
        assert [number(match(replay, requests[index])) for index in order] == [index + 1 for index in order]


def test_equal_requests_get_their_exchanges_in_order_and_the_last_success_again() -> None:
    failed, good, cut_off = recorded(request(), request(), request())
    whole = [
        exchange(CHAT, failed.request, status=429, number=1, began_at=RECORDED_AT),
        good,
        exchange(CHAT, cut_off.request, status=0, number=3, end=ExchangeEnd.NOT_REACHED, began_at=RECORDED_AT),
    ]
    replay = Replay(reversed(whole))

    assert [number(match(replay, request())) for _ in range(5)] == [1, 2, 3, 2, 2]


def test_a_different_message_is_named_with_its_difference() -> None:
    replay = Replay(recorded(request(), request("a"), request("a", "b")))

    compared, found = diverged(match(replay, request("a", results=["one\ntwo\nthree"])))

    assert compared == 2
    assert found.details.startswith("message 2:\n")
    assert "-result of a" in found.details
    assert "+two" in found.details
    assert not found.repeated
    assert found.summary == "Compared with request 2: message 2 (tool) is different."


def test_changes_of_system_prompt_tools_and_model_are_named() -> None:
    replay = Replay(recorded(request(tools={"exec": "run", "read": "read it", "old": ""})))

    _, found = diverged(
        match(replay, request(system="Be very kind.", model="n", tools={"exec": "run", "read": "read", "new": "n"}))
    )

    assert "+Be very kind." in found.details
    assert "-Be kind." in found.details
    assert found.summary == (
        "Compared with request 1: asks for the model n; the system prompt changed (+5 characters); "
        "new tools: new; removed tools: old; changed tools: read."
    )


def test_a_difference_that_stays_is_repeated_and_a_new_one_is_not() -> None:
    replay = Replay(recorded(request(), request("a"), request("a", "b")))

    first = diverged(match(replay, request(system="Other.")))
    second = diverged(match(replay, request("a", system="Other.")))
    third = diverged(match(replay, request("a", "b", system="Other.", results=["result of a", "new"])))

    assert [compared for compared, _ in (first, second, third)] == [1, 2, 3]
    assert [found.repeated for _, found in (first, second, third)] == [False, True, False]
    assert "message 4 " in third[1].summary


def test_an_inserted_message_does_not_shift_those_after_it() -> None:
    replay = Replay(recorded(request("a", "b")))
    asked = request("a", "b")
    assert isinstance(asked["messages"], list)
    asked["messages"].insert(4, {"role": "user", "content": "a note"})

    _, found = diverged(match(replay, asked))

    assert "message 3 (user)" in found.summary
    assert "+a note" in found.details
    assert "result" not in found.details


def test_what_goes_further_than_the_recording_and_what_is_alien_to_it_have_no_exchange() -> None:
    replay = Replay(recorded(request()))

    further, why = diverged(match(replay, request("a")))
    alien, why_alien = diverged(match(replay, request(system="Recap.", user="Summarise.")))

    assert further is alien is None
    assert (why.repeated, diverged(match(replay, request("a")))[1].repeated) == (False, True)
    assert "No request was recorded" in why_alien.summary


def test_a_conversation_that_the_provider_keeps_is_completed() -> None:
    def item(text: str) -> dict[str, object]:
        return {"role": "user", "content": text}

    def reply(response_id: str, text: str) -> bytes:
        output = [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
        body = {"id": response_id, "status": "completed", "output": output}
        return sse({"type": "response.completed", "response": body})

    first = {"model": "m", "input": [item("one")]}
    second = {"model": "m", "input": [item("two")], "previous_response_id": "r1"}
    third = {"model": "m", "input": [item("two")], "previous_response_id": "r2"}
    replay = Replay(
        [
            exchange(RESPONSES, first, reply("r1", "1"), number=1),
            exchange(RESPONSES, second, reply("r2", "2"), number=2),
            exchange(RESPONSES, third, reply("r3", "3"), number=3),
        ]
    )

    assert [number(match(replay, one, path=RESPONSES)) for one in (third, second, first)] == [3, 2, 1]
    compared, found = diverged(match(replay, {**third, "input": [item("else")]}, path=RESPONSES))
    assert compared == 3
    assert "message 4 " in found.summary


def test_requests_of_no_protocol_match_by_the_end_of_the_path_and_the_body() -> None:
    replay = Replay([exchange("/slot-1/v1/models?a=1", b"", number=1), exchange("/v1/embeddings", b"x", number=2)])

    assert number(match(replay, b"x", path="/v1/embeddings")) == 2
    assert number(match(replay, b"", path="/v1/models?a=2")) == 1
    compared, found = diverged(match(replay, b"y", path="/v1/embeddings"))
    details = "message 0:\n@@ -2,2 +2,2 @@\n embeddings\n-x\n+y"
    assert (compared, found.details) == (2, details)
    assert diverged(match(replay, b"y", path="/v1/else"))[0] is None


@pytest.mark.parametrize("body", [b"", b"[", b"\xff\0", b"[" * 10_000, b'{"messages":{"a":1}}', b'{"messages":[1]}'])
@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/x"])
def test_hostile_requests_are_matched_or_diverge(path: str, body: bytes) -> None:
    replay = Replay([exchange(path, body, number=1), *recorded(request())])

    assert number(match(replay, body, path=path)) == 1
    assert match(replay, b"other" + body, path="/y").divergence is not None


def test_large_texts_that_differ_are_compared_in_bounded_time() -> None:
    replay = Replay(recorded(request("a", results=["\n".join(f"line {n}" for n in range(50_000))])))

    _, found = diverged(match(replay, request("a", results=["\n".join(f"Line {n}" for n in range(50_000))])))

    assert len(found.details) < 15_000
    assert "more lines" in found.details
